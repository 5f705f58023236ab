//! What Amp's plugin events say about waiting (host notes 5 to 7; from documents, no client was run). It never tells that
//! it asks for permission.

use herdbook_events::observation::{Signal, WaitKind};
use herdbook_events::{CanonicalEvent, Origin};

use crate::observe::{Reading, TURN_OVER, tool_use};

/// Reads one event.
pub fn read(event: &CanonicalEvent, _origin: &Origin) -> Reading {
    Reading { signals: signals(event), ..Reading::default() }
}

fn signals(event: &CanonicalEvent) -> Vec<Signal> {
    let tool = || tool_use(event, &[]);
    match event.native_event.as_deref().unwrap_or_default() {
        "session.start" => vec![Signal::SessionStarted { replaces: false, inside_turn: false }],
        "agent.start" => vec![Signal::PromptSubmitted { human: true }],
        "tool.call" => vec![Signal::ToolStarting(tool())],
        "tool.result" => vec![Signal::ToolOver(tool())],
        "agent.end" => vec![turn_over(event)],
        _ => vec![Signal::Alive],
    }
}

/// One event for three ends; the status says which.
fn turn_over(event: &CanonicalEvent) -> Signal {
    let (kind, message) = match event.native_text("status").as_deref() {
        Some("cancelled") => (WaitKind::Interrupted, "Interrupted. Waiting for your next prompt."),
        Some("error") => (WaitKind::Error, "The turn ended with an error."),
        _ => (WaitKind::TurnEnd, TURN_OVER),
    };
    Signal::TurnEnded {
        kind,
        message: message.to_owned(),
        background: false,
        main_for_sure: true,
        quiet: kind == WaitKind::Interrupted,
    }
}
