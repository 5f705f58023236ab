//! What programs report of themselves: redact, fold, and record what changed something.

use herdbook_attention::{Cause, Moment, StatusFact, Transition};
use herdbook_events::{PostedStatus, Report, SessionKey, StatusPlace};
use herdbook_hosts::host_of_app;
use herdbook_redact::Redactor;
use serde::{Deserialize, Serialize};

use crate::engine::{Engine, Outcome};
use crate::payload;
use crate::record::{Record, RecordView};

/// The payload of an `observation` record out of a report.
#[derive(Debug, Serialize, Deserialize)]
struct StatusPayload {
    /// The fold's clock.
    clock: u64,
    /// `status`.
    source: String,
    place: StatusPlace,
    /// The hook-fed session that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<SessionKey>,
    report: Report,
    /// When the program said so, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    written: Option<u64>,
}

/// Folds a report; it becomes a record if it changed something.
pub(crate) fn said(engine: &mut Engine, at: Moment, status: PostedStatus, out: &mut Outcome) {
    let PostedStatus { report, place, written_ms } = status;
    let report = marked(&engine.redactor, report);
    let app = report.app.as_deref();
    let session = engine.attention.told_by_hooks(&place, app, app.and_then(host_of_app));
    let source = "status".into();
    let payload = StatusPayload { clock: at.at_ms, source, place, session, report, written: written_ms };
    let id = engine.next_id(at);
    let Some(transitions) = fold(engine, at, &id, &payload) else { return };
    out.records.push(Record::new(&id, at, "observation", payload::raw(&payload)));
    engine.record_transitions(at, transitions, out);
}

/// Folds a recorded report again.
pub(crate) fn replay(
    engine: &mut Engine,
    at: Moment,
    record: &RecordView<'_>,
) -> Result<(), serde_json::Error> {
    let payload: StatusPayload = serde_json::from_str(record.payload)?;
    fold(engine, at, record.id, &payload);
    Ok(())
}

fn fold(engine: &mut Engine, at: Moment, id: &str, payload: &StatusPayload) -> Option<Vec<Transition>> {
    let cause =
        Cause { id: id.to_owned(), source: "status", fact: payload.report.words(), ..Cause::default() };
    let fact = StatusFact {
        place: &payload.place,
        session: payload.session.as_ref(),
        host: payload.report.app.as_deref().and_then(host_of_app),
        report: &payload.report,
        written_ms: payload.written,
    };
    engine.attention.reported(at, &cause, &fact)
}

/// Marks secrets in what a program says; its names are short words of few letters.
fn marked(redactor: &Redactor, report: Report) -> Report {
    let mark = |text: Option<String>| text.map(|text| redactor.text(&text).into_owned());
    Report { title: mark(report.title), msg: mark(report.msg), ..report }
}
