//! What Droid's hooks say about waiting (host notes 5 to 7; documentation only).

use herdbook_events::observation::{Signal, ToolUse, WaitKind};
use herdbook_events::{CanonicalEvent, Field, Origin};

use crate::observe::{Reading, TURN_OVER, first_of, tool_use};

/// Reads one event.
pub fn read(event: &CanonicalEvent, _origin: &Origin) -> Reading {
    Reading { signals: signals(event), own_transcript: true, ..Reading::default() }
}

fn signals(event: &CanonicalEvent) -> Vec<Signal> {
    let tool = || tool_use(event, &[]);
    match event.native_event.as_deref().unwrap_or_default() {
        "SessionStart" => {
            let inside_turn = event.payload.text(Field::Source).as_deref() == Some("compact");
            vec![Signal::SessionStarted { replaces: true, inside_turn }]
        }
        "SessionEnd" => vec![Signal::SessionEnded],
        "UserPromptSubmit" => vec![Signal::PromptSubmitted { human: true }],
        "PreToolUse" => vec![Signal::ToolStarting(tool())],
        "PostToolUse" => vec![Signal::ToolOver(tool())],
        "Notification" => vec![notification(event)],
        // Not after an interruption, which no event tells. A subagent's end is SubagentStop.
        "Stop" => vec![Signal::TurnEnded {
            kind: WaitKind::TurnEnd,
            message: TURN_OVER.to_owned(),
            background: false,
            main_for_sure: true,
            quiet: false,
        }],
        "SubagentStop" => vec![Signal::AgentStopped { id: None }],
        _ => vec![Signal::Alive],
    }
}

/// There is nothing but the text; what it does not tell counts as "needs the human" (case F-008).
fn notification(event: &CanonicalEvent) -> Signal {
    let message = first_of([event.native_text("message")], "Droid needs you.");
    let text = message.to_lowercase();
    if text.contains("waiting for your input") {
        return Signal::Reminder { kind: WaitKind::TurnEnd, message };
    }
    if text.contains("permission") {
        // It does not say for which tool use: it is the one that was just called.
        return Signal::Asked {
            kind: WaitKind::Permission,
            tool: ToolUse::default(),
            message,
            // A notice like any other: later ones may still open a wait.
            by_request: false,
        };
    }
    Signal::Reminder { kind: WaitKind::Dialog, message }
}
