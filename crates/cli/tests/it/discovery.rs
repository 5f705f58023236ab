//! Agents that run already when the daemon comes: listed, until a hook names them.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ran, TestDaemon, TestEnv, finish, has_tmux};

/// A private tmux server.
struct Tmux<'a>(&'a TestEnv);

impl Tmux<'_> {
    fn run(&self, words: &[&str]) -> String {
        let mut command = self.0.program("tmux");
        command.args(["-L", "discovery", "-f", "/dev/null"]).args(words);
        let ran = finish(command, b"");
        assert_eq!(ran.code, 0, "tmux {words:?}: {}", ran.stderr);
        ran.stdout.trim_end().to_owned()
    }

    /// Starts a pane with this command and returns its id.
    fn pane(&self, command: &str) -> String {
        let size = ["-x", "100", "-y", "30"];
        self.run(&[&["new-session", "-d", "-P", "-F", "#{pane_id}"], &size[..], &[command]].concat())
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let mut command = self.0.program("tmux");
        command.args(["-L", "discovery", "kill-server"]);
        let _ = finish(command, b"");
    }
}

/// A program that is named like an agent: it reads its terminal line by line and runs our hook once for each line. A
/// link to the shell, since a program that was just written may count as busy.
fn stand_in(folder: &Path, host: &str) -> String {
    let place = folder.join(host);
    std::os::unix::fs::symlink("/bin/sh", &place).unwrap();
    let payload = format!(
        r#"{{"session_id":"{host}-1","cwd":"/srv/demo","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"done"}}"#
    );
    let hook = env!("CARGO_BIN_EXE_herdbook");
    let folder = folder.display();
    std::fs::File::create_new(format!("{folder}/{host}.json"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, payload.as_bytes()))
        .unwrap();
    let script = format!("while read line; do {hook} hook {host} < {folder}/{host}.json; done");
    format!("cd {folder} && exec {} -c '{script}'", place.display())
}

/// The agents of `ls --json` that work in this folder.
fn agents(env: &TestEnv, folder: &Path) -> Vec<Value> {
    let answer: Value = serde_json::from_str(&env.run(&["ls", "--json"]).stdout).unwrap();
    let agents = answer["agents"].as_array().unwrap().iter();
    agents.filter(|agent| agent["cwd"].as_str() == folder.to_str()).cloned().collect()
}

fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} did not come");
        std::thread::yield_now();
    }
}

/// The row of a listing that has all of these texts; other agents of this machine may have rows, too.
fn row(ran: &Ran, texts: &[&str]) -> Option<String> {
    ran.stdout.lines().find(|line| texts.iter().all(|text| line.contains(text))).map(str::to_owned)
}

#[test]
fn agents_that_run_already_are_listed_until_a_hook_names_them() {
    if !has_tmux("agents_that_run_already_are_listed_until_a_hook_names_them") {
        return;
    }
    let env = TestEnv::new();
    let folder = env.path().canonicalize().unwrap();
    let tmux = Tmux(&env);
    let claude = tmux.pane(&stand_in(&folder, "claude"));
    let codex = tmux.pane(&stand_in(&folder, "codex"));
    let mut command = env.herdbook(&["daemon"]);
    command.env("HERDBOOK_DISCOVER", "on");
    let _daemon = TestDaemon::start_with(command);

    let panes = |agents: &[Value]| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        agents.iter().map(|agent| (text(&agent["host"]), text(&agent["pane"]["pane"]))).collect()
    };
    // tmux may take its time on a busy machine.
    let both = [("claude".to_owned(), claude.clone()), ("codex".to_owned(), codex.clone())];
    wait_for("both agents", || panes(&agents(&env, &folder)) == both);
    // Wide enough for whatever other agents of this machine are called.
    let mut ls = env.herdbook(&["ls"]);
    ls.env("COLUMNS", "1000");
    let ran = finish(ls, b"");
    for (host, pane) in &both {
        let row = row(&ran, &[&format!("  {host} "), folder.to_str().unwrap()]).unwrap();
        assert!(row.contains("  unknown  ") && row.contains(&format!("  {pane}  ")), "{row}");
        // Agents of the tester's own may make the columns before it wide.
        assert!(row.contains("  no hook yet: restart it"), "{row}");
    }
    assert!(ran.stderr.ends_with("hint: agents without hooks: `herdbook install`, then restart them\n"));
    // They wait for nobody, as far as is known.
    assert_eq!(env.run(&["next"]).code, 5);
    let up = env.run(&["up"]).stderr;
    let told = up.lines().find(|line| line.contains(" agents run without hooks: ")).unwrap();
    assert!(
        told.contains(" without hooks: ") && up.contains("hint: `herdbook install`, then restart them\n"),
        "{up}"
    );

    // The first hook makes it a session, and the row is gone with it.
    tmux.run(&["send-keys", "-t", &claude, "go", "Enter"]);
    wait_for("the session", || row(&env.run(&["ls"]), &["claude-1", "/srv/demo"]).is_some());
    assert_eq!(panes(&agents(&env, &folder)), [("codex".to_owned(), codex.clone())]);

    // One that ends is gone at once.
    tmux.run(&["kill-pane", "-t", &codex]);
    wait_for("its end", || agents(&env, &folder).is_empty());
}
