//! The rules against the shared catalog and against what breaks them: one change of an example, one rule that names it.

use herdbook_story::check::Weight;
use herdbook_story::{Checker, History, Level, Line, Options, Profile, Rule, Templates};
use proptest::prelude::*;
use serde_json::Value;

use crate::shared::{self, OWN_EXAMPLE, OWN_WORKFLOW};

/// Checks a log and returns its findings as text.
fn findings(lines: &[impl AsRef<str>], options: Options) -> Vec<String> {
    let mut checker = Checker::new(options);
    let mut found: Vec<_> = lines.iter().flat_map(|line| checker.push(line.as_ref())).collect();
    found.extend(checker.finish());
    found.iter().map(ToString::to_string).collect()
}

fn sealed() -> Options {
    Options { strict: true, ..Options::native() }
}

#[test]
fn ids_weights_and_words_are_those_of_the_shared_catalog() {
    let test = "ids_weights_and_words_are_those_of_the_shared_catalog";
    let Some(text) = shared::catalog(test, "catalog.json") else { return };
    let catalog: Value = serde_json::from_str(&text).unwrap();
    let theirs: Vec<(&str, &str, &str)> = catalog["invariants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| {
            let text = |name: &str| rule[name].as_str().unwrap();
            (text("id"), text("level"), text("rule"))
        })
        .collect();
    let weight = |rule: &Rule| match rule.weight() {
        Weight::Error => "error",
        Weight::Warn => "warn",
        Weight::Strict => "strict",
        Weight::Test => "test",
    };
    let ours: Vec<_> = Rule::ALL.iter().map(|rule| (rule.as_str(), weight(rule), rule.words())).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn what_hosts_do_not_report_is_a_warning_in_imported_logs() {
    let softer: Vec<&str> = Rule::ALL
        .iter()
        .filter(|rule| rule.level(Profile::Native) != rule.level(Profile::Imported))
        .map(|rule| rule.as_str())
        .collect();
    // V3, V5 are warnings in native logs too.
    let expected =
        ["M2", "M5", "T3", "T4", "P1", "P2", "P3", "P4", "V1", "V2", "V4", "H1", "H2", "H3", "H4", "H5"];
    assert_eq!(softer, expected);
    assert!(softer.iter().all(|id| {
        let rule = Rule::ALL.iter().find(|rule| rule.as_str() == *id).unwrap();
        rule.level(Profile::Imported) == Level::Warn
    }));
}

#[test]
fn the_examples_keep_every_rule() {
    for own in [OWN_EXAMPLE, OWN_WORKFLOW] {
        let lines: Vec<&str> = own.lines().collect();
        assert_eq!(findings(&lines, sealed()), [""; 0]);
    }
    let Some(log) = shared::catalog("the_examples_keep_every_rule", "example.jsonl") else { return };
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(findings(&lines, sealed()), [""; 0]);
    assert_eq!(findings(&lines, Options::imported()), [""; 0]);
}

#[test]
fn an_imported_log_may_name_other_tools_skip_steps_and_have_older_ids() {
    let mut lines: Vec<String> =
        OWN_EXAMPLE.lines().map(|line| line.replace("\"grep\"", "\"Grep\"")).collect();
    // No word that the second tool use was approved or started, and an older id for its end.
    lines.drain(10..12);
    lines[10] = lines[10].replace("01KDVDND5J", "01KDVDNA00");
    let lines: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| {
            let (head, rest) = line.split_once("\"seq\":").unwrap();
            let (_, rest) = rest.split_once(',').unwrap();
            let line = format!("{head}\"seq\":{},{rest}", at + 1);
            line.strip_suffix('}').unwrap().to_owned()
                + ",\"src\":{\"host\":\"claude\"},\"crc\":\"00000000\"}"
        })
        .take(13)
        .collect();
    assert_eq!(
        findings(&lines, Options::imported()),
        ["seq 11: warning T4: type: completed without tool.started"]
    );
    assert_eq!(
        findings(&lines, Options::native()),
        [
            "seq 7: error E8: toolName: is 'Grep', must be one of read, write, edit, grep, glob, bash, process, design, \
             remember, symbols, refs",
            "seq 11: error T4: type: completed without tool.started",
        ]
    );
}

#[test]
fn a_wrong_number_is_named_once_and_the_log_goes_on() {
    let numbers = |wrong: &str| {
        let mut lines: Vec<String> = OWN_EXAMPLE.lines().map(str::to_owned).collect();
        lines[6] = lines[6].replacen("\"seq\":7,", &format!("\"seq\":{wrong},"), 1);
        findings(&lines, sealed())
    };
    // Places that are counted by the wrong number may be off, too (C2); the line behind it is in order again.
    for wrong in ["9999", "18446744073709551615", "3", "0"] {
        let found = numbers(wrong);
        assert_eq!(found[0], format!("seq {wrong}: error E4: seq: is {wrong}, must be 7"));
        assert_eq!(found.iter().filter(|finding| finding.contains("E4")).count(), 1);
    }
    assert_eq!(numbers("-7"), ["seq 7: error E4: seq: is missing or no whole number"]);
    let mut lines: Vec<&str> = OWN_EXAMPLE.lines().collect();
    lines.insert(7, "{\"v\":1,");
    // A line that is none of the log's takes no number from the next.
    for alien in ["{\"v\":1,", ""] {
        lines[7] = alien;
        let found = findings(&lines, sealed());
        assert!(found[0].starts_with("seq 8: error E8: the line is no JSON object: "));
        assert_eq!(found[1..], [""; 0]);
    }
    // What a wrong number excuses is the next line alone: seq 7 is lost, and seq 8 comes again behind seq 10.
    let mut lines: Vec<&str> = OWN_EXAMPLE.lines().collect();
    lines.insert(10, lines[7]);
    lines.remove(6);
    let found = findings(&lines, sealed());
    let numbers: Vec<&str> =
        found.iter().filter_map(|finding| Some(finding.split_once(": error E4: seq: ")?.1)).collect();
    assert_eq!(numbers, ["is 8, must be 7", "is 8, must be 11"]);
    assert_eq!(
        findings(&[""; 0], sealed()),
        ["seq 0: error S1: the log is empty, a log begins with session.started"]
    );
}

#[test]
fn the_answer_to_a_request_for_an_ended_tool_use_is_its_one_answer() {
    let mut lines: Vec<String> = OWN_WORKFLOW.lines().map(str::to_owned).collect();
    // Line 24 asks for the tool use that line 23 ended, and line 25 answers it.
    lines[23] = lines[23].replacen("\"toolUseId\":\"t3\"", "\"toolUseId\":\"t2\"", 1);
    let found = findings(&lines[..25], Options::native());
    assert_eq!(found, ["seq 24: error P1: toolUseId: tool use t2 is not open"]);
}

proptest! {
    #[test]
    fn no_line_makes_it_panic(at in 0usize..55, place in any::<prop::sample::Index>(), with in ".{0,3}|[0-9]{1,25}|null|\\{|\\[") {
        let mut lines: Vec<String> = OWN_EXAMPLE.lines().map(str::to_owned).collect();
        let boundaries: Vec<usize> = lines[at].char_indices().map(|(place, _)| place).collect();
        let start = *place.get(&boundaries);
        let end = lines[at][start..].find([',', '}']).map_or(lines[at].len(), |length| start + length);
        lines[at].replace_range(start..end, &with);
        let _ = findings(&lines, sealed());
        let mut history = History::new(Templates::default());
        for line in &lines {
            if let Ok(line) = Line::read(line) {
                let _ = history.apply(&line);
            }
        }
    }
}
