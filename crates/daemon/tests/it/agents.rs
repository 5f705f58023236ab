//! Running agents: one Codex server that two panes share (overview D11).

use std::path::Path;
use std::process::{Child, Stdio};

use herdbook_api::v1::Agent;
use herdbook_machine::Proc;
use herdbook_wire::{Answer, Delivery, Origin, Process, Tty};
use serde_json::json;

use crate::support::{Daemon, Scratch, claude, wait_until};
use crate::tmux::{Server, has_tmux};

/// Ends with the test, since nobody writes to it any more.
struct AppServer(Child);

impl AppServer {
    fn start(program: &Path) -> AppServer {
        #[expect(clippy::disallowed_methods, reason = "it lives as long as the test")]
        let mut command = std::process::Command::new(program);
        command.args(["-c", "read line", "codex", "app-server"]).stdin(Stdio::piped());
        AppServer(command.spawn().unwrap())
    }
}

impl Drop for AppServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn sessions_of_a_shared_server_account_for_their_agents_and_their_pane_is_a_guess() {
    if !has_tmux("sessions_of_a_shared_server_account_for_their_agents_and_their_pane_is_a_guess") {
        return;
    }
    let scratch = Scratch::new();
    let folder = scratch.dir.path().canonicalize().unwrap();
    let program = folder.join("codex");
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    let tmux = Server { socket: folder.join("tmux").display().to_string() };
    let agent =
        format!("cd {} && exec {} -c 'while read line; do :; done'", folder.display(), program.display());
    let pane = || tmux.run(&["new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "80", "-y", "20", &agent]);
    let (first, second) = (pane(), pane());
    let app_server = AppServer::start(&program);
    let start = Proc::system().stat(app_server.0.id()).unwrap().start;
    let server_pid = tmux.run(&["display-message", "-p", "#{pid}"]);

    let daemon = scratch.start_with_discovery();
    let left = |daemon: &Daemon| -> Vec<String> {
        let ours = |agent: &Agent| agent.cwd == folder.display().to_string();
        let agents = daemon.client().agents().unwrap().into_iter().filter(ours);
        agents.map(|agent| agent.pane.map(|pane| pane.pane).unwrap_or_default()).collect()
    };
    wait_until("both panes", || left(&daemon) == [first.clone(), second.clone()]);

    // Whoever types, the hooks name the pane in which the server was started, and its terminal while that lives.
    let tty = Tty::Named(tmux.run(&["display-message", "-p", "-t", &first, "#{pane_tty}"]));
    let turn = |delivery: u128, session: &str| {
        let vars = vec![
            ("TMUX".into(), format!("{},{server_pid},0", tmux.socket)),
            ("TMUX_PANE".into(), first.clone()),
        ];
        let ancestors = vec![Process { pid: app_server.0.id(), start: Some(start) }];
        let origin = Origin { ancestors, tty: tty.clone(), vars, ..Origin::default() };
        let more = json!({ "cwd": folder, "permission_mode": "default", "turn_id": "t" });
        let call = claude(delivery, session, "Stop", more);
        let call = Delivery { host: "codex".into(), origin, ..call };
        assert_eq!(daemon.frame(&call), Answer::Done);
    };
    turn(1, "one");
    assert_eq!(left(&daemon), [second.as_str()]);
    let one = || daemon.client().session("codex-one").unwrap();
    assert_eq!((one().state.as_str(), one().pane.unwrap().pane), ("stuck", first.clone()));
    wait_until("the guess", || one().pane_uncertain);
    // One agent is left that can be meant.
    tmux.run(&["kill-pane", "-t", &second]);
    wait_until("certainty", || !one().pane_uncertain);
    assert_eq!(left(&daemon), [""; 0]);
    let third = pane();
    wait_until("the third", || left(&daemon) == [third.as_str()]);
    turn(2, "two");
    assert_eq!(left(&daemon), [""; 0]);
    assert!(one().pane_uncertain && daemon.client().session("codex-two").unwrap().pane_uncertain);
}
