//! Codex's rollouts: `{timestamp, type, payload}` a line.

use herdbook_events::{Told, WaitKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Record, content_text, moment, text};
use crate::observe::bounded;

/// A forked session's file may begin with its parent's records, stamped anew with the time of the fork, in one burst
/// (case F-059).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fork {
    /// When the file was begun.
    begun_ms: u64,
    /// The last record of the burst.
    last_ms: u64,
}

/// Records of a burst follow each other faster than a turn could start.
const BURST_MS: u64 = 1_000;

pub(super) fn record(value: &Value, fork: &mut Option<Fork>, first: bool) -> Record {
    let payload = value.get("payload").unwrap_or(&Value::Null);
    let kind = (text(value, "type").unwrap_or_default(), text(payload, "type").unwrap_or_default());
    let at_ms = text(value, "timestamp").and_then(moment::parse);
    let mut record = Record { at_ms, ..Record::default() };
    if kind.0 == "session_meta" {
        // Only the first names the file's session; a later one is the parent's, or of a resume.
        if first {
            meta(payload, fork, &mut record);
        }
        return record;
    }
    if let Some(burst) = fork {
        if is_own_turn(payload, at_ms, burst) {
            *fork = None;
        } else {
            burst.last_ms = at_ms.unwrap_or(burst.last_ms);
            record.past = true;
        }
    }
    match kind {
        ("event_msg", "task_started" | "turn_started") => {
            record.turn = true;
            record.told.push(Told::TurnStarted);
        }
        ("event_msg", "task_complete" | "turn_complete") => {
            let failed = payload.get("error").filter(|error| !error.is_null());
            let (kind, said) = match failed {
                Some(error) => (WaitKind::Error, text(error, "message").or(error.as_str())),
                None => (WaitKind::TurnEnd, text(payload, "last_agent_message")),
            };
            let message = bounded(said.unwrap_or_default().to_owned());
            record.told.push(Told::TurnEnded { kind, message });
        }
        // Another reason is a turn that takes this one's place.
        ("event_msg", "turn_aborted") if text(payload, "reason").is_none_or(|why| why == "interrupted") => {
            record.told.push(Told::TurnEnded { kind: WaitKind::Interrupted, message: String::new() });
        }
        ("event_msg", "user_message") => {
            record.prompt = true;
            record.text = text(payload, "message").unwrap_or_default().to_owned();
        }
        ("response_item", "message") => {
            record.message = true;
            record.id = text(payload, "id").map(str::to_owned);
            record.text = payload.get("content").map(content_text).unwrap_or_default();
        }
        ("response_item", "function_call_output" | "custom_tool_call_output") => {
            if let Some(tool) = text(payload, "call_id").filter(|id| !id.is_empty()) {
                record.told.push(Told::Answered { tool: tool.to_owned(), failed: false });
            }
        }
        _ => {}
    }
    record
}

fn meta(payload: &Value, fork: &mut Option<Fork>, record: &mut Record) {
    record.session = text(payload, "id").map(str::to_owned);
    let source = payload.get("source").unwrap_or(&Value::Null);
    let spawned = source.get("subagent").and_then(|sub| sub.get("thread_spawn"));
    let parent = text(payload, "parent_thread_id")
        .or_else(|| spawned.and_then(|spawn| text(spawn, "parent_thread_id")));
    if parent.is_some() || payload.get("forked_from_id").is_some_and(|id| !id.is_null()) {
        let begun_ms = record.at_ms.unwrap_or_default();
        *fork = Some(Fork { begun_ms, last_ms: begun_ms });
    }
    let forked = text(payload, "forked_from_id").map(str::to_owned);
    record.told.push(match parent {
        Some(parent) => Told::ChildOf { parent: parent.to_owned() },
        None => Told::Opened {
            cwd: text(payload, "cwd").map(str::to_owned),
            attended: match source.as_str() {
                Some("cli" | "vscode") => Some(true),
                Some("exec" | "mcp") => Some(false),
                _ => None,
            },
        },
    });
    record.told.extend(forked.map(|earlier| Told::ResumedFrom { earlier }));
}

/// True when a record belongs to a turn of the file's own session: its turn is younger than the file, or it comes
/// after the burst.
fn is_own_turn(payload: &Value, at_ms: Option<u64>, burst: &Fork) -> bool {
    match text(payload, "turn_id").and_then(time_of_uuid) {
        Some(turn_ms) => turn_ms >= burst.begun_ms,
        None => at_ms.is_some_and(|at_ms| at_ms > burst.last_ms + BURST_MS),
    }
}

/// The time in a UUID of version 7, Unix milliseconds.
fn time_of_uuid(id: &str) -> Option<u64> {
    let digits: String = id.chars().filter(|c| *c != '-').collect();
    if digits.len() != 32 || digits.as_bytes().get(12) != Some(&b'7') {
        return None;
    }
    u64::from_str_radix(digits.get(..12)?, 16).ok()
}
