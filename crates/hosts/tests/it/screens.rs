//! Screens of real clients, each as it stood in a tmux pane: what it was taken for when it was recorded is what it is.
//!
//! Recorded with Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0, Copilot CLI 1.0.102 and OpenCode 1.18.33. Rows
//! that nothing is known by were replaced by words of our own. A name that ends in a number tells the columns; the others
//! are 150 wide.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use herdbook_hosts::screen::{Confidence, Sample, manifest, read};

/// Screen, verdict, kind, rule.
#[rustfmt::skip]
const SCREENS: &[(&str, &str, &str, &str)] = &[
    ("claude-trust", "dialog", "dialog", "trust"),
    ("claude-trust-60", "dialog", "dialog", "trust"),
    ("claude-trust-refused", "unknown", "", "nothing-known"),
    ("claude-bypass-warning", "dialog", "dialog", "bypass-warning"),
    ("claude-bypass-warning-60", "dialog", "dialog", "bypass-warning"),
    ("claude-bypass-accepted", "ready", "turn_end", "composer"),
    ("claude-new-mcp-server", "dialog", "dialog", "new-mcp-server"),
    ("claude-new-mcp-server-60", "dialog", "dialog", "new-mcp-server"),
    ("claude-new-mcp-servers", "dialog", "dialog", "new-mcp-server"),
    ("claude-new-mcp-servers-60", "dialog", "dialog", "new-mcp-server"),
    ("claude-api-key", "dialog", "dialog", "api-key"),
    ("claude-api-key-60", "dialog", "dialog", "api-key"),
    ("claude-first-theme", "dialog", "dialog", "first-start"),
    ("claude-security-notes", "dialog", "dialog", "security-notes"),
    ("claude-security-notes-60", "dialog", "dialog", "security-notes"),
    ("claude-fetch", "dialog", "permission", "permission"),
    ("claude-fetch-60", "dialog", "permission", "permission"),
    ("claude-read", "dialog", "permission", "permission"),
    ("claude-long-command", "dialog", "permission", "permission"),
    ("claude-long-command-60", "dialog", "permission", "permission"),
    ("claude-skill", "dialog", "permission", "permission"),
    ("claude-menu-login", "menu", "", "command"),
    ("claude-menu-login-60", "menu", "", "command"),
    ("claude-menu-permissions", "menu", "", "command"),
    ("claude-menu-theme", "menu", "", "command"),
    ("claude-menu-tasks", "menu", "", "command"),
    ("claude-not-logged-in", "ready", "error", "not-logged-in"),
    ("codex-trust", "dialog", "dialog", "trust"),
    ("codex-trust-60", "dialog", "dialog", "trust"),
    ("codex-update", "dialog", "dialog", "update"),
    ("codex-update-60", "dialog", "dialog", "update"),
    ("codex-update-skipped", "ready", "turn_end", "composer"),
    ("codex-new-model", "dialog", "dialog", "new-model"),
    ("codex-new-model-60", "dialog", "dialog", "new-model"),
    ("codex-login", "dialog", "dialog", "login"),
    ("codex-login-60", "dialog", "dialog", "login"),
    ("codex-login-other", "dialog", "dialog", "login"),
    ("codex-plan", "dialog", "plan", "plan"),
    ("codex-plan-60", "dialog", "plan", "plan"),
    ("codex-plan-refused", "ready", "turn_end", "composer"),
    ("codex-menu-permissions", "menu", "", "command"),
    ("codex-menu-feedback", "menu", "", "command"),
    ("codex-menu-skills", "menu", "", "command"),
    ("gemini-trust", "dialog", "dialog", "trust"),
    ("gemini-trust-60", "dialog", "dialog", "trust"),
    ("gemini-login", "dialog", "dialog", "login"),
    ("gemini-login-60", "dialog", "dialog", "login"),
    ("gemini-api-key", "dialog", "dialog", "api-key"),
    ("gemini-menu-auth", "menu", "", "auth"),
    ("gemini-menu-model", "menu", "", "command"),
    ("gemini-edit", "dialog", "permission", "permission"),
    ("gemini-edit-60", "dialog", "permission", "permission"),
    ("gemini-fetch", "dialog", "permission", "permission"),
    ("gemini-question", "dialog", "question", "question"),
    ("gemini-question-60", "dialog", "question", "question"),
    ("copilot-trust", "dialog", "dialog", "trust"),
    ("copilot-trust-60", "dialog", "dialog", "trust"),
    ("copilot-create", "dialog", "permission", "permission"),
    ("copilot-create-60", "dialog", "permission", "permission"),
    ("copilot-read", "dialog", "permission", "permission"),
    ("copilot-not-logged-in", "ready", "turn_end", "composer"),
    ("copilot-menu-agents", "menu", "", "command"),
    ("copilot-menu-colours", "menu", "", "colours"),
    ("copilot-menu-sessions", "menu", "", "command"),
    ("opencode-edit", "dialog", "permission", "permission"),
    ("opencode-edit-60", "dialog", "permission", "permission"),
    ("opencode-folder", "dialog", "permission", "permission"),
    ("opencode-fetch", "dialog", "permission", "permission"),
    ("opencode-question", "dialog", "question", "question"),
    ("opencode-question-60", "dialog", "question", "question"),
];

fn folder() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/screens").into()
}

#[test]
fn every_recorded_screen_is_what_it_was() {
    let mut wrong = Vec::new();
    for (name, verdict, kind, rule) in SCREENS {
        let text = fs::read_to_string(folder().join(format!("{name}.txt"))).unwrap();
        let (host, _) = name.split_once('-').unwrap();
        let columns = name.rsplit('-').next().and_then(|last| last.parse().ok()).unwrap_or(150);
        let sample = Sample { text: &text, size: Some((columns, 50)), ..Sample::default() };
        let reading = read(manifest(host).unwrap(), &sample);
        let found =
            (reading.verdict.as_str(), reading.kind.map_or("", |kind| kind.as_str()), reading.rule.as_str());
        if found != (*verdict, *kind, *rule) || reading.confidence != Confidence::High {
            wrong.push(format!("{name}: {reading:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_recorded_screen_is_forgotten() {
    let named: BTreeSet<String> = SCREENS.iter().map(|(name, ..)| format!("{name}.txt")).collect();
    let there = fs::read_dir(folder()).unwrap();
    let there: BTreeSet<String> =
        there.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(there, named);
}
