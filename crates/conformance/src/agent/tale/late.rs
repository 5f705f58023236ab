//! Context that runs out, failures for good, a shutdown, and the end.

use herdbook_events::catalog::EventType;
use serde_json::{Value, json};

use crate::agent::script::{Scene, once, scene, tool_use_id};
use crate::agent::tale::opening::{baseline, message};

fn given_up(reason: &str) -> Value {
    json!({"reason": reason, "detail": "see the last request"})
}

pub(super) fn scenes() -> Vec<Scene> {
    let done = json!({"evidence": {"objective": "Take tabs", "changedFiles": ["src/import.rs", "tests/tabs.rs"],
        "checks": [{"command": "cargo test", "exitCode": 0, "summary": "2 passed", "durationMs": 800}],
        "unresolvedIssues": []}});
    let pruned = json!({"toolUseIds": ["look-{try:look}-file", "look-{try:look}-cells"],
        "placeholder": "[old result removed]", "tokensReclaimedEstimate": 900});
    let again = json!({"toolUseIds": ["look-{try:look}-file", "proof-{try:proof}-tests"],
        "placeholder": "[old result removed]", "tokensReclaimedEstimate": 90});
    let server = json!({"processId": "{scene}-{try}-server", "pid": 4_343, "command": "cargo run",
        "cwd": "/srv/tables", "toolUseId": tool_use_id("server")});
    let taken_down = json!({"processId": "{scene}-{try}-server", "exitCode": null, "cause": "khaelor-shutdown",
        "durationMs": 900});
    vec![
        once("prune", EventType::ContextPruned, pruned),
        once("done", EventType::TaskCompleted, done),
        once("fourth", EventType::UserMessageCreated, message("Now the exporter.")).mark("fourth"),
        scene("sum-up").compact(
            1,
            "goal: take tabs\n",
            "$seq:first",
            "$before:third",
            "proactive-token-budget",
        ),
        scene("long").ask(1).text(1, 0, "The exporter has").stop(1, "max_tokens"),
        once("prune-again", EventType::ContextPruned, again),
        scene("overflow")
            .ask(1)
            .fail(1, "context-overflow", "prompt is too long", false)
            .compact(
                2,
                "goal: take tabs\nnext: exporter\n",
                "$seq:first",
                "$before:fourth",
                "reactive-overflow",
            )
            .ask(3)
            .text(3, 0, "I will not.")
            .stop(3, "refusal"),
        once("exhausted", EventType::TaskFailed, given_up("iteration-budget-exhausted")),
        once("fifth", EventType::UserMessageCreated, message("Then something small.")).mark("fifth"),
        once("back", EventType::PhaseEntered, json!({"phase": "understand", "via": "user-override"})),
        once("free", EventType::PhaseApproved, json!({"phase": "understand", "approvedBy": "user-override"})),
        once("ahead", EventType::PhaseEntered, json!({"phase": "implement", "via": "user-override"})),
        scene("tidy").compact(1, "next: something small\n", "$seq:fourth", "$before:fifth", "user-command"),
        scene("locked").ask(1).fail(1, "auth", "401", true),
        once("locked-out", EventType::TaskFailed, given_up("model-fatal-error")),
        once("sixth", EventType::UserMessageCreated, message("Try a server.")),
        scene("down")
            .ask(1)
            .uses(1, 0, "server", "process", json!({"start": "cargo run"}))
            .uses(1, 1, "load", "bash", json!({"command": "wrk"}))
            .stop(1, "tool_use")
            .starts("server", "policy-allow")
            .say(EventType::ProcessStarted, server)
            .done("server", "process", "Started.")
            .starts("load", "rule")
            .cancelled("load", "shutdown", "[Cancelled: the program was closed]")
            .say(EventType::ProcessExited, taken_down)
            .leave(),
        once("tree-again", EventType::BaselineRecorded, baseline("session-start")),
        scene("last").ask(1).text(1, 0, "The server is down.").stop(1, "end_turn"),
        once("left", EventType::TaskFailed, given_up("user-abandoned")),
    ]
}
