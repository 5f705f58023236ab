//! `herdbook log show` and `herdbook log tail`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use super::{SEALED, UNSEALED, catalog};
use crate::support::{TestEnv, finish, has_tmux, write_program};

/// A scratch home with this text as a file, and with the small log as that of a session.
fn with(text: impl AsRef<[u8]>) -> TestEnv {
    let env = TestEnv::new();
    put(&env, text.as_ref());
    let ran = env.run_with(&["log", "import", "-"], UNSEALED.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    env
}

fn put(env: &TestEnv, bytes: &[u8]) {
    std::fs::File::create(env.path().join("log")).unwrap().write_all(bytes).unwrap();
}

/// What a command prints without a word on stderr, the time of day left out.
fn printed(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let mut command = env.herdbook(&[&["log"], words].concat());
    command.env("TZ", "UTC");
    let ran = finish(command, b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_log_is_shown_in_columns() {
    let env = with(UNSEALED);
    let expected = [
        "        2026-01-01",
        "     1  00:00:00  session  Tea timer · /home/dev/tea · large-1",
        "",
        "     2  00:00:00  you      Ring after 3 minutes",
        "     4  00:00:01  says     It rings.",
        "     6  00:00:01  verify   the answer is held back until it is verified · make test, make lint · at…",
        "     8  00:00:02  model    failed: auth: key expired",
        "                  turn     2 requests (1 failed), 900 ms · tokens 40 in, 3 out",
    ];
    for target in ["log", "tea-timer"] {
        assert_eq!(printed(&env, &["show", target]), expected);
    }
}

#[test]
fn a_part_of_a_log_is_shown_with_what_it_belongs_to() {
    let Some((text, _)) = catalog("a_part_of_a_log_is_shown_with_what_it_belongs_to") else { return };
    let env = with(&text);
    assert_eq!(env.run_with(&["log", "import", "-"], text.as_bytes()).code, 0);
    for target in ["log", "demo-0001"] {
        let shown = printed(&env, &["show", target, "--from", "47", "--to", "50"]);
        assert_eq!(
            shown[1..],
            [
                "    47  00:00:11  edit     src/lex.ts · +1 -1 · 35 ms",
                "                    -/ +/",
                "                    +/[ \\t]+/",
                "    49  00:00:12  waited   exec: Run `npm install` in ~/parser · denied after 250 ms · No new packa…",
                "    50  00:00:12  bash     npm install · failed: permission-denied",
            ]
        );
        let shown = printed(&env, &["show", target, "--last", "2"]);
        assert_eq!(shown[1], "   108  00:00:27  you      Now rename the module.");
        assert_eq!(shown[2], "   109  00:00:27  failed   user-abandoned · closed by the user");
        assert_eq!(shown.len(), 3);
        assert_eq!(printed(&env, &["show", target, "--from", "108"]), shown);
        let full = printed(&env, &["show", target, "--full", "--from", "50", "--to", "50"]);
        assert_eq!(
            full[2..],
            [
                r#"                    input {"command":"npm install","n":9007199254740993}"#,
                "                    Permission denied: No new packages."
            ]
        );
    }
}

#[test]
fn foreign_text_is_cleaned() {
    let text = UNSEALED.replace("It rings.", "It\\u001b[31m ri\\u0007ngs\\u202e.\\r\\nTwice.");
    let env = with(&text);
    let whole = printed(&env, &["show", "log"]).join("\n");
    assert!(whole.contains("says     It ri\u{fffd}ngs. Twice."), "{whole}");
    let full = printed(&env, &["show", "log", "--full"]).join("\n");
    assert!(full.contains("says     It ri\u{fffd}ngs.\n                    Twice."), "{full}");
}

#[test]
fn damage_is_shown_in_its_place() {
    let changed = SEALED.replace("It rings.", "It sings.");
    let env = with(&changed);
    let segment = env.run(&["log", "--json"]).stdout;
    let folder = segment.split("\"folder\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let path = std::path::Path::new(&folder).join("0000000001.jsonl");
    std::fs::File::create(path).unwrap().write_all(changed.as_bytes()).unwrap();
    for (target, name) in [("log", "log"), ("tea-timer", "0000000001.jsonl")] {
        let ran = env.run(&["log", "show", target]);
        assert_eq!(ran.code, 1);
        let words = format!("damaged: {name} line 4 (seq 4): the checksum does not fit");
        let place = ran.stdout.lines().position(|line| line == words);
        assert_eq!(place, Some(4), "{}", ran.stdout);
        assert!(ran.stdout.contains("failed: auth"), "{}", ran.stdout);
    }
}

#[test]
fn no_bytes_make_showing_or_following_panic() {
    let mut bytes = SEALED.as_bytes().to_vec();
    for at in (0..bytes.len()).step_by(97) {
        bytes[at] ^= 0x80 >> (at % 8);
    }
    let beyond = UNSEALED.replace("\"seq\":8,", "\"seq\":18446744073709551615,") + "{\n";
    assert_ne!(beyond, UNSEALED.to_owned() + "{\n");
    let env = TestEnv::new();
    for text in [&bytes[..], beyond.as_bytes(), b"", b"\n\n", b"{", &[0; 300_000]] {
        put(&env, text);
        for words in [
            &["show", "log"][..],
            &["show", "log", "--full", "--last", "3"],
            &["tail", "log"],
            &["tail", "log", "--show"],
            &["tail", "log", "--raw"],
            &["check", "log"],
            &["import", "log"],
        ] {
            let ran = env.run(&[&["log"], words].concat());
            assert!(ran.code <= 1 && !ran.stderr.contains("panicked"), "{words:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn the_end_of_a_log_is_told_in_three_forms() {
    let env = with(UNSEALED);
    let last = UNSEALED.lines().last().unwrap();
    for target in ["log", "tea-timer"] {
        let listed = printed(&env, &["ls", target]);
        assert_eq!(printed(&env, &["tail", target]), listed);
        assert_eq!(printed(&env, &["tail", "-n", "3", target]), listed[5..]);
        assert_eq!(printed(&env, &["tail", "-n", "0", target]), [""; 0]);
        let shown = printed(&env, &["tail", "-n", "2", "--show", target]);
        assert_eq!(shown[1..], ["     8  00:00:02  model    failed: auth: key expired"]);
    }
    assert_eq!(printed(&env, &["tail", "-n", "1", "--raw", "log"]), [last]);
    assert_eq!(printed(&env, &["tail", "-n", "1", "--raw", "tea-timer"]), [SEALED.lines().last().unwrap()]);
    // A last line without an end is one all the same.
    put(&env, UNSEALED.trim_end().as_bytes());
    assert_eq!(printed(&env, &["tail", "-n", "1", "--raw", "log"]), [last]);
}

/// Follows a log from its second line on while this adds to it; returns what was printed.
fn followed(env: &TestEnv, words: &[&str], count: usize, add: impl FnOnce()) -> Vec<String> {
    let mut command = env.herdbook(&[&["log", "tail", "-f", "-n", "1"], words].concat());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || stdout.lines().try_for_each(|line| sender.send(line.unwrap())));
    let next = || lines.recv_timeout(std::time::Duration::from_secs(60));
    let mut printed = vec![next().unwrap()];
    add();
    // One that does not come is missed by whoever asked for it.
    printed.extend((1..count).map_while(|_| next().ok()));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    // A shell calls that 130.
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(2));
    assert!(lines.recv().is_err());
    printed
}

#[test]
fn a_file_is_followed_and_half_a_line_is_waited_for() {
    let start: String = UNSEALED.split_inclusive('\n').take(2).collect();
    let rest = &UNSEALED[start.len()..];
    let env = with(&start);
    let (half, other) = rest.split_at(100);
    let add = |text: &str| {
        let file = std::fs::OpenOptions::new().append(true).open(env.path().join("log"));
        file.unwrap().write_all(text.as_bytes()).unwrap();
    };
    add(half);
    let printed = followed(&env, &["--raw", "log"], 7, || add(other));
    assert_eq!(printed, UNSEALED.lines().skip(1).collect::<Vec<_>>());
}

#[test]
fn what_is_waited_for_is_seen_whenever_it_was_asked() {
    let Some((text, _)) = catalog("what_is_waited_for_is_seen_whenever_it_was_asked") else { return };
    // The question of seq 48, its answer of seq 49, and the tool that fails.
    let upto = |count: usize| text.split_inclusive('\n').take(count).collect::<String>();
    let env = with(upto(48));
    let asked = "    48  00:00:12  waits    exec: Run `npm install` in ~/parser · no answer yet";
    let tool = "    42  00:00:10  bash     npm install · no end yet";
    let shown = printed(&env, &["tail", "-n", "0", "--show", "log"]);
    assert_eq!(shown[1..], [asked, tool]);
    assert_eq!(printed(&env, &["show", "log", "--last", "1"])[1..3], [asked, tool]);
    let add = |text: &str| {
        let file = std::fs::OpenOptions::new().append(true).open(env.path().join("log"));
        file.unwrap().write_all(text.as_bytes()).unwrap();
    };
    let answered = "    49  00:00:12  waited   exec: Run `npm install` in ~/parser · denied after 250 ms · No new packa…";
    let printed = followed(&env, &["--show", "log"], 6, || add(&text[upto(48).len()..upto(54).len()]));
    assert_eq!(printed[1..4], [asked, tool, answered]);
    assert_eq!(printed[5], "    54  00:00:13  waits    exec: Start `npm run watch` · for you");
}

#[test]
fn a_session_is_followed() {
    let start: String = UNSEALED.split_inclusive('\n').take(2).collect();
    let env = TestEnv::new();
    assert_eq!(env.run_with(&["log", "import", "-"], start.as_bytes()).code, 0);
    let printed = followed(&env, &["tea-timer"], 7, || {
        assert_eq!(env.run_with(&["log", "import", "-"], UNSEALED.as_bytes()).code, 0);
    });
    assert_eq!(printed[0], "2\t1767225600500\tuser.message-created");
    assert_eq!(printed[6], "8\t1767225602000\tmodel.request-failed");
}

/// Shows the small log with this pager, in a terminal of its own, and returns the screen after it.
fn on_terminal(env: &TestEnv, name: &str, pager: &str) -> String {
    let tmux = |words: &[&str]| {
        let mut command = env.program("tmux");
        command.env("PAGER", pager).args(["-L", name, "-f", "/dev/null"]).args(words);
        finish(command, b"")
    };
    let line = format!("{} log show tea-timer; echo over $?; read x", env!("CARGO_BIN_EXE_herdbook"));
    let ran = tmux(&["new-session", "-d", "-x", "100", "-y", "20", "sh", "-c", &line]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let screen = tmux(&["capture-pane", "-p", "-t", ":"]).stdout;
        if screen.contains("over") || std::time::Instant::now() > patience {
            tmux(&["kill-server"]);
            return screen;
        }
        std::thread::yield_now();
    }
}

#[test]
fn on_a_terminal_it_is_shown_in_the_pager_of_the_human() {
    if !has_tmux("on_a_terminal_it_is_shown_in_the_pager_of_the_human") {
        return;
    }
    let env = with(UNSEALED);
    let pager = env.path().join("page");
    write_program(&pager, b"#!/bin/sh\necho \"paged $1\"; cat\n");
    let screen = on_terminal(&env, "own", &format!("{} it", pager.display()));
    assert!(screen.contains("paged it") && screen.contains("It rings."), "{screen}");
    // One that does not read, and none.
    let screen = on_terminal(&env, "none", "true");
    assert!(screen.starts_with("over 0"), "{screen}");
    let screen = on_terminal(&env, "missing", "herdbook-no-pager -x");
    assert!(screen.contains("error: the pager 'herdbook-no-pager -x' cannot be run"), "{screen}");
    assert!(screen.contains("over 1"), "{screen}");
    let screen = on_terminal(&env, "cat", "cat");
    assert!(screen.contains("It rings."), "{screen}");
}
