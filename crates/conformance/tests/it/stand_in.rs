//! Stand-in agents, with a small script in the place of the hook.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use herdbook_conformance::real::agent;
use herdbook_conformance::real::scratch::Scratch;
use herdbook_conformance::real::stdin::HookInput;
use herdbook_conformance::real::tools::Tools;
use serde_json::Value;

/// Runs a shell script as the hook of a stand-in named `codex`, once for each input.
fn run(script: &str, inputs: &[HookInput]) -> Vec<Value> {
    let scratch = Scratch::new().unwrap();
    let hook = scratch.own_file("hook.sh");
    std::io::Write::write_all(
        &mut fs::File::create(&hook).unwrap(),
        format!("#!/bin/sh\n{script}\n").as_bytes(),
    )
    .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let tools = Tools {
        herdbook: PathBuf::from("/nonexistent"),
        hook: vec![hook.to_string_lossy().into_owned(), "one".into()],
        this: PathBuf::from(env!("CARGO_BIN_EXE_herdbook-conformance")),
        path: "/usr/local/bin:/usr/bin:/bin".into(),
    };
    let env = scratch.env(&tools, Path::new("/nonexistent"));
    agent::start(&tools, &scratch, &env, "codex", inputs).unwrap().runs.clone()
}

fn input(bytes: &[u8]) -> HookInput {
    HookInput { bytes: bytes.to_vec(), ..HookInput::default() }
}

#[test]
fn the_agent_is_named_like_its_host_and_has_a_terminal_that_the_hook_has_not() {
    // Field 7 of /proc/PID/stat is the controlling terminal; no name here holds a blank.
    let runs = run(
        r#"cat /proc/$PPID/comm; cut -d' ' -f7 /proc/$PPID/stat; cut -d' ' -f7 /proc/$$/stat; echo "$@"; cat >&2; exit 3"#,
        &[input(b"fed")],
    );
    let stdout = runs[0]["stdout"].as_str().unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!((lines[0], lines[2], lines[3]), ("codex", "0", "one codex"), "{stdout}");
    assert_ne!(lines[1], "0");
    assert_eq!((&runs[0]["exit"], &runs[0]["stderr"]), (&Value::from(3), &Value::from("fed")));
}

#[test]
fn all_hooks_of_a_check_have_the_same_agent_and_its_environment() {
    let argument = HookInput { argument: Some("{\"type\":\"x\"}".into()), ..HookInput::default() };
    let runs = run(r#"echo $PPID $SCRATCH "$3""#, &[input(b""), input(b""), argument]);
    assert_eq!(runs[0]["stdout"], runs[1]["stdout"]);
    let last = runs[2]["stdout"].as_str().unwrap();
    assert!(last.contains("/scratch {\"type\":\"x\"}"), "{last}");
}

#[test]
fn pieces_come_apart_and_an_open_stdin_stays_open() {
    let open = HookInput { held_open: true, ..input(b"abcd\n") };
    // `read` needs the line only; a closed stdin would let `cat` end, an open one does not.
    let runs = run(
        "read line; echo $line; (timeout 0.3 cat; echo $?) <&0",
        &[open.clone(), HookInput { held_open: false, ..open.clone() }],
    );
    assert_eq!(runs[0]["stdout"], "abcd\n124\n");
    assert_eq!(runs[1]["stdout"], "abcd\n0\n");
    let slow = HookInput { piece: Some(2), every_ms: 100, first_after_ms: 100, ..input(b"abcdef\n") };
    let runs = run("cat", &[slow]);
    assert_eq!(runs[0]["stdout"], "abcdef\n");
    // Four pieces: one wait before the first, three between them.
    assert!(runs[0]["ms"].as_f64().unwrap() >= 400.0, "{runs:?}");
    assert!(runs[0]["ms_after_last_byte"].as_f64().unwrap() < runs[0]["ms"].as_f64().unwrap());
}

#[test]
fn a_hook_that_does_not_read_is_no_fault() {
    let runs = run("exit 0", &[input(&vec![b'x'; 1 << 20])]);
    assert_eq!(runs[0]["exit"], 0);
}
