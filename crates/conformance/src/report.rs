//! Result lines and their count.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longer texts are cut in the report, so that a whole store does not end up in it.
const MAX_TEXT_CHARS: usize = 2_000;

/// The result of one expectation: one line of the report.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Line {
    /// Id of the case.
    pub case: String,
    /// What was asked: the check, and the place in it.
    pub check: String,
    /// What was expected, as written in the case.
    pub expected: Value,
    /// What was observed; null also where nothing was there.
    pub observed: Value,
    /// Right, wrong, or not run.
    pub ok: Option<bool>,
    /// Why it was not run: the missing need, host or tool as one word, or `manual`. For a case that could not be
    /// read or run, what is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Lines counted by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines with `ok` true.
    pub passed: usize,
    /// Lines with `ok` false.
    pub failed: usize,
    /// Lines with `ok` null.
    pub not_run: usize,
}

impl Line {
    /// Makes a line for an expectation that was put to the test.
    pub fn tested(case: &str, check: String, expected: Value, observed: Option<Value>, ok: bool) -> Line {
        let observed = shorten(observed.unwrap_or(Value::Null));
        Line { case: case.into(), check, expected, observed, ok: Some(ok), reason: None }
    }

    /// Makes a line for an expectation that was not put to the test.
    pub fn not_run(case: &str, check: String, expected: Value, reason: &str) -> Line {
        Line {
            case: case.into(),
            check,
            expected,
            observed: Value::Null,
            ok: None,
            reason: Some(reason.into()),
        }
    }

    /// Makes the line of a case that cannot be read, or of a check whose surroundings broke.
    pub fn broken(case: &str, check: &str, reason: String) -> Line {
        Line {
            case: case.into(),
            check: check.into(),
            expected: Value::Null,
            observed: Value::Null,
            ok: Some(false),
            reason: Some(reason),
        }
    }
}

impl Tally {
    /// Counts one line.
    pub fn count(&mut self, line: &Line) {
        match line.ok {
            Some(true) => self.passed += 1,
            Some(false) => self.failed += 1,
            None => self.not_run += 1,
        }
    }

    /// The run as a whole is good: something ran, and nothing failed.
    pub fn is_good(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} passed, {} failed, {} not run", self.passed, self.failed, self.not_run)
    }
}

/// Tells whether a case passes: no line failed, and none was left out except for `manual` and `root` ones.
pub fn case_passes(lines: &[Line]) -> bool {
    lines.iter().any(|line| line.ok == Some(true))
        && lines.iter().all(|line| match line.ok {
            Some(ok) => ok,
            None => matches!(line.reason.as_deref(), Some("manual" | "root")),
        })
}

/// Writes one line for each case: its verdict, counts, and the reasons of what was not run.
///
/// # Errors
/// The writer's.
pub fn write_summary(lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
    let mut cases: Vec<(&str, Vec<Line>)> = Vec::new();
    for line in lines {
        match cases.iter_mut().find(|(case, _)| *case == line.case) {
            Some((_, of_case)) => of_case.push(line.clone()),
            None => cases.push((&line.case, vec![line.clone()])),
        }
    }
    for (case, of_case) in &cases {
        let mut tally = Tally::default();
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for line in of_case {
            tally.count(line);
            if line.ok.is_none() {
                *reasons.entry(line.reason.as_deref().unwrap_or("?")).or_default() += 1;
            }
        }
        let verdict = if tally.failed > 0 {
            "FAILED"
        } else if case_passes(of_case) {
            "passed"
        } else if tally.passed > 0 {
            "in part"
        } else {
            "not run"
        };
        write!(out, "{verdict:8} {case}: {tally}")?;
        if !reasons.is_empty() {
            let words: Vec<String> =
                reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
            write!(out, " ({})", words.join(", "))?;
        }
        writeln!(out)?;
        for line in of_case.iter().filter(|line| line.ok == Some(false)) {
            let reason = line.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            writeln!(out, "           - {}{reason}", line.check)?;
        }
    }
    Ok(())
}

fn shorten(value: Value) -> Value {
    match value {
        Value::String(text) if text.chars().count() > MAX_TEXT_CHARS => {
            let kept: String = text.chars().take(MAX_TEXT_CHARS).collect();
            Value::String(format!("{kept}… ({} characters in all)", text.chars().count()))
        }
        Value::Array(members) => Value::Array(members.into_iter().map(shorten).collect()),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(key, value)| (key, shorten(value))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_have_the_members_of_the_contract_in_order() {
        let line = Line::tested("F-001", "replay@15000 queue".into(), json!(["a"]), Some(json!(["a"])), true);
        assert_eq!(
            serde_json::to_string(&line).unwrap(),
            r#"{"case":"F-001","check":"replay@15000 queue","expected":["a"],"observed":["a"],"ok":true}"#
        );
        let line = Line::not_run("F-103", "another-user ok status".into(), json!(403), "root");
        assert_eq!(
            serde_json::to_string(&line).unwrap(),
            r#"{"case":"F-103","check":"another-user ok status","expected":403,"observed":null,"ok":null,"reason":"root"}"#
        );
    }

    #[test]
    fn a_run_in_which_nothing_ran_is_not_good() {
        let mut tally = Tally::default();
        assert!(!tally.is_good());
        tally.count(&Line::not_run("a", "b".into(), json!(1), "screen"));
        assert!(!tally.is_good());
        tally.count(&Line::tested("a", "b".into(), json!(1), Some(json!(1)), true));
        assert!(tally.is_good());
        tally.count(&Line::tested("a", "b".into(), json!(1), None, false));
        assert!(!tally.is_good());
        assert_eq!(tally.to_string(), "1 passed, 1 failed, 1 not run");
    }

    #[test]
    fn a_case_passes_only_when_no_line_is_left_out_but_manual_and_root_ones() {
        let passed = Line::tested("a", "x".into(), json!(1), Some(json!(1)), true);
        let left_out = |reason| Line::not_run("a", "y".into(), json!(1), reason);
        assert!(case_passes(&[passed.clone(), left_out("root"), left_out("manual")]));
        assert!(!case_passes(&[passed.clone(), left_out("screen")]));
        assert!(!case_passes(&[left_out("root")]), "nothing passes by not being run");
        assert!(!case_passes(&[passed, Line::broken("a", "z", "why".into())]));
    }

    #[test]
    fn long_texts_are_cut_in_the_report() {
        let Value::String(text) = shorten(json!("x".repeat(5_000))) else { panic!("a text stays a text") };
        assert!(text.ends_with("… (5000 characters in all)") && text.len() < 2_100);
    }
}
