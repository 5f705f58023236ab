//! One change of a log that keeps every rule, and the rule that names it. Numbers are lines of `example.jsonl` (E) and
//! `workflow.jsonl` (W).

use std::collections::BTreeSet;

use herdbook_story::{Checker, Finding, Options, Rule};
use serde_json::{Value, json};

use crate::shared::{self, OWN_EXAMPLE, OWN_WORKFLOW};
use crate::writer::value;

/// A change of one log.
enum Change {
    /// Gives a member another value; without a value it goes.
    Set(usize, &'static str, Value),
    Drop(usize),
    /// As [`Change::Drop`], and the lines behind it move up.
    DropAndNumber(usize),
    /// The line stands there a second time.
    Repeat(usize),
    RepeatAndNumber(usize),
    /// The line changes places with the next.
    Swap(usize),
    SwapAndNumber(usize),
    /// A new line behind this one.
    Add(usize, &'static str, Value),
    /// The log ends behind this line.
    Cut(usize),
}

use Change::{Add, Cut, Drop, DropAndNumber, Repeat, RepeatAndNumber, Set, Swap, SwapAndNumber};

/// A JSON value of the table.
fn v(value: impl Into<Value>) -> Value {
    value.into()
}

/// The member is taken out.
fn gone() -> Value {
    json!({"gone": true})
}

const E: &str = OWN_EXAMPLE;
const W: &str = OWN_WORKFLOW;

/// Log, change, rule, and the seq that it is reported at.
#[rustfmt::skip]
fn table() -> Vec<(&'static str, Change, &'static str, u64)> {
    vec![
        // The envelope.
        (E, Set(7, "v", v(2)), "E1", 7),
        (E, Set(7, "v", gone()), "E1", 7),
        (E, Set(7, "id", v("01KDVDNBPP000000000000007")), "E2", 7),
        (E, Set(7, "id", v("81KDVDNBPP0000000000000070")), "E2", 7),
        (E, RepeatAndNumber(7), "E2", 8),
        (E, Set(7, "id", v("01KDVDNBEW0000000000000060")), "E2", 7),
        (E, Set(7, "sessionId", v("other")), "E3", 7),
        (E, Set(7, "sessionId", v("")), "E3", 7),
        (E, Set(7, "seq", v(8)), "E4", 8),
        (E, Set(1, "seq", v(0)), "E4", 0),
        (E, Drop(14), "E4", 15),
        (E, Repeat(7), "E4", 7),
        (E, Swap(9), "E4", 10),
        (E, Set(7, "ts", v(0)), "E5", 7),
        (E, Set(7, "ts", v(1_767_225_590_000_u64)), "E5", 7),
        (E, Set(7, "parentId", v("01KDVDNBEW0000000000000060")), "E6", 7),
        (E, Set(14, "type", v("user.whispered")), "E7", 14),
        (E, Set(14, "type", v("tool.output")), "E7", 14),
        (E, Set(16, "payload.modelText", gone()), "E8", 16),
        (E, Set(16, "payload.durationMs", v(-1)), "E8", 16),
        (E, Set(16, "payload.durationMs", v("20")), "E8", 16),
        (E, Set(16, "payload.ui.kind", v("paint")), "E8", 16),
        (E, Set(16, "payload.ui.exitCode", Value::Null), "E8", 16),
        (E, Set(16, "payload.mood", v("good")), "E8", 16),
        (E, Set(16, "payload", v("text")), "E8", 16),
        (E, Set(16, "mood", v("good")), "E8", 16),
        (E, Set(18, "payload.purpose", v("fun")), "E8", 18),
        (E, Set(6, "payload.toolName", v("apply_patch")), "E8", 6),
        (E, SwapAndNumber(9), "E9", 10),
        // Sessions.
        (E, DropAndNumber(1), "S1", 1),
        (W, Add(40, "session.started", json!({"title": "t", "projectHash": "h", "workingDirectory": "/", "gitBranch": null, "model": "m", "auxModel": "a", "khaelorVersion": "1"})), "S1", 41),
        (W, Set(41, "payload.replayedSeq", v(39)), "S2", 41),
        (W, Set(41, "payload.toolNames", json!(["bash", "bash", "process", "design", "remember", "write"])), "S3", 41),
        (W, Set(41, "payload.toolNames", json!(["bash", "process", "design", "remember"])), "S3", 41),
        (W, Set(30, "payload.from", v("small-1")), "S4", 30),
        (W, Set(30, "payload.to", v("large-1")), "S4", 30),
        (W, Set(15, "payload.when", v("session-start")), "S5", 15),
        (W, Set(2, "payload.when", v("pre-first-edit")), "S5", 15),
        // The human.
        (E, Set(2, "payload.text", v("")), "U1", 2),
        (E, Set(14, "payload.text", v("")), "U1", 14),
        (E, Set(2, "payload.mentions", json!([{"path": "a", "range": {"start": 3, "end": 2}}])), "U2", 2),
        (E, Set(17, "payload.queuedEventId", v("01KDVDND5J00000000000000D0")), "U3", 17),
        (E, DropAndNumber(14), "U3", 16),
        (E, Set(17, "payload.afterSeq", v(17)), "U4", 17),
        (E, Set(17, "payload.afterSeq", v(2)), "U4", 17),
        (E, Set(17, "payload.afterSeq", v(15)), "U5", 17),
        // One of two tool uses had ended; the text would stand before both results.
        (E, Set(17, "payload.afterSeq", v(13)), "U5", 17),
        (E, SwapAndNumber(16), "U4", 16),
        (W, SwapAndNumber(55), "U5", 56),
        (W, Set(55, "payload.seam", v("post-tool-batch")), "U5", 55),
        (W, Add(55, "session.renamed", json!({"title": "x"})), "U5", 55),
        (E, Set(34, "payload.pendingToolUseIds", json!(["t4"])), "U6", 34),
        (E, Set(34, "payload.pendingToolUseIds", json!([])), "U6", 34),
        (E, DropAndNumber(35), "U6", 36),
        (E, Set(35, "payload.reason", v("shutdown")), "U6", 35),
        // Requests.
        (E, Set(18, "payload.requestId", v("r1")), "M1", 18),
        (E, DropAndNumber(8), "M2", 17),
        (E, Set(8, "payload.requestId", v("r9")), "M2", 8),
        (E, Add(8, "model.request-failed", json!({"requestId": "r1", "kind": "auth", "message": "", "retriesExhausted": true})), "M2", 9),
        (E, Set(5, "payload.requestId", v("r9")), "M3", 5),
        (E, Set(4, "payload.requestId", v("r9")), "M3", 4),
        (E, Set(6, "payload.requestId", v("r9")), "M3", 6),
        (E, DropAndNumber(3), "M3", 3),
        (E, Set(5, "payload.blockIndex", v(0)), "M3", 5),
        (E, Set(7, "payload.blockIndex", v(4)), "M3", 7),
        (E, SwapAndNumber(4), "M3", 5),
        (E, Set(8, "payload.stopReason", v("end_turn")), "M4", 8),
        (E, Set(8, "payload.stopReason", v("refusal")), "M4", 8),
        (E, Set(44, "payload.stopReason", v("tool_use")), "M4", 44),
        (E, DropAndNumber(25), "M5", 28),
        (E, SwapAndNumber(28), "M5", 28),
        (W, DropAndNumber(49), "M6", 48),
        (W, Set(57, "payload.kind", v("cancelled")), "M7", 57),
        (E, Set(4, "payload.signature", v("")), "M8", 4),
        (E, Set(18, "payload.model", v("large-2")), "M9", 18),
        (E, Set(37, "payload.model", v("large-1")), "M9", 37),
        (W, DropAndNumber(30), "M9", 30),
        // Tool uses.
        (E, Set(19, "payload.toolUseId", v("t1")), "T1", 19),
        (E, DropAndNumber(25), "T2", 19),
        (E, Set(25, "payload.toolUseId", v("t1")), "T2", 25),
        (E, Set(25, "payload.toolUseId", v("t9")), "T2", 25),
        (E, Add(25, "tool.approved", json!({"toolUseId": "t3", "via": "rule"})), "T2", 26),
        (E, DropAndNumber(22), "T3", 22),
        (E, SwapAndNumber(22), "T3", 22),
        (E, Set(22, "payload.toolUseId", v("t9")), "T3", 22),
        (E, Set(23, "payload.toolUseId", v("t9")), "T3", 23),
        (E, Add(22, "tool.approved", json!({"toolUseId": "t3", "via": "rule"})), "T3", 23),
        (W, Add(20, "permission.requested", json!({"permissionRequestId": "p9", "toolUseId": "t2", "capability": "edit", "descriptor": ""})), "T3", 21),
        (E, DropAndNumber(50), "T4", 50),
        (E, Set(28, "payload.errorKind", v("exec-error")), "T4", 28),
        (E, Set(23, "payload.toolName", v("write")), "T5", 23),
        (E, Set(28, "payload.modelText", v("No.")), "T6", 28),
        (E, DropAndNumber(27), "T6", 27),
        (E, Set(27, "payload.feedback", v("Not today.")), "T6", 28),
        (W, Add(29, "tool.failed", json!({"toolUseId": "t9", "modelText": "x", "errorKind": "internal", "durationMs": 0})), "T2", 30),
        (E, DropAndNumber(34), "T8", 34),
        (E, Set(35, "payload.reason", v("resume-recovery")), "T8", 35),
        (W, DropAndNumber(41), "T8", 41),
        (W, Set(42, "payload.reason", v("shutdown")), "T8", 44),
        (E, Set(16, "payload.modelText", v("")), "T9", 16),
        // Permissions.
        (W, Set(24, "payload.toolUseId", v("t2")), "P1", 24),
        (W, Add(24, "permission.requested", json!({"permissionRequestId": "p2", "toolUseId": "t3", "capability": "exec", "descriptor": "x"})), "P1", 25),
        (W, Add(25, "permission.requested", json!({"permissionRequestId": "p1", "toolUseId": "t3", "capability": "exec", "descriptor": "x"})), "P1", 26),
        (W, Set(25, "payload.permissionRequestId", v("p9")), "P2", 25),
        (W, DropAndNumber(24), "P2", 24),
        (W, DropAndNumber(25), "P2", 25),
        (E, Set(27, "payload.permissionRequestId", v("p9")), "P2", 27),
        (W, Add(25, "permission.granted", json!({"permissionRequestId": "p1", "scope": "once"})), "P2", 26),
        (W, Set(25, "payload.scope", v("always-project")), "P3", 26),
        (W, Set(26, "payload.via", v("user-always")), "P3", 26),
        (W, DropAndNumber(26), "P3", 26),
        (E, Set(22, "payload.via", v("user-once")), "P3", 22),
        (E, Add(27, "tool.approved", json!({"toolUseId": "t4", "via": "rule"})), "P4", 28),
        (E, Set(28, "payload.errorKind", v("internal")), "P4", 28),
        // Files and processes.
        (E, DropAndNumber(23), "F1", 23),
        (E, Set(24, "payload.toolUseId", v("t1")), "F1", 24),
        (E, Set(15, "payload.toolUseId", v("t9")), "F1", 15),
        (E, SwapAndNumber(15), "F1", 16),
        (W, Set(28, "payload.toolUseId", v("t2")), "F1", 28),
        (W, Set(37, "payload.toolUseId", v("t5")), "F1", 37),
        (E, Set(24, "payload.path", v("/etc/passwd")), "F2", 24),
        (E, Set(24, "payload.path", v("a/../../b")), "F2", 24),
        (E, Set(24, "payload.path", v("a\\b")), "F2", 24),
        (W, Set(43, "payload.processId", v("w9")), "R1", 43),
        (W, Set(28, "payload.processId", v("w9")), "R1", 43),
        (W, Add(28, "process.started", json!({"processId": "w1", "pid": 1, "command": "x", "cwd": "/", "toolUseId": "t3"})), "R1", 29),
        (W, Set(43, "payload.cause", v("exited")), "R2", 43),
        (W, DropAndNumber(43), "R2", 28),
        // Pruning and compaction.
        (E, Set(36, "payload.toolUseIds", json!(["t6"])), "C1", 36),
        (E, Add(36, "context.pruned", json!({"toolUseIds": ["t3"], "placeholder": "gone", "tokensReclaimedEstimate": 0})), "C1", 37),
        (E, Set(40, "payload.cut", json!({"fromSeq": 17, "toSeq": 2})), "C2", 40),
        (E, Set(40, "payload.cut", json!({"fromSeq": 2, "toSeq": 40})), "C2", 40),
        (E, Set(40, "payload.cut", json!({"fromSeq": 2, "toSeq": 16})), "C2", 40),
        (E, Set(40, "payload.cut", json!({"fromSeq": 2, "toSeq": 20})), "C2", 40),
        (E, Set(40, "payload.cut", json!({"fromSeq": 7, "toSeq": 17})), "C2", 40),
        (E, Add(40, "context.compacted", json!({"checkpointYaml": "x", "cut": {"fromSeq": 2, "toSeq": 2}, "trigger": "user-command", "tokensBefore": 1, "summaryModel": "small-1"})), "C3", 41),
        (E, Set(40, "payload.cut", json!({"fromSeq": 22, "toSeq": 24})), "C3", 40),
        (E, Set(40, "payload.summaryModel", v("large-1")), "C4", 40),
        (E, Set(40, "payload.trigger", v("reactive-overflow")), "C4", 40),
        (E, DropAndNumber(39), "C4", 39),
        // Verification and tasks.
        (E, Set(45, "payload.attempt", v(2)), "V1", 45),
        (E, Set(45, "payload.withheldCandidateSeq", v(44)), "V2", 45),
        (E, Set(44, "payload.stopReason", v("max_tokens")), "V2", 45),
        (E, Set(46, "payload.purpose", v("main")), "V3", 46),
        (E, DropAndNumber(45), "V3", 45),
        (E, Set(52, "payload.purpose", v("verification-nudge")), "V3", 52),
        (E, DropAndNumber(54), "V4", 54),
        (W, DropAndNumber(53), "V4", 57),
        (E, Add(55, "task.failed", json!({"reason": "user-abandoned", "detail": ""})), "V4", 56),
        (E, DropAndNumber(24), "V5", 54),
        (E, Set(55, "payload.evidence.changedFiles", json!(["other.js"])), "V5", 55),
        (W, Set(45, "payload.ok", v(false)), "V5", 45),
        (W, Set(45, "payload.exitCode", v(1)), "V5", 45),
        // Phases.
        (W, DropAndNumber(3), "H1", 9),
        (W, Set(3, "payload.via", v("approval")), "H1", 3),
        (W, Set(3, "payload.phase", v("design")), "H1", 3),
        (W, DropAndNumber(12), "H2", 13),
        (W, Set(12, "payload.phase", v("implement")), "H2", 12),
        (W, Set(14, "payload.phase", v("design")), "H2", 14),
        (W, DropAndNumber(10), "H3", 11),
        (W, DropAndNumber(13), "H3", 13),
        (W, Set(13, "payload.phase", v("implement")), "H3", 14),
        (W, Set(12, "payload.via", v("approval")), "H3", 12),
        (W, Set(14, "payload.via", v("design-submitted")), "H3", 14),
        (W, Set(13, "payload.artifactId", v("a9")), "H4", 13),
        (W, Set(10, "payload.artifactId", v("a9")), "H4", 13),
        (W, Add(13, "phase.rejected", json!({"phase": "design", "reason": "no", "artifactId": "a1"})), "H4", 14),
        (W, Add(10, "phase.artifact", json!({"artifactId": "a1", "artifact": {"goal": "", "filesTouched": [], "approach": "", "risks": [], "verification": "", "outOfScope": []}})), "H4", 11),
        (W, DropAndNumber(14), "H5", 21),
        // Memory and subtasks.
        (W, Set(32, "payload.toolName", v("bash")), "Y1", 37),
        (W, Set(44, "payload.childSessionId", v("snooze")), "B1", 44),
        (W, Set(46, "payload.taskId", v("s9")), "B1", 46),
        (W, DropAndNumber(44), "B1", 45),
        (W, Add(44, "subtask.created", json!({"taskId": "s1", "description": "", "childSessionId": "c2", "worktreePath": "/", "branch": ""})), "B1", 45),
        (W, DropAndNumber(46), "B2", 51),
        (W, Set(46, "payload.verifyOk", v(false)), "B2", 46),
        // A sealed log.
        (W, Cut(16), "Z1", 16),
        (W, Cut(24), "Z1", 18),
        (W, Cut(24), "Z1", 24),
        (W, Cut(42), "Z1", 28),
    ]
}

/// Members that hold a seq.
const SEQS: [&str; 5] = ["replayedSeq", "afterSeq", "withheldCandidateSeq", "fromSeq", "toSeq"];

/// Gives every line the number of its place; members that hold a seq follow their line.
fn number(lines: &mut [Value]) {
    fn follow(value: &mut Value, places: &[(u64, u64)]) {
        let Some(members) = value.as_object_mut() else { return };
        for (name, value) in members {
            if SEQS.contains(&name.as_str()) {
                let old = value.as_u64().unwrap();
                // Of a line that is gone, the one before it takes the place.
                let new =
                    places.iter().filter(|(from, _)| *from <= old).map(|(_, to)| *to).max().unwrap_or(1);
                *value = new.into();
            } else {
                follow(value, places);
            }
        }
    }
    let places: Vec<(u64, u64)> =
        lines.iter().zip(1..).map(|(line, to)| (line["seq"].as_u64().unwrap(), to)).collect();
    for (line, (_, to)) in lines.iter_mut().zip(&places) {
        follow(&mut line["payload"], &places);
        line["seq"] = (*to).into();
    }
}

fn changed(log: &str, change: &Change) -> Vec<Value> {
    let mut lines: Vec<Value> = log.lines().map(value).collect();
    match change {
        Set(line, member, value) => {
            let (parent, name) = member.rsplit_once('.').unwrap_or(("", member));
            let parent = parent.split('.').filter(|step| !step.is_empty());
            let object = parent.fold(&mut lines[line - 1], |object, step| &mut object[step]);
            let object = object.as_object_mut().unwrap();
            if *value == gone() {
                object.remove(name).unwrap();
            } else {
                object.insert(name.to_owned(), value.clone());
            }
        }
        Drop(line) | DropAndNumber(line) => drop(lines.remove(line - 1)),
        Repeat(line) | RepeatAndNumber(line) => lines.insert(*line, lines[line - 1].clone()),
        Swap(line) | SwapAndNumber(line) => lines.swap(line - 1, *line),
        Add(line, event_type, payload) => {
            let mut added = lines[line - 1].clone();
            added["type"] = v(*event_type);
            added["payload"] = payload.clone();
            // Between the id of that line and the next one's.
            let id = added["id"].as_str().unwrap();
            added["id"] = format!("{}1", &id[..25]).into();
            lines.insert(*line, added);
        }
        Cut(line) => lines.truncate(*line),
    }
    match change {
        DropAndNumber(_) | RepeatAndNumber(_) | Add(..) => number(&mut lines),
        SwapAndNumber(line) => {
            let (one, other) = (lines[line - 1]["seq"].clone(), lines[*line]["seq"].clone());
            lines[line - 1]["seq"] = other;
            lines[*line]["seq"] = one;
        }
        _ => {}
    }
    lines
}

fn findings(lines: &[Value], options: Options) -> Vec<Finding> {
    let mut checker = Checker::new(options);
    let mut found: Vec<Finding> = lines.iter().flat_map(|line| checker.push(&line.to_string())).collect();
    found.extend(checker.finish());
    found
}

#[test]
fn each_change_is_reported_under_the_rule_that_names_it() {
    let mut wrong = Vec::new();
    for (at, (log, change, rule, seq)) in table().iter().enumerate() {
        let options = Options { strict: *rule == "Z1", ..Options::native() };
        let found = findings(&changed(log, change), options);
        if !found.iter().any(|finding| finding.rule.as_str() == *rule && finding.seq == *seq) {
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            wrong.push(format!("row {at}: {rule} at {seq} is missing in\n  {}", found.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lost_repeated_and_swapped_lines_are_named_anywhere() {
    let theirs = shared::catalog("lost_repeated_and_swapped_lines_are_named_anywhere", "example.jsonl");
    for log in [E, W].into_iter().chain(theirs.as_deref()) {
        let count = log.lines().count();
        for line in 1..count {
            let at = line as u64;
            let changes = [
                (Drop(line), "E4", at + 1),
                (Repeat(line), "E4", at),
                (Repeat(line), "E2", at),
                (RepeatAndNumber(line), "E2", at + 1),
                (Swap(line), "E4", at + 1),
                (SwapAndNumber(line), "E9", at + 1),
            ];
            for (change, rule, seq) in changes {
                let found = findings(&changed(log, &change), Options::native());
                let is_named =
                    found.iter().any(|finding| finding.rule.as_str() == rule && finding.seq == seq);
                assert!(is_named, "line {line}: {rule}: {found:?}");
            }
        }
    }
}

#[test]
fn every_rule_has_a_change_that_breaks_it() {
    let broken: BTreeSet<&str> = table().iter().map(|(_, _, rule, _)| *rule).collect();
    let missing: Vec<&str> =
        Rule::ALL.iter().map(|rule| rule.as_str()).filter(|rule| !broken.contains(rule)).collect();
    // T7 is below; E10, X1 and X2 are about events that are only live.
    assert_eq!(missing, ["E10", "T7", "X1", "X2"]);
}

#[test]
fn a_tool_is_not_blocked_by_a_phase_that_blocks_nothing() {
    let mut lines: Vec<Value> = W.lines().map(value).collect();
    for (line, path) in [(20, "tool.failed"), (21, ""), (22, ""), (23, "")] {
        if path.is_empty() {
            continue;
        }
        lines[line - 1]["type"] = v(path);
        lines[line - 1]["payload"] = json!({"toolUseId": "t2", "modelText": "Blocked.", "errorKind": "phase-blocked", "durationMs": 0});
    }
    lines.drain(20..23);
    number(&mut lines);
    let found: Vec<String> = findings(&lines, Options::native()).iter().map(ToString::to_string).collect();
    assert_eq!(found[0], "seq 20: warning T7: errorKind: is phase-blocked while the phase is implement");
}

#[test]
fn each_text_that_a_request_must_follow_is_named() {
    let mut lines: Vec<Value> = W.lines().take(55).map(value).collect();
    let again = |line: &Value, id: &str, seq: u64| {
        let mut line = line.clone();
        (line["id"], line["seq"]) = (v(id), v(seq));
        line
    };
    let queued = again(&lines[53], "01KDVDRRTW00000000000001P1", 54);
    let mut injected = again(&lines[54], "01KDVDS00000000000000001Q0", 56);
    injected["payload"]["queuedEventId"] = queued["id"].clone();
    let mut message = again(&lines[52], "01KDVDS00000000000000001R0", 57);
    message["ts"] = injected["ts"].clone();
    lines.insert(54, queued);
    lines.extend([injected, message]);
    number(&mut lines);
    let found: Vec<String> = findings(&lines, Options::native()).iter().map(ToString::to_string).collect();
    let words = "error U5: seam: pre-model-call is followed by user.message-created, not by a request";
    assert_eq!(found, [format!("seq 56: {words}"), format!("seq 57: {words}")]);
}

/// Lines of the workflow up to one, and events that are only live behind it.
fn live(last: usize, events: &[Value], then: Option<usize>) -> Vec<String> {
    let mut checker = Checker::new(Options::native());
    let lines: Vec<&str> = W.lines().collect();
    let mut found: Vec<Finding> = lines[..last].iter().flat_map(|line| checker.push(line)).collect();
    for event in events {
        found.extend(checker.push_ephemeral(&event.to_string()));
    }
    found.extend(then.into_iter().flat_map(|line| checker.push(lines[line - 1])));
    found.iter().map(|finding| format!("{} {}", finding.rule.as_str(), finding.field)).collect()
}

fn event(event_type: &str, payload: Value) -> Value {
    json!({"id": "01KDVDND5J00000000000000D0", "sessionId": "snooze", "ts": 1, "type": event_type, "payload": payload})
}

#[test]
fn live_events_have_no_place_and_name_what_is_open() {
    let delta = |request: &str| {
        event("model.text-delta", json!({"requestId": request, "blockIndex": 0, "text": "a"}))
    };
    assert_eq!(live(5, &[delta("r1")], None), [""; 0]);
    assert_eq!(live(5, &[delta("r9")], None), ["X1 requestId"]);
    assert_eq!(live(4, &[delta("r1")], None), ["X1 requestId"]);
    let mut placed = delta("r1");
    placed["v"] = json!(1);
    placed["seq"] = json!(6);
    assert_eq!(live(5, &[placed], None), ["E10 v", "E10 seq"]);
    assert_eq!(live(5, &[event("tool.started", json!({}))], None), ["E7 type"]);
    let output = event("tool.output", json!({"toolUseId": "t1", "chunk": "x"}));
    assert_eq!(live(8, std::slice::from_ref(&output), None), ["X1 toolUseId"]);
    assert_eq!(live(9, &[output], None), [""; 0]);
    let output = event("process.output", json!({"processId": "w1", "stream": "stdout", "chunk": "x"}));
    assert_eq!(live(27, std::slice::from_ref(&output), None), ["X1 processId"]);
    assert_eq!(live(28, &[output], None), [""; 0]);
}

#[test]
fn joined_deltas_are_the_settled_block() {
    let text =
        |text: &str| event("model.text-delta", json!({"requestId": "r5", "blockIndex": 0, "text": text}));
    assert_eq!(live(49, &[text("The button "), text("is there.")], Some(50)), [""; 0]);
    assert_eq!(live(49, &[text("The button "), text("was there.")], Some(50)), ["X2 text"]);
    let call = event(
        "model.tool-call-started",
        json!({"requestId": "r1", "blockIndex": 0, "toolUseId": "t1", "toolName": "design"}),
    );
    let input = |json: &str| {
        event(
            "model.tool-input-delta",
            json!({"requestId": "r1", "blockIndex": 0, "toolUseId": "t1", "partialJson": json}),
        )
    };
    assert_eq!(live(5, &[call.clone(), input("{ \"goal\""), input(": \"snooze\"}")], Some(6)), [""; 0]);
    assert_eq!(live(5, &[call, input("{\"goal\":1}")], Some(6)), ["X2 input"]);
    assert_eq!(live(5, &[input("{}")], Some(6)), ["X1 toolUseId"]);
}
