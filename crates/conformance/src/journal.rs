//! The journal as a reader sees it: what was recorded, what is damaged, what is owned up to.

use std::path::Path;

use herdbook_events::{CanonicalEvent, Field};
use herdbook_hosts::{Projected, project};
use herdbook_log::{DamageKind, Line, Reader};
use serde_json::{Value, json};

/// A journal, read to its end.
#[derive(Debug, Default)]
pub struct Journal {
    recorded: Vec<Value>,
    unreadable: usize,
    owned_up: u64,
    damaged_lines: usize,
    seq_gaps: usize,
}

impl Journal {
    /// Reads a journal folder; one that is not there has no records.
    pub fn read(dir: &Path) -> Journal {
        let mut journal = Journal::default();
        for next in Reader::open(dir) {
            match next {
                Ok(line) => journal.take(&line),
                Err(damage) if matches!(damage.kind, DamageKind::Missing { .. }) => journal.seq_gaps += 1,
                Err(_) => journal.damaged_lines += 1,
            }
        }
        journal
    }

    /// Returns the hook events in order: `host`, `session`, `nativeEvent`, `family`, `unreadable`, `salvaged`, and
    /// `cwd`, `toolUseId`, `agentId`, `native` where they are there.
    pub fn recorded(&self) -> &[Value] {
        &self.recorded
    }

    /// Returns how many of them could not be read.
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// Returns how many events were stored or are owned up to by a gap record.
    pub fn recorded_or_gap(&self) -> u64 {
        self.recorded.len() as u64 + self.owned_up
    }

    /// Returns how many lines are no records.
    pub fn damaged_lines(&self) -> usize {
        self.damaged_lines
    }

    /// Returns at how many places records are missing.
    pub fn seq_gaps(&self) -> usize {
        self.seq_gaps
    }

    fn take(&mut self, line: &Line) {
        let payload: Value = serde_json::from_str(&line.payload).unwrap_or(Value::Null);
        match line.kind.as_str() {
            "hook" => self.recorded.push(hook(&payload, &line.payload)),
            "unreadable" => {
                self.unreadable += 1;
                self.recorded.push(unreadable(&payload));
            }
            "gap" => self.owned_up += payload["lost"].as_u64().unwrap_or(0),
            _ => {}
        }
    }
}

/// The facts of a hook event. Those that are not members of the record follow from the native object it keeps.
fn hook(payload: &Value, raw: &str) -> Value {
    let mut said = json!({
        "host": payload["host"],
        "session": payload["session"],
        "nativeEvent": payload["nativeEvent"],
        "family": payload["event"],
        "unreadable": false,
        "salvaged": false,
        "native": payload["native"],
    });
    let host = payload["host"].as_str().unwrap_or_default();
    let native_event = payload["nativeEvent"].as_str();
    if let Some(event) = canonical(host, native_event, raw) {
        for (name, field) in [("toolUseId", Field::ToolUseId), ("agentId", Field::AgentId)] {
            if let Some(text) = event.payload.text(field) {
                said[name] = text.into();
            }
        }
        // Also where the host names the directory outside the family's fields.
        if let Some(cwd) = herdbook_hosts::cwd(&event) {
            said["cwd"] = cwd.into();
        }
    }
    said
}

fn canonical(host: &str, native_event: Option<&str>, raw: &str) -> Option<Box<CanonicalEvent>> {
    let mut native = None;
    herdbook_events::canonical::for_each_member(raw, |key, value| {
        if key == "native" {
            native = Some(value.get().to_owned());
        }
    });
    match project(host, native_event, native?.as_bytes()) {
        Projected::Event(event) => Some(event),
        Projected::Unreadable(_) => None,
    }
}

fn unreadable(payload: &Value) -> Value {
    let mut said = json!({
        "host": payload["host"],
        "session": payload["session"],
        "nativeEvent": payload["nativeEvent"],
        "family": null,
        "unreadable": true,
        "salvaged": payload["salvaged"].as_bool().unwrap_or(false),
        "native": payload["text"],
    });
    if payload["cwd"].is_string() {
        said["cwd"] = payload["cwd"].clone();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use herdbook_log::{Durability, NewRecord, Options, Store};

    #[test]
    fn recorded_events_gaps_and_damage_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("journal");
        let (store, _) = Store::open(&folder, Options::new("journal", &dir.path().join("LOCK"), 1)).unwrap();
        let hook = r#"{"host":"claude","event":"tool/after","nativeEvent":"PostToolUse","session":"s1","native":{"session_id":"s1","hook_event_name":"PostToolUse","cwd":"/srv","tool_name":"Read","tool_input":{},"tool_response":1,"tool_use_id":"t1"}}"#;
        let unreadable = r#"{"host":"codex","session":null,"nativeEvent":null,"salvaged":false,"text":"{"}"#;
        let records =
            [("hook", hook), ("unreadable", unreadable), ("gap", r#"{"lost":3}"#), ("daemon", "{}")];
        let record = |(number, (kind, payload)): (usize, &(&str, &str))| NewRecord {
            id: format!("01JZ000000000000000000000{number}"),
            ts_ms: 1,
            kind: (*kind).to_owned(),
            payload: (*payload).to_owned(),
        };
        let (sender, receiver) = std::sync::mpsc::channel();
        store.append(records.iter().enumerate().map(record).collect(), Durability::Written, move |ack| {
            sender.send(ack).unwrap();
        });
        receiver.recv().unwrap().unwrap();
        store.close();
        let journal = Journal::read(&folder);
        assert_eq!(journal.recorded().len(), 2);
        assert_eq!(journal.recorded()[0]["toolUseId"], "t1");
        assert_eq!(journal.recorded()[0]["family"], "tool/after");
        assert_eq!(journal.recorded()[0].get("agentId"), None);
        assert_eq!(journal.recorded()[1]["unreadable"], true);
        assert_eq!((journal.unreadable(), journal.recorded_or_gap()), (1, 5));
        assert_eq!((journal.damaged_lines(), journal.seq_gaps()), (0, 0));
        assert_eq!(Journal::read(&dir.path().join("nothing")).recorded_or_gap(), 0);
    }
}
