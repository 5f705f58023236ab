//! Up to the first edit: phases, a design that is refused, permissions.

use herdbook_events::catalog::EventType;
use serde_json::{Value, json};

use crate::agent::script::{Scene, once, scene, tool_use_id};

/// The state of the work tree.
pub(super) fn baseline(when: &str) -> Value {
    let tree =
        json!({"branch": "main", "dirtyFiles": ["notes.md"], "untrackedFiles": [], "diffHash": "e3b0c442"});
    json!({"when": when, "baseline": tree})
}

/// Something the human says.
pub(super) fn message(text: &str) -> Value {
    json!({"text": text, "mentions": []})
}

fn design(goal: &str) -> Value {
    json!({"goal": goal, "filesTouched": ["src/import.rs"], "approach": "Split at tabs, too.",
        "risks": ["quoted cells"], "verification": "cargo test", "outOfScope": ["the exporter"]})
}

fn submits(name: &'static str, goal: &str) -> Scene {
    let artifact = json!({"artifactId": "{scene}-{try}", "artifact": design(goal)});
    scene(name)
        .ask(1)
        .uses(1, 0, "plan", "design", json!({"goal": goal}))
        .stop(1, "tool_use")
        .starts("plan", "policy-allow")
        .say(EventType::PhaseArtifact, artifact)
        .done("plan", "edit", "The design is submitted.")
}

pub(super) fn scenes() -> Vec<Scene> {
    let started = json!({"title": "Tabs", "projectHash": "5f2c", "workingDirectory": "/srv/tables",
        "gitBranch": "main", "model": "large-1", "auxModel": "small-1", "khaelorVersion": "2.0.1"});
    let first = json!({"text": "The importer must take tabs. \u{2028}Keep CRLF.",
        "mentions": [{"path": "src/import.rs", "range": {"start": 3, "end": 40}}, {"path": "notes.md"}]});
    let read = json!({"path": "src/import.rs", "range": {"start": 1, "end": 80}, "bytes": 2_210,
        "mtimeMs": 1_767_225_500_123.25, "toolUseId": tool_use_id("file")});
    let modified = |tool: &str, path: &str, operation: &str, added: u64| {
        json!({"path": path, "operation": operation, "diffStats": {"added": added, "removed": 1},
            "diff": "@@ -3 +3 @@\n-b','\n+b',' | b'\\t'\n", "toolUseId": tool_use_id(tool)})
    };
    vec![
        once("start", EventType::SessionStarted, started),
        once("tree", EventType::BaselineRecorded, baseline("session-start")),
        once("understand", EventType::PhaseEntered, json!({"phase": "understand", "via": "session-start"})),
        once("first", EventType::UserMessageCreated, first).mark("first"),
        scene("look")
            .ask(1)
            .think(1, 0, "Where are the cells split? Two looks at once.")
            .text(1, 1, "I read the importer.")
            .uses(1, 2, "file", "read", json!({"path": "src/import.rs", "limit": 9_007_199_254_740_993_u64}))
            .uses(1, 3, "cells", "grep", json!({"pattern": "b','"}))
            .stop(1, "tool_use")
            .starts("file", "policy-allow")
            .say(EventType::FileRead, read)
            .starts("cells", "rule")
            .done("cells", "search", "src/import.rs:7: split(b',')")
            .queue("Mind the quotes.")
            .done("file", "read", "fn import(…) { … }")
            .inject("post-tool-batch", "Mind the quotes."),
        scene("early")
            .ask(1)
            .uses(1, 0, "edit", "edit", json!({"path": "src/import.rs"}))
            .stop(1, "tool_use")
            .failed("edit", "phase-blocked", "Submit a design first."),
        submits("draft", "Take tabs"),
        once("design", EventType::PhaseEntered, json!({"phase": "design", "via": "design-submitted"})),
        once(
            "refuse",
            EventType::PhaseRejected,
            json!({"phase": "design", "reason": "Quotes are missing.", "artifactId": "draft-{try:draft}"}),
        ),
        submits("redraft", "Take tabs, mind quotes"),
        once(
            "accept",
            EventType::PhaseApproved,
            json!({"phase": "design", "approvedBy": "user", "artifactId": "redraft-{try:redraft}"}),
        ),
        once("implement", EventType::PhaseEntered, json!({"phase": "implement", "via": "approval"})),
        once("before", EventType::BaselineRecorded, baseline("pre-first-edit")),
        scene("edit")
            .ask(1)
            .uses(
                1,
                0,
                "split",
                "edit",
                json!({"path": "src/import.rs", "old": "b','", "new": "b',' | b'\\t'"}),
            )
            .uses(1, 1, "test", "write", json!({"path": "tests/tabs.rs"}))
            .stop(1, "tool_use")
            .asks("split", "edit", "Edit src/import.rs")
            .granted("split", "once")
            .starts("split", "user-once")
            .say(EventType::FileModified, modified("split", "src/import.rs", "edit", 1))
            .done("split", "edit", "Edited src/import.rs")
            .asks("test", "write", "Write tests/tabs.rs")
            .granted("test", "always-project")
            .starts("test", "user-always")
            .say(EventType::FileModified, modified("test", "tests/tabs.rs", "write", 20))
            .done("test", "edit", "Wrote tests/tabs.rs"),
        scene("denied")
            .ask(1)
            .uses(1, 0, "push", "bash", json!({"command": "git push --force"}))
            .uses(1, 1, "wipe", "bash", json!({"command": "rm -rf /"}))
            .uses(1, 2, "curl", "bash", json!({"command": "curl example.invalid"}))
            .uses(1, 3, "sudo", "bash", json!({"command": "sudo true"}))
            .stop(1, "tool_use")
            .asks("push", "exec", "Run git push --force")
            .denied("push", "user", "Never force.")
            .asks("wipe", "exec", "Run rm -rf /")
            .denied("wipe", "hardline", "That is never allowed.")
            .asks("curl", "net", "Run curl")
            .denied("curl", "policy", "No network.")
            .asks("sudo", "exec", "Run sudo true")
            .denied("sudo", "timeout", "Nobody answered in 60 s."),
    ]
}
