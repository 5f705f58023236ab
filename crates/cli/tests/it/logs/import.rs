//! `herdbook log import`, and what `export` makes of it.

use super::{SEALED, UNSEALED, catalog};
use crate::support::{Ran, TestEnv};

fn import(env: &TestEnv, text: &str, more: &[&str]) -> Ran {
    env.run_with(&[&["log", "import", "-"], more].concat(), text.as_bytes())
}

fn export(env: &TestEnv, key: &str) -> String {
    let ran = env.run(&["log", "export", key, "--profile", "khaelor"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    ran.stdout
}

#[test]
fn what_was_imported_is_exported_byte_for_byte() {
    for text in [UNSEALED, SEALED] {
        let env = TestEnv::new();
        let ran = import(&env, text, &[]);
        let words = "tea-timer: 8 events imported and synced\n";
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, words, ""));
        assert_eq!(export(&env, "tea-timer"), UNSEALED);
        let ran = import(&env, text, &[]);
        let words = "tea-timer has all of it already: 8 events\n";
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, words, ""));
    }
}

#[test]
fn the_example_of_the_catalog_is_imported_and_exported() {
    let Some((text, _)) = catalog("the_example_of_the_catalog_is_imported_and_exported") else { return };
    let env = TestEnv::new();
    assert_eq!(import(&env, &text, &[]).code, 0);
    assert_eq!(export(&env, "demo-0001"), text);
    let ran = env.run(&["log", "check", "demo-0001"]);
    assert_eq!(ran.stdout, "109 lines, with checksums, native profile: 0 errors, 0 warnings\n");
}

/// The log as one that begins at seq 0, its one position with it.
fn from_zero() -> String {
    let mut text = UNSEALED.to_owned();
    for seq in 1..=8 {
        text = text.replace(&format!("\"seq\":{seq},"), &format!("\"seq\":{},", seq - 1));
    }
    assert!(text.contains("\"withheldCandidateSeq\":4"));
    text.replace("\"withheldCandidateSeq\":4", "\"withheldCandidateSeq\":3")
}

#[test]
fn a_log_that_begins_at_zero_is_shifted_with_its_positions() {
    let env = TestEnv::new();
    let ran = import(&env, &from_zero(), &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("began at seq 0"), "{}", ran.stdout);
    let exported = export(&env, "tea-timer");
    assert_eq!(exported, UNSEALED);
    // A second import of the export is byte-equal, and the same file again is nothing new.
    let other = TestEnv::new();
    assert_eq!(import(&other, &exported, &[]).code, 0);
    assert_eq!(export(&other, "tea-timer"), exported);
    assert!(import(&env, &from_zero(), &[]).stdout.contains("has all of it already"));
}

#[test]
fn a_log_that_is_open_is_not_imported_into() {
    let env = TestEnv::new();
    let start: String = UNSEALED.split_inclusive('\n').take(5).collect();
    assert_eq!(import(&env, &start, &[]).code, 0);
    let sessions = herdbook_log::Sessions::new(&env.path().join("state/herdbook"));
    let (log, opened) = sessions.open("tea-timer", herdbook_log::Options::of_session(1)).unwrap();
    assert_eq!(opened.last_seq, 5);
    let ran = import(&env, UNSEALED, &[]);
    let words = format!("error: process {} has the log of tea-timer open; ", std::process::id());
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with(&words), "{}", ran.stderr);
    // Where there is nothing to write, nothing is opened.
    assert_eq!(import(&env, &start, &[]).code, 0);
    log.close();
    assert_eq!(import(&env, UNSEALED, &[]).code, 0);
    assert_eq!(export(&env, "tea-timer"), UNSEALED);
}

#[test]
fn another_key_renames_the_session_and_nothing_else() {
    let env = TestEnv::new();
    let ran = import(&env, UNSEALED, &["--as", "old/alarm.jsonl"]);
    assert!(ran.stdout.ends_with("their session was called tea-timer\n"), "{}", ran.stdout);
    assert_eq!(export(&env, "old/alarm.jsonl"), UNSEALED.replace("tea-timer", "old/alarm.jsonl"));
}

#[test]
fn an_import_that_was_broken_off_goes_on() {
    let env = TestEnv::new();
    let start: String = UNSEALED.split_inclusive('\n').take(5).collect();
    assert_eq!(import(&env, &start, &[]).code, 0);
    let ran = import(&env, UNSEALED, &[]);
    let words = "tea-timer: 3 events imported and synced, 5 were there\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, words));
    assert_eq!(export(&env, "tea-timer"), UNSEALED);
    // And a part of what is there is there.
    assert!(import(&env, &start, &[]).stdout.contains("has all of it already: 5 events"));
}

#[test]
fn a_session_with_other_events_is_left_as_it_is() {
    let env = TestEnv::new();
    assert_eq!(import(&env, UNSEALED, &[]).code, 0);
    for changed in [
        UNSEALED.replace("It rings.", "It sings."),
        UNSEALED.replace("\"ts\":1767225601000", "\"ts\":1767225601001"),
    ] {
        assert_ne!(changed, UNSEALED);
        let ran = import(&env, &changed, &[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
        let words = "error: the log of tea-timer has another event at seq 4\nhint: import it under another key, with --as\n";
        assert_eq!(ran.stderr, words);
        assert_eq!(export(&env, "tea-timer"), UNSEALED);
    }
}

#[test]
fn what_is_no_log_is_refused_whole_by_its_line() {
    let wrong = |text: &str| {
        let env = TestEnv::new();
        let ran = import(&env, text, &[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
        assert!(!env.path().join("state/herdbook/sessions").exists());
        ran.stderr
    };
    let sings = SEALED.replace("It rings.", "It sings.");
    assert!(wrong(&sings).contains("line 4 (seq 4): the checksum does not fit"), "{}", wrong(&sings));
    let missing: String =
        UNSEALED.split_inclusive('\n').filter(|line| !line.contains("\"seq\":4,")).collect();
    assert!(wrong(&missing).starts_with("error: line 4, seq 5, E4: seq: "), "{}", wrong(&missing));
    let unknown = UNSEALED.replace("user.message-created", "user.sighed");
    assert!(wrong(&unknown).contains("E7: type: "), "{}", wrong(&unknown));
    assert!(wrong(&unknown).contains("error: nothing was imported: "), "{}", wrong(&unknown));
    let fifth = UNSEALED.replace("\"seq\":", "\"seq\":1");
    assert!(wrong(&fifth).contains("E4"), "{}", wrong(&fifth));
    let undated = UNSEALED.replace("\"ts\":1767225601000", "\"ts\":1767225601000.5");
    assert!(wrong(&undated).contains("line 4: 'ts' is missing or has another type"), "{}", wrong(&undated));
    assert!(wrong("").contains("there is no event in the file"));
    assert!(wrong("{}").contains("E"), "{}", wrong("{}"));
}

#[test]
fn breaches_of_other_rules_are_told_and_imported() {
    let env = TestEnv::new();
    let third = UNSEALED.replace("\"attempt\":1", "\"attempt\":2");
    let ran = import(&env, &third, &[]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.starts_with("warning: line 6, seq 6, V1: "), "{}", ran.stderr);
    assert_eq!(export(&env, "tea-timer"), third);
}

#[test]
fn tools_of_other_harnesses_are_taken_with_their_profile() {
    let Some((text, _)) = catalog("tools_of_other_harnesses_are_taken_with_their_profile") else { return };
    let text = text.replace("\"toolName\":\"grep\"", "\"toolName\":\"Grep\"");
    let env = TestEnv::new();
    let ran = import(&env, &text, &[]);
    assert!(ran.code == 1 && ran.stderr.contains("E8: toolName: "), "{}", ran.stderr);
    assert_eq!(import(&env, &text, &["--profile", "imported"]).code, 0);
    assert_eq!(export(&env, "demo-0001"), text);
}
