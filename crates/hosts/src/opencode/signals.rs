//! What OpenCode's events say about waiting (host notes 5 to 7, recordings of 1.18.33). Requests and answers carry ids.

use std::borrow::Cow;

use herdbook_events::observation::{Signal, ToolUse, WaitKind};
use herdbook_events::{CanonicalEvent, Origin, SessionKey};
use serde::Deserialize;

use crate::native::text_of;
use crate::observe::{Reading, TURN_OVER, bounded, describe, first_of, tool_use};
use crate::project::native_at;

/// The tool that runs a subagent in a child session.
const AGENT_TOOLS: &[&str] = &["task"];

/// Reads one event.
pub fn read(event: &CanonicalEvent, _origin: &Origin) -> Reading {
    let name = event.native_event.as_deref().unwrap_or_default();
    // Of the events with `info`, these are about a session.
    let about_session = matches!(name, "session.created" | "session.updated" | "session.deleted");
    let parent = text(event, "info.parentID").filter(|_| about_session);
    let parent = parent.and_then(|parent| SessionKey::hooked(&event.host, &parent));
    let child = parent.map(|parent| Signal::ChildOf { parent });
    Reading { signals: child.into_iter().chain(signals(event, name)).collect(), ..Reading::default() }
}

fn signals(event: &CanonicalEvent, name: &str) -> Vec<Signal> {
    let tool = || tool_use(event, AGENT_TOOLS);
    match name {
        "session.created" => vec![Signal::SessionStarted { replaces: false, inside_turn: false }],
        "session.deleted" => vec![Signal::SessionEnded],
        "chat.message" => vec![Signal::PromptSubmitted { human: true }],
        "tool.execute.before" => vec![Signal::ToolStarting(tool())],
        "tool.execute.after" => vec![Signal::ToolOver(tool())],
        "permission.asked" | "permission.updated" => permission(event),
        "question.asked" => question(event),
        "permission.replied" | "question.replied" | "question.rejected" => {
            let request = text(event, "requestID").or_else(|| text(event, "permissionID"));
            request.map(|request| Signal::Replied { request }).into_iter().collect()
        }
        "session.status" => vec![status(event)],
        "session.idle" => vec![over(WaitKind::TurnEnd, TURN_OVER.to_owned())],
        "session.error" => vec![failed(event)],
        _ => vec![Signal::Alive],
    }
}

fn text(event: &CanonicalEvent, key: &str) -> Option<String> {
    native_at(event, key).and_then(text_of).filter(|text| !text.is_empty()).map(Cow::into_owned)
}

/// The tool call a request is about, where it says so: newer servers under `tool`, older ones beside.
fn asked_tool(event: &CanonicalEvent, tool: ToolUse) -> ToolUse {
    ToolUse { id: text(event, "tool.callID").or_else(|| text(event, "callID")), ..tool }
}

fn permission(event: &CanonicalEvent) -> Vec<Signal> {
    let Some(request) = text(event, "id") else { return vec![Signal::Alive] };
    let tool = asked_tool(event, tool_use(event, AGENT_TOOLS));
    let message = first_of([text(event, "title")], &describe(event, &tool));
    vec![Signal::Requested { request, kind: WaitKind::Permission, tool, message }]
}

fn question(event: &CanonicalEvent) -> Vec<Signal> {
    #[derive(Deserialize)]
    struct Asked {
        question: Option<String>,
    }
    let Some(request) = text(event, "id") else { return vec![Signal::Alive] };
    let asked = native_at(event, "questions").and_then(|raw| serde_json::from_str::<Vec<Asked>>(raw).ok());
    let asked: Vec<String> = asked.into_iter().flatten().filter_map(|asked| asked.question).collect();
    let message = if asked.is_empty() {
        "OpenCode has a question.".to_owned()
    } else {
        bounded(format!("Question: {}", asked.join(" / ")))
    };
    let tool = ToolUse { name: "question".to_owned(), fingerprint: request.clone(), ..ToolUse::default() };
    vec![Signal::Requested { request, kind: WaitKind::Question, tool: asked_tool(event, tool), message }]
}

/// A turn goes on after each step; that it is over, `session.idle` says.
fn status(event: &CanonicalEvent) -> Signal {
    match text(event, "status.type").or_else(|| text(event, "status")).as_deref() {
        Some("busy") => Signal::PromptSubmitted { human: false },
        _ => Signal::Alive,
    }
}

/// `session.idle` follows, and repeats it.
fn failed(event: &CanonicalEvent) -> Signal {
    let name = text(event, "error.name").unwrap_or_else(|| "error".to_owned());
    if name == "MessageAbortedError" {
        return over(WaitKind::Interrupted, "Interrupted. Waiting for your next prompt.".to_owned());
    }
    let said = text(event, "error.data.message").map(|said| format!("{name}: {said}"));
    over(WaitKind::Error, first_of([said], &name))
}

/// The human made an interruption himself: nobody needs to tell him. Subagents have sessions of their own.
fn over(kind: WaitKind, message: String) -> Signal {
    let quiet = kind == WaitKind::Interrupted;
    Signal::TurnEnded { kind, message, background: false, main_for_sure: true, quiet }
}
