//! Old journal records without the texts that people and agents wrote.
//!
//! What a record says about waiting is read from its native payload, so that stays as a skeleton: members, ids, names of
//! events and tools, numbers. Each other string gives way to a mark that is the same for the same text, since a request is
//! told from another by its input. A record is changed only where the fold reads the same out of it as before; records of
//! sessions that are still shown stay whole, and so do those of what panes and transcripts proved: whose session shows a
//! line of theirs is not told by the record.

use std::borrow::Cow;
use std::collections::HashSet;

use herdbook_events::observation::{Observation, Signal, ToolUse};
use herdbook_events::{CanonicalEvent, NormalizedEvent, SessionKey};
use herdbook_hosts::{Projected, observe, project};
use herdbook_redact::{Redactor, Value, map_values};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::payload::{HookPayload, UnreadablePayload};
use crate::received::Ledger;

/// The word in the marks.
const KIND: &str = "aged";
/// The members of a native payload whose values stay, beside all whose names end in `id`. They stand outside of what a
/// tool was given or answered.
const KEPT: [&str; 22] = [
    "hook_event_name",
    "hookeventname",
    "event",
    "event_name",
    "type",
    "kind",
    "tool_name",
    "toolname",
    "tool",
    "notification_type",
    "source",
    "reason",
    "status",
    "state",
    "mode",
    "permission_mode",
    "agent_type",
    "trigger",
    "version",
    "model",
    "cwd",
    "transcript_path",
];
/// How deep a kept member may stand, in objects: the payload, and a wrapper around it.
const KEPT_DEPTH: usize = 2;
/// A longer value is a text, whatever its name is.
const KEPT_BYTES: usize = 1024;
/// How much of a text stays where the fold needs its start.
const START_LETTERS: usize = 24;

/// What is shown now: the records of these keep their texts.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Sessions.
    pub sessions: HashSet<SessionKey>,
}

/// Returns the payload of a journal record without its texts; nothing where it stays as it is.
pub fn aged(redactor: &Redactor, kind: &str, payload: &str, shown: &Shown) -> Option<String> {
    let aged = match kind {
        "hook" => hook(redactor, payload, shown)?,
        "unreadable" => {
            let mut read: UnreadablePayload = serde_json::from_str(payload).ok()?;
            if is_shown(shown, &read.host, read.session.as_deref()) || is_plain(&read.text) {
                return None;
            }
            read.text = redactor.mark(KIND, &read.text);
            serde_json::to_string(&read).ok()?
        }
        "normalized" => normalized(redactor, payload, shown)?,
        "transition" => {
            if told_of_shown(payload, shown)? {
                return None;
            }
            let mut change = |value: &Value<'_>| {
                let is_text = ["message", "msg", "title"].contains(&value.name) && !is_plain(value.text);
                is_text.then(|| redactor.mark(KIND, value.text))
            };
            map_values(payload, &mut change).into_owned()
        }
        _ => return None,
    };
    (aged != payload).then_some(aged)
}

fn hook(redactor: &Redactor, payload: &str, shown: &Shown) -> Option<String> {
    let hook: HookPayload = serde_json::from_str(payload).ok()?;
    if is_shown(shown, &hook.host, hook.session.as_deref()) {
        return None;
    }
    let before = read(&hook, hook.native.get())?;
    for with_start in [false, true] {
        let native = skeleton(redactor, hook.native.get(), with_start);
        let is_same = read(&hook, &native).is_some_and(|after| says_the_same(&hook, &before, &after));
        if is_same {
            let native = RawValue::from_string(native.into_owned()).ok()?;
            return serde_json::to_string(&HookPayload { native, ..hook }).ok();
        }
    }
    None
}

fn read(hook: &HookPayload, native: &str) -> Option<CanonicalEvent> {
    let adapter = hook.adapter.as_deref().unwrap_or(&hook.host);
    match project(adapter, hook.native_event.as_deref(), native.as_bytes()) {
        Projected::Event(event) => Some(*event),
        Projected::Unreadable(_) => None,
    }
}

fn skeleton<'a>(redactor: &Redactor, native: &'a str, with_start: bool) -> Cow<'a, str> {
    map_values(native, &mut |value| {
        let name = value.name.to_lowercase();
        let is_kept = value.text.len() <= KEPT_BYTES
            && (name.ends_with("id") || (value.depth <= KEPT_DEPTH && KEPT.contains(&&*name)));
        if is_kept || is_plain(value.text) {
            return None;
        }
        let mark = redactor.mark(KIND, value.text);
        let start: String =
            if with_start { value.text.chars().take(START_LETTERS).collect() } else { String::new() };
        // A text that was cut here before is cut at the same place again.
        if with_start && value.text.strip_prefix(&*start).is_some_and(is_plain) {
            return None;
        }
        let quoted = serde_json::to_string(&(start + &mark)).ok()?;
        Some(quoted[1..quoted.len() - 1].to_owned())
    })
}

/// True for what is no text any more: nothing, or a mark alone.
fn is_plain(text: &str) -> bool {
    let inner = text.strip_prefix("[redacted:").and_then(|rest| rest.strip_suffix(']'));
    text.is_empty() || inner.is_some_and(|inner| !inner.contains(['[', ']', ' ']))
}

/// True when the fold moves in the same way by both.
fn says_the_same(hook: &HookPayload, before: &CanonicalEvent, after: &CanonicalEvent) -> bool {
    let counted = |event: &CanonicalEvent| {
        let mut ledger = Ledger::default();
        ledger.hook(0, event, &hook.origin, hook.repeat_of.is_some());
        ledger.hosts
    };
    let observed = |event: &CanonicalEvent| -> Vec<Observation> {
        observe(event, &hook.origin).into_iter().map(without_texts).collect()
    };
    let named = |event: &CanonicalEvent| {
        let detail = ["tool_name", "notification_type", "source", "reason", "tool_use_id"];
        detail.map(|key| event.native_text(key))
    };
    (&before.host, &before.native_event, before.event) == (&after.host, &after.native_event, after.event)
        && (&before.session, &before.lineage) == (&after.session, &after.lineage)
        && named(before) == named(after)
        && observed(before) == observed(after)
        && counted(before) == counted(after)
}

/// An observation with nothing in it that is only a text, and no fingerprint: that is as equal as the text is.
fn without_texts(seen: Observation) -> Observation {
    let tool = |tool: ToolUse| ToolUse { fingerprint: String::new(), ..tool };
    let message = String::new();
    let signal = match seen.signal {
        Signal::ToolStarting(of) => Signal::ToolStarting(tool(of)),
        Signal::ToolOver(of) => Signal::ToolOver(tool(of)),
        Signal::Asked { kind, tool: of, by_request, .. } => {
            Signal::Asked { kind, tool: tool(of), message, by_request }
        }
        Signal::Requested { request, kind, tool: of, .. } => {
            Signal::Requested { request, kind, tool: tool(of), message }
        }
        Signal::ElicitationOpened { id, .. } => Signal::ElicitationOpened { id, message },
        Signal::Reminder { kind, .. } => Signal::Reminder { kind, message },
        Signal::TurnEnded { kind, background, main_for_sure, quiet, .. } => {
            Signal::TurnEnded { kind, message, background, main_for_sure, quiet }
        }
        other => other,
    };
    Observation { signal, ..seen }
}

fn normalized(redactor: &Redactor, payload: &str, shown: &Shown) -> Option<String> {
    #[derive(Serialize, Deserialize)]
    struct Normalized {
        clock: u64,
        event: Box<RawValue>,
        body: Option<Box<RawValue>>,
    }
    let mut read: Normalized = serde_json::from_str(payload).ok()?;
    let event = NormalizedEvent::parse(read.event.get().as_bytes()).ok()?;
    if posted_is_shown(shown, event.session_id()) {
        return None;
    }
    let mut change = |value: &Value<'_>| {
        (value.name == "message" && !is_plain(value.text)).then(|| redactor.mark(KIND, value.text))
    };
    let event = map_values(read.event.get(), &mut change).into_owned();
    NormalizedEvent::parse(event.as_bytes()).ok()?;
    read.event = RawValue::from_string(event).ok()?;
    // The body says the same in other words.
    read.body = None;
    serde_json::to_string(&read).ok()
}

fn is_shown(shown: &Shown, host: &str, session: Option<&str>) -> bool {
    let key = session.and_then(|session| SessionKey::hooked(host, session));
    key.is_some_and(|key| shown.sessions.contains(&key))
}

fn posted_is_shown(shown: &Shown, session: &str) -> bool {
    SessionKey::posted(session).is_some_and(|key| shown.sessions.contains(&key))
}

/// Whether a transition is about something that is shown; nothing where that cannot be told.
fn told_of_shown(payload: &str, shown: &Shown) -> Option<bool> {
    #[derive(Deserialize)]
    struct About {
        session: Option<SessionKey>,
        event: Option<Box<RawValue>>,
    }
    let about: About = serde_json::from_str(payload).ok()?;
    let event = match &about.event {
        Some(event) => Some(NormalizedEvent::parse(event.get().as_bytes()).ok()?),
        None => None,
    };
    Some(
        about.session.is_some_and(|key| shown.sessions.contains(&key))
            || event.is_some_and(|event| posted_is_shown(shown, event.session_id())),
    )
}
