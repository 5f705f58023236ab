//! What can go wrong, in words, with a hint and an exit code: the one place where these three are decided.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::path::PathBuf;

use herdbook_api::ClientError;
use herdbook_daemon::{DaemonError, PastError};
use herdbook_machine::JumpError;

use crate::exit::Exit;
use crate::model::Unchosen;
use crate::moment::moment_words;
use crate::printer::{Line, Printer, Style};
use crate::setup::systemd::UnitsError;
use crate::text::{counted, shell_word};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// stdout could not be written.
    #[error("could not write to stdout")]
    Output(#[from] io::Error),
    /// The places of state and socket cannot be told.
    #[error(transparent)]
    Places(#[from] herdbook_wire::paths::PathError),
    /// The state folder is not private.
    #[error(transparent)]
    Folder(#[from] herdbook_wire::paths::DirError),
    /// No daemon answers.
    #[error("the daemon is not running{}", in_spool(*.waiting))]
    Down {
        /// Events in the spool.
        waiting: u64,
    },
    /// The daemon refused, or its answer did not come or was not understood.
    #[error(transparent)]
    Answer(#[from] ClientError),
    /// There was no jump.
    #[error(transparent)]
    Tmux(JumpError),
    /// This terminal could not become a tmux client.
    #[error("could not attach to tmux")]
    Attach(#[source] io::Error),
    /// No one session has that name.
    #[error(transparent)]
    Unchosen(#[from] Unchosen),
    /// The demonstration could not go on.
    #[error("{what}")]
    Demo {
        /// What did not work.
        what: String,
        /// Why.
        source: Option<io::Error>,
    },
    /// A signal ended the command.
    #[error("interrupted")]
    Interrupted,
    /// The daemon could not start.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    /// Nothing is known of that moment.
    #[error("{}", past_words(.0))]
    Past(PastError),
    /// This program could not be started again.
    #[error("could not start a daemon")]
    Program(#[source] io::Error),
    /// The daemon that was started did not come up.
    #[error("the daemon did not start: {words}")]
    NotUp {
        /// Its last words.
        words: String,
        /// Where the others are.
        log: PathBuf,
    },
    /// The daemon that was started lives, and does not answer yet.
    #[error("the daemon, pid {pid}, does not answer yet: it may still read its journal")]
    Slow {
        /// Its process id.
        pid: u32,
        /// Where its words are.
        log: PathBuf,
    },
    /// The daemon could not be run by systemd.
    #[error("the daemon was not started by systemd")]
    Units(#[from] UnitsError),
    /// The daemon goes on.
    #[error("the daemon (pid {pid}) did not end")]
    NotDown {
        /// Its process id.
        pid: u32,
        /// Why it could not be asked to; nothing when it did not end in time.
        source: Option<io::Error>,
    },
    /// A file or folder of ours could not be used.
    #[error("could not {what} {path}")]
    File {
        /// What was tried, `read` for example.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The picker needs a terminal to show itself in.
    #[error("there is no terminal to show the picker in")]
    NoTerminal,
    /// The terminal does not do what the picker asks.
    #[error("could not use the terminal")]
    Screen(#[source] io::Error),
    /// A tmux configuration is not changed.
    #[error(transparent)]
    TmuxConfig(#[from] crate::setup::tmux::Refusal),
    /// Our hook program is not where it belongs.
    #[error("there is no program {path}")]
    NoHook {
        /// Where it should be: beside this program.
        path: PathBuf,
    },
    /// No host to install hooks for was found.
    #[error("no coding agent was found")]
    NoHost,
    /// The human must agree, and there is no terminal to ask on.
    #[error("nothing was changed: there is no terminal to ask on")]
    CannotAsk,
    /// The human must say that he means it, and there is no terminal to ask on.
    #[error("nothing was answered: there is no terminal to ask on")]
    CannotAskAnswer,
    /// The human said no.
    #[error("nothing was changed")]
    Declined,
    /// The folder for copies of settings is not usable.
    #[error("{0}")]
    Backups(String),
    /// No one route has that name.
    #[error("no route '{name}': {why}")]
    NoRoute {
        /// As it was written.
        name: String,
        /// Why not.
        why: String,
    },
    /// What a route shall be tried with is no event that it is run for.
    #[error("no event of {title} for this route: {why}")]
    NotAnEvent {
        /// The host's name for people.
        title: &'static str,
        /// Why not.
        why: String,
    },
    /// A route could not be trusted, or its trust not be taken back.
    #[error(transparent)]
    Trust(#[from] herdbook_daemon::routes::TrustError),
    /// An agent speaks, where only its human may.
    #[error("this is for the human alone, and {host} (pid {pid}) runs this command")]
    ByAgent {
        /// The agent's host.
        host: &'static str,
        /// Its process id.
        pid: u32,
    },
    /// Nobody can tell who speaks, where only the human may.
    #[error("this is for the human alone, and {0}")]
    ByWhom(herdbook_machine::UnknownLineage),
    /// Nobody may hold the permission requests of a host.
    #[error("permission requests of {host} cannot be answered from elsewhere: {why}")]
    NoHold {
        /// The host.
        host: String,
        /// Why not.
        why: String,
    },
    /// None of our entries are in a host's settings.
    #[error("{title} has none of our hooks")]
    NotInstalled {
        /// The host.
        host: &'static str,
        /// Its name for people.
        title: &'static str,
    },
    /// stdin could not be read.
    #[error("could not read stdin")]
    Input(#[source] io::Error),
    /// Nobody recorded the screens of that host.
    #[error("the screens of '{host}' are not known")]
    NoScreens {
        /// As it was written.
        host: String,
    },
    /// The human's own rules for screens cannot be used.
    #[error(transparent)]
    Screens(#[from] herdbook_daemon::ScreensError),
    /// Lines of the input of `normalize` were not events.
    #[error("{bad} of {lines} lines could not be read as an event")]
    BadLines {
        /// How many.
        bad: u64,
        /// Of how many that are not blank.
        lines: u64,
    },
    /// A file that has to be unpacked first.
    #[error("{} is compressed", path.display())]
    Packed {
        /// The file.
        path: PathBuf,
        /// What unpacks it to stdout.
        tool: &'static str,
    },
    /// A folder without segments.
    #[error("there is no log in the folder {}", path.display())]
    NoSegments {
        /// The folder.
        path: PathBuf,
    },
    /// No session with that key has a log.
    #[error("no session '{asked}' has a log{}", near_words(near))]
    NoLog {
        /// As it was written.
        asked: String,
        /// Keys that look alike.
        near: Vec<String>,
    },
    /// The logs of several sessions could be meant.
    #[error("'{asked}' could be {}", keys.join(", "))]
    ManyLogs {
        /// As it was written.
        asked: String,
        /// Their keys, at most five.
        keys: Vec<String>,
    },
    /// A session that a log shall be imported as has other events.
    #[error("the log of {key} has another event at seq {seq}")]
    OtherLog {
        /// The session's key.
        key: String,
        /// The first one that differs.
        seq: u64,
    },
    /// The human's pager cannot be run.
    #[error("the pager '{words}' cannot be run, so nothing was shown")]
    Pager {
        /// What `PAGER` says.
        words: String,
    },
    /// A line of a log cannot be used.
    #[error("line {number}: {why}")]
    LogLine {
        /// Its number in the file, from 1.
        number: u64,
        /// Why not.
        why: String,
    },
    /// A log does not say what is asked for.
    #[error("{0}")]
    Log(String),
    /// There are faults in a log, each told before.
    #[error("{} in {}", counted(*.bad, "fault"), counted(*.lines, "line"))]
    BadLog {
        /// How many.
        bad: u64,
        /// In how many lines.
        lines: u64,
    },
}

impl Problem {
    /// Returns the exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Problem::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Ok,
            Problem::Daemon(DaemonError::AlreadyRunning { .. }) => Exit::Running,
            Problem::Down { .. } => Exit::Down,
            Problem::Answer(ClientError::Timeout(_)) => Exit::Down,
            Problem::Answer(error) if error.is_not_found() => Exit::NoSession,
            Problem::Unchosen(_) | Problem::NoLog { .. } | Problem::ManyLogs { .. } => Exit::NoSession,
            Problem::NoRoute { .. } => Exit::NoRoute,
            Problem::Tmux(_) => Exit::NoPane,
            Problem::Interrupted => Exit::Interrupted,
            _ => Exit::Failed,
        }
    }

    /// Returns what to do about it.
    fn hint(&self) -> Option<Cow<'static, str>> {
        let words = match self {
            Problem::NotDown { pid, source: None } => {
                return Some(
                    format!("it may be frozen: `kill -9 {pid}` ends it, and what it has written stays")
                        .into(),
                );
            }
            Problem::NotUp { log, .. } => return Some(format!("read {}", log.display()).into()),
            Problem::Slow { log, .. } => {
                let words = format!("`herdbook status` tells when it is up, {} what it does", log.display());
                return Some(words.into());
            }
            Problem::Units(UnitsError::Manager(_)) => {
                Some("read `journalctl --user -u herdbook`, or run `herdbook up --no-systemd`")
            }
            Problem::Units(_) => Some("run `herdbook up --no-systemd`"),
            Problem::Daemon(DaemonError::AlreadyRunning { .. }) => {
                Some("`herdbook status` shows it, `herdbook down` ends it")
            }
            Problem::Down { .. } => Some("run `herdbook up`"),
            Problem::Answer(ClientError::Timeout(_)) => {
                Some("look into daemon.log in the state folder, or run `herdbook down` and `herdbook up`")
            }
            Problem::NoTerminal => {
                Some("run `herdbook popup` in a terminal; key bindings add --open in tmux")
            }
            Problem::Unchosen(Unchosen::Many { .. }) | Problem::ManyLogs { .. } => Some("write more of it"),
            Problem::Unchosen(_) => Some("run `herdbook ls` for their names and numbers"),
            Problem::NoHook { .. } => {
                Some("install herdbook-hook into the same folder as herdbook: hosts run it by that path")
            }
            Problem::NoHost => Some("name one, `herdbook install claude` for example"),
            Problem::CannotAskAnswer => Some("pass --yes to answer what is shown above"),
            Problem::NoRoute { .. } => Some("run `herdbook route ls` for their names"),
            Problem::ByAgent { .. } | Problem::ByWhom(_) => Some("run it in a terminal of your own"),
            Problem::NotInstalled { host, .. } => {
                return Some(format!("run `herdbook install {host}` first").into());
            }
            Problem::CannotAsk => Some("pass --yes, or look first with --dry-run"),
            Problem::NoScreens { .. } => {
                Some("known are those of claude, codex, copilot, cursor, gemini and opencode")
            }
            Problem::NoLog { .. } => Some(
                "`herdbook log ls` lists the sessions that have one; a file is named with a slash, ./NAME",
            ),
            Problem::Packed { path, tool } => {
                let words =
                    format!("unpack it first: `{tool} {} > log.jsonl`", shell_word(&path.to_string_lossy()));
                return Some(words.into());
            }
            Problem::NoSegments { .. } => Some(
                "a log's folder holds segments, 0000000001.jsonl and so on; name the file if it is another",
            ),
            Problem::OtherLog { .. } => Some("import it under another key, with --as"),
            Problem::Pager { .. } => Some("set PAGER to a program that is there, or use --no-pager"),
            Problem::LogLine { .. } | Problem::BadLog { .. } => {
                Some("`herdbook log check` tells all that is wrong with a log")
            }
            Problem::BadLines { .. } => {
                Some("each line must be one JSON object, as the host wrote it to its hook's stdin")
            }
            _ => None,
        };
        words.map(Cow::Borrowed)
    }

    /// Says it on stderr, with its causes and its hint.
    pub fn tell(&self, printer: &mut Printer) {
        // The reader has closed the pipe because it has seen enough.
        if self.exit() == Exit::Ok {
            return;
        }
        printer.complain(&whole(self));
        if let Some(hint) = self.hint() {
            printer.say(&Line::new().styled("hint:", Style::Name).own(" ").text(&hint, Style::Plain));
        }
    }
}

/// Returns an error with all its causes.
pub fn whole(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    words
}

/// Names keys that were perhaps meant.
fn near_words(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) }
}

/// Says why nothing is known of a moment.
fn past_words(error: &PastError) -> String {
    match error {
        PastError::Empty { .. } => format!("nothing was recorded yet: {error}"),
        PastError::Before { first_ms } => {
            format!("nothing is known of that time: the journal begins at {}", moment_words(*first_ms))
        }
    }
}

/// Says how many events wait in the spool, if any.
fn in_spool(count: u64) -> String {
    match count {
        0 => String::new(),
        1 => "; 1 event waits in the spool".to_owned(),
        _ => format!("; {} wait in the spool", counted(count, "event")),
    }
}
