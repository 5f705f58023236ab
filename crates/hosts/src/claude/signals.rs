//! What Claude Code's hooks say about waiting (host notes 5 to 7, recordings of 2.1.332).

use herdbook_events::observation::{Signal, WaitKind};
use herdbook_events::origin::Terminal;
use herdbook_events::{CanonicalEvent, Field, Origin};
use serde::Deserialize;

use crate::observe::{Reading, TURN_OVER, first_of, requested, starting, tool_use};

/// Tools that are a question to the human by themselves.
const QUESTION_TOOLS: &[(&str, WaitKind)] =
    &[("AskUserQuestion", WaitKind::Question), ("ExitPlanMode", WaitKind::Plan)];

/// Tools that start a subagent of the same session; `Task` is the older name.
const AGENT_TOOLS: &[&str] = &["Agent", "Task"];

/// Reads one event.
pub fn read(event: &CanonicalEvent, origin: &Origin) -> Reading {
    Reading {
        agent: event.native_text("agent_id").filter(|id| !id.is_empty()),
        signals: signals(event),
        attended: attended(origin),
        pane_uncertain: false,
        // Events inside a subagent carry the root's transcript too.
        own_transcript: true,
    }
}

/// The host's own word for a human at the terminal; absent in older builds.
fn attended(origin: &Origin) -> Option<bool> {
    match (origin.var("CLAUDE_CODE_SESSION_ATTENDED"), origin.var("CLAUDE_CODE_ENTRYPOINT")) {
        (Some("1"), _) => Some(true),
        (Some("0"), _) => Some(false),
        (_, Some(entrypoint)) if entrypoint.starts_with("sdk") => Some(false),
        (_, Some("cli")) if origin.tty != Terminal::None => Some(true),
        _ => None,
    }
}

fn signals(event: &CanonicalEvent) -> Vec<Signal> {
    let tool = || tool_use(event, AGENT_TOOLS);
    match event.native_event.as_deref().unwrap_or_default() {
        "SessionStart" => {
            let inside_turn = event.payload.text(Field::Source).as_deref() == Some("compact");
            vec![Signal::SessionStarted { replaces: true, inside_turn }]
        }
        "SessionEnd" => vec![Signal::SessionEnded],
        "UserPromptSubmit" => {
            let prompt = event.payload.text(Field::Prompt).unwrap_or_default();
            vec![Signal::PromptSubmitted { human: !prompt.starts_with("<task-notification>") }]
        }
        "PreToolUse" => starting(event, tool(), QUESTION_TOOLS),
        "PostToolUse" | "PermissionDenied" => vec![Signal::ToolOver(tool())],
        "PostToolUseFailure" => {
            let mut signals = vec![Signal::ToolOver(tool())];
            if event.payload.boolean(Field::IsInterrupt) == Some(true) {
                signals.push(turn_over(event, WaitKind::Interrupted, false));
            }
            signals
        }
        "PostToolBatch" => vec![Signal::BatchOver],
        "PermissionRequest" => vec![requested(event, tool(), QUESTION_TOOLS)],
        "Notification" => vec![notification(event)],
        "Elicitation" => vec![Signal::ElicitationOpened {
            id: event.native_text("elicitation_id"),
            message: first_of([event.native_text("message")], "A tool's server asks for input."),
        }],
        "ElicitationResult" => vec![Signal::ElicitationClosed { id: event.native_text("elicitation_id") }],
        "Stop" => vec![turn_over(event, WaitKind::TurnEnd, has_background_work(event))],
        "StopFailure" => vec![failed(event)],
        "SubagentStart" => agent_id(event).map(|id| Signal::AgentStarted { id }).into_iter().collect(),
        "SubagentStop" => vec![Signal::AgentStopped { id: agent_id(event) }],
        _ => vec![Signal::Alive],
    }
}

fn agent_id(event: &CanonicalEvent) -> Option<String> {
    event.native_text("agent_id").filter(|id| !id.is_empty())
}

fn turn_over(event: &CanonicalEvent, kind: WaitKind, background: bool) -> Signal {
    let message = first_of([event.native_text("last_assistant_message")], TURN_OVER);
    // Builds that list background tasks name the subagent on its own Stop.
    let main_for_sure = event.native_member("background_tasks").is_some();
    Signal::TurnEnded { kind, message, background, main_for_sure, quiet: kind == WaitKind::Interrupted }
}

fn failed(event: &CanonicalEvent) -> Signal {
    let error = event.native_text("error").unwrap_or_else(|| "error".to_owned());
    let said = [event.native_text("error_details"), event.native_text("last_assistant_message")];
    let said: Vec<String> = said.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    let message = first_of([Some(format!("{error}: {}", said.join(" | ")))], &error);
    Signal::TurnEnded { kind: WaitKind::Error, message, background: false, main_for_sure: true, quiet: false }
}

/// True when the host lists work that will wake the agent: background tasks not explicitly finished, or scheduled
/// prompts. Entries of unknown shape count as running (case F-009).
fn has_background_work(event: &CanonicalEvent) -> bool {
    #[derive(Deserialize)]
    struct Task {
        status: Option<String>,
    }
    const FINISHED: [&str; 6] = ["completed", "failed", "killed", "stopped", "cancelled", "error"];
    let list = |key| -> Vec<Box<serde_json::value::RawValue>> {
        event.native_member(key).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    };
    let running = |task: &serde_json::value::RawValue| match serde_json::from_str::<Task>(task.get()) {
        Ok(Task { status: Some(status) }) => !FINISHED.contains(&status.as_str()),
        _ => true,
    };
    list("background_tasks").iter().any(|task| running(task)) || !list("session_crons").is_empty()
}

/// The type decides; the text only where an older build sends no type, and then towards "needs the human" (case F-008).
fn notification(event: &CanonicalEvent) -> Signal {
    let message = first_of([event.native_text("message")], "Claude Code needs you.");
    let reminder = |kind| Signal::Reminder { kind, message: message.clone() };
    match event.native_text("notification_type").as_deref() {
        Some("permission_prompt") => reminder(WaitKind::Permission),
        Some("agent_needs_input") => reminder(WaitKind::Dialog),
        Some("elicitation_dialog" | "elicitation_url_dialog") => reminder(WaitKind::Elicitation),
        Some("idle_prompt") => reminder(WaitKind::TurnEnd),
        Some(_) => Signal::Alive,
        None if message.contains("waiting for your input") => reminder(WaitKind::TurnEnd),
        None if message.contains("permission") => reminder(WaitKind::Permission),
        None => reminder(WaitKind::Dialog),
    }
}
