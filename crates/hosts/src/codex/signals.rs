//! What Codex's hooks say about waiting (host notes 5 to 7, recordings of 0.171.0).

use herdbook_events::observation::{Signal, WaitKind};
use herdbook_events::origin::Terminal;
use herdbook_events::{CanonicalEvent, Field, Origin};

use crate::observe::{Reading, TURN_OVER, first_of, requested, starting, tool_use};

/// Tools that are a question to the human by themselves.
const QUESTION_TOOLS: &[(&str, WaitKind)] = &[("request_user_input", WaitKind::Question)];

/// Reads one event.
pub fn read(event: &CanonicalEvent, origin: &Origin) -> Reading {
    let agent = event.native_text("agent_id").filter(|id| !id.is_empty());
    Reading {
        // Events of a subagent carry its own rollout.
        own_transcript: agent.is_none(),
        signals: signals(event, agent.is_some()),
        agent,
        attended: is_attended(event, origin).then_some(true),
        // One server may serve several panes, and then reports the first one's for all.
        pane_uncertain: true,
    }
}

/// Hooks of the server that several terminals share have no terminal once the one that started it has gone, and neither
/// has a run of `codex exec` without one. Only the latter never asks for permission; and a server that was started in a
/// pane has its variable.
fn is_attended(event: &CanonicalEvent, origin: &Origin) -> bool {
    let asks = event
        .native_text("permission_mode")
        .is_some_and(|mode| mode != "bypassPermissions" && mode != "dontAsk");
    origin.tty == Terminal::None && (asks || origin.var("TMUX_PANE").is_some())
}

fn signals(event: &CanonicalEvent, in_agent: bool) -> Vec<Signal> {
    // A subagent is started by a collaboration tool that returns at once: no tool stays open around it.
    let tool = || tool_use(event, &[]);
    match event.native_event.as_deref().unwrap_or_default() {
        "SessionStart" => {
            let inside_turn = event.payload.text(Field::Source).as_deref() == Some("compact");
            vec![Signal::SessionStarted { replaces: false, inside_turn }]
        }
        "SessionEnd" => vec![Signal::SessionEnded],
        "UserPromptSubmit" => vec![Signal::PromptSubmitted { human: !in_agent }],
        "PreToolUse" => starting(event, tool(), QUESTION_TOOLS),
        "PostToolUse" => vec![Signal::ToolOver(tool())],
        "PermissionRequest" => vec![requested(event, tool(), QUESTION_TOOLS)],
        "Stop" => vec![turn_over(WaitKind::TurnEnd, event.native_text("last_assistant_message"))],
        // The legacy notifier comes after Stop and repeats it; alone, it is all there is.
        "agent-turn-complete" => {
            vec![turn_over(WaitKind::TurnEnd, event.native_text("last-assistant-message"))]
        }
        "Interrupt" => vec![turn_over(WaitKind::Interrupted, None)],
        "SubagentStart" => {
            event.native_text("agent_id").map(|id| Signal::AgentStarted { id }).into_iter().collect()
        }
        "SubagentStop" => vec![Signal::AgentStopped { id: event.native_text("agent_id") }],
        _ => vec![Signal::Alive],
    }
}

/// The human made an interruption himself: nobody needs to tell him.
fn turn_over(kind: WaitKind, message: Option<String>) -> Signal {
    let default =
        if kind == WaitKind::Interrupted { "Interrupted. Waiting for your next prompt." } else { TURN_OVER };
    let message = first_of([message], default);
    Signal::TurnEnded {
        kind,
        message,
        background: false,
        main_for_sure: true,
        quiet: kind == WaitKind::Interrupted,
    }
}
