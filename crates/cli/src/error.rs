//! What can go wrong, in words, with a hint and an exit code: the one place where these three are decided.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// stdout could not be written.
    #[error("could not write to stdout")]
    Output(#[from] io::Error),
    /// The state folder cannot be told.
    #[error("there is no state folder: none of HERDBOOK_STATE, XDG_STATE_HOME and HOME is set")]
    NoStateFolder,
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
    /// stdin could not be read.
    #[error("could not read stdin")]
    Input(#[source] io::Error),
    /// Lines of the input of `normalize` were not events.
    #[error("{bad} of {lines} lines could not be read as an event")]
    BadLines {
        /// How many.
        bad: u64,
        /// Of how many that are not blank.
        lines: u64,
    },
}

impl Problem {
    /// Returns the exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Problem::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Ok,
            _ => Exit::Failed,
        }
    }

    /// Returns what to do about it.
    fn hint(&self) -> Option<&'static str> {
        match self {
            Problem::NoStateFolder => Some("set HOME, or HERDBOOK_STATE to a private folder"),
            Problem::BadLines { .. } => {
                Some("each line must be one JSON object, as the host wrote it to its hook's stdin")
            }
            _ => None,
        }
    }

    /// Says it on stderr, with its causes and its hint.
    pub fn tell(&self, printer: &mut Printer) {
        // The reader has closed the pipe because it has seen enough.
        if self.exit() == Exit::Ok {
            return;
        }
        let mut words = self.to_string();
        let mut cause: Option<&dyn Error> = self.source();
        while let Some(error) = cause {
            words.push_str(": ");
            words.push_str(&error.to_string());
            cause = error.source();
        }
        printer.say(&Line::new().styled("error:", Style::Alarm).own(" ").text(&words, Style::Plain));
        if let Some(hint) = self.hint() {
            printer.say(&Line::new().styled("hint:", Style::Name).own(" ").own(hint));
        }
    }
}
