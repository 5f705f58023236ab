//! What Copilot's hooks say about waiting (host notes 5 to 7, recordings of 1.0.102).
//!
//! A denied permission and an interrupted turn leave no event there: the next prompt, or another eye, ends the wait.

use herdbook_events::observation::{Signal, WaitKind};
use herdbook_events::{CanonicalEvent, Origin, SessionKey};

use crate::observe::{Reading, TURN_OVER, first_of, member_text, starting, tool_use};

/// Tools that are a question to the human by themselves, by Copilot's name and by the one it gives to PascalCase hooks.
const QUESTION_TOOLS: &[(&str, WaitKind)] =
    &[("ask_user", WaitKind::Question), ("AskUserQuestion", WaitKind::Question)];

/// Tools that start a subagent, in both spellings.
const AGENT_TOOLS: &[&str] = &["task", "Agent"];

/// Reads one event. The table's name decides, since every event has two spellings.
pub fn read(event: &CanonicalEvent, _origin: &Origin) -> Reading {
    let name =
        event.native_event.as_deref().and_then(|name| super::TABLE.event(name)).map(|event| event.name);
    let name = name.unwrap_or_default();
    let parent = event.lineage.parent.as_deref().filter(|_| event.lineage.agent == event.session);
    let child = parent.and_then(|parent| SessionKey::hooked(&event.host, parent));
    Reading {
        // Inside a subagent a session of its own speaks, with the subagent's id as session id.
        signals: child
            .map(|parent| Signal::ChildOf { parent })
            .into_iter()
            .chain(signals(event, name))
            .collect(),
        own_transcript: true,
        ..Reading::default()
    }
}

fn signals(event: &CanonicalEvent, name: &str) -> Vec<Signal> {
    let tool = || tool_use(event, AGENT_TOOLS);
    let agent = event.lineage.agent.clone();
    match name {
        "SessionStart" => vec![Signal::SessionStarted { replaces: false, inside_turn: false }],
        "SessionEnd" => vec![Signal::SessionEnded],
        "UserPromptSubmit" => vec![Signal::PromptSubmitted { human: true }],
        "PreToolUse" => starting(event, tool(), QUESTION_TOOLS),
        "PostToolUse" | "PostToolUseFailure" => vec![Signal::ToolOver(tool())],
        "Notification" => vec![notification(event)],
        "Stop" => vec![Signal::TurnEnded {
            kind: WaitKind::TurnEnd,
            message: first_of([event.native_text("last_assistant_message")], TURN_OVER),
            background: false,
            main_for_sure: true,
            quiet: false,
        }],
        "subagentStart" => agent.map(|id| Signal::AgentStarted { id }).into_iter().collect(),
        "SubagentStop" => vec![Signal::AgentStopped { id: agent }],
        // The turn dies of a failed model call without a `Stop`.
        "ErrorOccurred" if event.native_text("error_context").as_deref() != Some("tool_execution") => {
            vec![failed(event)]
        }
        // `PermissionRequest` comes before the rules, for calls nobody is asked about: no wait.
        _ => vec![Signal::Alive],
    }
}

fn failed(event: &CanonicalEvent) -> Signal {
    let error = event.native_member("error");
    let said = error.and_then(|error| member_text(error, "message").or_else(|| member_text(error, "name")));
    let message = first_of([said], "An error ended the turn.");
    Signal::TurnEnded { kind: WaitKind::Error, message, background: false, main_for_sure: true, quiet: false }
}

/// Comes at once, when the prompt is shown.
fn notification(event: &CanonicalEvent) -> Signal {
    let message = first_of([event.native_text("message"), event.native_text("title")], "Copilot needs you.");
    match event.native_text("notification_type").as_deref() {
        Some("permission_prompt") => Signal::Reminder { kind: WaitKind::Permission, message },
        Some("elicitation_dialog") => Signal::Reminder { kind: WaitKind::Question, message },
        _ => Signal::Alive,
    }
}
