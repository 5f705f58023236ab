//! `herdbook demo` to its end, and broken off.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{TestEnv, finish, has_tmux, processes_in};

/// Checks that nothing is left of a demonstration.
fn nothing_is_left(env: &TestEnv) {
    let left: Vec<_> = std::fs::read_dir(env.path().join("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(processes_in(&env.path().join("tmp")), Vec::<String>::new());
    // The human's own state folder was not touched.
    assert!(!env.path().join("state/herdbook").exists());
}

fn check(env: &TestEnv, path: Option<&str>) -> String {
    let mut command = env.herdbook(&["demo"]);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let ran = finish(command, b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert!(ran.stdout.contains("daemon down · 1 waiting"), "{}", ran.stdout);
    assert!(ran.stdout.contains("    13 hook"), "{}", ran.stdout);
    assert!(ran.stdout.contains("     4 normalized"), "{}", ran.stdout);
    assert!(ran.stdout.contains("every line is whole"), "{}", ran.stdout);
    nothing_is_left(env);
    ran.stdout
}

#[test]
fn the_demonstration_plays_in_panes_and_leaves_nothing() {
    if !has_tmux("the_demonstration_plays_in_panes_and_leaves_nothing") {
        return;
    }
    let stdout = check(&TestEnv::new(), None);
    assert!(stdout.contains("in the panes of a tmux server of its own"), "{stdout}");
    assert!(stdout.contains(" claude  %0 "), "{stdout}");
}

#[test]
fn the_demonstration_plays_without_tmux_and_says_so() {
    let env = TestEnv::new();
    let stdout = check(&env, Some(env.path().join("home").to_str().unwrap()));
    assert!(stdout.contains("tmux is not here"), "{stdout}");
}

#[test]
fn a_demonstration_that_is_broken_off_leaves_nothing() {
    let env = TestEnv::new();
    let mut child = env
        .herdbook(&["demo"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("claude wants to run a command")));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    // It may be through before the signal is looked at; what it must not do is leave something.
    lines.for_each(drop);
    let ended = child.wait_with_output().unwrap();
    assert!([Some(130), Some(0)].contains(&ended.status.code()), "{ended:?}");
    nothing_is_left(&env);
}
