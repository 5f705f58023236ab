//! Every recorded screen of the real clients against what is known of that moment: no false dialog, no missed one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use herdbook_conformance::needs::Abilities;
use herdbook_conformance::{Runner, find_cases};
use herdbook_hosts::screen::{Judgement, Sample, Verdict, Watch, manifest};
use serde_json::Value;

use crate::folders::shared;

/// A screen follows what happened by no more than this: a hook may be ahead of it (the lag that the cases allow).
const LAG_MS: u64 = 3_000;

/// How many dialogs there were, and how many were seen.
#[derive(Debug, Default, PartialEq, Eq)]
struct Score {
    screens: usize,
    dialogs: usize,
    missed: usize,
    false_ones: usize,
}

impl Score {
    fn count(&mut self, asks: bool, seen: bool) {
        self.screens += 1;
        self.dialogs += usize::from(asks);
        self.missed += usize::from(asks && !seen);
        self.false_ones += usize::from(seen && !asks);
    }

    /// Prints it. Nothing may be missed, nothing false.
    fn tell(&self, what: &str) {
        let Score { screens, dialogs, missed, false_ones } = self;
        println!(
            "{what}: {screens} screens, {} of {dialogs} dialogs seen, {false_ones} false",
            dialogs - missed
        );
        assert_eq!((*missed, *false_ones), (0, 0), "{what}");
    }
}

/// What a screen shows when it stays as it is.
fn judge(host: &str, text: &str, size: Option<(u32, u32)>) -> Judgement {
    let manifest = manifest(host).unwrap();
    let mut watch = Watch::default();
    for at_ms in [0, 2_500] {
        watch.see(manifest, &Sample { at_ms, text, size, ..Sample::default() });
    }
    watch.judgement().clone()
}

/// The screen as it would be in a pane of so many columns: rules are drawn shorter, rows are wrapped.
fn narrowed(text: &str, columns: usize) -> String {
    let mut narrow = String::new();
    for row in text.lines() {
        let letters: Vec<char> = row.trim_end().chars().collect();
        let is_rule = letters.iter().all(|letter| matches!(letter, '\u{2500}'..='\u{259f}' | ' '));
        for part in letters.chunks(columns).take(if is_rule { 1 } else { usize::MAX }) {
            narrow.extend(part);
            narrow.push('\n');
        }
        if letters.is_empty() {
            narrow.push('\n');
        }
    }
    narrow
}

/// State, kind and age of the truth at a moment; nothing where two sessions or none are told of.
fn truth_at(truth: &Value, at_ms: u64) -> Option<(String, Option<String>, u64)> {
    let at = at_ms as f64 / 1_000.0;
    let mut now = truth["spans"].as_array()?.iter().filter(|span| {
        span["recorded_s"][0].as_f64().is_some_and(|from| from <= at)
            && span["recorded_s"][1].as_f64().is_none_or(|to| at <= to)
    });
    let span = now.next().filter(|_| now.next().is_none())?;
    let age = at_ms - (span["recorded_s"][0].as_f64()? * 1_000.0) as u64;
    Some((span["state"].as_str()?.to_owned(), span["kind"].as_str().map(str::to_owned), age))
}

#[test]
fn recorded_screens_are_read_as_the_truth_has_it() {
    let Some(folder) = shared("recorded_screens_are_read_as_the_truth_has_it", "real-cases") else { return };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let (mut looked, mut score) = (0, Score::default());
    for case in find_cases(&folder).unwrap() {
        let truth: Value = serde_json::from_slice(&fs::read(case.join("truth.json")).unwrap()).unwrap();
        let host = truth["client"].as_str().unwrap();
        for line in fs::read_to_string(case.join("replay.jsonl")).unwrap().lines() {
            let step: Value = serde_json::from_str(line).unwrap();
            if step["do"] != "pane" {
                continue;
            }
            looked += 1;
            let file = step["screen"].as_str().unwrap();
            let text = fs::read_to_string(case.join(file)).unwrap();
            let judged = judge(host, &text, None);
            for columns in [100, 60] {
                let narrow = judge(host, &narrowed(&text, columns), Some((columns as u32, 50)));
                if (narrow.reading.verdict, narrow.dialog()) != (judged.reading.verdict, judged.dialog()) {
                    wrong.push(format!("{}/{file} at {columns}: {:?}", case.display(), narrow.reading));
                }
            }
            let seen = judged.reading.verdict;
            let known = truth_at(&truth, step["t_ms"].as_u64().unwrap());
            let (state, kind, age_ms) = known.clone().unwrap_or_else(|| ("untold".into(), None, 0));
            let asks = kind.as_deref().filter(|kind| is_dialog(kind));
            score.count(asks.is_some(), seen == Verdict::Dialog);
            let right = match (state.as_str(), asks) {
                (_, Some(kind)) => judged.dialog().is_some_and(|seen| seen.as_str() == kind),
                ("working", None) => matches!(seen, Verdict::Busy | Verdict::Unknown),
                ("ended", None) => seen == Verdict::Unknown,
                ("stuck", None) => {
                    matches!(seen, Verdict::Ready | Verdict::Menu)
                        || (matches!(seen, Verdict::Busy | Verdict::Unknown) && age_ms <= LAG_MS)
                }
                _ => seen != Verdict::Dialog,
            };
            let shown = kind.as_deref().map_or(state.clone(), |kind| format!("{state} ({kind})"));
            *counts.entry(format!("{host} {shown}: {}", seen.as_str())).or_default() += 1;
            if !right {
                let name = case.file_name().unwrap().to_string_lossy().into_owned();
                wrong.push(format!("{name}/{file}: {shown} for {age_ms} ms, read as {:?}", judged.reading));
            }
        }
    }
    for (what, count) in &counts {
        println!("{count:4} {what}");
    }
    assert!(wrong.is_empty(), "{} of {looked} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(looked >= 100, "{looked} screens were looked at");
    score.tell("real cases");
}

/// The captures are the screens of the real cases without blank rows: who waits for whom is told there.
#[test]
fn captured_screens_show_a_dialog_when_there_was_one() {
    let test = "captured_screens_show_a_dialog_when_there_was_one";
    let (Some(captures), Some(cases)) = (shared(test, "captures"), shared(test, "real-cases")) else {
        return;
    };
    let mut score = Score::default();
    for entry in fs::read_dir(captures.join("real/screens")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut words = name.splitn(3, '-');
        let (host, run) = (words.next().unwrap(), words.nth(1).unwrap());
        let case = cases.join(format!("{host}-{run}"));
        let truth: Value = serde_json::from_slice(&fs::read(case.join("truth.json")).unwrap()).unwrap();
        let steps = fs::read_to_string(case.join("replay.jsonl")).unwrap();
        let steps: Vec<Value> = steps.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (part, text) in parts(&path).into_iter().filter(|(part, _)| !part.starts_with("print-")) {
            let shown = format!("screen-{part}");
            let Some(step) = steps.iter().find(|step| step["screen"] == shown.as_str()) else { continue };
            let known = truth_at(&truth, step["t_ms"].as_u64().unwrap());
            let asks = known.and_then(|(_, kind, _)| kind).is_some_and(|kind| is_dialog(&kind));
            let judged = judge(host, &text, None);
            score.count(asks, judged.reading.verdict == Verdict::Dialog);
        }
    }
    score.tell("captures");
    assert!(score.screens >= 100, "{score:?}");
}

#[test]
fn screens_of_the_field_cases_show_what_they_say() {
    let Some(folder) = shared("screens_of_the_field_cases_show_what_they_say", "field-cases") else { return };
    let mut score = Score::default();
    let shows =
        |case: &PathBuf| fs::read_to_string(case.join("case.json")).unwrap().contains(r#""kind": "screen""#);
    for case in find_cases(&folder).unwrap().into_iter().filter(shows) {
        let lines = Runner::new(Abilities::of_this_product(false), None).run_folder(&case);
        for line in lines.iter().filter(|line| line.check.ends_with(" verdict")) {
            assert_eq!(line.ok, Some(true), "{} {}", line.case, line.check);
            let is_seen = line.observed == "dialog";
            // Some say only what it must not be.
            score.count(line.expected == "dialog" || (is_seen && line.expected.is_object()), is_seen);
        }
    }
    score.tell("field cases");
    assert!(score.screens >= 20, "{score:?}");
}

/// True for what waits on the screen; the other kinds are how a turn ended.
fn is_dialog(kind: &str) -> bool {
    !matches!(kind, "turn_end" | "error" | "interrupted")
}

#[test]
fn what_headless_runs_print_is_no_screen() {
    let test = "what_headless_runs_print_is_no_screen";
    let Some(folder) = shared(test, "captures") else { return };
    let mut looked = 0;
    for entry in fs::read_dir(folder.join("real/screens")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let host = name.split('-').next().unwrap();
        for (part, text) in parts(&path) {
            if part.starts_with("print-") {
                looked += 1;
                let judged = judge(host, &text, None);
                assert_eq!(judged.reading.verdict, Verdict::Unknown, "{name} {part}: {:?}", judged.reading);
            }
        }
    }
    println!("{looked} outputs, no verdict about any");
    assert!(looked >= 50, "{looked} outputs were looked at");
}

/// The screens in a file, each after its `--- name` row.
fn parts(path: &Path) -> Vec<(String, String)> {
    let mut parts: Vec<(String, String)> = Vec::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        match (line.strip_prefix("--- "), parts.last_mut()) {
            (Some(name), _) if name.ends_with(".txt") => parts.push((name.to_owned(), String::new())),
            (_, Some((_, text))) => *text += &format!("{line}\n"),
            _ => {}
        }
    }
    parts
}
