//! `herdbook log` over the logs of sessions.

use std::io::Write as _;

use serde_json::Value;

use super::{SEALED, UNSEALED};
use crate::support::TestEnv;

/// The key of the small log.
const KEY: &str = "tea-timer";

/// A scratch home with the small log as that of a session.
fn with_log() -> TestEnv {
    let env = TestEnv::new();
    let ran = env.run_with(&["log", "import", "-"], UNSEALED.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    env
}

/// The one segment of the session's log.
fn segment(env: &TestEnv) -> std::path::PathBuf {
    let ran = env.run(&["log", "--json"]);
    let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
    std::path::Path::new(listed["logs"][0]["folder"].as_str().unwrap()).join("0000000001.jsonl")
}

/// Changes the text of the session's log.
fn change(env: &TestEnv, from: &str, to: &str) {
    let path = segment(env);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from));
    std::fs::File::create(&path).unwrap().write_all(text.replace(from, to).as_bytes()).unwrap();
}

#[test]
fn a_key_gives_what_its_file_gives() {
    let env = with_log();
    std::fs::File::create(env.path().join("log")).unwrap().write_all(SEALED.as_bytes()).unwrap();
    for words in [
        &["ls", "TARGET"][..],
        &["check", "TARGET"],
        &["check", "TARGET", "--json", "--strict"],
        &["replay", "TARGET"],
        &["replay", "TARGET", "--as", "messages"],
        &["replay", "TARGET", "--as", "messages", "--at", "2"],
        &["export", "TARGET", "--profile", "khaelor"],
    ] {
        let on = |target: &str| {
            let words: Vec<&str> =
                words.iter().map(|word| if *word == "TARGET" { target } else { word }).collect();
            let ran = env.run(&[&["log"], words.as_slice()].concat());
            (ran.code, ran.stdout, ran.stderr)
        };
        let (code, stdout, stderr) = on(KEY);
        assert_eq!((code, stderr.as_str()), (0, ""), "{words:?}");
        assert_eq!(stdout, on("log").1, "{words:?}");
        // How it begins is enough, and so is its folder or its segment.
        assert_eq!(stdout, on("tea-t").1);
        let segment = segment(&env);
        assert_eq!(stdout, on(segment.to_str().unwrap()).1);
        assert_eq!(stdout, on(segment.parent().unwrap().to_str().unwrap()).1);
    }
}

#[test]
fn a_segment_of_a_log_is_the_log_with_its_checksums() {
    let env = with_log();
    assert_eq!(std::fs::read_to_string(segment(&env)).unwrap(), SEALED);
}

#[test]
fn a_compressed_log_gives_what_the_plain_one_gave() {
    let env = with_log();
    let words = [
        &["ls", KEY][..],
        &["check", KEY, "--strict"],
        &["replay", KEY],
        &["replay", KEY, "--as", "messages"],
        &["export", KEY, "--profile", "khaelor"],
        &["show", KEY],
        &["show", KEY, "--last", "2"],
        &["tail", KEY, "--raw", "-n", "3"],
    ];
    let all = |env: &TestEnv| {
        words.map(|words| {
            let ran = env.run(&[&["log"], words].concat());
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
            ran.stdout
        })
    };
    let plain = all(&env);
    let segment = segment(&env);
    herdbook_log::compress(segment.parent().unwrap(), 1).unwrap();
    assert!(!segment.exists());
    assert_eq!(all(&env), plain);
    let listed: Value = serde_json::from_str(&env.run(&["log", "--json"]).stdout).unwrap();
    assert_eq!((&listed["logs"][0]["last_seq"], &listed["logs"][0]["state"]), (&8.into(), &"closed".into()));
}

#[test]
fn logs_are_listed_with_their_ends() {
    let env = TestEnv::new();
    let ran = env.run(&["log"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", "no session has a log yet\n"));
    let env = with_log();
    let ran = env.run(&["log", "ls", "--json"]);
    assert_eq!(ran.stdout, env.run(&["log", "--json"]).stdout);
    let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let log = &listed["logs"][0];
    assert_eq!(listed["logs"].as_array().unwrap().len(), 1);
    assert_eq!(log["session_id"], KEY);
    assert_eq!((log["last_seq"].as_u64(), log["last_at"].as_u64()), (Some(8), Some(1_767_225_602_000)));
    assert_eq!((log["bytes"].as_u64(), log["state"].as_str()), (Some(SEALED.len() as u64), Some("closed")));
    let table = env.run(&["log", "ls"]).stdout;
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].starts_with("SESSION"), "{table}");
    assert!(rows[1].starts_with("tea-timer    8"), "{table}");
    assert!(rows[1].contains("closed"), "{table}");
}

#[test]
fn damage_at_an_end_is_listed_and_within_a_log_when_it_is_looked_for() {
    let state = |env: &TestEnv, more: &[&str]| {
        let ran = env.run(&[&["log", "ls", "--json"], more].concat());
        let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
        listed["logs"][0]["state"].as_str().unwrap().to_owned()
    };
    let env = with_log();
    assert_eq!((state(&env, &[]), state(&env, &["--whole"])), ("closed".into(), "closed".into()));
    change(&env, "It rings.", "It sings.");
    assert_eq!((state(&env, &[]), state(&env, &["--whole"])), ("closed".into(), "damaged".into()));
    let env = with_log();
    change(&env, "\"seq\":8,", "\"seq\":9,");
    assert_eq!(state(&env, &[]), "damaged");
}

#[test]
fn a_log_that_a_process_writes_is_open() {
    let env = with_log();
    let lock = segment(&env).with_file_name("LOCK");
    let file = std::fs::File::create(&lock).unwrap();
    file.lock().unwrap();
    assert!(env.run(&["log", "ls", "--json"]).stdout.contains("\"state\":\"open\""));
    file.unlock().unwrap();
    assert!(env.run(&["log", "ls", "--json"]).stdout.contains("\"state\":\"closed\""));
}

#[test]
fn damage_in_a_log_is_told_by_every_command() {
    let env = with_log();
    change(&env, "It rings.", "It sings.");
    let ran = env.run(&["log", "ls", KEY]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (1, 7));
    let words = "0000000001.jsonl line 4 (seq 4): the checksum does not fit";
    assert!(ran.stderr.starts_with(&format!("error: {words}\n")), "{}", ran.stderr);
    let ran = env.run(&["log", "replay", KEY]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    let ran = env.run(&["log", "export", KEY, "--profile", "khaelor"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (1, 3));
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    let ran = env.run(&["log", "check", KEY, "--json"]);
    assert_eq!(ran.code, 1);
    let first: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!((&first["rule"], &first["seq"]), (&Value::from("crc"), &Value::from(4)));
    assert_eq!(env.run(&["log", "replay", KEY, "--as", "messages", "--at", "3"]).code, 0);
    assert_eq!(env.run(&["log", "replay", KEY, "--as", "messages", "--at", "4"]).code, 1);
}

#[test]
fn an_unknown_key_is_told_its_neighbours() {
    let env = with_log();
    let ran = env.run(&["log", "ls", "tea-tmier"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
    let words = "error: no session 'tea-tmier' has a log; there is tea-timer\n";
    assert!(ran.stderr.starts_with(words), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: `herdbook log ls`"), "{}", ran.stderr);
    let ran = env.run_with(&["log", "import", "-", "--as", "tea-timer-2"], UNSEALED.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let ran = env.run(&["log", "check", "tea"]);
    assert_eq!(ran.code, 4);
    assert!(ran.stderr.starts_with("error: 'tea' could be tea-timer, tea-timer-2\n"), "{}", ran.stderr);
}

#[test]
fn a_lost_end_is_told_by_every_command_that_reads_it() {
    let env = with_log();
    let path = segment(&env);
    let text = std::fs::read(&path).unwrap();
    let last = memchr::memrchr(b'\n', &text[..text.len() - 1]).unwrap();
    std::fs::File::create(&path).unwrap().write_all(&text[..=last]).unwrap();
    let lost = "0000000001.jsonl line 8 (seq 8): this record was kept and is lost";
    for words in [
        &["show", KEY][..],
        &["ls", KEY],
        &["tail", KEY],
        &["replay", KEY],
        &["replay", KEY, "--as", "messages"],
        &["export", KEY, "--profile", "khaelor"],
        &["repair", KEY],
    ] {
        let ran = env.run(&[&["log"], words].concat());
        assert_eq!(ran.code, 1, "{words:?}");
        assert!(
            format!("{}{}", ran.stdout, ran.stderr).contains(lost),
            "{words:?}: {}{}",
            ran.stdout,
            ran.stderr
        );
    }
    let ran = env.run(&["log", "check", KEY]);
    assert!(ran.stdout.contains("seq 8: error crc: crc: is missing: the index says"), "{}", ran.stdout);
    assert!(env.run(&["log"]).stdout.contains("damaged"));
    assert_eq!(env.run(&["log", "repair", KEY, "--new", "tea 2"]).code, 0);
    assert_eq!(env.run(&["log", "check", "tea 2"]).code, 0);
}

#[test]
fn what_cannot_be_a_log_is_told_with_what_to_do() {
    let env = TestEnv::new();
    std::fs::create_dir(env.path().join("empty")).unwrap();
    std::fs::File::create(env.path().join("empty/notes.jsonl")).unwrap().write_all(b"{}\n").unwrap();
    let ran = env.run(&["log", "ls", "./empty"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: there is no log in the folder ./empty\nhint: "), "{}", ran.stderr);
    for (bytes, tool) in [(&b"\x1f\x8b\x08\n\0\n"[..], "gzip -dc"), (b"\x28\xb5\x2f\xfd", "zstd -dc")] {
        std::fs::File::create(env.path().join("a b")).unwrap().write_all(bytes).unwrap();
        for words in [&["ls"][..], &["show"], &["check"], &["import"]] {
            let ran = env.run(&[&["log"], words, &["./a b"]].concat());
            let hint =
                format!("error: ./a b is compressed\nhint: unpack it first: `{tool} './a b' > log.jsonl`\n");
            assert_eq!((ran.code, ran.stderr), (1, hint), "{words:?}");
        }
    }
    std::fs::File::create(env.path().join("nothing")).unwrap();
    let ran = env.run(&["log", "show", "./nothing"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "there is no event in it\n"));
}
