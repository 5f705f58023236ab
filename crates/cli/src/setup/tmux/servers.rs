//! The user's running tmux servers: what they read, what they bind, and giving them our commands.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use herdbook_machine::{Command, RunError, Tmux};

use super::bindings::{Bound, of_list};
use super::block::{SEGMENT, key_word};
use crate::env::Env;

/// A server that answers.
#[derive(Clone, Debug)]
pub struct Running {
    /// Its socket.
    pub socket: PathBuf,
}

/// What tmux said against it.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// tmux could not be run.
    #[error("could not ask tmux")]
    Run(#[from] RunError),
    /// Its words.
    #[error("tmux said: {0}")]
    Said(String),
    /// There was no place for the commands.
    #[error("could not write a temporary file")]
    File(#[from] std::io::Error),
}

/// Returns the servers that answer: the one we run in first, then those of the user's socket folder. Foreign sockets and
/// servers that hang are passed over.
pub fn running(env: &Env) -> Vec<Running> {
    let own = env.tmux.as_deref().and_then(Tmux::of_env).map(|server| server.socket().to_owned());
    let base = env.tmux_tmpdir.clone().map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let folder = base.join(format!("tmux-{}", herdbook_wire::paths::own_uid()));
    let mut sockets: Vec<PathBuf> = own.into_iter().collect();
    let mut others: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    others.sort();
    sockets.extend(others);
    let mut known: Vec<Running> = Vec::new();
    for socket in sockets {
        // One socket may have two names.
        let socket = std::fs::canonicalize(&socket).unwrap_or(socket);
        if known.iter().all(|server| server.socket != socket) && Tmux::at(&socket).server().is_ok() {
            known.push(Running { socket });
        }
    }
    known
}

impl Running {
    /// Returns the configurations it was started with; none where it does not tell (before tmux 3.2).
    pub fn config_files(&self) -> Vec<PathBuf> {
        let files = self.ask(&["display-message", "-p", "#{config_files}"]).unwrap_or_default();
        files.trim_end().split(',').filter(|file| file.starts_with('/')).map(PathBuf::from).collect()
    }

    /// Returns what is bound behind its prefix.
    pub fn bindings(&self) -> Vec<Bound> {
        of_list(&self.ask(&["list-keys", "-T", "prefix"]).unwrap_or_default())
    }

    /// Returns the program that our bindings run there.
    pub fn program(&self) -> Option<String> {
        let program = self.ask(&["show-options", "-gqv", "@herdbook_program"]).ok()?;
        Some(program.trim_end_matches('\n').to_owned()).filter(|program| !program.is_empty())
    }

    /// True when its status line shows our segment, wherever in it.
    pub fn has_segment(&self) -> bool {
        let options = self.ask(&["show-options", "-g"]).unwrap_or_default();
        let is_status = |line: &&str| line.starts_with("status-") && line.contains("@herdbook_status");
        options.lines().any(|line| is_status(&line))
    }

    /// Why nobody sees our segment there, though it has it; nothing when it is seen.
    pub fn hides_segment(&self) -> Option<&'static str> {
        let options = self.ask(&["show-options", "-g"]).ok()?;
        let shows = |line: &str| {
            line.starts_with("status-format[")
                && (line.contains("status-right") || line.contains("@herdbook_status"))
        };
        if options.lines().any(|line| line == "status off") {
            Some("its status line is off")
        } else if options.lines().any(|line| line.starts_with("status-format["))
            && !options.lines().any(shows)
        {
            Some("its status-format does not show status-right")
        } else {
            None
        }
    }

    /// Gives it our commands. `defaults` are tmux's own bindings, for keys that are ours no more.
    ///
    /// # Errors
    /// tmux refuses.
    pub fn apply(&self, commands: &str, defaults: &[Bound]) -> Result<(), Refused> {
        self.source(&(self.unbinding(defaults) + commands))
    }

    /// Takes from it what is ours: bindings, options, and our place in `status-right`.
    ///
    /// # Errors
    /// tmux refuses.
    pub fn forget(&self, defaults: &[Bound]) -> Result<(), Refused> {
        self.source(&self.unbinding(defaults))?;
        for option in ["@herdbook_program", "@herdbook_status"] {
            self.ask(&["set-option", "-gqu", option])?;
        }
        let shown = self.ask(&["show-options", "-gv", "status-right"])?;
        let shown = shown.strip_suffix('\n').unwrap_or(&shown);
        if shown.contains(SEGMENT) {
            self.ask(&["set-option", "-g", "--", "status-right", &shown.replace(SEGMENT, "")])?;
        }
        Ok(())
    }

    /// The commands that give our keys back.
    fn unbinding(&self, defaults: &[Bound]) -> String {
        let mut commands = String::new();
        for bound in self.bindings().iter().filter(|bound| bound.is_ours()) {
            match defaults.iter().find(|own| own.key == bound.key) {
                Some(own) => commands.push_str(&format!("{}\n", own.text)),
                None => commands.push_str(&format!("unbind-key -T prefix {}\n", key_word(&bound.key))),
            }
        }
        commands
    }

    /// Gives it commands in a file: no word of them is read by a shell or another tmux in between.
    fn source(&self, commands: &str) -> Result<(), Refused> {
        let mut file = tempfile::Builder::new().prefix("herdbook-").tempfile()?;
        file.write_all(commands.as_bytes())?;
        self.ask(&["source-file", &file.path().to_string_lossy()]).map(drop)
    }

    fn ask(&self, words: &[&str]) -> Result<String, Refused> {
        ask(&self.socket, &[], words)
    }
}

/// Returns tmux's own bindings: a server that reads no configuration, tells them and is gone.
pub fn defaults() -> Vec<Bound> {
    let Ok(folder) = tempfile::Builder::new().prefix("herdbook-").tempdir() else { return Vec::new() };
    let words = ["start-server", ";", "list-keys", "-T", "prefix"];
    of_list(&ask(&folder.path().join("sock"), &["-f", "/dev/null"], &words).unwrap_or_default())
}

fn ask(socket: &Path, flags: &[&str], words: &[&str]) -> Result<String, Refused> {
    let output = Command::new("tmux")
        .env("LC_ALL", "C.UTF-8")
        .args(flags)
        .args(["-u", "-S"])
        .arg(socket)
        .args(words)
        .run()?;
    if output.is_success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Refused::Said(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}
