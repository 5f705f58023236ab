//! Asking tmux, by argument lists, with limits, and about ids only.
//!
//! A pane is socket, server pid and pane id together (F-065, F-074): ids begin anew with each server, and the hook's
//! `TMUX` alone says which server is meant. So every call names its socket, and `TMUX` is never handed on.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clients::Client;
use crate::command::{Command, Output, RunError};
use crate::env;
use crate::pane::{
    FieldValue, ListAnswer, PaneState, is_pane_id, is_session_id, is_window_id, pane_state, parse_panes,
    says_no_server,
};

/// A server that hangs is given up after this time, and the others do not notice (F-074).
const TIMEOUT: Duration = Duration::from_secs(2);

/// Between fields. tmux makes control characters in names and titles harmless, so it stands in none of them; what some
/// versions make of it [`parse_panes`] reads (F-068).
pub(crate) const SEPARATOR: &str = "\u{1f}";

/// Fields of a pane. Free text comes last: a path may hold even our separator.
const PANE_FIELDS: &[&str] = &[
    "pane_id",
    "window_id",
    "session_id",
    "pid",
    "start_time",
    "pane_pid",
    "pane_active",
    "window_active",
    "pane_dead",
    "pane_in_mode",
    "pane_tty",
    "session_name",
    "pane_current_command",
    "pane_title",
    "pane_current_path",
];

const CLIENT_FIELDS: &[&str] =
    &["client_activity", "client_control_mode", "client_tty", "client_flags", "session_id", "pane_id"];

const SESSION_FIELDS: &[&str] = &["session_activity", "destroy-unattached", "session_id"];

/// Why tmux gave no answer. Nothing but [`TmuxError::NoServer`] says anything about panes.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    /// Nobody serves the socket.
    #[error("no tmux server at {}", .0.display())]
    NoServer(PathBuf),
    /// The path is no socket.
    #[error("{} is not a socket", .0.display())]
    NotASocket(PathBuf),
    /// The socket is another user's; such a server is not used (F-074).
    #[error("{} belongs to uid {uid}, not to you", .path.display())]
    Foreign {
        /// The socket.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// tmux could not be run, or did not answer in time.
    #[error("could not ask tmux")]
    Run(#[from] RunError),
    /// tmux refused.
    #[error("tmux {verb} failed: {message}")]
    Refused {
        /// What was asked for.
        verb: String,
        /// What tmux said, as it came: clean it before it is shown.
        message: String,
    },
    /// tmux answered, and not one row of it could be read.
    #[error("the answer of tmux {verb} cannot be read: {message}")]
    Unreadable {
        /// What was asked for.
        verb: String,
        /// The first thing that did not fit.
        message: String,
    },
    /// A value that is no tmux id, or no name of an option, was to be a target.
    #[error("'{0}' is not a tmux id")]
    BadId(String),
}

/// One server, told apart from its successors on the same socket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    /// Path of the socket.
    pub socket: String,
    /// Process id.
    pub pid: u32,
    /// When it started, Unix seconds.
    pub started_at: u64,
}

/// A pane, as tmux lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pane {
    /// Its server.
    pub server: Server,
    /// Pane id.
    pub id: String,
    /// Window id.
    pub window: String,
    /// tmux session id.
    pub session: String,
    /// Name of the tmux session, for display only and not cleaned.
    pub session_name: String,
    /// The process tmux started in it.
    pub pid: u32,
    /// Its terminal.
    pub tty: String,
    /// The active pane of its window.
    pub is_active: bool,
    /// Its window is the current one of its session.
    pub is_current_window: bool,
    /// Its program has ended and the pane stays.
    pub is_dead: bool,
    /// A human looks through its history, or a menu is open.
    pub in_mode: bool,
    /// Foreground command.
    pub command: String,
    /// Title, not cleaned.
    pub title: String,
    /// Working directory.
    pub cwd: String,
}

/// What an option belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The server.
    Server,
    /// All sessions.
    Global,
    /// One tmux session, by id.
    Session(String),
    /// One window, by id.
    Window(String),
    /// One pane, by id.
    Pane(String),
}

/// The sockets at which a tmux server of the user is looked for where nobody names one: that of the server this process
/// was started in, and the one that a bare `tmux` starts (tmux manual, "-L").
pub fn usual_sockets() -> Vec<PathBuf> {
    let own = env::read(env::TMUX)
        .and_then(|tmux| crate::jump::socket_of(&tmux.to_string_lossy()).map(PathBuf::from));
    let folder = env::read(env::TMUX_TMPDIR).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    // As tmux names it itself: without links.
    let folder = fs::canonicalize(&folder).unwrap_or(folder);
    let uid = rustix::process::getuid().as_raw();
    let usual = folder.join(format!("tmux-{uid}")).join("default");
    let mut sockets: Vec<PathBuf> = own.into_iter().collect();
    if !sockets.contains(&usual) {
        sockets.push(usual);
    }
    sockets
}

/// A tmux server, by its socket.
#[derive(Clone, Debug)]
pub struct Tmux {
    socket: PathBuf,
    timeout: Duration,
}

impl Tmux {
    /// The server at a socket. Nothing is asked yet.
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), timeout: TIMEOUT }
    }

    /// The server of a value of `TMUX`, `socket,server pid,session number`.
    pub fn of_env(tmux: &str) -> Option<Self> {
        crate::jump::socket_of(tmux).map(Self::at)
    }

    /// Sets how long one call may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long one call may take.
    pub(crate) fn time_limit(&self) -> Duration {
        self.timeout
    }

    /// Path of the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Pid and start of the server.
    ///
    /// # Errors
    /// See [`TmuxError`].
    pub fn server(&self) -> Result<Server, TmuxError> {
        let output = self.run("display-message", &["-p", "#{pid} #{start_time}"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut words = text.split_ascii_whitespace().map(str::parse::<u64>);
        // Success with empty fields is no answer (F-066).
        let (Some(Ok(pid)), Some(Ok(started_at))) = (words.next(), words.next()) else {
            return Err(unreadable("display-message", "no pid"));
        };
        let pid = u32::try_from(pid).map_err(|_| unreadable("display-message", "no pid"))?;
        Ok(Server { socket: self.socket.to_string_lossy().into_owned(), pid, started_at })
    }

    /// All panes of the server. A pane whose window is linked into several sessions comes once for each.
    ///
    /// # Errors
    /// See [`TmuxError`].
    pub fn panes(&self) -> Result<Vec<Pane>, TmuxError> {
        let rows = self.list("list-panes", &["-a"], PANE_FIELDS)?;
        Ok(rows.iter().map(|row| self.pane_of(row)).collect())
    }

    /// The server, and the ids of all its panes. No free text is asked for, which could spoil a row, and a single row
    /// that cannot be read is an error: whatever is not among these is not there.
    ///
    /// # Errors
    /// See [`TmuxError`].
    pub fn pane_ids(&self) -> Result<(Server, Vec<String>), TmuxError> {
        let output = self.run("list-panes", &["-a", "-F", "#{pid} #{start_time} #{pane_id}"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rows: Option<Vec<(u32, u64, String)>> = text.lines().map(pane_row).collect();
        let rows = rows.ok_or_else(|| unreadable("list-panes", "a row that is no pane"))?;
        // A server has a pane, or it is about to end.
        let Some(&(pid, started_at, _)) = rows.first() else {
            return Err(unreadable("list-panes", "no panes"));
        };
        let server = Server { socket: self.socket.to_string_lossy().into_owned(), pid, started_at };
        Ok((server, rows.into_iter().map(|(_, _, id)| id).collect()))
    }

    /// Whether a pane exists on whatever server is at the socket now.
    pub fn pane_state(&self, pane: &str) -> PaneState {
        if !is_pane_id(pane) {
            return PaneState::Refused;
        }
        let answer = match self.try_run("list-panes", &["-a", "-F", "#{pane_id}"]) {
            Ok(output) => ListAnswer {
                list: String::from_utf8_lossy(&output.stdout).into_owned(),
                exit: output.code,
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            },
            Err(TmuxError::NoServer(_)) => return PaneState::Gone,
            Err(_) => ListAnswer::default(),
        };
        pane_state(pane, &answer)
    }

    /// The clients of the server, with the pane in front of each. None is a proper answer.
    ///
    /// # Errors
    /// See [`TmuxError`].
    pub fn clients(&self) -> Result<Vec<Client>, TmuxError> {
        let rows = self.list("list-clients", &[], CLIENT_FIELDS)?;
        Ok(rows
            .iter()
            .map(|row| Client {
                tty: text(row, "client_tty"),
                activity: number(row, "client_activity"),
                flags: text(row, "client_flags"),
                control_mode: number(row, "client_control_mode") != 0,
                session: text(row, "session_id"),
                pane: text(row, "pane_id"),
            })
            .collect())
    }

    /// A session in which a client in control mode is the least in the way, but none that ends when nobody is in it.
    /// `None`: there is no such session. It is the one used longest ago of several that nobody is in: messages that
    /// programs show in a session go to its client that came or was used last, and a bare `tmux attach` finds another
    /// free one. Else it is one with a human.
    pub(crate) fn seat(&self) -> Result<Option<String>, TmuxError> {
        let humans = self.clients()?;
        let rows = self.list("list-sessions", &[], SESSION_FIELDS)?;
        // A flag until tmux 3.4, a choice since.
        let stays =
            rows.iter().filter(|row| matches!(text(row, "destroy-unattached").as_str(), "" | "0" | "off"));
        let has_human = |row: &_| crate::clients::humans_in(&humans, &text(row, "session_id")) > 0;
        let (used, free): (Vec<_>, Vec<_>) = stays.partition(|row| has_human(row));
        let from = if free.len() > 1 || used.is_empty() { free } else { used };
        let best = from.into_iter().min_by_key(|row| number(row, "session_activity"));
        Ok(best.map(|row| text(row, "session_id")).filter(|id| is_session_id(id)))
    }

    /// Sets an option. The value is stored as it is; if a format will expand it, it must be
    /// cleaned for that before.
    ///
    /// # Errors
    /// See [`TmuxError`].
    pub fn set_option(&self, scope: &Scope, name: &str, value: &str) -> Result<(), TmuxError> {
        let mut args = scope_args(scope)?;
        args.extend(["--", option_name(name)?, value]);
        self.run("set-option", &args).map(drop)
    }

    /// Reads an option; `None` if it is not set there.
    ///
    /// # Errors
    /// See [`TmuxError`].
    pub fn show_option(&self, scope: &Scope, name: &str) -> Result<Option<String>, TmuxError> {
        let mut args = scope_args(scope)?;
        args.extend(["-qv", "--", option_name(name)?]);
        let output = self.run("show-options", &args)?;
        let text = String::from_utf8_lossy(&output.stdout);
        // An empty value prints an empty line, an option that is not set prints nothing.
        Ok(text.strip_suffix('\n').map(str::to_owned))
    }

    fn pane_of(&self, row: &BTreeMap<String, FieldValue>) -> Pane {
        let flag = |name: &str| number(row, name) != 0;
        let pid = |name: &str| u32::try_from(number(row, name)).unwrap_or(0);
        Pane {
            server: Server {
                socket: self.socket.to_string_lossy().into_owned(),
                pid: pid("pid"),
                started_at: number(row, "start_time"),
            },
            id: text(row, "pane_id"),
            window: text(row, "window_id"),
            session: text(row, "session_id"),
            session_name: text(row, "session_name"),
            pid: pid("pane_pid"),
            tty: text(row, "pane_tty"),
            is_active: flag("pane_active"),
            is_current_window: flag("window_active"),
            is_dead: flag("pane_dead"),
            in_mode: flag("pane_in_mode"),
            command: text(row, "pane_current_command"),
            title: text(row, "pane_title"),
            cwd: text(row, "pane_current_path"),
        }
    }

    /// Runs a listing. Rows that can be read are the answer; if there are none but lines, that is an error (F-068).
    fn list(
        &self,
        verb: &str,
        args: &[&str],
        fields: &[&str],
    ) -> Result<Vec<BTreeMap<String, FieldValue>>, TmuxError> {
        let format = fields.iter().map(|field| format!("#{{{field}}}")).collect::<Vec<_>>().join(SEPARATOR);
        let mut all = args.to_vec();
        all.extend(["-F", &format]);
        let output = self.run(verb, &all)?;
        let parsed = parse_panes(fields, SEPARATOR, &String::from_utf8_lossy(&output.stdout));
        match parsed.errors.first() {
            Some(message) if parsed.rows.is_empty() => Err(unreadable(verb, message)),
            _ => Ok(parsed.rows),
        }
    }

    pub(crate) fn run(&self, verb: &str, args: &[&str]) -> Result<Output, TmuxError> {
        let output = self.try_run(verb, args)?;
        if output.is_success() {
            return Ok(output);
        }
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if says_no_server(&message) {
            return Err(TmuxError::NoServer(self.socket.clone()));
        }
        Err(TmuxError::Refused { verb: verb.to_owned(), message })
    }

    fn try_run(&self, verb: &str, args: &[&str]) -> Result<Output, TmuxError> {
        self.check_socket()?;
        let output = Command::new("tmux")
            // Under another locale tmux makes `_` of tabs and of every letter beyond ASCII (F-068).
            .env("LC_ALL", "C.UTF-8")
            .arg("-u")
            .arg("-S")
            .arg(&self.socket)
            .arg(verb)
            .args(args.iter().map(|word| literal(word)))
            .timeout(self.timeout)
            .run()?;
        Ok(output)
    }

    fn check_socket(&self) -> Result<(), TmuxError> {
        let found = match fs::metadata(&self.socket) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(TmuxError::NoServer(self.socket.clone()));
            }
            Err(_) => return Err(TmuxError::NotASocket(self.socket.clone())),
        };
        if !found.file_type().is_socket() {
            return Err(TmuxError::NotASocket(self.socket.clone()));
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(TmuxError::Foreign { path: self.socket.clone(), uid: found.uid() });
        }
        Ok(())
    }
}

fn pane_row(line: &str) -> Option<(u32, u64, String)> {
    let mut words = line.split(' ');
    let row = (words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.to_owned());
    (words.next().is_none() && is_pane_id(&row.2)).then_some(row)
}

/// A word that tmux takes as it is: a `;` at its end would begin another command.
fn literal(word: &str) -> String {
    match word.strip_suffix(';') {
        Some(head) => format!("{head}\\;"),
        None => word.to_owned(),
    }
}

fn unreadable(verb: &str, message: &str) -> TmuxError {
    TmuxError::Unreadable { verb: verb.to_owned(), message: message.to_owned() }
}

pub(crate) fn text(row: &BTreeMap<String, FieldValue>, name: &str) -> String {
    match row.get(name) {
        Some(FieldValue::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

pub(crate) fn number(row: &BTreeMap<String, FieldValue>, name: &str) -> u64 {
    match row.get(name) {
        Some(FieldValue::Number(number)) => *number,
        _ => 0,
    }
}

fn scope_args(scope: &Scope) -> Result<Vec<&str>, TmuxError> {
    let (flags, id, is_id): (&[&str], &str, fn(&str) -> bool) = match scope {
        Scope::Server => return Ok(vec!["-s"]),
        Scope::Global => return Ok(vec!["-g"]),
        Scope::Session(id) => (&["-t"], id, is_session_id),
        Scope::Window(id) => (&["-w", "-t"], id, is_window_id),
        Scope::Pane(id) => (&["-p", "-t"], id, is_pane_id),
    };
    if !is_id(id) {
        return Err(TmuxError::BadId(id.to_owned()));
    }
    Ok(flags.iter().copied().chain([id]).collect())
}

fn option_name(name: &str) -> Result<&str, TmuxError> {
    let is_name = name.starts_with(|c: char| c == '@' || c.is_ascii_lowercase())
        && name.bytes().skip(1).all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if is_name { Ok(name) } else { Err(TmuxError::BadId(name.to_owned())) }
}
