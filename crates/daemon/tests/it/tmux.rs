//! Where the human looks, and which panes are there, with a real tmux.

use std::time::Duration;

use herdbook_machine::Command;
use herdbook_wire::{Answer, Delivery};

use crate::support::{Scratch, stop_call, wait_until};

/// True when there is a tmux; else the test says that it is skipped.
pub fn has_tmux(test: &str) -> bool {
    let is_there = Command::new("tmux").arg("-V").run().is_ok();
    if !is_there {
        println!("skipped: {test}: no tmux");
    }
    is_there
}

/// A private tmux server in a scratch folder; it ends with the test.
pub struct Server {
    /// Its socket.
    pub socket: String,
}

impl Server {
    /// Runs a tmux command there and returns what it printed.
    pub fn run(&self, args: &[&str]) -> String {
        let command = Command::new("tmux").args(["-u", "-S", &self.socket, "-f", "/dev/null"]).args(args);
        let command = command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
        let output = command.timeout(Duration::from_secs(20)).run().unwrap();
        assert!(output.is_success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone.
        let _ = Command::new("tmux").args(["-S", &self.socket, "kill-server"]).run();
    }
}

#[test]
fn nobody_is_called_to_the_pane_he_looks_at() {
    if !has_tmux("nobody_is_called_to_the_pane_he_looks_at") {
        return;
    }
    let scratch = Scratch::new();
    let at = |name: &str| Server { socket: scratch.dir.path().join(name).display().to_string() };
    let (inner, outer) = (at("inner"), at("outer"));
    let new = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "80", "-y", "20", "sleep 600"];
    let seen = inner.run(&new);
    let unseen = inner.run(&new);
    assert_ne!(seen, unseen);
    // A client of the inner server, with a pane of the outer one as its terminal.
    let session = inner.run(&["display-message", "-p", "-t", &seen, "#{session_id}"]);
    let attach = format!("env -u TMUX tmux -S {} attach -t '{session}'", inner.socket);
    outer.run(&["new-session", "-d", "-x", "90", "-y", "25", &attach]);
    wait_until("the client", || inner.run(&["list-clients", "-F", "#{pane_id}"]) == seen);
    let server_pid = inner.run(&["display-message", "-p", "#{pid}"]);

    let daemon = scratch.start_with_grace(1_200);
    let call = |delivery: u128, session: &str, pane: &str| {
        let mut call: Delivery = stop_call(delivery, session);
        call.origin.vars = vec![
            ("TMUX".into(), format!("{},{server_pid},0", inner.socket)),
            ("TMUX_PANE".into(), pane.into()),
        ];
        call
    };
    assert_eq!(daemon.frame(&call(1, "looked-at", &seen)), Answer::Done);
    assert_eq!(daemon.frame(&call(2, "behind", &unseen)), Answer::Done);
    let announced = || daemon.client().status().unwrap().announced;
    wait_until("the call to the other pane", || announced() > 0);
    // Both waits began together, so both were due with this call.
    assert_eq!(announced(), 1);
}

#[test]
fn who_waits_in_a_pane_that_was_closed_is_not_first() {
    if !has_tmux("who_waits_in_a_pane_that_was_closed_is_not_first") {
        return;
    }
    let scratch = Scratch::new();
    let server = Server { socket: scratch.dir.path().join("panes").display().to_string() };
    let new = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "80", "-y", "20", "sleep 600"];
    let panes = [server.run(&new), server.run(&new)];
    let server_pid = server.run(&["display-message", "-p", "#{pid}"]);
    let daemon = scratch.start();
    for (delivery, (session, pane)) in (1..).zip(["first", "second"].into_iter().zip(&panes)) {
        let mut call: Delivery = stop_call(delivery, session);
        call.origin.vars = vec![
            ("TMUX".into(), format!("{},{server_pid},0", server.socket)),
            ("TMUX_PANE".into(), pane.clone()),
        ];
        assert_eq!(daemon.frame(&call), Answer::Done);
    }
    let next = || daemon.client().queue().unwrap().into_iter().next().map(|item| item.pane_id);
    assert_eq!(next(), Some(panes[0].clone()));
    server.run(&["kill-pane", "-t", &panes[0]]);
    wait_until("the other one", || next() == Some(panes[1].clone()));
    let is_detached = |key| daemon.client().session(key).unwrap().detached;
    assert_eq!([is_detached("claude-first"), is_detached("claude-second")], [true, false]);
    server.run(&["kill-server"]);
}
