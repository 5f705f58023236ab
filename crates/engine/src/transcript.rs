//! What transcripts tell: redact, fold, and record what moved a session.

use std::borrow::Cow;

use herdbook_attention::{Cause, Moment, TranscriptFact, Transition};
use herdbook_events::{SessionKey, Told};
use serde::{Deserialize, Serialize};

use crate::engine::{Engine, Outcome};
use crate::payload;
use crate::record::{Record, RecordView};
use crate::types::TranscriptNews;

/// The payload of an `observation` record out of a transcript.
#[derive(Debug, Serialize, Deserialize)]
struct ToldPayload {
    /// The fold's clock.
    clock: u64,
    /// `transcript`.
    source: String,
    session: SessionKey,
    host: String,
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<String>,
    /// When the record was written, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    written: Option<u64>,
    #[serde(default)]
    fresh: bool,
    #[serde(flatten)]
    told: Told,
}

/// Folds news of a transcript; each fact that moved the session becomes a record before its transitions.
pub(crate) fn news(engine: &mut Engine, at: Moment, news: TranscriptNews, out: &mut Outcome) {
    let mark = |engine: &Engine, text: String| match engine.redactor.text(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(marked) => marked,
    };
    let TranscriptNews { session, host, path, fresh, facts } = news;
    let path = mark(engine, path);
    for fact in facts {
        let told = match fact.told {
            Told::TurnEnded { kind, message } => Told::TurnEnded { kind, message: mark(engine, message) },
            Told::Opened { cwd, attended } => {
                Told::Opened { cwd: cwd.map(|cwd| mark(engine, cwd)), attended }
            }
            other => other,
        };
        let payload = ToldPayload {
            clock: at.at_ms,
            source: "transcript".into(),
            session: session.clone(),
            host: host.clone(),
            path: path.clone(),
            record: fact.record,
            written: fact.written_ms,
            fresh,
            told,
        };
        let id = engine.next_id(at);
        let Some(transitions) = fold(engine, at, &id, &payload) else {
            engine.attention.rule_out_told(at, &cause("", &payload), &fact_of(&payload));
            continue;
        };
        out.records.push(Record::new(&id, at, "observation", payload::raw(&payload)));
        engine.record_transitions(at, transitions, out);
    }
}

/// Folds a recorded fact again.
pub(crate) fn replay(
    engine: &mut Engine,
    at: Moment,
    record: &RecordView<'_>,
) -> Result<(), serde_json::Error> {
    let payload: ToldPayload = serde_json::from_str(record.payload)?;
    fold(engine, at, record.id, &payload);
    Ok(())
}

fn fold(engine: &mut Engine, at: Moment, id: &str, payload: &ToldPayload) -> Option<Vec<Transition>> {
    engine.attention.told(at, &cause(id, payload), &fact_of(payload))
}

fn cause(id: &str, payload: &ToldPayload) -> Cause {
    Cause {
        id: id.to_owned(),
        source: "transcript",
        fact: payload.told.words(),
        happened_at_ms: payload.written,
        ..Cause::default()
    }
}

fn fact_of(payload: &ToldPayload) -> TranscriptFact<'_> {
    TranscriptFact {
        session: &payload.session,
        host: &payload.host,
        path: &payload.path,
        written_ms: payload.written,
        fresh: payload.fresh,
        told: &payload.told,
    }
}
