//! What Gemini CLI's hooks say about waiting (host notes 5 to 7, recordings and source of 0.61.0).

use herdbook_events::observation::{Signal, ToolUse, WaitKind};
use herdbook_events::{CanonicalEvent, Field, Origin};
use serde_json::value::RawValue;

use crate::observe::{Reading, TURN_OVER, bounded, first_of, member_text, starting, tool_use};

/// Tools that are a question to the human by themselves.
const QUESTION_TOOLS: &[(&str, WaitKind)] =
    &[("ask_user", WaitKind::Question), ("exit_plan_mode", WaitKind::Plan)];

const SHELL_TOOL: &str = "run_shell_command";

/// Tools whose request names a file, and not them.
const EDIT_TOOLS: &[&str] = &["write_file", "replace"];

/// Reads one event. No event tells of a subagent; whether a human sits at it shows in the terminal alone.
pub fn read(event: &CanonicalEvent, _origin: &Origin) -> Reading {
    Reading { signals: signals(event), own_transcript: true, ..Reading::default() }
}

fn signals(event: &CanonicalEvent) -> Vec<Signal> {
    match event.native_event.as_deref().unwrap_or_default() {
        "SessionStart" => vec![Signal::SessionStarted { replaces: true, inside_turn: false }],
        // Three times for one /quit: the first one ends the session.
        "SessionEnd" => vec![Signal::SessionEnded],
        "BeforeAgent" => vec![Signal::PromptSubmitted { human: true }],
        "BeforeTool" => starting(event, called(event), QUESTION_TOOLS),
        "AfterTool" => {
            // The calls of a batch run when the dialogs of all of them are answered.
            let mut signals = vec![Signal::ToolOver(called(event)), Signal::BatchOver];
            if is_cancelled(event) {
                signals.push(turn_over(WaitKind::Interrupted, None));
            }
            signals
        }
        "Notification" => vec![notification(event)],
        // Also after an interruption of the model, which nothing tells from an end. Subagents have no such event.
        "AfterAgent" => vec![turn_over(WaitKind::TurnEnd, event.payload.text(Field::LastAssistantMessage))],
        _ => vec![Signal::Alive],
    }
}

/// The human made an interruption himself: nobody needs to tell him.
fn turn_over(kind: WaitKind, said: Option<String>) -> Signal {
    let interrupted = kind == WaitKind::Interrupted;
    let default = if interrupted { "Interrupted. Waiting for your next prompt." } else { TURN_OVER };
    Signal::TurnEnded {
        kind,
        message: first_of([said], default),
        background: false,
        main_for_sure: true,
        quiet: interrupted,
    }
}

/// True when the human broke off a running command, and the turn with it: nothing else tells so, for no AfterAgent
/// follows. A command's own output cannot stand there, it comes after the word `Output:`.
fn is_cancelled(event: &CanonicalEvent) -> bool {
    if event.payload.text(Field::ToolName).as_deref() != Some(SHELL_TOOL) {
        return false;
    }
    let response = event.payload.get(Field::ToolResponse).map(|field| &*field.value);
    let said = response.and_then(|response| member_text(response, "llmContent")).unwrap_or_default();
    let said = said.strip_prefix("<untrusted_context>").unwrap_or(&said);
    said.trim_start().starts_with("Command was cancelled by user")
}

/// The tool use of a tool event. There are no ids, and a request does not repeat the call's input: the fingerprint
/// is what both tell.
fn called(event: &CanonicalEvent) -> ToolUse {
    let mut tool = tool_use(event, &[]);
    let input = event.payload.get(Field::ToolInput).map(|field| &*field.value);
    let text = |object: Option<&RawValue>, key: &str| object.and_then(|object| member_text(object, key));
    let context = event.native_member("mcp_context");
    if let (Some(server), Some(name)) = (text(context, "server_name"), text(context, "tool_name")) {
        tool.fingerprint = served(&server, &name);
    } else if EDIT_TOOLS.contains(&tool.name.as_str()) {
        tool.fingerprint = edited(&text(input, "file_path").unwrap_or_default());
    } else if QUESTION_TOOLS.iter().any(|(name, _)| *name == tool.name) {
        tool.fingerprint.clone_from(&tool.name);
    }
    tool
}

/// The notice of a dialog, which opens with it. Its details are those of the dialog, by type.
fn notification(event: &CanonicalEvent) -> Signal {
    if event.native_text("notification_type").as_deref() != Some("ToolPermission") {
        return Signal::Alive;
    }
    let details = event.native_member("details");
    let text = |key: &str| details.and_then(|details| member_text(details, key)).unwrap_or_default();
    let title = text("title");
    let (kind, name, fingerprint, about) = match text("type").as_str() {
        "exec" => {
            let command = text("command");
            let about = format!("Command: {command}");
            (WaitKind::Permission, SHELL_TOOL.to_owned(), format!("{SHELL_TOOL}\u{0}{command}"), about)
        }
        "edit" => {
            let path = text("filePath");
            (WaitKind::Permission, title, edited(&path), format!("Path: {path}"))
        }
        "mcp" => {
            let tool = served(&text("serverName"), &text("toolName"));
            (WaitKind::Permission, tool.clone(), tool, String::new())
        }
        "ask_user" => (WaitKind::Question, "ask_user".to_owned(), "ask_user".to_owned(), title),
        "exit_plan_mode" => (WaitKind::Plan, "exit_plan_mode".to_owned(), "exit_plan_mode".to_owned(), title),
        // Any other tool, under a title of its own: it is the one that was just called.
        _ => (WaitKind::Permission, title, String::new(), text("prompt")),
    };
    let message = match (name.is_empty(), about.is_empty()) {
        (true, _) => first_of([event.native_text("message")], "Gemini asks for permission."),
        (false, true) => format!("Tool: {name}"),
        (false, false) => format!("Tool: {name} | {about}"),
    };
    let tool = ToolUse { id: None, name, fingerprint, starts_agent: false };
    Signal::Asked { kind, tool, message: bounded(message), by_request: true }
}

/// The call names a file as the model wrote it, the request by its full path: its name is in both.
fn edited(path: &str) -> String {
    format!("edit\u{0}{}", path.rsplit(['/', '\\']).next().unwrap_or_default())
}

fn served(server: &str, tool: &str) -> String {
    format!("mcp_{server}_{tool}")
}
