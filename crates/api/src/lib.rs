//! The daemon's HTTP requests and answers as types, and a small blocking client over its unix socket.
//!
//! Two sets of paths exist: those of the Trail Boss reference with its own member names ([`trail`]), and our own under
//! `/v1` ([`v1`]): snake_case, times are Unix milliseconds and end in `_at`, durations end in `_ms`. Words such as
//! states and kinds are plain strings here, so that an older client shows a newer daemon's word instead of failing.
//!
//! | path | request | answer |
//! | --- | --- | --- |
//! | `GET /v1/status` | | [`v1::Status`] |
//! | `GET /v1/queue?after=CURSOR` | | [`v1::Queue`], every entry, 1,000 a page |
//! | `POST /v1/queue/skip` | [`v1::Skip`] or no body | [`v1::Acted`] |
//! | `POST /v1/queue/snooze` | [`v1::Snooze`] | [`v1::Acted`] |
//! | `POST /v1/queue/pin` | [`v1::Pin`] | [`v1::Acted`] |
//! | `POST /v1/queue/settle` | [`v1::Settle`] | [`v1::Acted`] |
//! | `GET /v1/sessions?after=CURSOR` | | [`v1::Sessions`], 1,000 a page |
//! | `GET /v1/sessions/{key}` | | [`v1::Session`] |
//! | `GET /v1/sessions/{key}/why` | | [`v1::Why`] |
//! | `POST /v1/sessions/{key}/events` | [`events::Append`] | [`events::Appended`], or [`events::Refused`] |
//! | `POST /v1/sessions/{key}/ephemeral` | [`events::Shown`] | [`events::ShownTo`] |
//! | `GET /v1/sessions/{key}/events?after=SEQ&limit=N` | | lines of the session's log; server-sent events where they are accepted |
//! | `GET /v1/sessions/{key}/synced?seq=SEQ` | | [`events::SyncedTo`] |
//! | `GET /v1/stats?since=MS&by=project\|host\|kind\|day` | | [`stats::Stats`] |
//! | `GET /metrics` | | Prometheus text format 0.0.4 |
//! | `GET /v1/waits` | over the unix socket alone | [`waits::Waits`] |
//! | `POST /v1/waits/{id}/answer` | [`waits::AnswerWait`], over the unix socket alone | [`waits::Answered`] |
//! | `GET /v1/hooks` | | [`v1::Hooks`] |
//! | `GET /v1/routes` | | [`routes::Routes`] |
//! | `GET /v1/attention` | header `Last-Event-ID` | server-sent events, see [`client::Attention`] |
//! | `POST /v1/hooks/{host}?event=NAME` | the host's bytes | [`trail::Accepted`] |
//! | `GET /queue` | | [`trail::Queue`], entries in cooldown left out |
//! | `GET /next`, `POST /skip` | | [`trail::Next`] |
//! | `GET /status` | | [`trail::Status`] |
//! | `POST /event`, `POST /event/normalized` | | [`trail::Accepted`] |
//!
//! Whatever is refused answers with [`ErrorBody`]. It reads no environment and makes no words for a terminal. Start
//! with [`client::Client`], or with [`producer::Producer`] to write a session's log.

pub mod client;
pub mod events;
mod http;
mod path;
pub mod producer;
pub mod routes;
mod sse;
pub mod stats;
pub mod trail;
pub mod v1;
pub mod waits;

pub use client::{Client, ClientError};
pub use events::NewEvent;
pub use path::{encode_segment, session_path};
pub use producer::{Producer, ProducerError};
pub use sse::SseEvent;

use serde::{Deserialize, Serialize};

/// The body of every answer that is not 2xx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// What is wrong, and what to do about it.
    pub error: String,
}
