//! The pane eye on screens of its own making; those that were recorded are read in `conformance`.

use herdbook_events::observation::PaneRef;
use herdbook_events::{Shows, WaitKind};
use proptest::prelude::*;

use super::*;

const RULE: &str = "────────────────────────────────────────";

fn claude(above: &str, typed: &str, footer: &str) -> String {
    format!("{above}\n{RULE}\n❯ {typed}\n{RULE}\n  {footer}\n\n\n")
}

fn sample(text: &str, at_ms: u64) -> Sample<'_> {
    Sample { at_ms, text, ..Sample::default() }
}

fn pane() -> PaneRef {
    PaneRef { socket: String::new(), server_pid: None, pane: "%1".into() }
}

fn read_claude(text: &str) -> Reading {
    read(manifest("claude").unwrap(), &sample(text, 0))
}

#[test]
fn every_manifest_that_comes_with_the_program_can_be_read() {
    for (host, text) in TEXTS {
        Manifest::parse(host, text).unwrap();
        assert!(crate::table(host).is_some(), "{host} has a table, too");
    }
    assert!(manifest("amp").is_none());
}

#[test]
fn words_in_an_answer_are_no_sign_of_work() {
    for quoted in [
        "● The row reads ✻ Baking… (3s · esc to interrupt)",
        "● An example:\n  ✻ Baking… (3s · esc to interrupt)",
        "✻ Baking… (3s · esc to interrupt)\n\n● Done.",
        "✻ Baking… (3s · esc to interrupt)\n● Done.",
    ] {
        assert_eq!(read_claude(&claude(quoted, "", "? for shortcuts")).verdict, Verdict::Ready, "{quoted}");
    }
    let working = claude("● Reading.\n✻ Baking… (3s · ↓ 20 tokens)\n  ⎿  Tip: x", "", "? for shortcuts");
    assert_eq!(read_claude(&working).verdict, Verdict::Busy);
    let by_footer = claude("● Reading.", "", "⏸ manual mode on · esc to interrupt");
    assert_eq!(read_claude(&by_footer).verdict, Verdict::Busy);
}

#[test]
fn a_dialog_counts_at_the_bottom_only() {
    let dialog = " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend\n";
    let read = read_claude(dialog);
    assert_eq!((read.verdict, read.kind), (Verdict::Dialog, Some(WaitKind::Permission)));
    assert_eq!(read.message, "Do you want to proceed?");
    let answered = format!("{dialog}\n{}", claude("● Done.", "", "? for shortcuts"));
    assert_eq!(read_claude(&answered).verdict, Verdict::Ready);
    let left = format!("{dialog}\nResume this session with:\nclaude --resume x\n$ ls\nsrc\n$\n");
    assert_eq!(read_claude(&left).verdict, Verdict::Unknown);
}

#[test]
fn a_dialog_that_nobody_has_seen_before_looks_like_one_after_a_while() {
    let offers = " A new thing?\n ❯ Yes, do it\n   No, leave it\n";
    let numbers = " A new thing?\n ▶ [a] Do it\n   [q] Leave it\n\n Esc to go\n";
    let prompt = "❯ No\n  x\n";
    for (text, expected) in
        [(offers, Verdict::Dialog), (numbers, Verdict::Dialog), (prompt, Verdict::Unknown)]
    {
        let mut watch = Watch::default();
        let manifest = manifest("claude").unwrap();
        for at_ms in [0, 2_000, 9_999] {
            let early = watch.see(manifest, &sample(text, at_ms)).reading.verdict;
            assert_eq!(early, Verdict::Unknown, "it may still be drawn: {text}");
        }
        let judged = watch.see(manifest, &sample(text, 10_000));
        assert_eq!(
            (judged.reading.verdict, judged.reading.rule.as_str() == "choice"),
            (expected, expected == Verdict::Dialog)
        );
    }
}

#[test]
fn what_is_shown_of_a_dead_or_empty_pane_is_nothing() {
    for text in ["", "\n\n \n", "x\nPane is dead (status 0, Mon)\n", "$ ", "no composer here"] {
        assert_eq!(read_claude(text).verdict, Verdict::Unknown, "{text:?}");
    }
}

#[test]
fn a_text_under_a_cursor_at_its_start_was_put_there_by_the_client() {
    let text = claude("● Done.", "write a test for app.py", "? for shortcuts");
    let manifest = manifest("claude").unwrap();
    let at = |cursor| read(manifest, &Sample { cursor, ..sample(&text, 0) }).human_there;
    assert!(at(None));
    assert!(!at(Some((2, 2))));
    assert!(at(Some((9, 2))));
    assert!(!read_claude(&claude("● Done.", "Try \"fix lint errors\"", "? for shortcuts")).human_there);
}

#[test]
fn two_equal_samples_count_and_a_new_row_starts_anew() {
    let manifest = manifest("claude").unwrap();
    let one = claude("● One.", "", "? for shortcuts");
    let two = claude("● One.\n● Two.", "", "? for shortcuts");
    let clock = claude("● One.\n● Two.", "", "? for shortcuts   09:42");
    let mut watch = Watch::default();
    let mut see = |text: &str, at_ms| watch.see(manifest, &sample(text, at_ms)).clone();
    assert_eq!(see(&one, 0).reading.verdict, Verdict::Unknown);
    assert_eq!(see(&two, 2_000).reading.verdict, Verdict::Unknown);
    let judged = see(&clock, 4_000);
    assert_eq!((judged.reading.verdict, judged.since_ms), (Verdict::Ready, 2_000));
    assert_eq!((judged.transitions, judged.announce), (0, false), "the first verdict is no change");
    let working = claude("● One.\n● Two.\n✻ Baking… (1s)", "", "? for shortcuts");
    assert_eq!(see(&working, 6_000).reading.verdict, Verdict::Busy, "work counts at once");
    assert!(!see(&two, 8_000).is_fresh, "it still says busy, but not by this sample");
    let judged = see(&two, 10_000);
    assert_eq!((judged.reading.verdict, judged.announce, judged.transitions), (Verdict::Ready, true, 2));
    assert!(!see(&two, 12_000).announce, "told once");
}

#[test]
fn a_screen_that_stands_still_is_read_anew_by_other_rules() {
    let rules = |name: &str| {
        let text = format!("[[dialog]]\nname = '{name}'\nall = ['^Tea\\?$']\nend = '^y/n$'\n");
        Manifest::parse("claude.toml", &text).unwrap()
    };
    let mut watch = Watch::default();
    let mut see = |name: &str, text: &str, at_ms| {
        let judged = watch.see(&rules(name), &sample(text, at_ms));
        (judged.reading.verdict, judged.reading.rule.clone())
    };
    let tea = "Tea?\ny/n\n";
    assert_eq!(see("tea", tea, 0).0, Verdict::Unknown);
    assert_eq!(see("tea", tea, 2_000), (Verdict::Dialog, "tea".to_owned()));
    assert_eq!(see("coffee", tea, 4_000), (Verdict::Dialog, "coffee".to_owned()));
    assert_eq!(see("coffee", "Tea\n", 6_000).1, "coffee", "one look is not enough");
    assert_eq!(see("coffee", "Tea\n", 8_000).0, Verdict::Unknown);
}

#[test]
fn a_pane_out_of_sight_is_unknown_not_quiet() {
    let manifest = manifest("claude").unwrap();
    let quiet = claude("● Done.", "", "? for shortcuts");
    let mut watch = Watch::default();
    watch.see(manifest, &sample(&quiet, 0));
    watch.see(manifest, &sample(&quiet, 2_000));
    assert!(watch.judgement().seen(2_000, pane(), "claude").is_some());
    let judged = watch.see(manifest, &Sample { in_mode: true, ..sample("old rows", 4_000) }).clone();
    assert_eq!(judged.reading.verdict, Verdict::Ready, "the last verdict stands in copy mode");
    assert_eq!(judged.seen(4_000, pane(), "claude"), None, "but is told to nobody again");
    watch.lost_sight();
    assert_eq!(watch.judgement().reading.verdict, Verdict::Unknown);
    assert_eq!(watch.see(manifest, &sample(&quiet, 6_000)).reading.verdict, Verdict::Unknown);
    assert_eq!(watch.see(manifest, &sample(&quiet, 8_000)).reading.verdict, Verdict::Ready);
}

proptest! {
    /// Any text is read without a fault, and what has no prompt and no choice is never quiet or a dialog.
    #[test]
    fn any_text_is_read(
        text in "([ -~❯›●✻⎿─│╭╰\n]{0,400})",
        columns in 0u32..200,
        rows in 0u32..60,
        cursor in proptest::option::of((0u32..300, 0u32..300)),
    ) {
        for (host, _) in TEXTS {
            let sample = Sample { text: &text, size: Some((columns, rows)), cursor, ..Sample::default() };
            let reading = read(manifest(host).unwrap(), &sample);
            if !text.contains(['❯', '›', '●', '>', '!', '*', '#', '1']) {
                prop_assert_eq!(reading.verdict, Verdict::Unknown);
            }
        }
    }
}

#[test]
fn how_late_a_dialog_may_be_drawn_is_said_by_the_host_and_by_what_it_shows() {
    let drawn = |host: &str, text: &str| {
        let mut watch = Watch::default();
        watch.see(manifest(host).unwrap(), &sample(text, 0)).seen(0, pane(), host).unwrap().drawn_ms
    };
    let codex = |more: &str| {
        format!(
            "› make it\n\n• Working (1s • esc to interrupt){more}\n\n› Ask Codex to do anything\n\n  GPT · ~\n"
        )
    };
    assert_eq!(
        drawn("claude", &claude("● Reading.\n✻ Baking… (3s · ↓ 20 tokens)", "", "? for shortcuts")),
        1_000
    );
    assert_eq!(drawn("codex", &codex("")), 2_500);
    assert_eq!(drawn("codex", &codex(" · Running hook")), 1_500);
    assert_eq!(drawn("codex", &codex(" · Running 2 hooks")), 1_500);
}

#[test]
fn the_first_look_at_a_known_dialog_is_told_as_one_look() {
    let dialog = " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend\n";
    let mut watch = Watch::default();
    let mut seen = |text: &str, at_ms| {
        let told = watch.see(manifest("claude").unwrap(), &sample(text, at_ms)).seen(at_ms, pane(), "claude");
        (told.map(|told| (told.shows, told.for_ms)), watch.is_undecided())
    };
    let asks = Shows::Dialog { kind: WaitKind::Permission, sure: true };
    assert_eq!(seen(dialog, 1_000), (Some((asks, 0)), true));
    assert_eq!(seen(dialog, 1_250), (Some((asks, 250)), false));
    let quiet = claude("● Done.", "", "? for shortcuts");
    assert_eq!(seen(&quiet, 1_500), (None, true), "a quiet pane is told by two looks");
    assert_eq!(seen(dialog, 1_750), (Some((asks, 0)), true));
}
