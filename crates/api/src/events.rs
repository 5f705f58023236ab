//! Session events over HTTP: what a producer sends, and what it is told.
//!
//! | path | request | answer |
//! | --- | --- | --- |
//! | `POST /v1/sessions/{key}/events` | [`Append`] | [`Appended`], or [`Refused`] |
//! | `POST /v1/sessions/{key}/ephemeral` | [`Shown`] | 202, [`ShownTo`] |
//! | `GET /v1/sessions/{key}/events?after=SEQ&limit=N` | | the log's lines, one JSON object each |
//! | the same with `Accept: text/event-stream` | `Last-Event-ID` | server-sent events |
//! | `GET /v1/sessions/{key}/synced?seq=SEQ` | | [`SyncedTo`] |
//!
//! Members inside an event are those of the event catalog (camelCase); around it they are ours (snake_case).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One event that is to be appended. `v`, `seq`, `ts` and `sessionId` are given by the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewEvent {
    /// A ULID of the producer's own, above those it made before for this session. With it the append can be sent again
    /// without harm; without it the log gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The type, for example `tool.started`.
    #[serde(rename = "type")]
    pub event_type: String,
    /// The payload, one JSON object.
    pub payload: Box<RawValue>,
}

impl NewEvent {
    /// Makes an event without an id of its own.
    ///
    /// # Errors
    /// The payload cannot be printed as JSON.
    pub fn new(event_type: &str, payload: &impl Serialize) -> Result<NewEvent, serde_json::Error> {
        let payload = serde_json::value::to_raw_value(payload)?;
        Ok(NewEvent { id: None, event_type: event_type.to_owned(), payload })
    }

    /// Gives it an id.
    pub fn with_id(mut self, id: impl Into<String>) -> NewEvent {
        self.id = Some(id.into());
        self
    }
}

/// Body of `POST /v1/sessions/{key}/events`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Append {
    /// The last seq that the producer knows of; the append is refused where the log ends elsewhere. 0 for an empty log,
    /// absent where it does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    /// True: answer when the events survive a power cut. Else the log's policy says when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced: Option<bool>,
    /// The events, 1 to 512. All of them are taken or none.
    pub events: Vec<NewEvent>,
}

/// Answer to an append.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Appended {
    /// One for each event that was sent, in order.
    pub events: Vec<AppendedEvent>,
    /// The last seq of the log after the append.
    pub last_seq: u64,
    /// [`Appended::WRITTEN`] or [`Appended::SYNCED`].
    pub ack: String,
    /// What is worth a look though it was taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Breach>,
}

impl Appended {
    /// The events survive a killed daemon.
    pub const WRITTEN: &'static str = "written";
    /// They survive a power cut.
    pub const SYNCED: &'static str = "synced";
}

/// Where an event stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AppendedEvent {
    /// Its place in the log, from 1.
    pub seq: u64,
    /// Its id.
    pub id: String,
    /// It stood there already: an append was sent again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    /// The payload that is kept, where it says something else than what was sent: a secret was marked, or a broken
    /// character replaced. A producer that folds its own events folds this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Box<RawValue>>,
}

/// Why an append was refused (400, 403, 409, 422, 503). Nothing of it was appended, unless the words say that this is
/// not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// What is wrong, and what to do about it.
    pub error: String,
    /// 409: the last seq of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<u64>,
    /// 409: the id that belongs to another event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// 409: where that other event stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// 422: the rules that the first faulty event breaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<Breach>,
}

/// A rule of the event catalog that an event breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breach {
    /// The event's place in the append, from 0.
    pub index: usize,
    /// The rule, for example `T4`.
    pub rule: String,
    /// The member of the envelope or of the payload; empty where it is the event as a whole.
    pub field: String,
    /// What is wrong, in words.
    pub message: String,
}

/// An event that is only live. Its id and time are given by the daemon.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShownEvent {
    /// One of the ephemeral types, for example `model.text-delta`.
    #[serde(rename = "type")]
    pub event_type: String,
    /// The payload, one JSON object.
    pub payload: Box<RawValue>,
}

/// Body of `POST /v1/sessions/{key}/ephemeral`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shown {
    /// The events, 1 to 512.
    pub events: Vec<ShownEvent>,
}

/// Answer of `POST /v1/sessions/{key}/ephemeral`: 202.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownTo {
    /// How many events were taken. Whether a reader saw them is not known.
    pub shown: usize,
}

/// Answer of `GET /v1/sessions/{key}/synced`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncedTo {
    /// Everything up to this seq survives a power cut.
    pub synced_seq: u64,
}

/// What stands in the place of lines that are damaged, when a log is read: a line of its own, or an event `damaged`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    /// Which lines are not there.
    pub corrupt: Span,
    /// What is wrong, where.
    pub error: String,
}

/// Lines of a log, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The first seq.
    pub from_seq: u64,
    /// The last one.
    pub to_seq: u64,
}
