//! Canonical event to observations: the shared part. What differs between hosts is in each host's `signals.rs`.

use herdbook_events::observation::{Facts, Observation, PaneRef, Signal, ToolUse, WaitKind};
use herdbook_events::{CanonicalEvent, Field, Origin, Process, SessionKey};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::project::lower_hex;
use crate::{HostTable, canonical_text};

/// The longest message text kept from a host, in bytes.
const MESSAGE_BYTES: usize = 4_096;
/// What tells a request, a call or a subagent from another is kept in this many bytes at most, a longer one as its hash:
/// sessions remember dozens of them, and a call's input may be megabytes long.
const IDENTITY_BYTES: usize = 1_024;

/// The message of a turn's end that comes without words of the agent.
pub const TURN_OVER: &str = "The turn is over. Waiting for your next prompt.";

/// What a host's `signals.rs` says about one event.
#[derive(Debug, Default)]
pub struct Reading {
    /// The subagent it is about.
    pub agent: Option<String>,
    /// The signals, in the order to be folded.
    pub signals: Vec<Signal>,
    /// A human sits at it, where the host says so.
    pub attended: Option<bool>,
    /// The pane that `TMUX_PANE` names may be another session's (overview D11).
    pub pane_uncertain: bool,
    /// `transcript_path` is the session's own on this event.
    pub own_transcript: bool,
}

/// Returns what an event says about waiting. Events without a session, and hosts without signals, say nothing.
pub fn observe(event: &CanonicalEvent, origin: &Origin) -> Vec<Observation> {
    let Some(session) = event.session.as_deref().and_then(|id| SessionKey::hooked(&event.host, id)) else {
        return Vec::new();
    };
    let Some(table) = crate::table(&event.host) else { return Vec::new() };
    let reading = (table.signals)(event, origin);
    let mode = event.native_text("permission_mode");
    let transcript =
        || event.payload.text(Field::TranscriptPath).or_else(|| event.native_text("transcript_path"));
    let facts = Facts {
        cwd: crate::cwd(event),
        transcript_path: if reading.own_transcript { transcript() } else { None },
        transcript_root: crate::transcript::root(&event.host, origin)
            .and_then(|root| root.to_str().map(str::to_owned)),
        pane: pane(origin),
        pane_uncertain: reading.pane_uncertain,
        process: process(table, origin),
        terminal: origin.tty.clone(),
        attended: reading.attended,
        asks_nobody: mode.map(|mode| mode == "bypassPermissions" || mode == "dontAsk"),
        machine: origin.machine.clone(),
    };
    let observation = |signal| Observation {
        session: session.clone(),
        host: event.host.clone(),
        agent: reading.agent.clone().map(identity),
        signal,
        facts: facts.clone(),
    };
    reading.signals.into_iter().map(kept).map(observation).collect()
}

/// A signal with its ids as they are kept.
fn kept(signal: Signal) -> Signal {
    match signal {
        Signal::AgentStarted { id } => Signal::AgentStarted { id: identity(id) },
        Signal::AgentStopped { id } => Signal::AgentStopped { id: id.map(identity) },
        Signal::Requested { request, kind, tool, message } => {
            Signal::Requested { request: identity(request), kind, tool: kept_tool(tool), message }
        }
        Signal::Replied { request } => Signal::Replied { request: identity(request) },
        Signal::ElicitationOpened { id, message } => {
            Signal::ElicitationOpened { id: id.map(identity), message }
        }
        Signal::ElicitationClosed { id } => Signal::ElicitationClosed { id: id.map(identity) },
        Signal::Asked { kind, tool, message, by_request } => {
            Signal::Asked { kind, tool: kept_tool(tool), message, by_request }
        }
        Signal::ToolStarting(tool) => Signal::ToolStarting(kept_tool(tool)),
        Signal::ToolOver(tool) => Signal::ToolOver(kept_tool(tool)),
        other => other,
    }
}

/// Hosts name tools and calls in ways of their own.
fn kept_tool(tool: ToolUse) -> ToolUse {
    ToolUse {
        id: tool.id.map(identity),
        fingerprint: identity(tool.fingerprint),
        name: bounded(tool.name),
        starts_agent: tool.starts_agent,
    }
}

/// The pane the hook's environment names.
fn pane(origin: &Origin) -> Option<PaneRef> {
    let pane = origin.var("TMUX_PANE")?.to_owned();
    let (socket, server_pid) = origin.tmux_server().unwrap_or_default();
    Some(PaneRef { socket: socket.to_owned(), server_pid, pane })
}

/// The agent's process: the one the host names, where it is an ancestor; else the hook's parent, which may be a shell.
fn process(table: &HostTable, origin: &Origin) -> Option<Process> {
    let named: Option<u32> = table.pid_var.and_then(|name| origin.var(name)?.parse().ok());
    origin.ancestors.iter().find(|ancestor| Some(ancestor.pid) == named).or(origin.ancestors.first()).copied()
}

/// Returns the tool use an event is about. The fingerprint is the same for a request and its call: the command where
/// there is one (Codex adds a description to the request), else the whole input.
pub fn tool_use(event: &CanonicalEvent, agent_tools: &[&str]) -> ToolUse {
    let text = |field, key| event.payload.text(field).or_else(|| event.native_text(key));
    let name = text(Field::ToolName, "tool_name").unwrap_or_default();
    let input = input(event);
    let about = match input.and_then(|input| member_text(input, "command")) {
        Some(command) => command,
        None => input.map(canonical_text).unwrap_or_default(),
    };
    ToolUse {
        id: text(Field::ToolUseId, "tool_use_id").filter(|id| !id.is_empty()),
        starts_agent: agent_tools.contains(&name.as_str()),
        fingerprint: format!("{name}\u{0}{about}"),
        name,
    }
}

/// An id or a fingerprint as it is kept.
fn identity(text: String) -> String {
    if text.len() <= IDENTITY_BYTES { text } else { format!("sha256:{}", lower_hex(&Sha256::digest(text))) }
}

/// Signals of a tool use that is about to start: that it starts, and the question it is where its name says so.
pub fn starting(event: &CanonicalEvent, tool: ToolUse, questions: &[(&str, WaitKind)]) -> Vec<Signal> {
    let asked = question_kind(&tool.name, questions).map(|kind| Signal::Asked {
        kind,
        message: describe(event, &tool),
        tool: tool.clone(),
        by_request: false,
    });
    std::iter::once(Signal::ToolStarting(tool)).chain(asked).collect()
}

/// The signal of a permission request; a question tool's request is the question.
pub fn requested(event: &CanonicalEvent, tool: ToolUse, questions: &[(&str, WaitKind)]) -> Signal {
    let kind = question_kind(&tool.name, questions).unwrap_or(WaitKind::Permission);
    Signal::Asked { kind, message: describe(event, &tool), tool, by_request: true }
}

fn input(event: &CanonicalEvent) -> Option<&RawValue> {
    let present = event.payload.get(Field::ToolInput).map(|field| &*field.value);
    present.or_else(|| event.native_member("tool_input"))
}

/// Returns the line for the human: `Tool: NAME | …` with the command, path, question or plan (overview section 4).
pub fn describe(event: &CanonicalEvent, tool: &ToolUse) -> String {
    const TELLING: [(&str, &str); 8] = [
        ("command", "Command"),
        ("file_path", "Path"),
        ("notebook_path", "Path"),
        ("path", "Path"),
        ("url", "Url"),
        ("query", "Query"),
        ("plan", "Plan"),
        ("description", "About"),
    ];
    let input = input(event);
    let about = input.and_then(|input| {
        let asked = questions(input);
        if !asked.is_empty() {
            return Some(format!("Question: {}", asked.join(" / ")));
        }
        TELLING.iter().find_map(|(key, word)| Some(format!("{word}: {}", member_text(input, key)?)))
    });
    let line = match about {
        Some(about) => format!("Tool: {} | {about}", tool.name),
        None => match input.map(RawValue::get) {
            None | Some("{}" | "null") => format!("Tool: {}", tool.name),
            Some(input) => format!("Tool: {} | {input}", tool.name),
        },
    };
    bounded(line)
}

/// Texts of the questions of a question tool (`questions[].question`, or one `question`).
fn questions(input: &RawValue) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Asked {
        question: Option<String>,
    }
    #[derive(serde::Deserialize)]
    struct Input {
        questions: Option<Vec<Asked>>,
        question: Option<String>,
    }
    let Ok(read) = serde_json::from_str::<Input>(input.get()) else { return Vec::new() };
    let many = read.questions.into_iter().flatten().filter_map(|asked| asked.question);
    many.chain(read.question).filter(|question| !question.is_empty()).collect()
}

/// Returns a string member of a raw JSON object.
pub fn member_text(object: &RawValue, key: &str) -> Option<String> {
    let mut found = None;
    herdbook_events::canonical::for_each_member(object.get(), |name, value| {
        if name == key {
            found = herdbook_events::canonical::read_text(value);
        }
    });
    found.filter(|text| !text.is_empty())
}

/// Cuts a text to what is kept, at a character.
pub fn bounded(mut text: String) -> String {
    if text.len() > MESSAGE_BYTES {
        let end = (0..=MESSAGE_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Returns the first text that is there and not empty, else the default.
pub fn first_of(texts: impl IntoIterator<Item = Option<String>>, default: &str) -> String {
    let found = texts.into_iter().flatten().find(|text| !text.trim().is_empty());
    bounded(found.unwrap_or_else(|| default.to_owned()))
}

/// Returns the kind of wait a tool stands for by itself, from a host's list of question tools.
pub fn question_kind(name: &str, tools: &[(&str, WaitKind)]) -> Option<WaitKind> {
    tools.iter().find(|(tool, _)| *tool == name).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Projected, project};

    fn signals(host: &str, body: &str) -> Vec<Signal> {
        let Projected::Event(event) = project(host, None, body.as_bytes()) else { panic!("{body}") };
        observe(&event, &Origin::default()).into_iter().map(|seen| seen.signal).collect()
    }

    #[test]
    fn a_host_started_by_another_host_runs_in_its_own_process() {
        let process = |pid| Process { pid, start: Some(u64::from(pid)) };
        let origin = Origin {
            ancestors: vec![process(30), process(20), process(10)],
            vars: [("CLAUDE_PID".to_owned(), "10".to_owned()), ("OPENCODE_PID".to_owned(), "20".to_owned())]
                .into(),
            ..Origin::default()
        };
        let runs_in = |host: &str, event: &str| {
            let body = format!(r#"{{"session_id":"1","hook_event_name":"{event}"}}"#);
            let Projected::Event(event) = project(host, None, body.as_bytes()) else { panic!("{body}") };
            observe(&event, &origin).swap_remove(0).facts.process
        };
        // Claude Code (10) names itself; the variable says nothing of the Codex that it started as a tool.
        assert_eq!(runs_in("claude", "Stop"), Some(process(10)));
        assert_eq!(runs_in("codex", "Stop"), Some(process(30)));
        assert_eq!(runs_in("gemini", "AfterAgent"), Some(process(30)));
    }

    #[test]
    fn what_is_remembered_of_a_call_is_short_and_still_tells_it_from_another() {
        let long = "x".repeat(1 << 20);
        let call = |event: &str, end: &str| {
            let body = format!(
                r#"{{"session_id":"1","hook_event_name":"{event}","tool_name":"{long}","tool_input":{{"content":"{long}{end}"}},"tool_use_id":"{long}{end}"}}"#
            );
            match signals("claude", &body).swap_remove(0) {
                Signal::ToolStarting(tool) | Signal::ToolOver(tool) => tool,
                other => panic!("{other:?}"),
            }
        };
        let started = call("PreToolUse", "a");
        assert_eq!(call("PostToolUse", "a"), started);
        let other = call("PreToolUse", "b");
        assert!(other.id != started.id && other.fingerprint != started.fingerprint);
        assert_eq!((started.id.unwrap().len(), started.fingerprint.len()), (71, 71), "a hash");
        assert!(started.name.len() <= MESSAGE_BYTES + '…'.len_utf8());
        let asked = format!(
            r#"{{"hook_event_name":"permission.asked","properties":{{"id":"{long}","sessionID":"s","permission":"bash","metadata":{{"command":"{long}"}}}}}}"#
        );
        let replied = format!(
            r#"{{"hook_event_name":"permission.replied","properties":{{"requestID":"{long}","sessionID":"s"}}}}"#
        );
        let (asked, replied) = (signals("opencode", &asked), signals("opencode", &replied));
        let [Signal::Requested { request, tool, .. }] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!(replied, [Signal::Replied { request: request.clone() }]);
        assert_eq!((request.len(), tool.fingerprint.len()), (71, 71));
    }
}
