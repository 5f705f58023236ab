//! Decisions about hook calls: recorded as they were given, and folded where the host was told.

use herdbook_attention::{Cause, Moment, Ruling, Transition};
use herdbook_events::SessionKey;
use herdbook_redact::Redactor;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::engine::{Engine, Outcome};
use crate::payload;
use crate::record::{Record, RecordView};
use crate::types::{Decided, DecidedBy, RouteRun};

/// Records a decision and folds it.
pub(crate) fn take(engine: &mut Engine, at: Moment, decided: Decided, out: &mut Outcome) {
    let id = engine.next_id(at);
    let decided = marked(&engine.redactor, decided);
    let body = Body::of(at, engine.deliveries.record_of(decided.delivery), &decided);
    let transitions = fold(engine, at, &id, &body);
    out.records.push(Record::new(&id, at, "decision", payload::raw(&body)));
    engine.record_transitions(at, transitions, out);
}

/// Folds a recorded decision again.
pub(crate) fn replay(
    engine: &mut Engine,
    at: Moment,
    record: &RecordView<'_>,
) -> Result<(), serde_json::Error> {
    let body: Body = serde_json::from_str(record.payload)?;
    fold(engine, at, record.id, &body);
    Ok(())
}

fn fold(engine: &mut Engine, at: Moment, id: &str, body: &Body) -> Vec<Transition> {
    let ruling = match body.given.as_str() {
        "allow" => Ruling::Allowed,
        "deny" => Ruling::Denied,
        _ => return Vec::new(),
    };
    // What the host was not told moves nothing, refused answers among them.
    let (Some(session), Some(call), Some(_)) = (&body.session, &body.hook_id, &body.told) else {
        return Vec::new();
    };
    let cause = Cause { id: id.to_owned(), source: "decision", fact: fact(body), ..Cause::default() };
    engine.attention.decided(at, &cause, session, call, ruling)
}

/// The decision in words, for `why`.
fn fact(body: &Body) -> String {
    let Some(human) = &body.human else {
        let answered = |run: &&Run| run.outcome.as_deref() == Some(&body.outcome);
        let failed = |run: &&Run| run.outcome.is_none();
        let name = |run: &Run| run.route.clone();
        let names: Vec<String> = body.routes.iter().filter(answered).map(name).collect();
        return match names.as_slice() {
            [] => {
                let names: Vec<String> = body.routes.iter().filter(failed).map(name).collect();
                format!("route {} failed, and fails closed", names.join(", "))
            }
            [only] => format!("route {only} answered {}", body.outcome),
            several => format!("routes {} answered {}", several.join(", "), body.outcome),
        };
    };
    let did = if body.outcome == "allow" { "allowed" } else { "denied" };
    format!("the human {did} it by {}", human.how)
}

/// Marks secrets in what people and scripts wrote.
fn marked(redactor: &Redactor, mut decided: Decided) -> Decided {
    let mark = |text: &mut String| *text = redactor.text(text).into_owned();
    decided.reason.iter_mut().for_each(mark);
    decided.left_out.iter_mut().for_each(mark);
    if let Some(told) = &mut decided.told {
        // Where it is JSON it stays JSON.
        let is_json = serde_json::from_str::<&RawValue>(told).is_ok();
        *told = if is_json { redactor.json(told) } else { redactor.text(told) }.into_owned();
    }
    if let DecidedBy::Routes(runs) = &mut decided.by {
        for run in runs {
            run.reason.iter_mut().for_each(mark);
            run.error.iter_mut().for_each(mark);
        }
    }
    decided
}

/// The payload of a `decision` record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    clock: u64,
    /// Delivery id of the call, 32 hex digits.
    delivery: String,
    /// Journal id of its hook record, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hook_id: Option<String>,
    host: String,
    native_event: String,
    session: Option<SessionKey>,
    outcome: String,
    /// What the host takes for it.
    given: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    told: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    took_ms: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Run>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    human: Option<Human>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    route: String,
    trusted: String,
    outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    took_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Human {
    how: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    /// Why his answer was refused, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl Body {
    fn of(at: Moment, hook_id: Option<String>, decided: &Decided) -> Body {
        let (routes, human) = match &decided.by {
            DecidedBy::Routes(runs) => (runs.iter().map(Run::of).collect(), None),
            DecidedBy::Human { how, process, refused } => {
                let (pid, start) = (process.map(|process| process.pid), process.and_then(|it| it.start));
                (Vec::new(), Some(Human { how: how.clone(), pid, start, refused: refused.clone() }))
            }
        };
        Body {
            clock: at.at_ms,
            delivery: format!("{:032x}", decided.delivery),
            hook_id,
            host: decided.host.clone(),
            native_event: decided.native_event.clone(),
            session: decided.session.clone(),
            outcome: decided.outcome.to_owned(),
            given: decided.given.to_owned(),
            reason: decided.reason.clone(),
            told: decided.told.clone(),
            left_out: decided.left_out.clone(),
            took_ms: decided.took_ms,
            routes,
            human,
        }
    }
}

impl Run {
    fn of(run: &RouteRun) -> Run {
        let RouteRun { route, trusted, outcome, reason, error, took_ms } = run.clone();
        Run { route, trusted, outcome: outcome.map(str::to_owned), reason, error, took_ms }
    }
}
