//! `herdbook log repair`, `scrub` and `keep`: what a person is told, and what stands in the state folder then.

#![expect(clippy::disallowed_methods, reason = "a test's own files")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::UNSEALED;
use crate::support::{Ran, TestEnv};

const KEY: &str = "tea-timer";
const SEGMENT: &str = "0000000001.jsonl";

/// A scratch home with the small log as that of a session, and the session's folder.
fn with_log() -> (TestEnv, PathBuf) {
    let env = TestEnv::new();
    let ran = env.run_with(&["log", "import", "-"], UNSEALED.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let listed: Value = serde_json::from_str(&env.run(&["log", "--json"]).stdout).unwrap();
    let folder = PathBuf::from(listed["logs"][0]["folder"].as_str().unwrap());
    (env, folder)
}

/// Damages the line with this seq.
fn damage(folder: &Path, seq: usize) {
    let path = folder.join(SEGMENT);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[seq - 1] = lines[seq - 1].replace("\"ts\":1767", "\"ts\":1768");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
}

fn said(ran: &Ran) -> (i32, &str, &str) {
    (ran.code, &ran.stdout, &ran.stderr)
}

#[test]
fn a_damaged_log_is_mended_from_its_copy() {
    let (env, folder) = with_log();
    assert_eq!(said(&env.run(&["log", "repair", KEY])), (0, "tea-timer is not damaged\n", ""));
    let whole = fs::read(folder.join(SEGMENT)).unwrap();
    assert_eq!(herdbook_log::compress(&folder, 1).unwrap().segments, 1);
    // A compressed log is read like any other.
    let replayed = env.run(&["log", "replay", KEY]);
    assert_eq!((replayed.code, replayed.stderr.as_str()), (0, ""));
    assert_eq!(env.run(&["log", "check", KEY]).code, 0);
    fs::write(folder.join(SEGMENT), &whole).unwrap();
    damage(&folder, 4);

    let line = "0000000001.jsonl line 4 (seq 4): the checksum does not fit\n";
    let dry = format!(
        "{line}0000000001.jsonl: 1 line can be taken from 0000000001.jsonl.zst\ntea-timer would be whole\n"
    );
    assert_eq!(said(&env.run(&["log", "repair", "tea", "--dry-run"])), (1, dry.as_str(), ""));
    assert!(fs::read(folder.join(SEGMENT)).unwrap() != whole);
    let ran = env.run(&["log", "repair", KEY]);
    let start = format!(
        "{line}0000000001.jsonl: 1 line taken from 0000000001.jsonl.zst; the damaged bytes are in 0000000001.damaged-"
    );
    assert!(
        ran.stdout.starts_with(&start) && ran.stdout.ends_with("\ntea-timer is whole\n"),
        "{}",
        ran.stdout
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(fs::read(folder.join(SEGMENT)).unwrap() == whole);
}

#[test]
fn without_a_copy_a_session_goes_on_under_a_new_key() {
    let (env, folder) = with_log();
    damage(&folder, 6);
    let before = fs::read(folder.join(SEGMENT)).unwrap();
    let line = "0000000001.jsonl line 6 (seq 6): the checksum does not fit\n";
    let ran = env.run(&["log", "repair", KEY]);
    let hint = "no compressed copy has what is damaged: `herdbook log repair tea-timer --new KEY` goes on under another key, \
                behind seq 5\n";
    assert_eq!(said(&ran), (1, line, hint));
    let ran = env.run(&["log", "repair", KEY, "--dry-run", "--new", "tea-2"]);
    let words = format!("{line}tea-2 would begin with the events of tea-timer up to seq 5\n");
    assert_eq!(said(&ran), (1, words.as_str(), ""));
    assert_eq!(env.run(&["log", "ls", "tea-2"]).code, 4);
    let ran = env.run(&["log", "repair", KEY, "--new", "tea-2"]);
    let words = format!("{line}tea-2 begins with the events of tea-timer up to seq 5\n");
    assert_eq!(said(&ran), (0, words.as_str(), ""));
    assert_eq!(env.run(&["log", "ls", "tea-2"]).stdout.lines().count(), 5);
    assert_eq!(env.run(&["log", "check", "tea-2"]).code, 0);
    assert!(fs::read(folder.join(SEGMENT)).unwrap() == before);
    // A session of its own is not written into.
    let other = env.run_with(&["log", "import", "-", "--as", "other"], UNSEALED.as_bytes());
    assert_eq!(other.code, 0);
    let ran = env.run(&["log", "repair", KEY, "--new", "other"]);
    assert_eq!(said(&ran), (1, line, "error: 'other' has a log already: choose another key\n"));
}

/// Every file below a folder that has these bytes.
fn having(folder: &Path, bytes: &[u8], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            having(&path, bytes, found);
        } else if fs::read(&path).is_ok_and(|text| text.windows(bytes.len()).any(|window| window == bytes)) {
            found.push(path);
        }
    }
}

#[test]
fn a_secret_leaves_the_log_and_the_replay_says_so() {
    let (env, folder) = with_log();
    let exact = env.run(&["log", "replay", KEY, "--as", "messages", "--at", "2"]);
    assert_eq!((exact.code, exact.stderr.as_str()), (0, ""));
    fs::write(folder.join("0000000001.torn-5"), "{\"text\":\"Ring after 3 minutes").unwrap();
    fs::write(env.path().join("secret"), "after 3 minutes\n").unwrap();

    let ran = env.run(&["log", "scrub", KEY, "--text-from", "secret"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let mark = ran.stdout.strip_prefix("tea-timer: ").unwrap().split(' ').next().unwrap();
    assert!(mark.starts_with("[redacted:scrubbed:") && mark.len() == 28, "{mark}");
    assert_eq!(ran.stdout, format!("tea-timer: {mark} in 1 event and 0000000001.torn-5\n"));
    let mut left = Vec::new();
    having(&env.path().join("state"), b"after 3 minutes", &mut left);
    assert_eq!(left, Vec::<PathBuf>::new());

    assert_eq!(env.run(&["log", "check", KEY]).code, 0);
    let listed = env.run(&["log", "ls", KEY]).stdout;
    assert_eq!(listed.lines().nth(1), Some("2\t1767225600500\tuser.message-created"));
    let words = "inexact: a secret was taken out of this log, so a model saw other text than this\n";
    let inexact = env.run(&["log", "replay", KEY, "--as", "messages", "--at", "2"]);
    let wanted = exact.stdout.replace("after 3 minutes", mark);
    assert_eq!(said(&inexact), (0, wanted.as_str(), words));
    let file = folder.join(SEGMENT);
    let of_file = env.run(&["log", "replay", file.to_str().unwrap(), "--as", "messages", "--at", "2"]);
    assert_eq!(said(&of_file), (0, wanted.as_str(), words));

    let told = fs::read_to_string(env.path().join("state/herdbook/retention.jsonl")).unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        (&told["what"], &told["session"], &told["mark"]),
        (&"scrubbed".into(), &KEY.into(), &mark.into())
    );
    assert_eq!((&told["lines"], &told["segments"][0]), (&1.into(), &SEGMENT.into()));

    let again = env.run_with(&["log", "scrub", KEY, "--text-from", "-"], b"after 3 minutes");
    assert_eq!(said(&again), (0, "tea-timer does not have that text\n", ""));
    let short = env.run_with(&["log", "scrub", KEY, "--text-from", "-"], b"tea\n");
    let words = "error: the text must have 6 bytes or more: a shorter one is in too much\n";
    assert_eq!(said(&short), (1, "", words));
}

#[test]
fn a_damaged_log_is_not_scrubbed_and_a_number_is_owned_up_to() {
    let (env, folder) = with_log();
    let ran = env.run_with(&["log", "scrub", KEY, "--text-from", "-"], b"nothing of that\n");
    assert_eq!(ran.code, 0);
    damage(&folder, 6);
    let ran = env.run_with(&["log", "scrub", KEY, "--text-from", "-"], b"after 3 minutes");
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    let words = "error: the log is damaged and was left as it is: 0000000001.jsonl line 6 (seq 6)";
    assert!(ran.stderr.starts_with(words), "{}", ran.stderr);
    let hint = "; mend it first: `herdbook log repair tea-timer`\n";
    assert!(ran.stderr.ends_with(hint), "{}", ran.stderr);

    let env = TestEnv::new();
    let text = UNSEALED.replace("\"durationMs\":900", "\"durationMs\":123456");
    assert_eq!(env.run_with(&["log", "import", "-"], text.as_bytes()).code, 0);
    let ran = env.run_with(&["log", "scrub", KEY, "--text-from", "-"], b"123456");
    let words = "tea-timer still has it where no text stands, as a number: in 1 event\n";
    assert_eq!(said(&ran), (1, "", words));
}

#[test]
fn a_session_that_was_gone_on_with_and_the_damaged_one_are_both_named_until_neither_has_the_secret() {
    let (env, folder) = with_log();
    damage(&folder, 6);
    assert_eq!(env.run(&["log", "repair", KEY, "--new", "tea-2"]).code, 0);
    let scrub = |key: &str| env.run_with(&["log", "scrub", key, "--text-from", "-"], b"after 3 minutes");

    let damaged = scrub(KEY);
    let hint = format!(
        "; tea-2 goes on with what can be read of it: scrub that, and remove {} to be rid of the rest\n",
        folder.display()
    );
    assert!(damaged.code == 1 && damaged.stderr.ends_with(&hint), "{}", damaged.stderr);
    let named =
        "tea-timer, which it continues, has that text: `herdbook log scrub tea-timer --text-from FILE`\n";
    let first = scrub("tea-2");
    assert!(first.code == 1 && first.stdout.ends_with(" in 1 event\n"), "{}", first.stdout);
    assert_eq!(first.stderr, named);
    assert_eq!(said(&scrub("tea-2")), (1, "tea-2 does not have that text\n", named));
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(said(&scrub("tea-2")), (0, "tea-2 does not have that text\n", ""));
    let mut left = Vec::new();
    having(&env.path().join("state"), b"after 3 minutes", &mut left);
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn a_log_that_was_mended_after_another_went_on_from_it_names_that_one() {
    let (env, folder) = with_log();
    let whole = fs::read(folder.join(SEGMENT)).unwrap();
    damage(&folder, 6);
    assert_eq!(env.run(&["log", "repair", KEY, "--new", "tea-2"]).code, 0);
    fs::write(folder.join(SEGMENT), whole).unwrap();
    let scrub = |key: &str| env.run_with(&["log", "scrub", key, "--text-from", "-"], b"after 3 minutes");
    let named = "tea-2, which continues it, has that text: `herdbook log scrub tea-2 --text-from FILE`\n";
    let first = scrub(KEY);
    assert_eq!((first.code, first.stderr.as_str()), (1, named));
    assert_eq!((scrub("tea-2").code, scrub(KEY).code), (0, 0));
}

#[test]
fn a_session_is_kept_by_a_word() {
    let (env, folder) = with_log();
    for (words, said_words, held) in [
        (&["log", "keep", KEY][..], "tea-timer is kept, whatever its age is\n", true),
        (&["log", "keep", KEY], "tea-timer is kept already\n", true),
        (&["log", "keep", KEY, "--off"], "tea-timer is kept by the rules again\n", false),
        (&["log", "keep", KEY, "--off"], "tea-timer is kept by the rules\n", false),
    ] {
        assert_eq!(said(&env.run(words)), (0, said_words, ""));
        assert_eq!(folder.join("HOLD").exists(), held);
    }
}
