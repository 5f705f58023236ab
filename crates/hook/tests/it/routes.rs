//! The hook, the daemon and routes together: what the host reads of it in the end.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use herdbook_daemon::routes::{load, routes_dir, trust};
use herdbook_daemon::{DaemonConfig, DaemonError, Notice, Service, Stop};
use herdbook_wire::paths::SocketPlace;

use crate::bench::{HOOK, Home, run};

/// A daemon on the home of a hook; it ends when it is dropped.
struct Daemon {
    stop: Stop,
    thread: Option<JoinHandle<Result<(), DaemonError>>>,
}

impl Daemon {
    fn start(home: &Home) -> Daemon {
        let (sender, notices) = mpsc::channel();
        let stop = Stop::new();
        let config = DaemonConfig {
            state_dir: state(home),
            sockets: vec![SocketPlace { path: home.socket(), guarded: true }],
            http: Vec::new(),
            version: "0.0.0-test".into(),
            grace_ms: None,
            service: Service::default(),
            discover: false,
            home: None,
            panes: false,
            config_dir: Some(home.path("config")),
            boot: herdbook_wire::clock::boot_prefix(),
            clock: herdbook_daemon::now,
            tmux: Vec::new(),
            stop: stop.clone(),
            signals: false,
            notice: Arc::new(move |notice| drop(sender.send(notice.clone()))),
        };
        let thread = Some(std::thread::spawn(move || herdbook_daemon::run(config)));
        let is_ready = |notice| matches!(notice, Notice::Ready { .. });
        assert!(notices.iter().any(is_ready));
        Daemon { stop, thread }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn state(home: &Home) -> PathBuf {
    home.path("state/herdbook")
}

/// Writes a shell script as a route and trusts it. Another process writes it: one that this process had open could not
/// be started while another thread starts something.
fn route(home: &Home, id: &str, script: &str, toml: &str) {
    let path = routes_dir(&home.path("config")).join(id);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for (path, text) in
        [(&path, format!("#!/bin/sh\n{script}\n")), (&path.with_extension("toml"), toml.to_owned())]
    {
        let mut writer = Command::new("/bin/sh")
            .args(["-c", "cat > \"$1\" && chmod 700 \"$1\"", "sh"])
            .arg(path)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
    }
    let loaded = load(&home.path("config"), &state(home));
    assert_eq!(loaded.refused, []);
    for loaded in &loaded.routes {
        trust(&state(home), loaded).unwrap();
    }
}

/// Runs the hook until the daemon took the call: on a busy machine it may have gone to the spool instead.
fn ask(home: &Home, body: &str) -> (Option<i32>, String, String) {
    loop {
        let body = body.to_owned();
        let mut command = home.command(HOOK);
        command.arg("claude");
        let ran = run(command, move |mut stdin| stdin.write_all(body.as_bytes()).unwrap());
        if herdbook_wire::spool::count(&home.spool()).unwrap_or_default() == 0 {
            let text = |bytes| String::from_utf8(bytes).unwrap();
            return (ran.code, text(ran.stdout), text(ran.stderr));
        }
        while herdbook_wire::spool::count(&home.spool()).unwrap_or_default() > 0 {
            std::thread::yield_now();
        }
    }
}

const TOOL: &str = r#"{"session_id":"s1","cwd":"/home/dev/app","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf /"},"tool_use_id":"t1"}"#;
const TASK: &str = r#"{"session_id":"s1","cwd":"/home/dev/app","hook_event_name":"TaskCompleted","task_id":"1","task_subject":"x"}"#;
const STOP: &str =
    r#"{"session_id":"s1","cwd":"/home/dev/app","hook_event_name":"Stop","stop_hook_active":false}"#;

#[test]
fn what_a_route_says_is_what_the_host_reads() {
    let home = Home::new();
    let refuses =
        "case $(cat) in *'rm -rf'*) sleep 0.2; echo '{\"outcome\":\"deny\",\"reason\":\"not that\"}';; esac";
    route(&home, "tool/before/no-rm", refuses, "");
    route(&home, "task/complete/tests", "echo '{\"outcome\":\"deny\",\"reason\":\"run the tests\"}'", "");
    route(&home, "stop/fails", "echo oops >&2; exit 2", "");
    let _daemon = Daemon::start(&home);
    let denied = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not that"}}"#;
    // Longer than the hook waits without being asked to.
    assert_eq!(ask(&home, TOOL), (Some(0), denied.to_owned(), String::new()));
    assert_eq!(ask(&home, &TOOL.replace("rm -rf /", "ls")), (Some(0), String::new(), String::new()));
    assert_eq!(ask(&home, TASK), (Some(2), String::new(), "run the tests".to_owned()));
    // Whatever a route does, it is no refusal unless it says so.
    assert_eq!(ask(&home, STOP), (Some(0), String::new(), String::new()));
}

#[test]
fn a_route_that_hangs_holds_the_host_no_longer_than_it_may() {
    let home = Home::new();
    route(&home, "tool/before/hangs", "exec sleep 1000", "timeout_ms = 300");
    let _daemon = Daemon::start(&home);
    let begun = std::time::Instant::now();
    assert_eq!(ask(&home, TOOL), (Some(0), String::new(), String::new()));
    assert!(begun.elapsed() >= Duration::from_millis(300) && begun.elapsed() < Duration::from_secs(20));
}
