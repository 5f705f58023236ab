//! What hooks do not say, and panes do; with a real tmux.

use herdbook_wire::Answer;
use serde_json::json;

use crate::support::{Daemon, Scratch, claude, wait_until};
use crate::tmux::{Server, has_tmux};

const DIALOG: &str = "● Bash(make)\n\n────────────────────────\n Bash command\n\n   make\n\n Do you want to proceed?\n \
                      ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend\n";
const WORK: &str = "● Bash(make)\n\n✻ Brewing… (3s · ↓ 12 tokens)\n\n────────────────────────\n❯ \n\
                    ────────────────────────\n  esc to interrupt\n";

/// A stand-in for an agent in a pane of a private server; both end with the test.
struct Agent {
    tmux: Server,
    id: &'static str,
    vars: Vec<(String, String)>,
}

impl Agent {
    /// Shows the dialog, and work as soon as it may.
    #[expect(clippy::disallowed_methods, reason = "a test's own files")]
    fn start(scratch: &Scratch, id: &'static str) -> Agent {
        let place = |name: &str| scratch.dir.path().join(name).display().to_string();
        let (socket, dialog, work) = (place(id), place("dialog"), place("work"));
        std::fs::write(&dialog, DIALOG).unwrap();
        std::fs::write(&work, WORK).unwrap();
        let mut agent = Agent { tmux: Server { socket }, id, vars: Vec::new() };
        let shows = format!(
            "cat '{dialog}'; tmux wait-for allowed; printf '\\033[H\\033[2J'; cat '{work}'; exec sleep 600"
        );
        let format = "#{pid} #{pane_id}";
        let made = agent.tmux.run(&["new-session", "-d", "-P", "-F", format, "-x", "90", "-y", "25", &shows]);
        let (pid, pane) = made.split_once(' ').unwrap();
        let tmux = format!("{},{pid},0", agent.tmux.socket);
        agent.vars = vec![("TMUX".into(), tmux), ("TMUX_PANE".into(), pane.into())];
        agent
    }

    /// Its hooks ask for a permission.
    fn ask(&self, daemon: &Daemon, at: u128) {
        let tool = json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "toolu_1"});
        for (n, event) in ["UserPromptSubmit", "PreToolUse", "PermissionRequest"].into_iter().enumerate() {
            let mut call = claude(at + n as u128, self.id, event, tool.clone());
            call.origin.vars = self.vars.clone();
            assert_eq!(daemon.frame(&call), Answer::Done);
        }
        assert_eq!(self.state(daemon), "stuck permission");
    }

    fn state(&self, daemon: &Daemon) -> String {
        let session = daemon.client().session(&format!("claude-{}", self.id)).unwrap();
        format!("{} {}", session.state, session.kind.unwrap_or_default())
    }

    /// What its pane told of it.
    fn told(&self, daemon: &Daemon) -> Vec<String> {
        let why = daemon.client().why(&format!("claude-{}", self.id)).unwrap();
        why.evidence.into_iter().filter(|one| one.source == "pane").map(|one| one.fact).collect()
    }
}

#[test]
fn an_approval_that_no_hook_tells_is_seen_and_a_dead_server_settles_nothing() {
    if !has_tmux("an_approval_that_no_hook_tells_is_seen_and_a_dead_server_settles_nothing") {
        return;
    }
    let scratch = Scratch::new();
    let daemon = scratch.try_start_with(|config| config.panes = true).unwrap();
    let (seen, lost) = (Agent::start(&scratch, "seen"), Agent::start(&scratch, "lost"));
    seen.ask(&daemon, 1);
    lost.ask(&daemon, 11);
    let clients = || seen.tmux.run(&["list-clients", "-F", "#{client_control_mode}"]);
    wait_until("our client", || !clients().is_empty());
    assert_eq!(clients(), "1", "one lasting client");
    let dialog = "pane %0 shows a dialog (permission)";
    wait_until("both dialogs", || [&seen, &lost].iter().all(|agent| agent.told(&daemon) == [dialog]));
    lost.tmux.run(&["kill-server"]);
    assert_eq!(seen.state(&daemon), "stuck permission");
    seen.tmux.run(&["wait-for", "-S", "allowed"]);
    wait_until("the end of the wait", || seen.state(&daemon) == "working ");
    assert_eq!(seen.told(&daemon), [dialog, "pane %0 shows work"]);
    // Nobody could look at the other one meanwhile: that proves nothing.
    assert_eq!(lost.state(&daemon), "stuck permission");
    daemon.stop();
    let told = scratch.journal().iter().filter(|line| line.kind == "observation").count();
    assert_eq!(told, 3, "looks without news are not kept");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own files")]
fn broken_rules_of_ones_own_are_told_at_the_start_and_when_they_change() {
    let scratch = Scratch::new();
    let config_dir = scratch.dir.path().join("config");
    let file = config_dir.join("screens/claude.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[[dialog]]\nname = 1\n").unwrap();
    let (sender, told) = std::sync::mpsc::channel();
    let daemon = scratch.try_start_with(|config| {
        config.panes = true;
        config.config_dir = Some(config_dir);
        let notice = std::sync::Arc::clone(&config.notice);
        config.notice = std::sync::Arc::new(move |said| {
            let _ = sender.send(said.to_string());
            notice(said);
        });
    });
    let daemon = daemon.unwrap();
    let wait_for = |place: &str| {
        let place = format!("{}:{place}", file.display());
        let is_it = |said: &String| said.starts_with(&place) && said.ends_with("screens of claude are used");
        while !is_it(&told.recv_timeout(crate::support::LONG).unwrap()) {}
    };
    wait_for("2: invalid type");
    std::fs::write(&file, "[[dialog]]\nname = \"x\"\nkind = \"tea\"\nall = [\"x\"]\nend = \"x\"\n").unwrap();
    wait_for("3: [[dialog]] 'x' kind: 'tea' is none of");
    daemon.stop();
}
