//! Gemini CLI's chat files: one JSON object a line; `$set` lines change what stood before.

use herdbook_events::{Told, WaitKind};
use serde_json::Value;

use super::{Record, content_text, moment, text};

/// What the client notes when the human stops a request or refuses a tool.
const CANCELLED: &str = "Request cancelled.";

pub(super) fn record(value: &Value) -> Record {
    let kind = text(value, "type").unwrap_or_default();
    let content = value.get("content").unwrap_or(&Value::Null);
    let mut record = Record {
        session: text(value, "sessionId").map(str::to_owned),
        at_ms: text(value, "timestamp").and_then(moment::parse),
        message: matches!(kind, "user" | "gemini"),
        text: content_text(content),
        ..Record::default()
    };
    // A message of the agent is written again, with the same id, when its tools are done.
    if kind != "gemini" {
        record.id = text(value, "id").map(str::to_owned);
    }
    if kind == "info" && record.text.trim() == CANCELLED {
        record.told.push(Told::TurnEnded { kind: WaitKind::Interrupted, message: String::new() });
    }
    record.prompt = kind == "user" && !record.text.is_empty();
    record.turn = record.prompt;
    record
}
