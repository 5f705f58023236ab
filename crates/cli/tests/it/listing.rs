//! `ls`, `why`, `status` and the verbs against a real daemon.

use crate::support::{TestDaemon, TestEnv, finish};

#[test]
fn the_queue_is_listed_skipped_snoozed_pinned_and_settled() {
    let env = TestEnv::new();
    let daemon = TestDaemon::start(&env);
    for (session, timestamp) in [("build", 1_000), ("deploy", 2_000), ("docs", 3_000)] {
        daemon.post_stuck(session, &format!("{session} asks"), timestamp);
    }
    let queue = || -> Vec<String> {
        let answer: serde_json::Value = serde_json::from_str(&env.run(&["ls", "--json"]).stdout).unwrap();
        let items = answer["queue"].as_array().unwrap();
        items.iter().map(|item| item["session_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(queue(), ["build", "deploy", "docs"]);
    let listing = env.run(&["list"]).stdout;
    let rows: Vec<Vec<&str>> = listing.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["#", "SESSION", "STATE", "KIND", "AGE", "HOST", "PANE", "CWD", "MESSAGE"]);
    assert_eq!((rows[1][0], rows[1][1], rows[1][2], rows[1][3]), ("1", "build", "stuck", "turn_end"));
    // A producer's clock may say anything: ages count from when we were told.
    assert!(rows[1][4].ends_with('s'), "{listing}");
    assert!(listing.lines().nth(1).unwrap().ends_with("/srv/demo  build asks"), "{listing}");
    assert_eq!(env.run(&["status", "--format", "tmux"]).stdout, "⚠ 3\n");

    assert_eq!(env.run(&["skip"]).stderr, "skipped build; next is deploy\n");
    assert_eq!(queue(), ["deploy", "docs", "build"]);
    assert_eq!(env.run(&["pin", "docs"]).stderr, "pinned docs; next is docs\n");
    assert_eq!(queue(), ["docs", "deploy", "build"]);
    assert_eq!(env.run(&["pin", "1", "--off"]).stderr, "unpinned docs; next is deploy\n");
    assert_eq!(env.run(&["snooze", "dep", "20m"]).stderr, "snoozed deploy; next is docs\n");
    assert_eq!(env.run(&["status", "--format", "tmux"]).stdout, "⚠ 1\n");
    assert_eq!(
        env.run(&["settle", "docs"]).stderr,
        "settled docs; nobody else waits; 2 sessions skipped or snoozed\n"
    );
    let none = env.run(&["skip"]);
    assert_eq!((none.code, none.stderr.as_str()), (5, "nobody waits; 2 sessions skipped or snoozed\n"));
    assert!(env.run(&["status"]).stdout.contains("2 stuck, 2 of them later\n"));
    // The session is known; it just does not wait.
    let idle = env.run(&["settle", "docs"]);
    assert_eq!((idle.code, idle.stderr.as_str()), (5, "docs does not wait\n"));
    assert_eq!(env.run(&["status", "--format", "tmux"]).stdout, "\n");

    let unknown = env.run(&["why", "d"]);
    assert_eq!(
        (unknown.code, unknown.stderr.as_str()),
        (4, "error: 'd' could be deploy, docs\nhint: write more of it\n")
    );
    let late = env.run(&["snooze", "docs", "soon"]);
    assert_eq!(late.code, 2);
    assert!(late.stderr.contains("'soon' is no duration"), "{}", late.stderr);
}

#[test]
fn why_prints_the_evidence() {
    let env = TestEnv::new();
    let daemon = TestDaemon::start(&env);
    daemon.post_stuck("build", "build asks", 1_000);
    let why = env.run(&["why", "1"]);
    assert_eq!(why.code, 0);
    let lines: Vec<&str> = why.stdout.lines().collect();
    assert!(lines[0].starts_with("build is stuck (turn_end) for "), "{}", why.stdout);
    assert_eq!(lines[1], "  build asks");
    assert!(lines[2].starts_with("  since 20"), "{}", why.stdout);
    assert_eq!(lines[3], "evidence");
    assert!(lines[4].contains(" ago  posted  a producer posted stuck  01"), "{}", why.stdout);
    assert_eq!(
        lines[5..],
        [
            "would change it",
            "  posted  unstuck, ended, or another stuck",
            "  you     `herdbook settle`",
            "cannot be looked at",
            "  transcript, pane, process  its producer alone tells of it",
        ]
    );
}

#[test]
fn a_narrow_terminal_wraps_the_evidence_and_does_without_ids_at_last() {
    let env = TestEnv::new();
    let daemon = TestDaemon::start(&env);
    daemon.post_stuck("build", "Tool: Bash | Command: make", 1_000);
    let evidence = |columns: &str| -> Vec<String> {
        let mut why = env.herdbook(&["why", "build"]);
        why.env("COLUMNS", columns);
        let lines = finish(why, b"").stdout.lines().map(str::to_owned).collect::<Vec<_>>();
        let (from, to) = ("evidence", "would change it");
        let at = |title: &str| lines.iter().position(|line| line == title).unwrap();
        lines[at(from) + 1..at(to)].to_vec()
    };
    // "  12m ago  posted  " are 20 columns, the fact 23, two between, the id 26.
    let [wide] = &evidence("71")[..] else { panic!("one row") };
    assert!(wide.contains("  a producer posted stuck  01") && wide.len() == 71, "{wide}");
    let [row, rest] = &evidence("70")[..] else { panic!("the fact is wrapped") };
    assert!(row.contains("  a producer posted       01") && row.len() == 70, "{row}");
    assert_eq!(rest, "                    stuck");
    let [narrow] = &evidence("60")[..] else { panic!("the id is left out") };
    assert!(narrow.ends_with("  a producer posted stuck"), "{narrow}");
    // A cell has room for little: the tool and its command.
    assert!(env.run(&["ls"]).stdout.contains("  Bash: make\n"));
    assert!(env.run(&["why", "build"]).stdout.contains("  Tool: Bash | Command: make\n"));
}

/// The members `queue` and `sessions` of a listing.
fn listed(env: &TestEnv, words: &[&str]) -> serde_json::Value {
    let ran = env.run(words);
    let mut answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    serde_json::json!([answer["queue"].take(), answer["sessions"].take()])
}

#[test]
fn the_past_is_told_by_the_journal_with_and_without_a_daemon() {
    let env = TestEnv::new();
    let nothing = env.run(&["ls", "--at", "now"]);
    assert_eq!(nothing.code, 1);
    assert!(nothing.stderr.starts_with("error: nothing was recorded yet: "), "{}", nothing.stderr);
    let daemon = TestDaemon::start(&env);
    daemon.post_stuck("build", "build asks", 1_000);
    daemon.post_stuck("deploy", "deploy asks", 2_000);
    assert_eq!(env.run(&["settle", "build"]).code, 0);
    let present = listed(&env, &["ls", "--json"]);
    assert_eq!(present[0].as_array().unwrap().len(), 1);
    let why = |words: &[&str]| -> serde_json::Value {
        serde_json::from_str(&env.run(&[&["why", "--json", "build"], words].concat()).stdout).unwrap()
    };
    let why_now = why(&[]);
    assert_eq!(
        (listed(&env, &["ls", "--json", "--at", "now"]), why(&["--at", "now"])),
        (present.clone(), why_now)
    );
    drop(daemon);
    assert_eq!(env.run(&["ls"]).code, 3);
    assert_eq!(listed(&env, &["ls", "--json", "--at", "now"]), present);
    let listing = env.run(&["ls", "--at", "now"]);
    assert!(listing.stdout.starts_with("as of 20"), "{listing:?}");
    assert!(listing.stdout.lines().next().unwrap().ends_with("s ago, from the journal"), "{listing:?}");
    let before = env.run(&["why", "build", "--at", "1h"]);
    assert_eq!((before.code, before.stdout.as_str()), (1, ""));
    let known = "error: nothing is known of that time: the journal begins at 20";
    assert!(before.stderr.starts_with(known), "{}", before.stderr);
    let ahead = env.run(&["ls", "--at", "2200-01-01 00:00"]);
    assert_eq!(ahead.code, 2);
    assert!(ahead.stderr.contains("lies ahead: only what was is known"), "{}", ahead.stderr);
}

/// Case F-107: what agents say cannot act on the terminal, nor forge a row.
#[test]
fn foreign_text_is_one_harmless_line_in_every_listing() {
    let env = TestEnv::new();
    let daemon = TestDaemon::start(&env);
    let messages = [
        "a\u{1b}]52;c;QUJD\u{7}b",
        "x\u{9b}2Jy",
        "up\u{1b}[1A\u{1b}[2K",
        "one\n[3] fake row",
        "\u{202e}rtl",
        "\u{1b}]2;open",
    ];
    for (number, message) in messages.iter().enumerate() {
        daemon.post(&serde_json::json!({
            "type": "stuck", "sessionId": format!("s{number}\u{1b}[7m"), "paneId": message, "cwd": format!("/srv/{message}"),
            "transcriptPath": "", "reason": "stopped", "message": message, "timestamp": 1_000 + number,
        }));
    }
    for words in [
        vec!["ls"],
        vec!["status"],
        vec!["status", "--format", "tmux"],
        vec!["why", "s0\u{1b}[7m"],
        vec!["next"],
        vec!["skip"],
    ] {
        let ran = env.run(&words);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.chars().all(|c| c == '\n'
                || !(c.is_control()
                    || ('\u{200b}'..='\u{200f}').contains(&c)
                    || ('\u{202a}'..='\u{202e}').contains(&c))),
            "{words:?} {said:?}"
        );
        assert!(!said.lines().any(|line| line.trim_start().starts_with("[3]")), "{said}");
    }
    assert_eq!(env.run(&["ls"]).stdout.lines().count(), 1 + messages.len());
}
