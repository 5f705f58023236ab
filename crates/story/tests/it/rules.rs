//! The rules against the shared catalog and against what breaks them: one change of an example, one rule that names it.

use herdbook_story::check::Weight;
use herdbook_story::{Checker, Level, Options, Profile, Rule};
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
