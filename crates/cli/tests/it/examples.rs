//! The hook entries that the README tells people to take.

use herdbook_hosts::{HostTable, Install};

fn check(table: &HostTable, text: &str) {
    let block: serde_json::Value = serde_json::from_str(text).unwrap();
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
    assert_eq!(listed, sorted, "{}", table.host);
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
    check(&herdbook_hosts::claude::TABLE, include_str!("../../../../examples/hooks/claude.json"));
    check(&herdbook_hosts::codex::TABLE, include_str!("../../../../examples/hooks/codex.json"));
}
