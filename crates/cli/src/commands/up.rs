//! `herdbook up`: a daemon in the background, by systemd where the user has one; an older daemon is restarted.

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
use crate::env::MEMORY;
use crate::error::{Problem, whole};
use crate::exit::Exit;
use crate::life::{Standing, TURN_PATIENCE, Turn, end, is_same_folder, standing};
use crate::model::is_hookable;
use crate::printer::{Line, Printer, Style};
use crate::setup::systemd::{SERVICE, Units, UnitsError};

/// Start the daemon in the background, unless it runs
///
/// Where the user has a systemd it runs as the unit herdbook.service, and the first hook after a login starts it; else it
/// is a plain process. Both go on when the terminal is closed; `herdbook down` ends either. A daemon older than this
/// command is restarted, and nothing is lost: hooks go to the spool meanwhile.
#[derive(Debug, Default, clap::Args)]
#[command(visible_alias = "start")]
pub struct Args {
    /// Run it as a systemd unit, or fail
    #[arg(long, conflicts_with = "no_systemd")]
    systemd: bool,
    /// Run it as a plain process
    #[arg(long)]
    no_systemd: bool,
}

/// How long the daemon may take to answer: it reads its journal first.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is asked.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Who runs the daemon.
enum Form {
    /// systemd.
    Unit(Units),
    /// Nobody; the words say why not systemd, where a person could wonder.
    Plain(Option<String>),
}

/// Starts it, or restarts an older one, and waits for its first answer.
///
/// # Errors
/// It ended, or did not answer in time; its last words are in the error.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    // Misspelt places are told before anything is made.
    Daemon::of(&context.env)?;
    let state = state_dir(&context.env.places)?;
    private_dir(&state)?;
    let _turn = Turn::take(&state, TURN_PATIENCE)?;
    // Only now the folders of its sockets are sure to be there.
    let running = Daemon::of(&context.env)?.ask(|client| client.status()).ok();
    let change = match &running {
        None => None,
        Some(status) => match change(args, status, &state, context) {
            Ok(change) => Some(change),
            Err(words) => {
                tell(context.printer, &words, status);
                tell_agents(context.printer, &Daemon::of(&context.env)?);
                return Ok(Exit::Ok);
            }
        },
    };
    // The units are written before anything that runs is ended.
    let form = Form::choose(args, context)?;
    let found = Units::find(&context.env.places);
    let units = found.and_then(|units| Some((units.state().ok()?, units)));
    let mut restart = false;
    match (&running, units, &form) {
        // systemd goes on listening meanwhile.
        (Some(status), Some((state, _)), Form::Unit(_)) if state.pid == Some(status.pid) => restart = true,
        (Some(status), Some((state, units)), _) if state.pid == Some(status.pid) => units.stop()?,
        (Some(status), _, _) => end(status.pid)?,
        // Its socket would be in our way.
        (None, Some((state, units)), Form::Plain(_)) if args.no_systemd && state.listens => units.stop()?,
        (None, _, _) => {}
    }
    let started = match &form {
        Form::Unit(units) => as_unit(units, restart, context)?,
        Form::Plain(_) => as_process(&state, context)?,
    };
    let words = match (&started, change) {
        (Started::Other(_), _) => RUNS_ALREADY.to_owned(),
        (Started::Ours(_), None) => "the daemon is up".to_owned(),
        (Started::Ours(_), Some(change)) => format!("restarted: {change}"),
    };
    tell(context.printer, &words, started.status());
    tell_agents(context.printer, &Daemon::of(&context.env)?);
    match form {
        Form::Unit(units) => {
            context.printer.say(&place("unit", SERVICE));
            if units.ends_at_logout() {
                let note = "it ends when you log out; `loginctl enable-linger` keeps it with agents that go on in tmux";
                context.printer.say(&place("note", note));
            }
        }
        Form::Plain(None) => {}
        Form::Plain(Some(why)) => {
            let note = format!("a plain process, not run by systemd: {why}");
            context.printer.say(&place("note", &note));
        }
    }
    Ok(Exit::Ok)
}

const RUNS_ALREADY: &str = "the daemon runs already";

/// Says why a running daemon is to be restarted; the error says why not.
fn change(args: &Args, status: &Status, state: &Path, context: &Context<'_>) -> Result<String, String> {
    if !is_same_folder(Path::new(&status.state_dir), state) {
        // It answers on the runtime folder's socket: another environment's, and not ours to end.
        return Err("a daemon runs already, on another state folder".to_owned());
    }
    let own = env!("CARGO_PKG_VERSION");
    match standing(status, own) {
        Standing::Old(change) => return Ok(change),
        Standing::Newer => {
            let version = &status.version;
            return Err(format!("the daemon is newer ({version}) than this command ({own}) and left alone"));
        }
        Standing::Same => {}
    }
    let is_unit = || {
        let state = Units::find(&context.env.places).and_then(|units| units.state().ok());
        state.is_some_and(|state| state.pid == Some(status.pid))
    };
    match args {
        Args { systemd: true, .. } if !is_unit() => Ok("run by systemd now".to_owned()),
        Args { no_systemd: true, .. } if is_unit() => Ok("a plain process now".to_owned()),
        _ => Err(RUNS_ALREADY.to_owned()),
    }
}

impl Form {
    /// Decides, and writes the units where systemd it is.
    fn choose(args: &Args, context: &Context<'_>) -> Result<Form, Problem> {
        if args.no_systemd {
            return Ok(Form::Plain(None));
        }
        let places = &context.env.places;
        let Some(units) = Units::find(places) else {
            return match args.systemd {
                true => Err(UnitsError::Unfit("there is no systemd of this user here".to_owned()).into()),
                false => Ok(Form::Plain(None)),
            };
        };
        let program = std::env::current_exe().map_err(Problem::Program)?;
        match units
            .check_fit(places)
            .and_then(|()| units.write(places, &program, context.env.path.as_deref()))
        {
            Ok(()) => Ok(Form::Unit(units)),
            Err(error) if args.systemd => Err(error.into()),
            Err(error) => Ok(Form::Plain(Some(whole(&error)))),
        }
    }
}

/// A daemon that answers.
enum Started {
    /// The one that was started.
    Ours(Status),
    /// Another, which was first.
    Other(Status),
}

impl Started {
    fn status(&self) -> &Status {
        match self {
            Started::Ours(status) | Started::Other(status) => status,
        }
    }
}

/// Has systemd run it.
fn as_unit(units: &Units, restart: bool, context: &Context<'_>) -> Result<Started, Problem> {
    if restart {
        units.restart()?
    } else {
        units.start()?
    }
    // It said that it is ready, so it answers.
    let status = Daemon::of(&context.env)?.ask(|client| client.status())?;
    Ok(Started::Ours(status))
}

/// Runs it as a process of its own.
fn as_process(state: &Path, context: &Context<'_>) -> Result<Started, Problem> {
    let path = state.join("daemon.log");
    let (log, from) =
        open_log(&path).map_err(|source| Problem::File { what: "open", path: path.clone(), source })?;
    let mut child = spawn(&log)?;
    let end = Instant::now() + PATIENCE;
    loop {
        // The folders may only now be there, so the sockets are looked for each time.
        let daemon = Daemon::of(&context.env)?;
        match daemon.ask(|client| client.status()) {
            Ok(status) => return Ok(Started::Ours(status)),
            Err(_) if Instant::now() < end => {}
            Err(_) => return Err(Problem::Slow { pid: child.id(), log: path }),
        }
        if let Ok(Some(ended)) = child.try_wait() {
            // A `herdbook daemon` of somebody's may have been first; then that one answers.
            if ended.code() == Some(Exit::Running as i32)
                && let Ok(status) = daemon.ask(|client| client.status())
            {
                return Ok(Started::Other(status));
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
        .env(MEMORY.0, MEMORY.1)
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
fn tell(printer: &mut Printer, words: &str, status: &Status) {
    printer.say(&Line::new().text(&format!("{words}, pid {}", status.pid), Style::Plain));
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
    for (name, found) in places.iter().filter(|(_, found)| !found.is_empty()) {
        printer.say(&place(name, found));
    }
    for warning in &status.warnings {
        printer.say(&Line::new().styled("warning:", Style::Alarm).own(" ").text(warning, Style::Plain));
    }
}

fn place(name: &'static str, found: &str) -> Line {
    Line::new().own("  ").styled(name, Style::Dim).spaces(8 - name.len()).text(found, Style::Plain)
}

/// So many agents without hooks are named.
const NAMED: usize = 6;

/// Says which agents run without hooks. Not being told is no failure: `ls` tells it, too.
fn tell_agents(printer: &mut Printer, daemon: &Daemon) {
    let agents = daemon.ask(|client| client.agents()).unwrap_or_default();
    if let Some(words) = unhooked(&agents) {
        printer.say(&Line::new().text(&words, Style::Plain));
        if agents.iter().any(is_hookable) {
            printer
                .say(&Line::new().styled("hint:", Style::Name).own(" `herdbook install`, then restart them"));
        }
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
