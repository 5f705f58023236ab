//! The fold against the shared history, against the rules written down once more, and where it must refuse.

use herdbook_story::{History, Line, Templates};
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::oracle;
use crate::shared::{self, OWN_EXAMPLE};
use crate::writer::{Writer, value};

fn templates() -> Templates {
    Templates {
        checkpoint: "[Checkpoint]\n{checkpointYaml}".to_owned(),
        nudge: "[Verify, attempt {attempt}: {detectedChecks}]".to_owned(),
    }
}

fn read(log: &str) -> Vec<Line> {
    log.lines().map(|line| Line::read(line).unwrap()).collect()
}

/// Returns the history as of every line, the empty one first.
fn histories(lines: &[Line], templates: &Templates) -> Vec<String> {
    let mut history = History::new(templates.clone());
    let mut all = vec![history.messages().unwrap()];
    for line in lines {
        history.apply(line).unwrap_or_else(|refusal| panic!("{refusal}"));
        all.push(history.messages().unwrap());
    }
    all
}

#[test]
fn the_shared_example_gives_the_shared_history_at_every_request() {
    let test = "the_shared_example_gives_the_shared_history_at_every_request";
    let Some(log) = shared::catalog(test, "example.jsonl") else { return };
    let Some(expected) = shared::catalog(test, "example-history.json") else { return };
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let text = |name: &str| expected["templates"][name].as_str().unwrap().to_owned();
    let templates = Templates { checkpoint: text("checkpoint"), nudge: text("nudge") };
    let lines = read(&log);
    let histories = histories(&lines, &templates);
    let mut texts = 0;
    for request in expected["requests"].as_array().unwrap() {
        let seq = usize::try_from(request["seq"].as_u64().unwrap()).unwrap();
        assert_eq!(lines[seq - 1].event_type, "model.request-started");
        let history = &histories[seq - 1];
        if let Some(text) = request["messages"].as_str() {
            assert_eq!(history, text, "{}", request["requestId"]);
            texts += 1;
        }
        assert_eq!(history.len() as u64, request["bytes"], "{}", request["requestId"]);
        let sha256: String = Sha256::digest(history).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sha256, request["sha256"], "{}", request["requestId"]);
        assert_eq!(history, &histories[seq], "the request itself adds nothing");
    }
    assert_eq!((texts, expected["requests"].as_array().unwrap().len()), (4, 11));
}

#[test]
fn our_own_example_gives_the_history_that_is_written_down() {
    let lines = read(OWN_EXAMPLE);
    let histories = histories(&lines, &templates());
    let last = lines.iter().rposition(|line| line.event_type == "model.request-started").unwrap();
    assert_eq!(histories[last], include_str!("example-history.json").trim_end());
}

/// What a random log does next.
#[derive(Clone, Debug)]
enum Step {
    Say(String),
    /// Blocks of a response, each with its index out of order or not; how it ends; in which order results come.
    Turn {
        blocks: Vec<(u8, String)>,
        ending: u8,
        shuffle: u64,
        steer: bool,
    },
    Prune,
    Compact(u8),
    Nudge,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text =
        prop_oneof![Just(" \n".to_owned()), "[a-c\\u{2028}\"]{0,4}".prop_map(|text| format!("t{text}"))];
    let blocks = prop::collection::vec((0u8..3, text.clone()), 0..5);
    let step = prop_oneof![
        2 => text.prop_map(Step::Say),
        5 => (blocks, 0u8..5, any::<u64>(), any::<bool>())
            .prop_map(|(blocks, ending, shuffle, steer)| Step::Turn { blocks, ending, shuffle, steer }),
        1 => Just(Step::Prune),
        1 => any::<u8>().prop_map(Step::Compact),
        1 => Just(Step::Nudge),
    ];
    prop::collection::vec(step, 1..25)
}

/// Writes a log of these steps. It returns the seqs at which a cut of everything before is safe.
fn written(steps: &[Step]) -> Writer {
    let mut log = Writer::new();
    let started = json!({"title": "t", "projectHash": "h", "workingDirectory": "/w", "gitBranch": null,
        "model": "large", "auxModel": "small", "khaelorVersion": "2.0.0"});
    log.write("session.started", started);
    // A cut begins at `lowest`, or behind the last one.
    let (mut safe, mut closed_tools, mut last_from, mut lowest) =
        (vec![1u64], Vec::<String>::new(), 1u64, 1u64);
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Say(text) => {
                log.write("user.message-created", json!({"text": text, "mentions": []}));
            }
            Step::Nudge => {
                let payload =
                    json!({"attempt": 1, "detectedChecks": ["a", "b {attempt}"], "withheldCandidateSeq": 1});
                log.write("task.verification-requested", payload);
            }
            Step::Prune => {
                if let Some(id) = closed_tools.pop() {
                    let payload =
                        json!({"toolUseIds": [id], "placeholder": "[gone]", "tokensReclaimedEstimate": 1});
                    log.write("context.pruned", payload);
                }
            }
            Step::Compact(which) => {
                let to = safe[usize::from(*which) % safe.len()];
                if to < last_from {
                    continue;
                }
                let from = if which % 2 == 0 { lowest } else { last_from };
                let payload = json!({"checkpointYaml": format!("goal: {number}\n"), "cut": {"fromSeq": from, "toSeq": to},
                    "trigger": "user-command", "tokensBefore": 1, "summaryModel": "small"});
                log.write("context.compacted", payload);
                // A later cut holds this one whole, or starts behind it.
                safe.retain(|seq| *seq >= to);
                last_from = to + 1;
                closed_tools.clear();
            }
            Step::Turn { blocks, ending, shuffle, steer } => {
                let request = format!("r{number}");
                log.start_request(&request, if *ending == 4 { "compaction" } else { "main" });
                let mut tools = Vec::new();
                for (index, (kind, text)) in blocks.iter().enumerate() {
                    // The log's order is not the order of the blocks.
                    let index = (index as u64 * 7 + shuffle % 5) % 11;
                    let (kind, mut payload) = match kind {
                        0 => ("model.text-block-completed", json!({"text": text})),
                        1 => ("model.thinking-block-completed", json!({"thinking": text, "signature": "s"})),
                        _ => {
                            let id = format!("{request}-{index}");
                            tools.push(id.clone());
                            (
                                "tool.requested",
                                json!({"toolUseId": id, "toolName": "bash", "input": {"b": text, "a": 1}}),
                            )
                        }
                    };
                    payload["requestId"] = json!(request);
                    payload["blockIndex"] = json!(index);
                    log.write(kind, payload);
                }
                let queued = steer.then(|| log.write("user.steering-queued", json!({"text": "steer"})));
                match ending {
                    0 | 4 => log.complete_request(&request, "end_turn"),
                    1 | 2 => {
                        let kind = if *ending == 1 { "cancelled" } else { "retryable" };
                        let payload = json!({"requestId": request, "kind": kind, "message": "m", "retriesExhausted": true});
                        log.write("model.request-failed", payload);
                    }
                    // Never closed: it gives nothing.
                    _ => {}
                }
                let turn = (shuffle % 3) as usize;
                let middle = turn.min(tools.len());
                tools.rotate_left(middle);
                for (at, id) in tools.iter().enumerate() {
                    if at % 2 == 0 {
                        log.complete_tool(id, &format!("result of {id}"));
                    } else {
                        let payload =
                            json!({"toolUseId": id, "reason": "interrupted", "modelText": "[cancelled]"});
                        log.write("tool.cancelled", payload);
                    }
                }
                if let Some(id) = queued {
                    let after = log.seq();
                    let payload = json!({"queuedEventId": id, "seam": "pre-model-call", "afterSeq": after});
                    log.write("user.steering-injected", payload);
                }
                if *ending != 3 {
                    closed_tools.extend(tools);
                } else {
                    // What is open must not be cut: from here on only ranges behind it are safe.
                    safe.clear();
                    last_from = log.seq() + 1;
                    lowest = last_from;
                    closed_tools.clear();
                }
            }
        }
        safe.push(log.seq());
    }
    log
}

/// Whole sessions of the scripted agent, the second one resumed 44 times: cuts over cuts, prunes, interrupts, steering.
#[test]
fn what_the_agent_was_told_is_what_the_rules_read_like() {
    let templates = Templates::default();
    let mut compared = 0;
    for log in [
        include_str!("../../../../conformance/logs/v1/agent.jsonl"),
        include_str!("../../../../conformance/logs/v1/agent-resumed.jsonl"),
    ] {
        let histories = histories(&read(log), &templates);
        let values: Vec<Value> = log.lines().map(value).collect();
        for seq in (0..values.len()).filter(|seq| values[*seq]["type"] == "model.request-started") {
            let expected = oracle::messages(&values[..seq], &templates.checkpoint, &templates.nudge);
            assert_eq!(value(&histories[seq]), expected, "as of seq {seq}");
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared}");
}

proptest! {
    #[test]
    fn the_fold_is_what_the_rules_say_at_every_line(steps in steps()) {
        let log = written(&steps);
        let templates = templates();
        let histories = histories(&log.read(), &templates);
        let values: Vec<Value> = log.lines.iter().map(|line| value(line)).collect();
        for (seq, history) in histories.iter().enumerate() {
            let expected = oracle::messages(&values[..seq], &templates.checkpoint, &templates.nudge);
            let history: Value = serde_json::from_str(history).unwrap();
            prop_assert_eq!(&history, &expected, "as of seq {}", seq);
        }
    }

    #[test]
    fn a_history_begins_with_the_one_before_unless_something_was_cut(steps in steps()) {
        let log = written(&steps);
        let lines = log.read();
        let histories = histories(&lines, &templates());
        let mut before: Option<&String> = None;
        for (line, history) in lines.iter().zip(&histories) {
            match line.event_type.as_str() {
                "context.pruned" | "context.compacted" => before = None,
                "model.request-started" => {
                    if let Some(before) = before {
                        // Without the ends of the last message and of the list.
                        let start = before.strip_suffix("]}]").unwrap_or("[");
                        prop_assert!(history.starts_with(start), "{} then {}", before, history);
                    }
                    before = Some(history);
                }
                _ => {}
            }
        }
    }
}

/// Applies a log that must be refused, and returns where and why.
fn refusal(log: &Writer) -> String {
    let mut history = History::new(templates());
    for line in log.read() {
        if let Err(refusal) = history.apply(&line) {
            assert_eq!(history.messages(), Err(refusal.clone()), "there is no history behind a refusal");
            assert_eq!(history.apply(&line), Err(refusal.clone()));
            return refusal.to_string();
        }
    }
    panic!("nothing was refused");
}

/// A log of one request with one finished tool use, and a text that waits.
fn one_turn() -> (Writer, String) {
    let mut log = Writer::new();
    log.write("user.message-created", json!({"text": "go", "mentions": []}));
    let queued = log.write("user.steering-queued", json!({"text": "also"}));
    log.start_request("r1", "main");
    let tool =
        json!({"requestId": "r1", "blockIndex": 0, "toolUseId": "t1", "toolName": "bash", "input": {}});
    log.write("tool.requested", tool);
    log.complete_request("r1", "tool_use");
    log.complete_tool("t1", "done");
    (log, queued)
}

fn cut(log: &mut Writer, from: u64, to: u64) {
    let payload = json!({"checkpointYaml": "goal", "cut": {"fromSeq": from, "toSeq": to},
        "trigger": "user-command", "tokensBefore": 1, "summaryModel": "small"});
    log.write("context.compacted", payload);
}

/// Adds what is wrong to a log, given the id of the text that waits.
type Spoil = fn(&mut Writer, &str);

#[test]
fn what_the_log_does_not_tell_is_refused() {
    let cases: &[(&str, Spoil)] = &[
        ("seq 7 on: type is 'model.redacted-block', which is not in the catalog", |log, _| {
            log.write("model.redacted-block", json!({"data": "x"}));
        }),
        ("seq 7 on: payload.text is missing", |log, _| {
            log.write("user.message-created", json!({"mentions": []}));
        }),
        ("seq 7 on: v is 2, this build reads 1", |log, _| {
            log.write("user.message-created", json!({"text": "x", "mentions": []}));
            let line = log.lines.pop().unwrap().replacen("\"v\":1", "\"v\":2", 1);
            log.lines.push(line);
        }),
        ("seq 8 on: the line after seq 6 is missing", |log, _| {
            log.write("session.renamed", json!({"title": "x"}));
            log.write("session.renamed", json!({"title": "y"}));
            log.lines.remove(6);
        }),
        ("seq 7 on: request r1 is not open", |log, _| {
            log.write("model.text-block-completed", json!({"requestId": "r1", "blockIndex": 1, "text": "x"}));
        }),
        ("seq 7 on: request r1 starts twice", |log, _| log.start_request("r1", "main")),
        ("seq 8 on: tool use t1 is requested twice", |log, _| {
            log.start_request("r2", "main");
            let tool = json!({"requestId": "r2", "blockIndex": 0, "toolUseId": "t1", "toolName": "bash", "input": {}});
            log.write("tool.requested", tool);
        }),
        ("seq 7 on: tool use t1 is not open", |log, _| log.complete_tool("t1", "again")),
        ("seq 7 on: tool use t9 is not open", |log, _| log.complete_tool("t9", "what")),
        ("seq 7 on: tool use t9 has no result to prune", |log, _| {
            let payload = json!({"toolUseIds": ["t9"], "placeholder": "-", "tokensReclaimedEstimate": 1});
            log.write("context.pruned", payload);
        }),
        ("seq 7 on: no text waits under the id 01", |log, _| {
            let payload = json!({"queuedEventId": "01", "seam": "pre-model-call", "afterSeq": 6});
            log.write("user.steering-injected", payload);
        }),
        ("seq 7 on: afterSeq 7 is no earlier line", |log, queued| {
            let payload = json!({"queuedEventId": queued, "seam": "pre-model-call", "afterSeq": 7});
            log.write("user.steering-injected", payload);
        }),
        ("seq 8 on: afterSeq 6 lies in a range that a checkpoint replaced", |log, queued| {
            cut(log, 1, 6);
            let payload = json!({"queuedEventId": queued, "seam": "pre-model-call", "afterSeq": 6});
            log.write("user.steering-injected", payload);
        }),
        ("seq 8 on: the cut separates the injection of seq 7 from its place", |log, queued| {
            let payload = json!({"queuedEventId": queued, "seam": "post-tool-batch", "afterSeq": 6});
            log.write("user.steering-injected", payload);
            cut(log, 1, 6);
        }),
        ("seq 7 on: the cut separates the request of seq 3 from its results", |log, _| cut(log, 1, 5)),
        ("seq 7 on: the cut separates the request of seq 3 from its results", |log, _| cut(log, 4, 6)),
        ("seq 7 on: cut 5 to 4 is no range of earlier lines", |log, _| cut(log, 5, 4)),
        ("seq 7 on: cut 1 to 7 is no range of earlier lines", |log, _| cut(log, 1, 7)),
        ("seq 8 on: the request of seq 7 is open inside the cut", |log, _| {
            log.start_request("r2", "main");
            cut(log, 1, 7);
        }),
        ("seq 7 on: the request saw a history with SHA-256 00, the lines give 4", |log, _| {
            let stats = json!({"estimatedInputTokens": 1, "sections": []});
            log.write(
                "model.request-started",
                json!({"requestId": "r2", "model": "m", "purpose": "main", "contextStats": stats, "historySha256": "00"}),
            );
        }),
    ];
    for (expected, add) in cases {
        let (mut log, queued) = one_turn();
        add(&mut log, &queued);
        let found = refusal(&log);
        let expected = expected.trim_end_matches('4');
        assert!(found.contains(expected), "{found}\nis not\n{expected}");
    }
}

#[test]
fn a_request_that_says_what_it_saw_proves_the_fold() {
    let (mut log, _) = one_turn();
    let seen = histories(&log.read(), &templates()).pop().unwrap();
    let sha256: String = Sha256::digest(seen).iter().map(|byte| format!("{byte:02x}")).collect();
    let stats = json!({"estimatedInputTokens": 1, "sections": []});
    log.write(
        "model.request-started",
        json!({"requestId": "r2", "model": "m", "purpose": "main", "contextStats": stats, "historySha256": sha256}),
    );
    histories(&log.read(), &templates());
}

#[test]
fn texts_that_a_line_brings_come_before_the_templates() {
    let (mut log, _) = one_turn();
    let payload = json!({"checkpointYaml": "goal", "cut": {"fromSeq": 1, "toSeq": 6}, "trigger": "user-command",
        "tokensBefore": 1, "summaryModel": "small", "wrapper": "<{checkpointYaml}>"});
    log.write("context.compacted", payload);
    let payload = json!({"attempt": 2, "detectedChecks": [], "withheldCandidateSeq": 1, "nudgeText": "check {attempt}"});
    log.write("task.verification-requested", payload);
    let expected = r#"[{"role":"user","content":[{"type":"text","text":"<goal>"},{"type":"text","text":"check {attempt}"}]}]"#;
    assert_eq!(histories(&log.read(), &templates()).pop().unwrap(), expected);
}
