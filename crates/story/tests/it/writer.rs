//! Writes logs for tests: gapless, with ids that rise.

use herdbook_events::{Ulid, UlidGenerator};
use herdbook_story::{Line, canonical};
use serde_json::{Value, json};

pub struct Writer {
    pub lines: Vec<String>,
    ids: UlidGenerator,
}

impl Writer {
    pub fn new() -> Writer {
        Writer { lines: Vec::new(), ids: UlidGenerator::new(1, None) }
    }

    /// Goes on behind the first lines of a log.
    pub fn behind(log: &str, lines: usize) -> Writer {
        let lines: Vec<String> = log.lines().take(lines).map(str::to_owned).collect();
        let last = lines.iter().filter_map(|line| Ulid::parse(value(line)["id"].as_str()?)).max();
        Writer { lines, ids: UlidGenerator::new(1, last) }
    }

    /// Appends an event and returns its id.
    pub fn write(&mut self, event_type: &str, payload: Value) -> String {
        let seq = self.seq() + 1;
        let first = self.lines.first().map(|line| value(line));
        let session = first.as_ref().map_or("demo", |first| first["sessionId"].as_str().unwrap());
        let start = first.as_ref().map_or(1_767_225_600_000, |first| first["ts"].as_u64().unwrap());
        let ts = start + seq * 250;
        let id = self.ids.generate(ts).to_string();
        let payload = canonical(&payload.to_string()).unwrap();
        self.lines.push(format!(
            r#"{{"v":1,"id":"{id}","sessionId":"{session}","seq":{seq},"ts":{ts},"type":"{event_type}","payload":{payload}}}"#
        ));
        id
    }

    /// The seq of the last line.
    pub fn seq(&self) -> u64 {
        self.lines.len() as u64
    }

    pub fn start_request(&mut self, id: &str, purpose: &str) {
        let stats = json!({"estimatedInputTokens": 100, "sections": []});
        let model = if purpose == "compaction" { "small" } else { "large" };
        self.write(
            "model.request-started",
            json!({"requestId": id, "model": model, "purpose": purpose, "contextStats": stats}),
        );
    }

    pub fn complete_request(&mut self, id: &str, stop_reason: &str) {
        let usage = json!({"inputTokens": 9, "outputTokens": 4, "cacheReadTokens": 0, "cacheWriteTokens": 0});
        self.write(
            "model.response-completed",
            json!({"requestId": id, "stopReason": stop_reason, "usage": usage, "durationMs": 900}),
        );
    }

    pub fn complete_tool(&mut self, id: &str, text: &str) {
        let ui = json!({"kind": "exec", "summary": "ran"});
        self.write("tool.completed", json!({"toolUseId": id, "modelText": text, "durationMs": 35, "ui": ui}));
    }

    pub fn read(&self) -> Vec<Line> {
        self.lines.iter().map(|line| Line::read(line).unwrap()).collect()
    }
}

/// A line as loose JSON.
pub fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}
