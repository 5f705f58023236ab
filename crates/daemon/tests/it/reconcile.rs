//! After a stop, a kill or a reboot the queue is right within 5 s of the start, whatever happened meanwhile.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use herdbook_wire::clock::{Start, boot_prefix};
use herdbook_wire::{Answer, Delivery, Process, frame, spool};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::child::{DaemonChild, Settings};
use crate::processes::{Agent, process_of};
use crate::support::{LONG, Scratch, claude, journal, send_frame, stuck, wait_until};
use crate::tmux::{Server, has_tmux};

/// The daemon was away for so long: longer than a wait is kept that nobody can look at.
const AWAY_MS: u64 = 30 * 3_600_000;
/// What the issue promises.
const PROMISED: Duration = Duration::from_secs(5);

/// A machine with agents on it, beside a state folder.
struct Machine {
    scratch: Scratch,
    /// Unix milliseconds now, as its daemon and its agents see them.
    wall_ms: u64,
    hooks: u128,
}

impl Machine {
    /// One whose clock shows the time before the daemon was away.
    fn new() -> Machine {
        Machine { scratch: Scratch::new(), wall_ms: Start::now().unix_ms - AWAY_MS, hooks: 0 }
    }

    fn home(&self) -> PathBuf {
        self.scratch.dir.path().join("home")
    }

    fn transcript(&self, host: &str, session: &str) -> PathBuf {
        match host {
            "codex" => self.home().join(format!(".codex/sessions/2026/01/15/rollout-{session}.jsonl")),
            _ => self.home().join(format!(".claude/projects/-app/{session}.jsonl")),
        }
    }

    fn write(&self, host: &str, session: &str, line: &Value) {
        let path = self.transcript(host, session);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    /// A hook call that is made now.
    fn call(&mut self, session: &str, event: &str, more: Value, process: Option<Process>) -> Delivery {
        self.hooks += 1;
        self.wall_ms += 10;
        let stamp = Start::now();
        let mut call = claude(stamp.delivery_id(self.hooks << 10), session, event, more);
        call.origin.vars = vec![("HOME".into(), self.home().to_string_lossy().into_owned())];
        call.origin.ancestors = process.into_iter().collect();
        (call.stamp_ms, call.started_at_ms) = (stamp.stamp_ms(), self.wall_ms);
        call
    }

    fn send(&self, call: &Delivery) {
        let bytes = frame::encode(call);
        let begun = Instant::now();
        while send_frame(&self.scratch.socket(), &bytes).unwrap() != Answer::Done {
            assert!(begun.elapsed() < LONG, "the daemon does not take the call");
        }
    }

    fn hook(&mut self, session: &str, event: &str, more: Value, process: Option<Process>) {
        let call = self.call(session, event, more, process);
        self.send(&call);
    }

    /// Asks for permission to run a command.
    fn ask(&mut self, session: &str, process: Process) {
        let path = self.transcript("claude", session);
        let call = json!({
            "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": format!("toolu_{session}"),
            "transcript_path": path,
        });
        for event in ["UserPromptSubmit", "PreToolUse", "PermissionRequest"] {
            self.hook(session, event, call.clone(), Some(process));
        }
    }

    /// A turn that is over: two hooks out of the same process, if there is one to name.
    fn turn(&mut self, session: &str, process: Option<Process>) {
        self.hook(session, "UserPromptSubmit", json!({ "prompt": "go" }), process);
        self.hook(session, "Stop", json!({ "last_assistant_message": "Done." }), process);
    }

    /// A hook for which no daemon was there.
    fn spooled(&mut self, session: &str, event: &str, more: Value) {
        let call = self.call(session, event, more, None);
        spool::write(&self.scratch.state().join("spool"), &call).unwrap();
    }
}

/// Starts a daemon and returns it with the time by which everything is promised to be right.
fn start(state: &Path, settings: Settings) -> (DaemonChild, Instant) {
    let daemon = DaemonChild::start_with(state, settings);
    (daemon, Instant::now() + PROMISED)
}

type Picture = (Vec<String>, BTreeMap<String, String>);

fn picture(daemon: &DaemonChild) -> Picture {
    let client = daemon.client();
    let queue = client.queue().unwrap().into_iter().map(|item| item.session_id).collect();
    let of = |session: herdbook_api::v1::Session| {
        let kind = session.kind.map(|kind| format!("/{kind}")).unwrap_or_default();
        (session.session_id, format!("{}{kind}", session.state))
    };
    (queue, client.sessions().unwrap().into_iter().map(of).collect())
}

/// Waits until the queue and all states are as expected; at the deadline what is there instead fails the test.
fn expect(daemon: &DaemonChild, deadline: Instant, queue: &[&str], states: &[(&str, &str)]) {
    let expected: Picture = (
        queue.iter().map(|key| (*key).to_owned()).collect(),
        states.iter().map(|(key, state)| ((*key).to_owned(), (*state).to_owned())).collect(),
    );
    loop {
        let seen = picture(daemon);
        if seen == expected {
            return;
        }
        if Instant::now() > deadline {
            assert_eq!(seen, expected);
        }
        std::thread::yield_now();
    }
}

fn iso(unix_ms: u64) -> String {
    let (days, ms) = (unix_ms / 86_400_000, unix_ms % 86_400_000);
    // Civil date of a day number, in the calendar that begins in March.
    let days = days + 719_468;
    let era_day = days % 146_097;
    let year_of_era = (era_day - era_day / 1_460 + era_day / 36_524 - era_day / 146_096) / 365;
    let day_of_year = era_day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year_of_era + days / 146_097 * 400 + carry;
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1_000)
}

#[test]
fn times_in_transcripts_are_written_as_hosts_do() {
    assert_eq!(iso(1_768_467_600_123), "2026-01-15T09:00:00.123Z");
    assert_eq!(iso(1_709_164_799_000), "2024-02-28T23:59:59.000Z");
    assert_eq!(iso(1_709_251_199_000), "2024-02-29T23:59:59.000Z");
}

#[test]
fn a_herd_that_changed_in_every_way_while_no_daemon_ran_is_right_within_five_seconds() {
    let mut machine = Machine::new();
    let state = machine.scratch.state();
    let before = Settings { wall_shift_ms: -(AWAY_MS as i64), watches: true, ..Settings::default() };
    let (mut daemon, _) = start(&state, before);
    let alive = process_of(std::process::id());
    let (killed, killed_at_work) = (Agent::start(), Agent::start());

    machine.turn("waits", Some(alive));
    machine.ask("asks", alive);
    machine.ask("answered", alive);
    machine.ask("refused", alive);
    machine.turn("killed", Some(killed.process()));
    machine.turn("prompted", None);
    machine.turn("said-goodbye", None);
    machine.turn("stale", None);
    machine.hook("works", "UserPromptSubmit", json!({ "prompt": "go" }), Some(alive));
    machine.hook("works", "PreToolUse", json!({"tool_name": "Bash", "tool_use_id": "t"}), Some(alive));
    machine.hook(
        "killed-at-work",
        "UserPromptSubmit",
        json!({ "prompt": "go" }),
        Some(killed_at_work.process()),
    );
    machine.hook(
        "killed-at-work",
        "PreToolUse",
        json!({"tool_name": "Bash"}),
        Some(killed_at_work.process()),
    );
    machine.hook("silent", "UserPromptSubmit", json!({ "prompt": "go" }), None);
    let escaped = json!({ "prompt": "go", "transcript_path": machine.transcript("claude", "escaped") });
    machine.hook("escaped", "UserPromptSubmit", escaped.clone(), Some(alive));
    machine.hook("escaped", "PreToolUse", escaped, Some(alive));
    let rollout = machine.transcript("codex", "told-by-file");
    machine.write(
        "codex",
        "told-by-file",
        &json!({"timestamp": iso(machine.wall_ms), "type": "session_meta", "payload": {"id": "told-by-file", "cwd": "/app"}}),
    );
    for event in ["SessionStart", "UserPromptSubmit"] {
        let more = json!({ "prompt": "go", "transcript_path": rollout, "turn_id": "1" });
        let call = machine.call("told-by-file", event, more, Some(alive));
        machine.send(&Delivery { host: "codex".into(), ..call });
    }
    // Its producer says when it began: behind all the others, however long their hooks took.
    let posted = stuck("posted", machine.wall_ms + AWAY_MS / 2);
    daemon.client().post_normalized(&posted.to_string()).unwrap();
    assert_eq!(
        picture(&daemon).0,
        ["waits", "asks", "answered", "refused", "killed", "prompted", "said-goodbye", "stale", "posted"]
            .map(|id| if id == "posted" { id.to_owned() } else { format!("claude-{id}") })
    );
    daemon.kill();

    // Thirty hours pass, and much happens.
    machine.wall_ms += AWAY_MS - 60_000;
    drop((killed, killed_at_work));
    let result = |session: &str, is_error: bool| json!({"type": "user", "uuid": format!("u-{session}"), "sessionId": session, "timestamp": iso(machine.wall_ms), "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("toolu_{session}"), "is_error": is_error, "content": "x"}]}});
    let mark = |session: &str, after_ms: u64| json!({"type": "user", "uuid": format!("m-{session}"), "sessionId": session, "timestamp": iso(machine.wall_ms + after_ms), "message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}});
    machine.write("claude", "answered", &result("answered", false));
    machine.write("claude", "refused", &result("refused", true));
    machine.write("claude", "refused", &mark("refused", 6));
    machine.write("claude", "escaped", &mark("escaped", 3));
    machine.write(
        "codex",
        "told-by-file",
        &json!({"timestamp": iso(machine.wall_ms), "type": "event_msg", "payload": {"type": "task_complete", "last_agent_message": "All done."}}),
    );
    machine.spooled("prompted", "UserPromptSubmit", json!({ "prompt": "more" }));
    machine.spooled("said-goodbye", "SessionEnd", json!({ "reason": "prompt_input_exit" }));
    machine.spooled("new", "UserPromptSubmit", json!({ "prompt": "go" }));
    machine.spooled("new", "Stop", json!({ "last_assistant_message": "Done." }));

    let (daemon, deadline) = start(&state, Settings { watches: true, ..Settings::default() });
    let states = [
        ("claude-answered", "working"),
        ("claude-asks", "stuck/permission"),
        ("claude-escaped", "stuck/interrupted"),
        ("claude-killed", "ended"),
        ("claude-killed-at-work", "ended"),
        ("claude-new", "stuck/turn_end"),
        ("claude-prompted", "working"),
        ("claude-refused", "stuck/interrupted"),
        ("claude-said-goodbye", "ended"),
        ("claude-silent", "unknown"),
        ("claude-stale", "unknown"),
        ("claude-waits", "stuck/turn_end"),
        ("claude-works", "working"),
        ("codex-told-by-file", "stuck/turn_end"),
        ("posted", "stuck/turn_end"),
    ];
    // What was found out comes in the order in which it happened.
    let queue = [
        "claude-waits",
        "claude-asks",
        "posted",
        "codex-told-by-file",
        "claude-escaped",
        "claude-refused",
        "claude-new",
    ];
    expect(&daemon, deadline, &queue, &states);

    // What was aged out says why, and what waited keeps the time at which it began.
    let why = daemon.client().why("claude-stale").unwrap();
    let last = why.evidence.last().unwrap();
    assert_eq!(
        (last.source.as_str(), last.fact.as_str()),
        ("timer", "nothing to look at for too long: left the queue")
    );
    let waits = daemon.client().session("claude-waits").unwrap();
    assert!(machine.wall_ms - waits.since_at > AWAY_MS / 2, "{waits:?}");
    // Nobody is called for what waited before, or is long past.
    assert!(daemon.client().status().unwrap().announced <= 2, "only the turns that are over by now");
    let shown = picture(&daemon);
    assert!(daemon.end(Signal::TERM).success());

    // The journal tells the same once more.
    let (daemon, _) = start(&state, Settings { watches: true, ..Settings::default() });
    assert_eq!(picture(&daemon), shown);
}

#[test]
fn panes_and_servers_that_went_while_no_daemon_ran_are_missed_within_five_seconds() {
    if !has_tmux("panes_and_servers_that_went_while_no_daemon_ran_are_missed_within_five_seconds") {
        return;
    }
    let mut machine = Machine::new();
    let state = machine.scratch.state();
    let at = |name: &str| Server { socket: machine.scratch.dir.path().join(name).display().to_string() };
    let (lives, dies, comes_back) = (at("lives"), at("dies"), at("again"));
    let new = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "80", "-y", "20", "sleep 600"];
    let (open, closed) = (lives.run(&new), lives.run(&new));
    let places = [
        ("open", &lives, open),
        ("closed", &lives, closed.clone()),
        ("dead-server", &dies, dies.run(&new)),
        ("reused-id", &comes_back, comes_back.run(&new)),
    ];
    let before = Settings { wall_shift_ms: -(AWAY_MS as i64), watches: true, ..Settings::default() };
    let (mut daemon, _) = start(&state, before);
    for (session, server, pane) in &places {
        let mut call = machine.call(session, "Stop", json!({}), None);
        let pid = server.run(&["display-message", "-p", "#{pid}"]);
        call.origin.vars.extend([
            ("TMUX".into(), format!("{},{pid},0", server.socket)),
            ("TMUX_PANE".into(), pane.clone()),
        ]);
        machine.send(&call);
    }
    assert_eq!(picture(&daemon).0.len(), 4);
    daemon.kill();
    lives.run(&["kill-pane", "-t", &closed]);
    dies.run(&["kill-server"]);
    let gone = comes_back.run(&["display-message", "-p", "#{pid}"]);
    comes_back.run(&["kill-server"]);
    let gone = Process { pid: gone.parse().unwrap(), start: None };
    let table = herdbook_machine::Proc::system();
    wait_until("the end of the server", || {
        table.tells_alive(herdbook_machine::Process { pid: gone.pid, start: None }) == Some(false)
    });
    assert_eq!(comes_back.run(&new), places[3].2, "ids begin anew with the server");

    let (daemon, deadline) = start(&state, Settings { watches: true, ..Settings::default() });
    let waits = |id: &'static str| (id, "stuck/turn_end");
    let states = ["claude-closed", "claude-dead-server", "claude-open", "claude-reused-id"].map(waits);
    expect(&daemon, deadline, &["claude-open"], &states);
    let why = daemon.client().why("claude-dead-server").unwrap();
    assert_eq!(why.evidence.last().unwrap().fact, format!("pane {} is closed", places[2].2));
    lives.run(&["kill-server"]);
    comes_back.run(&["kill-server"]);
}

#[test]
fn after_a_reboot_only_what_runs_now_or_elsewhere_is_there() {
    let mut machine = Machine::new();
    let state = machine.scratch.state();
    let earlier = boot_prefix().wrapping_add(1).max(1);
    let before = Settings {
        wall_shift_ms: -(AWAY_MS as i64),
        watches: true,
        boot: Some(earlier),
        ..Settings::default()
    };
    let (mut daemon, _) = start(&state, before);
    // A pid that is taken again, by a process that started at the same tick after the boot.
    let taken_again = process_of(std::process::id());
    machine.turn("waits", Some(taken_again));
    machine.turn("goes-on", None);
    machine.ask("asks", taken_again);
    machine.hook("works", "UserPromptSubmit", json!({ "prompt": "go" }), None);
    let mut far = machine.call("far", "Stop", json!({}), None);
    far.origin.machine = Some("other-machine".into());
    machine.send(&far);
    let mut job = stuck("job", machine.wall_ms + 10);
    job["paneId"] = json!("job-1");
    for event in [stuck("detector", machine.wall_ms + 10), job] {
        daemon.client().post_normalized(&event.to_string()).unwrap();
    }
    assert_eq!(picture(&daemon).0.len(), 6);
    daemon.kill();
    // Hooks that still ran before the end of that boot; its clock was far ahead of the one that counts now.
    let spool_dir = state.join("spool");
    for (session, event) in [("late", "UserPromptSubmit"), ("late", "Stop"), ("waits", "UserPromptSubmit")] {
        let mut call = machine.call(session, event, json!({ "prompt": "go" }), None);
        call.stamp_ms += 864_000_000;
        spool::write(&spool_dir, &call).unwrap();
        let written = spool::entries(&spool_dir).unwrap();
        let entry = written.iter().find(|entry| entry.delivery == call.delivery).unwrap();
        let renamed = spool::Entry { boot: earlier, ..*entry };
        fs::rename(spool_dir.join(entry.name()), spool_dir.join(renamed.name())).unwrap();
    }
    machine.wall_ms += AWAY_MS - 60_000;
    // And one of the new boot, in which a conversation goes on.
    machine.spooled("goes-on", "SessionStart", json!({ "source": "resume" }));
    machine.spooled("goes-on", "UserPromptSubmit", json!({ "prompt": "more" }));

    let (daemon, deadline) = start(&state, Settings { watches: true, ..Settings::default() });
    let states = [
        ("claude-asks", "ended"),
        ("claude-far", "unknown"),
        ("claude-goes-on", "working"),
        ("claude-waits", "ended"),
        ("claude-works", "ended"),
        ("detector", "ended"),
        ("job", "stuck/turn_end"),
    ];
    expect(&daemon, deadline, &["job"], &states);
    let why = daemon.client().why("claude-waits").unwrap();
    assert_eq!(why.evidence.last().unwrap().fact, "the machine was started anew");
    let status = daemon.client().status().unwrap();
    assert_eq!((status.announced, status.spool_count), (0, 0));
    assert!(daemon.end(Signal::TERM).success());
    let hooks = journal(&state).into_iter().filter(|line| line.kind == "hook").count();
    assert_eq!(hooks, 2 + 2 + 3 + 1 + 1 + 3 + 2, "each is kept, also those that came too late");
}
