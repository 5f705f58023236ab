//! What programs report of themselves: as JSON, or as the bytes that they write to their terminal (OSC 7501).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use herdbook_api::v1::StatusTaken;
use herdbook_engine::Input;
use herdbook_events::status::{InvalidStatus, Scanner};
use herdbook_events::{PostedStatus, Process, StatusPlace};
use herdbook_log::Durability;
use herdbook_machine::Proc;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::body::{self, POST_BYTES};
use super::extract::InQuery;
use super::{Answer, App, Refusal, hooks, ok};
use crate::guard;

/// Where the program runs whose bytes are posted; its pane may come as `X-Tmux-Pane`, too.
#[derive(Deserialize)]
pub(super) struct PlaceQuery {
    pane: Option<String>,
    socket: Option<String>,
    pid: Option<u32>,
    tty: Option<String>,
}

/// `POST /v1/status`: one report as JSON, or bytes with any number of them. Answers once they are synced.
pub(super) async fn status(
    State(app): State<Arc<App>>,
    InQuery(query): InQuery<PlaceQuery>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let bytes = body::read(body, POST_BYTES).await?;
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let (reports, passed_over) = if kind.is_some_and(guard::is_bytes) {
        let pane = query.pane.or_else(|| hooks::pane(&headers));
        let place = StatusPlace::new(pane, query.socket, query.pid, query.tty).map_err(invalid)?;
        let place = known(place);
        // A sequence that is not whole says nothing, and neither does one that breaks a rule of the protocol.
        let found = Scanner::new().feed(&bytes);
        let count = found.len();
        let reports: Vec<PostedStatus> = found
            .into_iter()
            .flatten()
            .map(|report| PostedStatus { report, place: place.clone(), written_ms: None })
            .collect();
        let passed_over = count - reports.len();
        (reports, passed_over)
    } else {
        let members: Map<String, Value> = serde_json::from_slice(&bytes)
            .map_err(|error| Refusal(StatusCode::BAD_REQUEST, format!("invalid status: {error}")))?;
        let posted = PostedStatus::read(&members).map_err(invalid)?;
        (vec![PostedStatus { place: known(posted.place), ..posted }], 0)
    };
    let count = reports.len();
    for (n, report) in reports.into_iter().enumerate() {
        // The last one takes all before it to the disk: one wait for it, however many there are.
        let durability = if n + 1 < count { Durability::Written } else { Durability::Synced };
        app.keep(Input::Status(report), durability).await?;
    }
    ok(&StatusTaken { ok: true, reports: count, passed_over })
}

/// Tells the process apart from later ones of its pid; one that is gone already says nothing.
fn known(place: StatusPlace) -> StatusPlace {
    let process = place.process.map(|process| {
        let start = Proc::system().stat(process.pid).map(|stat| stat.start);
        Process { start, ..process }
    });
    StatusPlace { process, ..place }
}

fn invalid(error: InvalidStatus) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, error.to_string())
}
