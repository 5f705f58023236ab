//! What the other sessions do: little, in a work tree of their own.

use herdbook_events::catalog::EventType;
use serde_json::json;

use crate::agent::script::{Script, once, scene};
use crate::agent::tale::TOOLS;
use crate::agent::tale::opening::message;

/// Returns the branch and the work tree of another session.
pub(super) fn branch(name: &str) -> (String, String) {
    (format!("side/{name}"), format!("/srv/tables-{name}"))
}

/// Returns the script of another session.
pub(super) fn side(name: &'static str) -> Script {
    let (branch, worktree) = branch(name);
    let started = json!({"title": name, "projectHash": "5f2c", "workingDirectory": worktree, "gitBranch": branch,
        "model": "large-1", "auxModel": "small-1", "khaelorVersion": "2.0.1"});
    let done =
        json!({"evidence": {"objective": name, "changedFiles": [], "checks": [], "unresolvedIssues": []}});
    let scenes = vec![
        once("start", EventType::SessionStarted, started),
        once("first", EventType::UserMessageCreated, message("Look around.")),
        scene("look")
            .ask(1)
            .uses(1, 0, "list", "bash", json!({"command": "ls"}))
            .stop(1, "tool_use")
            .starts("list", "policy-allow")
            .done("list", "exec", "docs")
            .ask(2)
            .text(2, 0, "There is a folder.")
            .stop(2, "end_turn"),
        once("done", EventType::TaskCompleted, done),
    ];
    Script { scenes, tools: &TOOLS }
}
