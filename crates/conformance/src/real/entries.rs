//! Our entries in a host's settings, read without the product's own code.

use serde_json::{Value, json};

/// Settings as a value, comments and trailing commas allowed.
pub fn parsed(text: &str) -> Option<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default()).ok()
}

/// Our entries as they stand in a settings file, read without the product's own code: those that run `herdbook-hook`.
pub fn ours(bytes: Option<&[u8]>) -> Vec<Value> {
    let Some(value) = bytes.and_then(|bytes| parsed(&String::from_utf8_lossy(bytes))) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (event, list) in value["hooks"].as_object().into_iter().flatten() {
        for item in list.as_array().into_iter().flatten() {
            match item["hooks"].as_array() {
                Some(group) => {
                    found.extend(group.iter().filter_map(|entry| our_entry(event, entry, group.len() == 1)));
                }
                None => found.extend(our_entry(event, item, true)),
            }
        }
    }
    found
}

fn our_entry(event: &str, entry: &Value, alone: bool) -> Option<Value> {
    let command = ["command", "bash"].iter().find_map(|key| entry[*key].as_str())?;
    let timeout = ["timeout", "timeoutSec"].iter().find_map(|key| entry.get(*key));
    let ours = json!({ "event": event, "command": command, "timeout": timeout, "alone": alone });
    command.contains("herdbook-hook").then_some(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_entries_are_told_from_others_in_groups_and_lists() {
        let text = r#"{
            // theirs
            "hooks": {
                "Stop": [
                    {"hooks": [{"type": "command", "command": "[ -x /a/herdbook-hook ] && exec /a/herdbook-hook claude; exit 0", "timeout": 5}]},
                    {"hooks": [{"type": "command", "command": "/a/herdbook-hook claude"}, {"type": "command", "command": "chime"}]},
                ],
                "stop": [{"bash": "/a/herdbook-hook copilot", "timeoutSec": 5}, {"command": "chime"}],
            },
        }"#;
        let found = ours(Some(text.as_bytes()));
        let told: Vec<_> =
            found.iter().map(|entry| (&entry["event"], &entry["alone"], &entry["timeout"])).collect();
        assert_eq!(told[0], (&json!("Stop"), &json!(true), &json!(5)));
        assert_eq!(told[1], (&json!("Stop"), &json!(false), &Value::Null));
        assert_eq!(told[2], (&json!("stop"), &json!(true), &json!(5)));
        assert_eq!(told.len(), 3);
        assert_eq!(ours(None), [] as [Value; 0]);
    }
}
