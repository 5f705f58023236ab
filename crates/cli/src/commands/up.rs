//! `herdbook up`: a daemon in the background.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use herdbook_api::v1::{Agent, Listen, Status};
use herdbook_wire::paths::{private_dir, state_dir};
use rustix::fs::OFlags;

use super::Context;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};

/// Start the daemon in the background, unless it runs
///
/// It goes on when the terminal is closed; `herdbook down` ends it. What it has to say goes to daemon.log in the state
/// folder.
#[derive(Debug, clap::Args)]
#[command(visible_alias = "start")]
pub struct Args {}

/// How long the daemon may take to answer: it reads its journal first.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is asked.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Starts it and waits for its first answer.
///
/// # Errors
/// It ended, or did not answer in time; its last words are in the error.
pub fn run(context: &mut Context<'_>) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?;
    if let Ok(status) = daemon.ask(|client| client.status()) {
        tell(context.printer, "the daemon runs already", &status);
        tell_agents(context.printer, &daemon);
        return Ok(Exit::Ok);
    }
    let state = state_dir(&context.env.places)?;
    private_dir(&state)?;
    let path = state.join("daemon.log");
    let (log, from) =
        open_log(&path).map_err(|source| Problem::File { what: "open", path: path.clone(), source })?;
    let mut child = spawn(&log)?;
    let end = Instant::now() + PATIENCE;
    loop {
        // The folders may only now be there, so the sockets are looked for each time.
        let daemon = Daemon::of(&context.env)?;
        match daemon.ask(|client| client.status()) {
            Ok(status) => {
                tell(context.printer, "the daemon is up", &status);
                tell_agents(context.printer, &daemon);
                return Ok(Exit::Ok);
            }
            Err(_) if Instant::now() < end => {}
            Err(_) => return Err(Problem::NotUp { words: "it does not answer".into(), log: path }),
        }
        if let Ok(Some(ended)) = child.try_wait() {
            // Another `up` may have been first; then its daemon answers.
            if ended.code() == Some(Exit::Running as i32)
                && let Ok(status) = daemon.ask(|client| client.status())
            {
                tell(context.printer, "the daemon runs already", &status);
                tell_agents(context.printer, &daemon);
                return Ok(Exit::Ok);
            }
            return Err(Problem::NotUp { words: last_words(&path, from), log: path });
        }
        thread::sleep(ASK_AGAIN);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "starts this program again, with the environment it was given itself"
)]
fn spawn(log: &File) -> Result<Child, Problem> {
    let program = std::env::current_exe().map_err(Problem::Program)?;
    let log = || log.try_clone().map_err(Problem::Program);
    Command::new(program)
        .args(["daemon", "--own-session"])
        // It belongs to no pane and to no folder of the human.
        .env_remove("TMUX")
        .env_remove("TMUX_PANE")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log()?)
        .stderr(log()?)
        .spawn()
        .map_err(Problem::Program)
}

/// Opens the log to add to it; returns where its old words end.
fn open_log(path: &Path) -> std::io::Result<(File, u64)> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    let file =
        options.create(true).append(true).mode(0o600).custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    Ok((file, found.len()))
}

/// Returns the last line that was written since then.
fn last_words(path: &PathBuf, from: u64) -> String {
    let mut words = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.take(64 << 10).read_to_end(&mut words)
    });
    let words = String::from_utf8_lossy(&words);
    match (read, words.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with("hint:"))) {
        (Ok(_), Some(line)) => line.trim_start_matches("error: ").to_owned(),
        _ => "it ended and said nothing".to_owned(),
    }
}

/// Says where the daemon is.
fn tell(printer: &mut Printer, words: &'static str, status: &Status) {
    let pid = format!(", pid {}", status.pid);
    printer.say(&Line::new().own(words).text(&pid, Style::Plain));
    let http: Vec<&str> = status
        .http
        .iter()
        .filter(|listen| listen.state == Listen::LISTENING)
        .map(|listen| listen.addr.as_str())
        .collect();
    let places = [
        ("http", http.join(", ")),
        ("socket", status.sockets.join(", ")),
        ("state", status.state_dir.clone()),
    ];
    for (name, place) in places {
        if !place.is_empty() {
            printer.say(
                &Line::new()
                    .own("  ")
                    .styled(name, Style::Dim)
                    .spaces(8 - name.len())
                    .text(&place, Style::Plain),
            );
        }
    }
    for warning in &status.warnings {
        printer.say(&Line::new().styled("warning:", Style::Alarm).own(" ").text(warning, Style::Plain));
    }
}

/// So many agents without hooks are named.
const NAMED: usize = 6;

/// Says which agents run without hooks. Not being told is no failure: `ls` tells it, too.
fn tell_agents(printer: &mut Printer, daemon: &Daemon) {
    let agents = daemon.ask(|client| client.agents()).unwrap_or_default();
    if let Some(words) = unhooked(&agents) {
        let line = Line::new().text(&words, Style::Plain);
        printer.say(&line.own("; `herdbook install`, then restart them"));
    }
}

/// `3 agents run without hooks: claude %1, codex %4, gemini on /dev/pts/7`.
fn unhooked(agents: &[Agent]) -> Option<String> {
    let count = match agents.len() {
        0 => return None,
        1 => "1 agent runs".to_owned(),
        count => format!("{count} agents run"),
    };
    let mut named: Vec<String> = agents
        .iter()
        .take(NAMED)
        .map(|agent| match (&agent.pane, agent.tty.as_str()) {
            (Some(pane), _) => format!("{} {}", agent.host, pane.pane),
            (None, "") => format!("{} pid {}", agent.host, agent.pid),
            (None, tty) => format!("{} on {tty}", agent.host),
        })
        .collect();
    if agents.len() > NAMED {
        named.push(format!("{} more", agents.len() - NAMED));
    }
    Some(format!("{count} without hooks: {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use herdbook_api::v1::Pane;

    use super::*;

    #[test]
    fn agents_without_hooks_are_named_by_where_they_sit() {
        let agent = |host: &str, pane: Option<&str>, tty: &str| Agent {
            host: host.into(),
            pid: 42,
            tty: tty.into(),
            pane: pane.map(|pane| Pane { pane: pane.into(), ..Pane::default() }),
            ..Agent::default()
        };
        assert_eq!(unhooked(&[]), None);
        let mut agents = vec![agent("claude", Some("%1"), "/dev/pts/1")];
        assert_eq!(unhooked(&agents).as_deref(), Some("1 agent runs without hooks: claude %1"));
        agents.extend([agent("codex", None, "/dev/pts/7"), agent("amp", None, "")]);
        let three = "3 agents run without hooks: claude %1, codex on /dev/pts/7, amp pid 42";
        assert_eq!(unhooked(&agents).as_deref(), Some(three));
        agents.extend(vec![agent("droid", Some("%2"), ""); 5]);
        assert!(unhooked(&agents).unwrap().ends_with("droid %2, droid %2, droid %2, 2 more"));
    }
}
