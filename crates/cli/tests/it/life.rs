//! `up` and `down` through versions, replaced programs and several at once: one daemon, and nothing is lost.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use herdbook_api::Client;
use herdbook_daemon::{DaemonConfig, Service, Stop};
use herdbook_wire::paths::SocketPlace;
use serde_json::Value;

use crate::support::{Ran, TestEnv, finish, write_program};

const STATE: &str = "HERDBOOK_TEST_LIFE_STATE";
const VERSION: &str = "HERDBOOK_TEST_LIFE_VERSION";

/// Not a test of its own: a daemon of another version, for the tests below.
#[test]
fn body_of_a_daemon_of_another_version() {
    let (Some(state), Some(version)) = (variable(STATE), variable(VERSION)) else { return };
    let state_dir = PathBuf::from(state);
    let config = DaemonConfig {
        discover: false,
        home: None,
        panes: false,
        config_dir: None,
        boot: herdbook_wire::clock::boot_prefix(),
        clock: herdbook_daemon::now,
        tmux: Vec::new(),
        sockets: vec![SocketPlace { path: state_dir.join("sock"), guarded: true }],
        state_dir,
        http: Vec::new(),
        version: version.into_string().unwrap(),
        grace_ms: None,
        service: Service::default(),
        stop: Stop::new(),
        signals: true,
        notice: std::sync::Arc::new(|_| {}),
    };
    herdbook_daemon::run(config).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "how the child is told what to be")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Starts a daemon that says it has that version, and waits until it answers.
fn daemon_of_version(env: &TestEnv, version: &str) -> Child {
    let state = env.path().join("state/herdbook");
    let own = std::env::current_exe().unwrap();
    let mut command = env.program(own.to_str().unwrap());
    let words = ["--exact", "life::body_of_a_daemon_of_another_version"];
    command.args(words).env(STATE, &state).env(VERSION, version);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the daemon", || pid(env) == Some(child.id()));
    child
}

/// The daemon that answers.
fn pid(env: &TestEnv) -> Option<u32> {
    let socket = env.path().join("state/herdbook/sock");
    Client::new(vec![socket]).status().ok().map(|status| status.pid)
}

fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !there() {
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::yield_now();
    }
}

fn run(env: &TestEnv, program: &Path, words: &[&str]) -> Ran {
    finish(command(env, program, words), b"")
}

fn command(env: &TestEnv, program: &Path, words: &[&str]) -> Command {
    let mut command = env.program(program.to_str().unwrap());
    command.args(words).env("HERDBOOK_ADDR", "127.0.0.1:0");
    command
}

fn herdbook() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_herdbook"))
}

/// Ends whatever daemon runs when a test is over.
struct Downed<'a>(&'a TestEnv);

impl Drop for Downed<'_> {
    fn drop(&mut self) {
        let _ = run(self.0, &herdbook(), &["down"]);
    }
}

#[test]
fn an_older_daemon_is_restarted_and_its_events_are_still_there() {
    let env = TestEnv::new();
    let mut old = daemon_of_version(&env, "0.0.9");
    let ended = std::thread::spawn(move || old.wait().unwrap());
    let _end = Downed(&env);
    let payload = br#"{"session_id":"s-1","hook_event_name":"Stop","cwd":"/home/dev/app"}"#;
    assert_eq!(finish(command(&env, &herdbook(), &["hook", "claude"]), payload).code, 0);
    let own = env!("CARGO_PKG_VERSION");
    let status = run(&env, &herdbook(), &["status"]);
    let hint = format!("hint: `herdbook up` restarts the daemon: 0.0.9 → {own}\n");
    assert_eq!((status.code, status.stderr), (0, hint));
    let up = run(&env, &herdbook(), &["up"]);
    assert_eq!(up.code, 0, "{}", up.stderr);
    assert!(up.stderr.starts_with(&format!("restarted: 0.0.9 → {own}, pid ")), "{}", up.stderr);
    assert!(ended.join().unwrap().success(), "it ended in order");
    let listing = run(&env, &herdbook(), &["ls"]);
    assert!(listing.stdout.contains("s-1"), "{}", listing.stdout);
    assert_eq!(run(&env, &herdbook(), &["status"]).stderr, "");
}

#[test]
fn a_newer_daemon_is_left_alone() {
    let env = TestEnv::new();
    let mut new = daemon_of_version(&env, "99.0.0");
    let up = run(&env, &herdbook(), &["up"]);
    let own = env!("CARGO_PKG_VERSION");
    let words =
        format!("the daemon is newer (99.0.0) than this command ({own}) and left alone, pid {}\n", new.id());
    assert_eq!(up.code, 0);
    assert!(up.stderr.starts_with(&words), "{}", up.stderr);
    assert_eq!(pid(&env), Some(new.id()));
    let ended = std::thread::spawn(move || new.wait().unwrap());
    assert_eq!(run(&env, &herdbook(), &["down"]).code, 0);
    assert!(ended.join().unwrap().success());
}

#[test]
fn of_two_up_at_once_one_restarts_and_the_other_finds_its_daemon() {
    let env = TestEnv::new();
    let mut old = daemon_of_version(&env, "0.0.9");
    let ended = std::thread::spawn(move || old.wait().unwrap());
    let _end = Downed(&env);
    let both: Vec<Ran> = std::thread::scope(|scope| {
        let ups: Vec<_> = (0..2).map(|_| scope.spawn(|| run(&env, &herdbook(), &["up"]))).collect();
        ups.into_iter().map(|up| up.join().unwrap()).collect()
    });
    assert!(both.iter().all(|up| up.code == 0), "{both:?}");
    let began = |words: &str| both.iter().filter(|up| up.stderr.starts_with(words)).count();
    assert_eq!((began("restarted: "), began("the daemon runs already, ")), (1, 1), "{both:?}");
    let pid = format!(", pid {}\n", pid(&env).unwrap());
    assert!(both.iter().all(|up| up.stderr.contains(&pid)), "{both:?}");
    assert!(ended.join().unwrap().success());
}

/// Ends the hooks when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn hooks_that_fire_while_a_replaced_program_is_restarted_are_each_kept_once() {
    let env = TestEnv::new();
    let program = env.path().join("herdbook");
    write_program(&program, &std::fs::read(herdbook()).unwrap());
    let _end = Downed(&env);
    let first = run(&env, &program, &["up"]);
    assert!(first.stderr.starts_with("the daemon is up, pid "), "{}", first.stderr);
    let over = AtomicBool::new(false);
    let sent: u64 = std::thread::scope(|scope| {
        let hooks: Vec<_> = (0..2)
            .map(|worker| {
                let (env, over) = (&env, &over);
                scope.spawn(move || {
                    let mut sent = 0;
                    while !over.load(Ordering::Relaxed) {
                        let payload = format!(
                            r#"{{"session_id":"w{worker}","hook_event_name":"UserPromptSubmit","prompt":"{sent}"}}"#
                        );
                        let hook = finish(command(env, &herdbook(), &["hook", "claude"]), payload.as_bytes());
                        assert_eq!((hook.code, hook.stdout.as_str(), hook.stderr.as_str()), (0, "", ""));
                        sent += 1;
                    }
                    sent
                })
            })
            .collect();
        // Also when an assertion fails: else the hooks would go on for ever.
        let until = Over(&over);
        for _ in 0..3 {
            // As a package manager does: another file under the same name.
            let new = env.path().join("new");
            write_program(&new, &std::fs::read(herdbook()).unwrap());
            std::fs::rename(&new, &program).unwrap();
            let up = run(&env, &program, &["up"]);
            let words =
                format!("restarted: {}, the program file was replaced, pid ", env!("CARGO_PKG_VERSION"));
            assert!(up.stderr.starts_with(&words), "{}", up.stderr);
        }
        drop(until);
        hooks.into_iter().map(|hook| hook.join().unwrap()).sum()
    });
    assert!(sent > 0);
    let again = run(&env, &program, &["up"]);
    assert!(again.stderr.starts_with("the daemon runs already, pid "), "{}", again.stderr);
    wait_until("the end of the spool", || {
        let status = run(&env, &program, &["status", "--json"]).stdout;
        serde_json::from_str::<Value>(&status).unwrap()["spool_count"] == 0
    });
    let journal = env.path().join("state/herdbook/journal");
    let lines = herdbook_log::Reader::open(&journal).map(Result::unwrap);
    let kept = lines.filter(|line| line.kind == "hook").count() as u64;
    assert_eq!(kept, sent, "each of the hooks is in the journal, and once");
}

#[test]
fn down_leaves_a_daemon_on_another_state_folder_alone() {
    let env = TestEnv::new();
    let _end = Downed(&env);
    assert_eq!(run(&env, &herdbook(), &["up"]).code, 0);
    let running = pid(&env).unwrap();
    let mut elsewhere = command(&env, &herdbook(), &["down"]);
    // The runtime folder, and so the socket that is asked first, is the same.
    elsewhere.env("XDG_STATE_HOME", env.path().join("tmp"));
    let down = finish(elsewhere, b"");
    let state = env.path().join("state/herdbook");
    let words = format!(
        "the daemon is not running\n  one on another state folder, {}, is left alone: pid {running}\n",
        state.display()
    );
    assert_eq!((down.code, down.stderr.as_str()), (0, words.as_str()));
    assert_eq!(pid(&env), Some(running));
}

#[test]
fn down_waits_for_the_up_that_has_its_turn() {
    let env = TestEnv::new();
    let _end = Downed(&env);
    assert_eq!(run(&env, &herdbook(), &["up"]).code, 0);
    let lock = std::fs::File::options().append(true).open(env.path().join("state/herdbook/up.lock")).unwrap();
    lock.lock().unwrap();
    let mut down = command(&env, &herdbook(), &["down"]).stderr(Stdio::null()).spawn().unwrap();
    // While somebody else has the turn nothing is ended, however often one looks.
    let running = pid(&env);
    for _ in 0..20 {
        assert_eq!((down.try_wait().unwrap(), pid(&env)), (None, running));
    }
    drop(lock);
    assert!(down.wait().unwrap().success());
    assert_eq!(pid(&env), None);
}
