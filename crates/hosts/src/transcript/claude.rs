//! Claude Code's transcripts: one JSON object a line, the kind of it under `type`.

use herdbook_events::{Told, WaitKind};
use serde_json::Value;

use super::{Record, content_text, moment, text};
use crate::observe::bounded;

/// A user record with this text alone is the mark of Esc, of "No" at a dialog, and of nothing else (case F-001).
const INTERRUPTED: [&str; 2] =
    ["[Request interrupted by user]", "[Request interrupted by user for tool use]"];

pub(super) fn record(value: &Value) -> Record {
    let kind = text(value, "type").unwrap_or_default();
    let flag = |key: &str| value.get(key).and_then(Value::as_bool) == Some(true);
    let message = matches!(kind, "user" | "assistant");
    let content = value.get("message").and_then(|message| message.get("content")).unwrap_or(&Value::Null);
    let mut record = Record {
        id: text(value, "uuid").map(str::to_owned),
        session: text(value, "sessionId").map(str::to_owned),
        at_ms: text(value, "timestamp").and_then(moment::parse),
        message,
        past: flag("isSidechain"),
        ..Record::default()
    };
    match kind {
        "user" => {
            record.text = content_text(content);
            let results = content.as_array().map(Vec::as_slice).unwrap_or_default();
            for block in results.iter().filter(|block| text(block, "type") == Some("tool_result")) {
                if let Some(tool) = text(block, "tool_use_id").filter(|id| !id.is_empty()) {
                    let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
                    record.told.push(Told::Answered { tool: tool.to_owned(), failed });
                }
            }
            // A human may type the same words.
            let typed = value.get("promptSource").is_some();
            if !typed && INTERRUPTED.contains(&record.text.trim()) {
                record.told.push(Told::TurnEnded { kind: WaitKind::Interrupted, message: String::new() });
            } else if record.told.is_empty() && !flag("isMeta") && !record.text.is_empty() {
                record.prompt = true;
                record.turn = true;
            }
        }
        "assistant" => {
            record.text = content_text(content);
            if flag("isApiErrorMessage") {
                let message = bounded(record.text.clone());
                record.told.push(Told::TurnEnded { kind: WaitKind::Error, message });
            }
        }
        // Written when a turn is over and the agent waits, after its Stop hooks.
        "system" if text(value, "subtype") == Some("turn_duration") => {
            record.told.push(Told::TurnEnded { kind: WaitKind::TurnEnd, message: String::new() });
        }
        _ => {}
    }
    record
}
