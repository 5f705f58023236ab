//! Events of the detector: kept as an `observation` each, with the program they are about and what they follow from.

use herdbook_attention::{Cause, Moment};
use herdbook_events::{Detected, NormalizedEvent, PaneProgram};
use herdbook_redact::clean_line;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::engine::{Engine, Outcome};
use crate::record::Record;
use crate::{intake, payload};

/// The word for records and causes that come from the detector.
pub(crate) const SOURCE: &str = "detector";

#[derive(Serialize, Deserialize)]
struct DetectedPayload {
    clock: u64,
    source: String,
    event: Box<RawValue>,
    program: PaneProgram,
    fact: String,
}

/// Folds an event of the detector.
pub(crate) fn take(engine: &mut Engine, at: Moment, detected: Detected, out: &mut Outcome) {
    let Detected { program, event, fact } = detected;
    let event = intake::marked(&engine.redactor, cleaned(event));
    // It may name the pane's title or command.
    let fact = engine.redactor.text(&clean_line(&fact)).into_owned();
    let id = engine.next_id(at);
    let transitions = engine.attention.detect(at, &cause(&id, &fact), &event, &program);
    let event = payload::raw(&event);
    let record = DetectedPayload { clock: at.at_ms, source: SOURCE.into(), event, program, fact };
    out.records.push(Record::new(&id, at, "observation", payload::raw(&record)));
    engine.record_transitions(at, transitions, out);
}

/// Folds a recorded one again.
pub(crate) fn replay(engine: &mut Engine, at: Moment, id: &str, text: &str) -> Result<(), serde_json::Error> {
    let DetectedPayload { event, program, fact, .. } = serde_json::from_str(text)?;
    let event = NormalizedEvent::parse(event.get().as_bytes()).map_err(serde::de::Error::custom)?;
    engine.attention.detect(at, &cause(id, &fact), &event, &program);
    Ok(())
}

fn cause(id: &str, fact: &str) -> Cause {
    Cause { id: id.to_owned(), source: SOURCE, fact: fact.to_owned(), ..Cause::default() }
}

/// The message is a row of a screen.
fn cleaned(mut event: NormalizedEvent) -> NormalizedEvent {
    if let NormalizedEvent::Stuck { message, .. } = &mut event {
        *message = clean_line(message);
    }
    event
}
