//! Faults, interrupts, steering, processes, memory, other sessions, verification.

use herdbook_events::catalog::EventType;
use serde_json::{Value, json};

use crate::agent::script::{Child, Scene, once, scene, tool_use_id};
use crate::agent::tale::opening::message;
use crate::agent::tale::side::{branch, side};

fn process(tool: &str, name: &str) -> Value {
    json!({"processId": format!("{{scene}}-{{try}}-{name}"), "pid": 4_242, "command": "cargo watch",
        "cwd": "/srv/tables", "name": name, "toolUseId": tool_use_id(tool)})
}

fn exited(name: &str, code: Option<i64>, cause: &str) -> Value {
    json!({"processId": format!("{{scene}}-{{try}}-{name}"), "exitCode": code, "cause": cause, "durationMs": 5_000})
}

fn printed(name: &str, stream: &str, chunk: &str) -> Value {
    json!({"processId": format!("{{scene}}-{{try}}-{name}"), "stream": stream, "chunk": chunk})
}

fn created(task: &'static str) -> Value {
    let (branch, worktree) = branch(task);
    json!({"taskId": task, "description": "On the side", "childSessionId": format!("{{session}}.{task}"),
        "worktreePath": worktree, "branch": branch})
}

fn completed(task: &'static str, outcome: &str, is_right: Option<bool>) -> Value {
    json!({"taskId": task, "outcome": outcome, "diffStats": {"added": 4, "removed": 0}, "verifyOk": is_right,
        "detail": outcome})
}

fn verified(check: &str, is_right: bool) -> Value {
    json!({"check": check, "command": format!("cargo {check}"), "ok": is_right,
        "exitCode": i32::from(!is_right), "output": "2 passed", "durationMs": 800})
}

fn verify(attempt: u64, mark: &str) -> Value {
    json!({"attempt": attempt, "detectedChecks": ["cargo test", "cargo clippy"],
        "withheldCandidateSeq": format!("$seq:{mark}")})
}

/// A secret of no one, which a book may blacken. What the model sees is what the book kept.
const SECRET: &str = "GITHUB_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345";

pub(super) fn scenes() -> Vec<Scene> {
    let [docs, spike] = ["docs", "spike"].map(|suffix| Child { suffix, script: side });
    let remembered = json!({"section": "facts", "entry": "Cells may be split by tabs.", "confidence": "high",
        "toolUseId": tool_use_id("fact")});
    vec![
        once("rename", EventType::SessionRenamed, json!({"title": "Tabs in the importer"})),
        scene("overload")
            .ask(1)
            .fail(1, "retryable", "529 overloaded", false)
            .ask(2)
            .uses(2, 0, "build", "bash", json!({"command": "cargo build"}))
            .stop(2, "tool_use")
            .starts("build", "rule")
            .failed("build", "exec-error", "error[E0308]: mismatched types"),
        scene("faults")
            .ask(1)
            .uses(1, 0, "names", "symbols", json!({"name": 7}))
            .uses(1, 1, "files", "glob", json!({"pattern": "*.csv"}))
            .uses(1, 2, "users", "refs", json!({"name": "import"}))
            .uses(1, 3, "twice", "edit", json!({"path": "src/import.rs", "old": "x"}))
            .stop(1, "tool_use")
            .failed("names", "invalid-input", "name must be a string")
            .starts("files", "policy-allow")
            .failed("files", "not-found", "no file")
            .starts("users", "policy-allow")
            .starts("twice", "rule")
            .failed("twice", "ambiguous-edit", "x stands there twice")
            .failed("users", "timeout", "no answer in 30 s"),
        scene("stream")
            .ask(1)
            .text(1, 0, "I run it all.")
            .uses(1, 1, "all", "bash", json!({"command": "cargo test --all"}))
            .think(1, 2, "And then")
            .interrupt()
            .cancelled("all", "interrupted", "[Cancelled by the user]")
            .fail(1, "cancelled", "interrupted", true),
        once("second", EventType::UserMessageCreated, message("Go on, but only this crate.")).mark("second"),
        scene("stopped")
            .ask(1)
            .uses(1, 0, "env", "bash", json!({"command": "env"}))
            .uses(1, 1, "sleep", "bash", json!({"command": "sleep 600"}))
            .stop(1, "tool_use")
            .starts("env", "rule")
            .starts("sleep", "rule")
            .done("env", "exec", SECRET)
            .interrupt()
            .cancelled("sleep", "interrupted", "[Cancelled by the user]"),
        once("third", EventType::UserMessageCreated, message("Do not sleep.")).mark("third"),
        scene("steered")
            .queue("First this.")
            .queue("Then that.")
            .inject("pre-model-call", "First this.")
            .inject("pre-model-call", "Then that.")
            .ask(1)
            .uses(1, 0, "watch", "process", json!({"start": "cargo watch"}))
            .uses(1, 1, "halt", "process", json!({"stop": "watch"}))
            .stop(1, "tool_use")
            .starts("watch", "policy-allow")
            .say(EventType::ProcessStarted, process("watch", "watch"))
            .say(EventType::ProcessStarted, process("watch", "once"))
            .done("watch", "process", "Started.")
            .say(EventType::ProcessExited, exited("once", Some(0), "exited"))
            .told(EventType::ProcessOutput, printed("once", "stdout", "built\n"))
            .starts("halt", "policy-allow")
            .say(EventType::ProcessExited, exited("watch", None, "stopped-by-tool"))
            .told(EventType::ProcessOutput, printed("watch", "stderr", "stopping\n"))
            .done("halt", "process", "Stopped."),
        once("larger", EventType::ModelChanged, json!({"from": "$model", "to": "large-2", "reason": "user"})),
        scene("fact")
            .ask(1)
            .uses(1, 0, "fact", "remember", json!({"entry": "tabs"}))
            .stop(1, "tool_use")
            .starts("fact", "policy-allow")
            .say(EventType::MemoryWritten, remembered)
            .done("fact", "edit", "Stored."),
        once("fork", EventType::SubtaskCreated, created("docs")),
        once("fork-spike", EventType::SubtaskCreated, created("spike")),
        once("join", EventType::SubtaskCompleted, completed("docs", "done", Some(true))).behind(docs),
        once("join-spike", EventType::SubtaskCompleted, completed("spike", "failed", None)).behind(spike),
        once("clippy", EventType::VerifyResult, verified("clippy", false)),
        scene("answer").ask(1).text(1, 0, "Tabs work.").mark("answer").stop(1, "end_turn"),
        once("prove", EventType::TaskVerificationRequested, verify(1, "answer")),
        scene("proof")
            .ask(1)
            .uses(1, 0, "tests", "bash", json!({"command": "cargo test"}))
            .stop(1, "tool_use")
            .starts("tests", "rule")
            .done("tests", "exec", "2 passed")
            .ask(2)
            .text(2, 0, "Two tests pass.")
            .mark("proof")
            .stop(2, "end_turn"),
        once("prove-again", EventType::TaskVerificationRequested, verify(2, "proof")),
        scene("proven")
            .ask(1)
            .fail(1, "retryable", "503", false)
            .ask(2)
            .text(2, 0, "All of it.")
            .stop(2, "end_turn"),
        once("test", EventType::VerifyResult, verified("test", true)),
    ]
}
