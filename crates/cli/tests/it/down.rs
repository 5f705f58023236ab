//! What is said while no daemon runs.

use crate::support::TestEnv;

const DOWN: &str = "error: the daemon is not running\nhint: run `herdbook up`\n";

#[test]
fn listings_say_that_the_daemon_is_down_and_what_to_do() {
    let env = TestEnv::new();
    for words in [
        vec!["ls"],
        vec!["ls", "--json"],
        vec!["status"],
        vec!["why", "1"],
        vec!["skip"],
        vec!["settle", "x"],
    ] {
        let ran = env.run(&words);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (3, "", DOWN), "{words:?}");
    }
}

#[test]
fn events_in_the_spool_are_counted() {
    let env = TestEnv::new();
    let payload = br#"{"session_id":"s-1","hook_event_name":"Stop"}"#;
    for count in 1..=2 {
        let hook = env.run_with(&["hook", "claude"], payload);
        assert_eq!((hook.code, hook.stdout.as_str(), hook.stderr.as_str()), (0, "", ""));
        let words = if count == 1 { "1 event waits in the spool" } else { "2 events wait in the spool" };
        assert!(env.run(&["ls"]).stderr.starts_with(&format!("error: the daemon is not running; {words}\n")));
        let segment = env.run(&["status", "--format", "tmux"]);
        assert_eq!((segment.code, segment.stdout), (0, format!("daemon down · {count} waiting\n")));
    }
}

#[test]
fn the_segment_is_one_line_when_nothing_waits_in_the_spool() {
    let env = TestEnv::new();
    let segment = env.run(&["status", "--format", "tmux"]);
    assert_eq!((segment.code, segment.stdout.as_str(), segment.stderr.as_str()), (0, "daemon down\n", ""));
}

#[test]
fn without_a_home_the_variables_to_set_are_named() {
    let env = TestEnv::new();
    let mut command = env.herdbook(&["ls"]);
    command.env_remove("HOME").env_remove("XDG_STATE_HOME").env_remove("XDG_RUNTIME_DIR");
    let ran = crate::support::finish(command, b"");
    assert_eq!(ran.code, 1);
    assert_eq!(ran.stderr, "error: no place for state: set HOME, XDG_STATE_HOME or HERDBOOK_STATE\n");
}

#[test]
fn a_relative_state_folder_is_named_as_the_mistake() {
    let env = TestEnv::new();
    let mut command = env.herdbook(&["ls"]);
    command.env("HERDBOOK_STATE", "state");
    let ran = crate::support::finish(command, b"");
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (1, "error: HERDBOOK_STATE must be an absolute path, not state\n")
    );
}
