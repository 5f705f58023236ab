//! `next` and `return` in a real tmux server of the test's own.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Ran, TestDaemon, TestEnv, finish, has_tmux};

/// A private tmux server.
pub struct Tmux<'a> {
    /// Whose it is.
    pub env: &'a TestEnv,
    /// Its name.
    pub name: &'static str,
}

impl Tmux<'_> {
    /// Runs a tmux command and expects success.
    pub fn run(&self, words: &[&str]) -> String {
        let mut command = self.env.program("tmux");
        command.args(["-L", self.name, "-f", "/dev/null"]).args(words);
        let ran = finish(command, b"");
        assert_eq!(ran.code, 0, "tmux {words:?}: {}", ran.stderr);
        ran.stdout.trim_end().to_owned()
    }

    /// The value of `TMUX` inside this server.
    fn inside(&self, pane: &str) -> String {
        self.run(&["display-message", "-p", "-t", pane, "#{socket_path},#{pid},0"])
    }

    /// The pane in front of its one client.
    pub fn front(&self) -> String {
        self.run(&["list-clients", "-F", "#{pane_id}"])
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let mut command = self.env.program("tmux");
        command.args(["-L", self.name, "kill-server"]);
        let _ = finish(command, b"");
    }
}

/// Writes a program that is named like an agent, runs our hook once for a turn that has ended, then lives on.
pub fn stand_in(env: &TestEnv, session: &str) -> PathBuf {
    let folder = env.path().join(session);
    std::fs::create_dir(&folder).unwrap();
    let payload = format!(
        r#"{{"session_id":"{session}","cwd":"/srv/demo","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"{session} is done"}}"#
    );
    let script = format!(
        "#!/bin/sh\necho '{payload}' | {} hook claude\ntmux wait-for -S {session}\nexec sleep 600\n",
        env!("CARGO_BIN_EXE_herdbook")
    );
    let program = folder.join("claude");
    let mut command = env.program("sh");
    command.args(["-c", "cat > \"$0\" && chmod 700 \"$0\""]).arg(&program);
    assert_eq!(finish(command, script.as_bytes()).code, 0);
    program
}

/// Runs `herdbook` as from that pane.
fn from(env: &TestEnv, tmux: &str, pane: &str, words: &[&str]) -> Ran {
    let mut command: Command = env.herdbook(words);
    command.env("TMUX", tmux).env("TMUX_PANE", pane);
    finish(command, b"")
}

#[test]
fn next_goes_to_the_agents_pane_and_return_comes_back() {
    if !has_tmux("next_goes_to_the_agents_pane_and_return_comes_back") {
        return;
    }
    let env = TestEnv::new();
    let daemon = TestDaemon::start(&env);
    let (inner, outer) = (Tmux { env: &env, name: "inner" }, Tmux { env: &env, name: "outer" });
    let size = ["-x", "100", "-y", "30"];
    let base = inner.run(
        &[&["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "work"], &size[..], &["sleep 600"]].concat(),
    );
    let mut panes = Vec::new();
    for session in ["one", "two"] {
        let program = stand_in(&env, session);
        panes.push(inner.run(&[
            "new-window",
            "-d",
            "-P",
            "-F",
            "#{pane_id}",
            "-t",
            "work:",
            program.to_str().unwrap(),
        ]));
        inner.run(&["wait-for", session]);
    }
    inner.run(&["set-hook", "-g", "client-attached", "wait-for -S attached"]);
    outer.run(&[&["new-session", "-d"], &size[..], &["sleep 600"]].concat());
    let attach = "exec env -u TMUX -u TMUX_PANE tmux -L inner attach-session -t work";
    let outer_pane = outer.run(&["new-window", "-d", "-P", "-F", "#{pane_id}", attach]);
    inner.run(&["wait-for", "attached"]);
    assert_eq!(inner.front(), base);
    let tmux = inner.inside(&base);

    let ran = from(&env, &tmux, &base, &["next"]);
    assert_eq!((ran.code, ran.stderr.as_str(), ran.stdout.as_str()), (0, "claude-one one is done\n", ""));
    assert_eq!(inner.front(), panes[0]);

    // From the pane of the first, the second is next; from there the first again.
    let ran = from(&env, &tmux, &panes[0], &["next"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "claude-two two is done\n"));
    assert_eq!(inner.front(), panes[1]);

    // Nobody is held up in mid-turn.
    let ran = from(&env, &tmux, &panes[1], &["next", "--blocked"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (5, "nobody is held up in mid-turn\n"));

    // Home is where the row of jumps began.
    let ran = from(&env, &tmux, &panes[1], &["return"]);
    assert_eq!((ran.code, inner.front()), (0, base.clone()), "{}", ran.stderr);
    assert_eq!(from(&env, &tmux, &base, &["return"]).code, 5);

    // A key binding runs in no pane and names the client; what is said is shown there.
    let tty = inner.run(&["list-clients", "-F", "#{client_tty}"]);
    let mut binding = env.herdbook(&["next", "--client", &tty]);
    binding.env("TMUX", &tmux);
    assert_eq!((finish(binding, b"").code, inner.front()), (0, panes[0].clone()));
    assert!(inner.run(&["show-messages", "-t", &tty]).contains("claude-one one is done"));

    // So does `return`, which says so there.
    let mut binding = env.herdbook(&["return", "--client", &tty]);
    binding.env("TMUX", &tmux);
    assert_eq!((finish(binding, b"").code, inner.front()), (0, base.clone()));
    assert!(inner.run(&["show-messages", "-t", &tty]).contains(&format!("back in pane {base}")));

    // Outside of tmux, too, a client that was moved knows the way back.
    assert_eq!((env.run(&["next", "--client", &tty]).code, inner.front()), (0, panes[0].clone()));
    assert_eq!((env.run(&["return", "--client", &tty]).code, inner.front()), (0, base.clone()));
    assert_eq!(env.run(&["return", "--client", &tty]).code, 5);
    assert_eq!(env.run(&["next", "--client", "/dev/none"]).code, 6);

    // Without the program that is said once, however many wait.
    let mut blind = env.herdbook(&["next", "--client", &tty]);
    blind.env("PATH", "/nowhere");
    let ran = finish(blind, b"");
    assert_eq!((ran.code, ran.stderr.lines().count()), (6, 1), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: could not ask tmux: could not start tmux"), "{}", ran.stderr);

    // A posted pane has no server. Here only one is known, and that has the pane: a guess, and called so.
    daemon.post_stuck_in("posted", &base, "which first?", 1_000);
    let ran = env.run(&["next", "--client", &tty]);
    assert_eq!((ran.code, inner.front()), (0, base.clone()), "{}", ran.stderr);
    assert_eq!(ran.stderr, "posted which first? (the pane is a guess: look before you type)\n");
    // Who sits in that pane is passed over; elsewhere on the server the posted one is first.
    assert_eq!((from(&env, &tmux, &base, &["next"]).code, inner.front()), (0, panes[0].clone()));
    assert_eq!((from(&env, &tmux, &panes[0], &["next"]).code, inner.front()), (0, base.clone()));
    // A pane that this server does not have is passed over, and the message line says so last.
    assert_eq!(env.run(&["settle", "posted"]).code, 0);
    daemon.post_stuck_in("lost", "%4000", "anybody?", 2_000);
    assert_eq!((env.run(&["next", "--client", &tty]).code, inner.front()), (0, panes[0].clone()));
    let words = "claude-one one is done (1 passed over: the tmux server of pane %4000 is not known)";
    assert!(inner.run(&["show-messages", "-t", &tty]).contains(words));
    assert_eq!(env.run(&["settle", "lost"]).code, 0);

    // From another server it is not nested: the command to type is printed.
    let ran = from(&env, &outer.inside(&outer_pane), &outer_pane, &["next"]);
    assert_eq!(ran.code, 6);
    let socket = tmux.split(',').next().unwrap();
    assert!(ran.stdout.starts_with(&format!("tmux -S {socket} ")), "{}", ran.stdout);
    assert!(ran.stdout.contains("attach-session"), "{}", ran.stdout);

    // Outside of tmux a terminal becomes a client; here it is a pane of the other server, which we deny to be in.
    let words = format!("exec env -u TMUX -u TMUX_PANE {} next", env!("CARGO_BIN_EXE_herdbook"));
    inner.run(&["detach-client", "-t", &tty]);
    outer.run(&["new-window", "-d", &words]);
    inner.run(&["wait-for", "attached"]);
    assert_eq!(inner.front(), panes[0]);

    // Outside of tmux and without a terminal the command is printed, too.
    let ran = env.run(&["next"]);
    assert_eq!((ran.code, ran.stdout.contains("attach-session")), (6, true), "{}", ran.stderr);
}

#[test]
fn a_session_without_a_pane_is_said_and_passed_over() {
    let env = TestEnv::new();
    let daemon = TestDaemon::start(&env);
    let ran = env.run(&["next"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (5, "nobody waits\n"));
    daemon.post_stuck("nightly", "which first?", 1_767_225_603_000);
    let ran = env.run(&["next"]);
    assert_eq!(ran.code, 6);
    assert_eq!(ran.stderr, "nightly waits in pane %0, but its tmux server is not known\nno pane to go to\n");
    assert_eq!(env.run(&["skip"]).code, 0);
    let ran = env.run(&["next"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (5, "nobody waits; 1 session skipped or snoozed\n"));
}
