//! Copilot CLI's `events.jsonl`: `{type, data, id, timestamp, parentId}` a line.

use herdbook_events::{Told, WaitKind};
use serde_json::Value;

use super::{Record, moment, text};

pub(super) fn record(value: &Value) -> Record {
    let data = value.get("data").unwrap_or(&Value::Null);
    let kind = text(value, "type").unwrap_or_default();
    let mut record = Record {
        id: text(value, "id").map(str::to_owned),
        at_ms: text(value, "timestamp").and_then(moment::parse),
        message: matches!(kind, "user.message" | "assistant.message"),
        ..Record::default()
    };
    let answered = |failed: bool| {
        let tool = text(data, "toolCallId").filter(|id| !id.is_empty())?;
        Some(Told::Answered { tool: tool.to_owned(), failed })
    };
    match kind {
        "session.start" => record.session = text(data, "sessionId").map(str::to_owned),
        "user.message" => {
            record.prompt = true;
            record.turn = true;
            record.text = text(data, "content").unwrap_or_default().to_owned();
        }
        "assistant.message" => record.text = text(data, "content").unwrap_or_default().to_owned(),
        "abort" => {
            record.told.push(Told::TurnEnded { kind: WaitKind::Interrupted, message: String::new() });
        }
        "permission.completed" => {
            let result = data.get("result").and_then(|result| text(result, "kind"));
            record.told.extend(answered(result.is_some_and(|kind| kind != "approved")));
        }
        "human_response.recorded" => record.told.extend(answered(false)),
        "tool.execution_complete" => {
            let done = data.get("success").and_then(Value::as_bool);
            record.told.extend(answered(done == Some(false)));
        }
        _ => {}
    }
    record
}
