//! The command line: reports, counts, exit statuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn runner(arguments: &[&str], dir: &Path) -> Output {
    #[expect(clippy::disallowed_methods, reason = "the test runs the program it is about")]
    let mut command = Command::new(env!("CARGO_BIN_EXE_herdbook-conformance"));
    command.env("HERDBOOK", "/nonexistent/herdbook").args(arguments).arg(dir).output().unwrap()
}

/// Writes a case folder and returns its parent.
fn case(case_json: &str, replay: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("X-001-own");
    fs::create_dir(&folder).unwrap();
    for (name, text) in [("case.json", case_json), ("replay.jsonl", replay)] {
        std::io::Write::write_all(&mut fs::File::create(folder.join(name)).unwrap(), text.as_bytes())
            .unwrap();
    }
    dir
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const REPLAY: &str = r#"{"id": "X-001", "title": "t", "kind": "replay", "needs": ["hooks"], "hosts": ["claude"],
    "checks": [{"name": "replay", "needs": ["hooks"], "file": "replay.jsonl"}]}"#;
const STOP: &str = r#"{"t_ms": 5, "do": "hook", "agent": "claude", "pid": 5, "env": {}, "payload": {"session_id": "s-1", "cwd": "/srv", "hook_event_name": "Stop"}}"#;

#[test]
fn a_case_that_no_one_has_seen_before_runs() {
    let dir = case(
        REPLAY,
        &format!("{STOP}\n{}", r#"{"t_ms": 10, "do": "check", "queue": ["s-1"], "queue_len": {"$max": 1}}"#),
    );
    for folder in [dir.path().to_owned(), dir.path().join("X-001-own")] {
        let output = runner(&["run"], &folder);
        assert_eq!(
            text(&output.stdout),
            concat!(
                r#"{"case":"X-001","check":"replay@10 queue","expected":["s-1"],"observed":["s-1"],"ok":true}"#,
                "\n",
                r#"{"case":"X-001","check":"replay@10 queue_len","expected":{"$max":1},"observed":1,"ok":true}"#,
                "\n2 passed, 0 failed, 0 not run\n"
            )
        );
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_wrong_expectation_fails_and_is_shown_with_what_was_observed() {
    let dir = case(REPLAY, &format!("{STOP}\n{}", r#"{"t_ms": 10, "do": "check", "queue": []}"#));
    let output = runner(&["run"], dir.path());
    assert!(text(&output.stdout).contains(r#""expected":[],"observed":["s-1"],"ok":false}"#));
    assert_eq!(output.status.code(), Some(1));
    let output = runner(&["run", "--summary"], dir.path());
    assert_eq!(
        text(&output.stdout),
        "FAILED   X-001: 0 passed, 1 failed, 0 not run\n           - replay@10 queue\n0 passed, 1 failed, 0 not run\n"
    );
}

#[test]
fn nothing_passes_by_not_being_run() {
    let unmet = REPLAY.replace("\"hooks\"", "\"web\"");
    let dir = case(&unmet, r#"{"t_ms": 10, "do": "check", "queue": []}"#);
    let output = runner(&["run"], dir.path());
    assert_eq!(
        text(&output.stdout),
        concat!(
            r#"{"case":"X-001","check":"replay@10 queue","expected":[],"observed":null,"ok":null,"reason":"web"}"#,
            "\n0 passed, 0 failed, 1 not run\n"
        )
    );
    assert_eq!(output.status.code(), Some(1));
    let output = runner(&["run", "--with", "web"], dir.path());
    assert_eq!(text(&output.stdout).lines().last(), Some("1 passed, 0 failed, 0 not run"));
}

#[test]
fn checks_against_missing_binaries_are_not_run() {
    let dir = case(
        r#"{"id": "X-002", "title": "t", "kind": "script", "needs": ["command"], "hosts": [], "checks": [{"name": "s",
            "needs": ["command"], "run": ["true"], "daemon": "none", "timeout_s": 5, "expect": {"exit": 0}}]}"#,
        "",
    );
    let output = runner(&["run"], dir.path());
    assert!(text(&output.stdout).starts_with(
        r#"{"case":"X-002","check":"s exit","expected":0,"observed":null,"ok":null,"reason":"herdbook"}"#
    ));
    assert!(text(&output.stderr).contains("/nonexistent/herdbook is not there"));
}

#[test]
fn folders_that_expect_nothing_or_cannot_be_read_fail() {
    let says = |dir: &Path, words: &str| {
        let output = runner(&["run"], dir);
        assert_eq!(output.status.code(), Some(1));
        let stdout = text(&output.stdout);
        assert!(stdout.contains(words) && stdout.ends_with("0 passed, 1 failed, 0 not run\n"), "{stdout}");
    };
    let empty = tempfile::tempdir().unwrap();
    says(empty.path(), "holds no case");
    says(&empty.path().join("gone"), "cannot be read");
    fs::create_dir(empty.path().join("X-003")).unwrap();
    says(empty.path(), "case.json: cannot be read");
    says(case("{\"id\": 1", "").path(), "case.json: is not JSON");
    says(case(&REPLAY.replace("replay.jsonl", "gone.jsonl"), "").path(), "file 'gone.jsonl' cannot be read");
    says(case(REPLAY, STOP).path(), "replay.jsonl: has no check: it expects nothing");
    says(
        case(&REPLAY.replace("\"kind\": \"replay\"", "\"kind\": \"dance\""), "").path(),
        "kind 'dance' is not known",
    );
    says(
        case(r#"{"id": "X", "title": "t", "kind": "replay", "needs": [], "hosts": [], "checks": []}"#, "")
            .path(),
        "has no checks: a case must expect something",
    );
}

#[test]
fn mistakes_in_the_command_are_told_from_failures() {
    for arguments in [&["walk"][..], &["run", "--fast"], &["run", "--with", "luck"]] {
        let output = runner(arguments, Path::new("/nonexistent"));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains("usage: herdbook-conformance run"));
    }
}
