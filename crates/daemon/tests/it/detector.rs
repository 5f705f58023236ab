//! Panes of harnesses without hooks, with real tmux servers.

use std::path::{Path, PathBuf};

use herdbook_daemon::Notice;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::child::{DaemonChild, Settings};
use crate::support::{Daemon, Scratch, journal, wait_until};
use crate::tmux::{Server, has_tmux};

/// A harness that knows no hooks: it works when it is told to, and asks.
const HARNESS: &str = "while :; do printf 'Proceed? [y/N] '; read answer; echo \"got $answer\"; done";

/// Private tmux servers in a scratch folder, and settings that name them.
struct Bench {
    /// Dropped first: a server without its socket cannot be told to end.
    servers: Vec<Server>,
    scratch: Scratch,
}

impl Bench {
    #[expect(clippy::disallowed_methods, reason = "a test's own file")]
    fn new(names: &[&str]) -> Bench {
        let scratch = Scratch::new();
        let socket = |name: &&str| scratch.dir.path().join(name).display().to_string();
        let servers: Vec<Server> = names.iter().map(|name| Server { socket: socket(name) }).collect();
        let sockets: Vec<String> = servers.iter().map(|server| format!("'{}'", server.socket)).collect();
        let text = format!("[detector]\nquiet_s = 1\npoll_s = 1\nservers = [{}]\n", sockets.join(", "));
        std::fs::write(settings(&scratch), text).unwrap();
        Bench { scratch, servers }
    }

    fn start(&self) -> Daemon {
        let folder = self.scratch.dir.path().to_owned();
        let start = self.scratch.try_start_with(|config| {
            config.panes = true;
            config.config_dir = Some(folder);
        });
        start.unwrap()
    }

    /// Starts one in a process of its own.
    fn start_child(&self) -> DaemonChild {
        DaemonChild::start_with(&self.scratch.state(), Settings { watches: true, ..Settings::default() })
    }

    /// A pane of a server that runs the harness, with this title; its id.
    fn pane(&self, server: usize, title: &str) -> String {
        let server = &self.servers[server];
        let new = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "80", "-y", "20", "-c", "/", HARNESS];
        let pane = server.run(&new);
        server.run(&["select-pane", "-t", &pane, "-T", title]);
        pane
    }

    fn told(&self) -> Vec<Value> {
        told(&self.scratch.state())
    }
}

fn settings(scratch: &Scratch) -> PathBuf {
    scratch.dir.path().join("config.toml")
}

/// What the detector said, as the journal keeps it.
fn told(state: &Path) -> Vec<Value> {
    let lines = journal(state).into_iter().filter(|line| line.kind == "observation");
    let payloads = lines.map(|line| serde_json::from_str::<Value>(&line.payload).unwrap());
    payloads.filter(|payload| payload["source"] == "detector").collect()
}

fn kinds(told: &[Value]) -> Vec<&str> {
    told.iter().map(|one| one["event"]["type"].as_str().unwrap()).collect()
}

/// The sessions that wait, each with its pane.
fn waiting(client: &herdbook_api::Client) -> Vec<(String, String)> {
    let queue = client.queue().unwrap().into_iter();
    queue.map(|item| (item.session_id, item.pane_id)).collect()
}

#[test]
fn a_pane_that_asks_to_be_watched_waits_and_goes_on_and_ends() {
    if !has_tmux("a_pane_that_asks_to_be_watched_waits_and_goes_on_and_ends") {
        return;
    }
    let bench = Bench::new(&["one"]);
    let (pane, _unwatched) = (bench.pane(0, "@hb-aider"), bench.pane(0, "sh"));
    let daemon = bench.start();
    let client = daemon.client();
    wait_until("the wait", || !waiting(&client).is_empty());
    let [(id, shown)] = &waiting(&client)[..] else { panic!("{:?}", waiting(&client)) };
    assert_eq!(*shown, pane);
    let why = client.why(id).unwrap();
    let facts: Vec<String> = why.evidence.iter().map(|one| format!("{}: {}", one.source, one.fact)).collect();
    assert_eq!(
        facts,
        [
            format!("detector: pane {pane} is titled '@hb-aider'"),
            format!("detector: pane {pane} was quiet for 1 s at a prompt")
        ]
    );
    let session = client.session(id).unwrap();
    let socket = session.pane.map(|pane| pane.socket);
    assert_eq!((session.host.as_str(), socket.as_ref()), ("detected", Some(&bench.servers[0].socket)));
    bench.servers[0].run(&["send-keys", "-t", &pane, "y", "Enter"]);
    // A busy machine may not see the moment in which nobody waits; it is in the journal below.
    wait_until("the next wait", || client.why(id).unwrap().evidence.len() == 4);
    bench.servers[0].run(&["select-pane", "-t", &pane, "-T", "sh"]);
    wait_until("the end of the session", || client.session(id).unwrap().state == "ended");
    daemon.stop();

    let told = bench.told();
    assert_eq!(kinds(&told), ["registered", "stuck", "unstuck", "stuck", "ended"]);
    // The reference's members, and no others.
    let ms = id.strip_prefix(&format!("tmux-{pane}-")).unwrap().parse::<u64>().unwrap();
    let registered = json!({
        "type": "registered", "sessionId": id, "paneId": pane, "cwd": "/", "transcriptPath": "", "timestamp": ms
    });
    assert_eq!(told[0]["event"], registered);
    let stuck = json!({
        "type": "stuck", "sessionId": id, "paneId": pane, "cwd": "/", "transcriptPath": "", "reason": "stopped",
        "message": "Quiet at prompt: Proceed? [y/N] ", "timestamp": told[1]["event"]["timestamp"]
    });
    assert_eq!(told[1]["event"], stuck);
    for (n, kind) in [(2, "unstuck"), (4, "ended")] {
        let event = json!({"type": kind, "sessionId": id, "timestamp": told[n]["event"]["timestamp"]});
        assert_eq!(told[n]["event"], event);
    }
}

#[test]
fn two_servers_with_the_same_pane_ids_are_two_herds() {
    if !has_tmux("two_servers_with_the_same_pane_ids_are_two_herds") {
        return;
    }
    let bench = Bench::new(&["one", "two", "nobody"]);
    let panes = [bench.pane(0, "@tb-1"), bench.pane(1, "@hb-1")];
    assert_eq!(panes, ["%0", "%0"]);
    let daemon = bench.start();
    let client = daemon.client();
    wait_until("both waits", || waiting(&client).len() == 2);
    bench.servers[0].run(&["kill-server"]);
    wait_until("the end of one", || waiting(&client).len() == 1);
    let left = &waiting(&client)[0].0;
    let socket = client.session(left).unwrap().pane.unwrap().socket;
    assert_eq!(socket, bench.servers[1].socket);
    // A new server at that socket, with the same ids, has sessions of its own.
    bench.pane(0, "@tb-1");
    wait_until("the new one", || waiting(&client).len() == 2);
    daemon.stop();
    let told = bench.told();
    let gone: Vec<&Value> =
        told.iter().filter(|one| one["fact"] == "the tmux server of pane %0 is gone").collect();
    assert_eq!(gone.len(), 1);
    let ids: std::collections::HashSet<&str> =
        told.iter().map(|one| one["event"]["sessionId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
}

#[test]
fn a_crash_keeps_ids_and_a_stop_ends_them() {
    if !has_tmux("a_crash_keeps_ids_and_a_stop_ends_them") {
        return;
    }
    let bench = Bench::new(&["one"]);
    let (asks, answered) = (bench.pane(0, "@hb-1"), bench.pane(0, "@hb-2"));
    let state = bench.scratch.state();
    let mut daemon = bench.start_child();
    wait_until("both waits", || waiting(&daemon.client()).len() == 2);
    // A busy machine may see the second one wait first.
    let mut before = waiting(&daemon.client());
    before.sort_by_key(|(_, pane)| *pane != asks);
    daemon.kill();
    // One is answered while nobody looks, and is at another prompt by now.
    bench.servers[0].run(&["respawn-pane", "-k", "-t", &answered, "sleep 600"]);
    let daemon = bench.start_child();
    assert!(waiting(&daemon.client()).contains(&before[0]), "what is known waits at once");
    let is_new = |one: &Value| one["event"]["type"] == "registered";
    wait_until("the other program", || told(&state).iter().filter(|one| is_new(one)).count() == 3);
    assert_eq!(waiting(&daemon.client()), before[..1], "under its id");
    assert_eq!(before[0].1, asks);
    assert!(daemon.end(Signal::TERM).success());
    let told_once = told(&state);
    let facts: Vec<&str> = told_once.iter().rev().take(2).map(|one| one["fact"].as_str().unwrap()).collect();
    assert_eq!(facts, ["Herdbook stops"; 2]);
    // The next one begins anew, as the reference does.
    let daemon = bench.start_child();
    wait_until("the wait", || waiting(&daemon.client()).len() == 1);
    assert_ne!(waiting(&daemon.client())[0].0, before[0].0);
}

#[test]
fn where_panes_are_not_looked_at_nobody_is_left_waiting_in_one() {
    if !has_tmux("where_panes_are_not_looked_at_nobody_is_left_waiting_in_one") {
        return;
    }
    let bench = Bench::new(&["one"]);
    bench.pane(0, "@hb-1");
    let mut daemon = bench.start_child();
    wait_until("the wait", || waiting(&daemon.client()).len() == 1);
    daemon.kill();
    let off = bench.scratch.start();
    wait_until("its end", || waiting(&off.client()).is_empty());
    off.stop();
    assert_eq!(bench.told().last().unwrap()["fact"], "panes are not looked at any more");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own file")]
fn settings_that_cannot_be_read_are_told_and_change_nothing() {
    let bench = Bench::new(&[]);
    std::fs::write(settings(&bench.scratch), "[detector]\nquite_s = 3\n").unwrap();
    let daemon = bench.start();
    let Some(Notice::Warning(text)) = daemon.before.first() else { panic!("{:?}", daemon.before) };
    assert!(text.contains("config.toml line 2: unknown field `quite_s`"), "{text}");
    assert!(
        text.contains(
            "none of its settings are used until it is mended and Herdbook restarted, and no old log"
        ),
        "{text}"
    );
    assert!(daemon.client().status().is_ok());
}

#[test]
fn a_session_with_hooks_speaks_for_its_pane() {
    if !has_tmux("a_session_with_hooks_speaks_for_its_pane") {
        return;
    }
    let bench = Bench::new(&["one"]);
    let pane = bench.pane(0, "@hb-claude");
    let daemon = bench.start();
    let client = daemon.client();
    wait_until("the wait", || waiting(&client).len() == 1);
    let id = waiting(&client)[0].0.clone();
    let mut call = crate::support::claude(1, "c", "UserPromptSubmit", json!({"prompt": "go"}));
    let pid = bench.servers[0].run(&["display-message", "-p", "#{pid}"]);
    let tmux = format!("{},{pid},0", bench.servers[0].socket);
    call.origin.vars = vec![("TMUX".into(), tmux), ("TMUX_PANE".into(), pane.clone())];
    assert_eq!(daemon.frame(&call), herdbook_wire::Answer::Done);
    assert!(waiting(&client).is_empty(), "at once");
    wait_until("its end", || client.session(&id).unwrap().state == "ended");
    daemon.stop();
    let fact = bench.told().iter().map(|one| one["fact"].as_str().unwrap().to_owned()).nth(2);
    assert_eq!(fact, Some(format!("a session with hooks speaks for pane {pane}")));
}
