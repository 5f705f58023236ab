//! Why a daemon did not start.

use std::io;
use std::path::PathBuf;

use herdbook_log::OpenError;
use herdbook_wire::paths::{DirError, PathError};

/// Why a daemon did not start. Every text is one line and fits "failed: {text}".
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Another daemon writes this state folder. `herdbook daemon` has an exit code of its own for it.
    #[error("a daemon is already running on {}{}", state_dir.display(), pid.map_or(String::new(), |pid| format!(" (pid {pid})")))]
    AlreadyRunning {
        /// The state folder.
        state_dir: PathBuf,
        /// The first daemon's process id, where it could be read.
        pid: Option<u32>,
    },
    /// The environment names no place for state or sockets.
    #[error(transparent)]
    Place(PathError),
    /// The state folder, or the folder of a socket, must not be used (case F-111).
    #[error("{}", whole(.0))]
    Folder(DirError),
    /// An address in the environment cannot be used.
    #[error("{name}={value} {reason}")]
    Addr {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The journal cannot be opened.
    #[error("{}", whole(.0))]
    Journal(OpenError),
    /// `store.json` cannot be used.
    #[error("could not use {}: {reason}", path.display())]
    StoreFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Not one of the sockets could be opened, so no hook could reach this daemon.
    #[error("could not listen on any unix socket: {0}")]
    NoSocket(String),
    /// The system refused something every process needs.
    #[error("could not {what}: {source}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// The error with its causes on one line, since a refusal is one line (case F-087).
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
