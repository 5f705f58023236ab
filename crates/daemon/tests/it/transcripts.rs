//! What hooks do not say, and transcripts do.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use herdbook_wire::{Answer, Delivery};
use serde_json::json;

use crate::support::{Daemon, Scratch, claude, wait_until};

/// A session whose transcript lies in a home of its own.
struct Session<'a> {
    scratch: &'a Scratch,
    id: &'static str,
}

impl Session<'_> {
    fn path(&self) -> PathBuf {
        self.scratch.dir.path().join(format!("home/.claude/projects/-app/{}.jsonl", self.id))
    }

    fn write(&self, line: &str) {
        fs::create_dir_all(self.path().parent().unwrap()).unwrap();
        let mut file = OpenOptions::new().append(true).create(true).open(self.path()).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    /// The human says "No": two lines, and no hook.
    fn refuse(&self, tool: &str) {
        self.write(&json!({"type": "user", "uuid": "u1", "sessionId": self.id, "timestamp": "2026-01-15T09:00:04.000Z", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": tool, "is_error": true, "content": "declined"}]}}).to_string());
        self.write(&json!({"type": "user", "uuid": "u2", "sessionId": self.id, "timestamp": "2026-01-15T09:00:04.010Z", "message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]}}).to_string());
    }

    /// A tool use that asks for permission.
    fn ask(&self, daemon: &Daemon, at: u128) {
        let home = self.scratch.dir.path().join("home").to_string_lossy().into_owned();
        let tool = json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "toolu_1", "transcript_path": self.path()});
        for (n, event) in ["UserPromptSubmit", "PreToolUse", "PermissionRequest"].into_iter().enumerate() {
            let mut call = claude(at + n as u128, self.id, event, tool.clone());
            call.origin.vars = vec![("HOME".into(), home.clone())];
            assert_eq!(daemon.frame(&Delivery { ..call }), Answer::Done);
        }
        assert_eq!(daemon.client().session(&self.key()).unwrap().kind.as_deref(), Some("permission"));
    }

    fn key(&self) -> String {
        format!("claude-{}", self.id)
    }

    fn kind(&self, daemon: &Daemon) -> Option<String> {
        daemon.client().session(&self.key()).unwrap().kind
    }
}

#[test]
fn a_refusal_that_no_hook_tells_settles_its_permission() {
    let scratch = Scratch::new();
    let session = Session { scratch: &scratch, id: "one" };
    let daemon = scratch.start();
    session.write(r#"{"type":"mode"}"#);
    session.ask(&daemon, 1);
    session.refuse("toolu_1");
    wait_until("the end of the permission", || session.kind(&daemon).as_deref() == Some("interrupted"));
    let shown = daemon.client().session(&session.key()).unwrap();
    assert_eq!((shown.state.as_str(), daemon.queue()), ("stuck", vec![session.key()]));
    let why = daemon.client().why(&session.key()).unwrap();
    let told: Vec<&str> =
        why.evidence.iter().filter(|one| one.source == "transcript").map(|one| one.fact.as_str()).collect();
    assert_eq!(told, ["refusal or error for toolu_1", "interrupted by the human"]);
    daemon.stop();
    // The journal tells it again, and the same lines move nothing twice.
    let recorded = || scratch.journal().iter().filter(|line| line.kind == "observation").count();
    assert_eq!(recorded(), 2);
    let daemon = scratch.start();
    assert_eq!(session.kind(&daemon).as_deref(), Some("interrupted"));
    daemon.stop();
    assert_eq!(recorded(), 2);
}

#[test]
fn what_was_answered_while_no_daemon_ran_is_found_at_the_start() {
    let scratch = Scratch::new();
    let session = Session { scratch: &scratch, id: "two" };
    let daemon = scratch.start();
    session.ask(&daemon, 1);
    daemon.stop();
    session.refuse("toolu_1");
    let daemon = scratch.start();
    wait_until("the end of the permission", || session.kind(&daemon).as_deref() == Some("interrupted"));
}
