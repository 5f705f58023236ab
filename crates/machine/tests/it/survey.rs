//! Running agents and their panes, with stand-ins in private tmux servers.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use herdbook_machine::*;

/// A private server that ends with its test.
struct Private(PathBuf);

impl Private {
    fn run(&self, args: &[&str]) -> String {
        let command = Command::new("tmux").args(["-u", "-f", "/dev/null", "-S"]).arg(&self.0).args(args);
        let output = command.env("TERM", "xterm-256color").timeout(Duration::from_secs(30)).run().unwrap();
        assert!(output.is_success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Starts a pane with this command and returns its id.
    fn pane(&self, command: &str) -> String {
        self.run(&["new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "80", "-y", "20", command])
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.0).arg("kill-server").run();
    }
}

/// A shell that is named like an agent and waits for its human. A link, since a program that was just written may
/// count as busy.
fn stand_in(folder: &Path, name: &str) -> String {
    let place = folder.join(name);
    std::os::unix::fs::symlink("/bin/sh", &place).unwrap();
    format!("{} -c 'while read line; do :; done'", place.display())
}

/// The stand-ins among the agents of this machine: those that work in the test's folder.
fn agents_in(survey: &mut Survey, folder: &Path) -> Vec<Agent> {
    let folder = folder.display().to_string();
    survey.look().into_iter().filter(|agent| agent.cwd.as_deref() == Some(folder.as_str())).collect()
}

#[test]
fn agents_of_all_servers_are_found_with_their_panes_even_if_one_server_hangs() {
    if Command::new("tmux").arg("-V").run().is_err() {
        println!(
            "skipped: agents_of_all_servers_are_found_with_their_panes_even_if_one_server_hangs: no tmux"
        );
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().canonicalize().unwrap();
    let sockets = folder.join("sockets");
    std::fs::create_dir(&sockets).unwrap();
    let (one, two) = (Private(sockets.join("one")), Private(folder.join("it's, two")));
    let (claude, codex) = (stand_in(&folder, "claude"), stand_in(&folder, "codex"));
    let cd = format!("cd '{}' && ", folder.display());
    // The first runs below a shell and was denied the variable; the second's server lies where only it says.
    let first = one.pane(&format!("{cd} env -u TMUX {claude}; exit"));
    let second = two.pane(&format!("{cd} exec {codex}"));
    let third = two.pane(&format!("{cd} exec {claude} -p"));
    assert_ne!(second, third);
    // It takes connections and never answers.
    let hangs = UnixListener::bind(sockets.join("hangs")).unwrap();

    let mut survey = Survey::with_folders(Proc::system(), vec![sockets.clone()]);
    let begun = Instant::now();
    let mut found = agents_in(&mut survey, &folder);
    while found.len() < 2 || found.iter().any(|agent| agent.pane.is_none()) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{found:?}");
        // A busy machine may have kept a server from answering in time; this one asks anew.
        survey = Survey::with_folders(Proc::system(), vec![sockets.clone()]);
        found = agents_in(&mut survey, &folder);
    }
    drop(hangs);
    found.sort_by_key(|agent| agent.host);
    let told: Vec<(&str, &str, &str)> = found
        .iter()
        .map(|agent| {
            let pane = agent.pane.as_ref().unwrap();
            (agent.host, pane.server.socket.as_str(), pane.id.as_str())
        })
        .collect();
    let path = |server: &Private| server.0.display().to_string();
    assert_eq!(told, [("claude", &*path(&one), &*first), ("codex", &*path(&two), &*second)]);
    for (agent, server) in found.iter().zip([&one, &two]) {
        let pane = &agent.pane.as_ref().unwrap().id;
        assert_eq!(agent.tty, Some(server.run(&["display-message", "-p", "-t", pane, "#{pane_tty}"])));
        let started = agent.started_at_ms.unwrap() / 1_000;
        let server_started = agent.pane.as_ref().unwrap().server.started_at;
        assert!(started.abs_diff(server_started) <= 60, "{started} {server_started}");
        assert!(Proc::system().is_alive(agent.process) && agent.processes.contains(&agent.process));
    }

    // One that ends is gone with the next look; the other keeps its pane though its server does not answer any more.
    one.run(&["kill-server"]);
    while agents_in(&mut survey, &folder).len() > 1 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    assert_eq!(agents_in(&mut survey, &folder)[0].pane, found[1].pane);
}
