//! What the README tells people to copy.

use herdbook_hosts::{HostTable, Install};

/// Returns the JSON block under a host's settings file.
fn block(file: &str) -> serde_json::Value {
    let readme = include_str!("../../../../README.md");
    let after = readme.split_once(&format!("<code>{file}</code>")).unwrap().1;
    let json = after.split_once("```json\n").unwrap().1.split_once("```").unwrap().0;
    serde_json::from_str(json).unwrap()
}

fn check(table: &HostTable, file: &str) {
    let block = block(file);
    let entries = block["hooks"].as_object().unwrap();
    let wanted: Vec<&str> = table
        .events
        .iter()
        .filter(|event| event.install == Install::Always)
        .map(|event| event.name)
        .collect();
    let mut sorted = wanted.clone();
    sorted.sort_unstable();
    let mut listed: Vec<&str> = entries.keys().map(String::as_str).collect();
    listed.sort_unstable();
    assert_eq!(listed, sorted, "{file}");
    for name in wanted {
        let hook = &entries[name][0]["hooks"][0];
        let event = table.event(name).unwrap();
        assert_eq!(hook["timeout"], table.entry_ms(event) / 1000, "{name}");
        let program = "\"$HOME/.cargo/bin/herdbook-hook\"";
        assert_eq!(
            hook["command"],
            format!("[ -x {program} ] && exec {program} {}; exit 0", table.host),
            "{name}"
        );
    }
}

#[test]
fn the_hook_entries_are_those_of_the_host_tables() {
    check(&herdbook_hosts::claude::TABLE, "~/.claude/settings.json");
    check(&herdbook_hosts::codex::TABLE, "~/.codex/hooks.json");
}
