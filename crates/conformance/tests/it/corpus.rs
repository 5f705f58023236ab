//! Logs of released versions: read, checked, folded and exported as they were when they were written, for ever.
//!
//! `conformance/logs/vN/` holds the files, `expected.json` beside them what they must give. A new version of the line
//! format gets a new folder; a file here never changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use herdbook_events::catalog::EventType;
use herdbook_log::{Head, Options as StoreOptions, Reader, Seals, Sessions};
use herdbook_story::reference::{from_zero, reference_line};
use herdbook_story::{Checker, Finding, History, Line, Options, Templates};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::folders::root;

fn folder() -> PathBuf {
    root().join("conformance/logs/v1")
}

fn text(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The lines of a log as one that begins at seq 1.
fn lines(text: &str) -> Vec<String> {
    let is_from_zero =
        text.lines().next().and_then(|line| Line::read(line).ok()).is_some_and(|line| line.seq == 0);
    let line = |line: &str| if is_from_zero { from_zero(line).unwrap() } else { line.to_owned() };
    text.split_terminator('\n').map(line).collect()
}

fn findings(lines: &[String]) -> Vec<String> {
    let mut checker = Checker::new(Options::native());
    let mut found: Vec<Finding> = lines.iter().flat_map(|line| checker.push(line)).collect();
    found.extend(checker.finish());
    found.iter().map(|finding| format!("{} seq {}", finding.rule.as_str(), finding.seq)).collect()
}

/// The model history of as many lines as have one, and why there is none behind them.
fn folded(lines: &[String]) -> (String, Value) {
    let (mut history, mut messages) = (History::new(Templates::default()), "[]".to_owned());
    for line in lines {
        if let Err(refusal) = history.apply(&Line::read(line).unwrap()) {
            return (messages, refusal.to_string().into());
        }
        messages = history.messages().unwrap();
    }
    (messages, Value::Null)
}

/// The lines as the reference writes them, up to the first that it has not.
fn exported(lines: &[String]) -> Vec<String> {
    lines.iter().map_while(|line| reference_line(line).ok()).collect()
}

/// All that a log gives.
fn outcome(text: &str) -> Value {
    let mut seals = Seals::new("log");
    let mut damage: Vec<String> = Vec::new();
    for line in text.split_terminator('\n') {
        damage.extend(seals.push(line.as_bytes()).iter().map(ToString::to_string));
    }
    let is_sealed = seals.is_sealed();
    damage.extend(seals.finish().iter().map(ToString::to_string));
    let lines = lines(text);
    let (messages, refused) = folded(&lines);
    let exported = exported(&lines);
    json!({
        "lines": lines.len(),
        "listed": lines.iter().filter(|line| Head::read(line.as_bytes()).is_some()).count(),
        "sealed": is_sealed,
        "damage": if is_sealed { damage } else { Vec::new() },
        "findings": findings(&lines),
        "messages_sha256": sha256(&messages),
        "refused": refused,
        "exported": exported.len(),
        "exported_sha256": sha256(&exported.join("\n")),
    })
}

#[test]
fn logs_of_released_versions_give_what_they_gave() {
    let expected: BTreeMap<String, Value> = serde_json::from_str(&text("expected.json")).unwrap();
    let mut files: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".jsonl"))
        .collect();
    files.sort();
    assert_eq!(files, expected.keys().cloned().collect::<Vec<String>>());
    for name in files {
        let outcome = outcome(&text(&name));
        assert_eq!(outcome, expected[&name], "{name} gives\n{outcome:#}");
    }
}

#[test]
fn text_that_others_stumble_over_comes_out_whole() {
    let (messages, refused) = folded(&lines(&text("odd-text.jsonl")));
    assert_eq!(refused, Value::Null);
    let expected = concat!(
        r#"[{"role":"user","content":[{"type":"text","text":"raw \u2028 \u2029 \u0085, escaped \u2028 \u2029 \u0085"}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"cut � in two �, whole 😀, é and /"},"#,
        r#"{"type":"tool_use","id":"t1","name":"bash","input":{"big":18446744073709551616,"empty":{},"exp":1000,"#,
        r#""half":0.5,"huge":1e400,"minus":0,"twice":2,"z":9007199254740993,"ä":[1,0,1e-7]}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","#,
        r#""content":"tab\t, bell \u0007, nul \u0000, quote \", line\nfeed"}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"Done."}]}]"#,
    );
    assert_eq!(messages, expected);
}

#[test]
fn a_log_that_begins_at_zero_is_one_that_begins_at_one() {
    let shifted = lines(&text("reference-from-zero.jsonl")).join("\n") + "\n";
    assert_eq!(shifted, include_str!("../../../story/tests/it/workflow.jsonl"));
}

#[test]
fn the_store_goes_on_with_a_log_of_a_released_version() {
    let agent = text("agent.jsonl");
    let key: String = {
        let first: Value = serde_json::from_str(agent.lines().next().unwrap()).unwrap();
        first["sessionId"].as_str().unwrap().to_owned()
    };
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    fs::create_dir_all(sessions.folder(&key)).unwrap();
    fs::copy(folder().join("agent.jsonl"), sessions.folder(&key).join("0000000001.jsonl")).unwrap();
    let count = agent.lines().count();
    let read: Vec<_> = Reader::open(&sessions.folder(&key)).map(|line| line.unwrap().seq).collect();
    assert_eq!(read, (1..=count as u64).collect::<Vec<u64>>());
    let (log, opened) = sessions.open(&key, StoreOptions::of_session(1_767_225_600_000)).unwrap();
    assert_eq!((opened.last_seq, log.last_seq()), (count as u64, count as u64));
    drop(log);

    // It is a whole tale, so every type is in it.
    let types: Vec<String> = agent.lines().map(|line| Line::read(line).unwrap().event_type).collect();
    for event_type in EventType::DURABLE {
        assert!(types.iter().any(|found| found == event_type.as_str()), "{event_type:?} is missing");
    }
}
