//! Agents that end without a word.

use std::process::{Child, Command};

use herdbook_machine::Proc;
use herdbook_wire::{Answer, Delivery, Process};
use serde_json::json;

use crate::support::{Daemon, Scratch, claude, stop_call, wait_until};

/// A process that stands for an agent; it is killed when it is dropped.
pub struct Agent(Child);

impl Agent {
    pub fn start() -> Agent {
        #[expect(clippy::disallowed_methods, reason = "a process to be killed")]
        Agent(Command::new("sleep").arg("600").spawn().unwrap())
    }

    pub fn process(&self) -> Process {
        process_of(self.0.id())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn process_of(pid: u32) -> Process {
    Process { pid, start: Some(Proc::system().stat(pid).unwrap().start) }
}

/// A turn that has ended: two hooks out of the same process.
fn turn(daemon: &Daemon, at: u128, session: &str, process: Process) {
    let within = |call: Delivery| Delivery {
        origin: herdbook_wire::Origin { ancestors: vec![process], ..call.origin.clone() },
        ..call
    };
    let prompt = claude(at, session, "UserPromptSubmit", json!({ "prompt": "go" }));
    assert_eq!(daemon.frame(&within(prompt)), Answer::Done);
    assert_eq!(daemon.frame(&within(stop_call(at + 1, session))), Answer::Done);
}

fn state(daemon: &Daemon, key: &str) -> String {
    daemon.client().session(key).unwrap().state
}

#[test]
fn an_agent_that_was_killed_waits_for_nobody() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let agent = Agent::start();
    turn(&daemon, 1, "killed", agent.process());
    turn(&daemon, 3, "alive", process_of(std::process::id()));
    // Another process has the pid by now.
    let later = Agent::start();
    turn(&daemon, 5, "replaced", Process { start: Some(1), ..later.process() });
    assert_eq!(daemon.queue()[..2], ["claude-killed", "claude-alive"]);
    drop(agent);
    wait_until("the end of both", || daemon.queue() == ["claude-alive"]);
    for (key, expected) in [("killed", "ended"), ("replaced", "ended"), ("alive", "stuck")] {
        assert_eq!(state(&daemon, &format!("claude-{key}")), expected, "{key}");
    }
}

#[test]
fn an_agent_that_ended_while_no_daemon_ran_is_missed_at_the_start() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let agent = Agent::start();
    turn(&daemon, 1, "one", agent.process());
    assert_eq!(state(&daemon, "claude-one"), "stuck");
    daemon.stop();
    drop(agent);
    let daemon = scratch.start();
    // It is ready only after that look.
    assert_eq!((state(&daemon, "claude-one").as_str(), daemon.queue().len()), ("ended", 0));
    daemon.stop();
    let missed = scratch.journal().into_iter().filter(|line| line.kind == "observation").count();
    assert_eq!(missed, 1);
    assert_eq!(state(&scratch.start(), "claude-one"), "ended", "the journal tells it again");
}
