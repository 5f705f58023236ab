//! What Cursor's hooks say about waiting (host notes 5 to 7). Permission waits are not observable there.

use herdbook_events::observation::{Signal, WaitKind};
use herdbook_events::{CanonicalEvent, Family, Field, Origin};

use crate::observe::{Reading, TURN_OVER, first_of, tool_use};

/// Reads one event. The family decides, since Cursor also runs Claude's hooks under Claude's names (case F-035).
pub fn read(event: &CanonicalEvent, _origin: &Origin) -> Reading {
    Reading { signals: signals(event), own_transcript: true, ..Reading::default() }
}

fn signals(event: &CanonicalEvent) -> Vec<Signal> {
    match event.event {
        Some(Family::SessionStart) => vec![Signal::SessionStarted { replaces: false, inside_turn: false }],
        Some(Family::SessionEnd) => vec![Signal::SessionEnded],
        Some(Family::PromptSubmit) => vec![Signal::PromptSubmitted { human: true }],
        Some(Family::ToolBefore) => vec![Signal::ToolStarting(tool_use(event, &["Task"]))],
        Some(Family::ToolAfter | Family::ToolFailure) => vec![Signal::ToolOver(tool_use(event, &["Task"]))],
        Some(Family::Stop) => vec![turn_over(event)],
        Some(Family::AgentStart) => agent(event).map(|id| Signal::AgentStarted { id }).into_iter().collect(),
        Some(Family::AgentStop) => vec![Signal::AgentStopped { id: agent(event) }],
        _ => vec![Signal::Alive],
    }
}

fn agent(event: &CanonicalEvent) -> Option<String> {
    event
        .payload
        .text(Field::AgentId)
        .or_else(|| event.native_text("subagent_id"))
        .filter(|id| !id.is_empty())
}

fn turn_over(event: &CanonicalEvent) -> Signal {
    let kind = match event.native_text("status").as_deref() {
        Some("aborted") => WaitKind::Interrupted,
        Some("error") => WaitKind::Error,
        _ => WaitKind::TurnEnd,
    };
    let said = [event.native_text("error_message"), event.native_text("last_assistant_message")];
    let message = first_of(said, TURN_OVER);
    Signal::TurnEnded {
        kind,
        message,
        background: false,
        main_for_sure: false,
        quiet: kind == WaitKind::Interrupted,
    }
}
