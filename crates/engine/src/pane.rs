//! Looks at panes: kept as an `observation` only when they change something.

use std::collections::HashSet;

use herdbook_attention::{Cause, Moment};
use herdbook_events::WaitKind;
use herdbook_events::pane::{PaneSeen, Shows};
use serde::{Deserialize, Serialize};

use crate::engine::{Engine, Outcome};
use crate::payload;
use crate::record::Record;

#[derive(Serialize, Deserialize)]
struct PanePayload {
    clock: u64,
    source: String,
    seen: PaneSeen,
}

/// Folds a look at a pane.
pub(crate) fn seen(engine: &mut Engine, at: Moment, seen: PaneSeen, out: &mut Outcome) {
    if !engine.attention.pane_tells(at, &seen) {
        return engine.attention.rule_out_look(at, &cause("", &seen), &seen);
    }
    let message = engine.redactor.text(&seen.message).into_owned();
    let seen = PaneSeen { message, ..seen };
    let id = engine.next_id(at);
    let transitions = engine.attention.pane_seen(at, &cause(&id, &seen), &seen);
    let record = PanePayload { clock: at.at_ms, source: "pane".into(), seen };
    out.records.push(Record::new(&id, at, "observation", payload::raw(&record)));
    engine.record_transitions(at, transitions, out);
}

/// Folds the list of a server's panes: only that a pane is not in it says something.
pub(crate) fn listed(
    engine: &mut Engine,
    at: Moment,
    server: Option<(&str, u32)>,
    panes: &[String],
    out: &mut Outcome,
) {
    let ids: HashSet<&str> = panes.iter().map(String::as_str).collect();
    for (pane, host) in engine.attention.closed_panes(at, server, |id| ids.contains(id)) {
        seen(
            engine,
            at,
            PaneSeen { pane, host, shows: Shows::Closed, for_ms: 0, drawn_ms: 0, message: String::new() },
            out,
        );
    }
}

/// Folds a recorded look again.
pub(crate) fn replay(engine: &mut Engine, at: Moment, id: &str, text: &str) -> Result<(), serde_json::Error> {
    let PanePayload { seen, .. } = serde_json::from_str(text)?;
    engine.attention.pane_seen(at, &cause(id, &seen), &seen);
    Ok(())
}

fn cause(id: &str, seen: &PaneSeen) -> Cause {
    let pane = &seen.pane.pane;
    let fact = match seen.shows {
        Shows::Busy => format!("pane {pane} shows work"),
        Shows::Ready { .. } => format!("pane {pane} is quiet at a prompt"),
        Shows::Dialog { kind: WaitKind::Dialog, sure: true } => format!("pane {pane} shows a dialog"),
        Shows::Dialog { kind, sure: true } => format!("pane {pane} shows a dialog ({})", kind.as_str()),
        Shows::Dialog { sure: false, .. } => format!("pane {pane} shows what looks like a dialog"),
        Shows::Menu => format!("pane {pane} shows a menu"),
        Shows::Closed => format!("pane {pane} is closed"),
        Shows::Gone => format!("the agent in pane {pane} is gone"),
    };
    Cause { id: id.to_owned(), source: "pane", fact, ..Cause::default() }
}
