//! Why one host's settings are not touched. The others are done all the same.

use std::io;
use std::path::PathBuf;

use herdbook_hosts::settings::SettingsError;

/// Why a file is left as it is. One line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Its text is not understood.
    #[error("{}: {source}", .path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: SettingsError,
    },
    /// It is another user's.
    #[error("{} belongs to uid {uid}, not to you", .path.display())]
    Foreign {
        /// The file or folder.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// A folder, a socket or the like is in its place.
    #[error("{} is no regular file: move it away", .path.display())]
    NotRegular {
        /// What is there.
        path: PathBuf,
    },
    /// A file is where a folder belongs.
    #[error("{} is no folder: move it away", .path.display())]
    NotFolder {
        /// What is there.
        path: PathBuf,
    },
    /// A symlink leads out of the home or the project.
    #[error("{} is a symlink out of {} to {}: put a file of your own there", .path.display(), .base.display(), .to.display())]
    Away {
        /// The file as the host names it.
        path: PathBuf,
        /// Where it leads.
        to: PathBuf,
        /// What it must not leave.
        base: PathBuf,
    },
    /// A symlink leads nowhere.
    #[error("{} is a symlink to nothing: mend or remove it", .path.display())]
    Dangling {
        /// The link.
        path: PathBuf,
    },
    /// It may not be written.
    #[error("{} is read-only: chmod u+w it", .path.display())]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
    },
    /// Somebody else wrote it while we did.
    #[error("{} was changed by another program meanwhile: run this again", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("could not {what} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Our private folders are not usable.
    #[error(transparent)]
    State(#[from] herdbook_machine::FolderError),
}

impl Refusal {
    /// Makes the words for a failed call.
    pub fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Refusal {
        let path = path.into();
        move |source| Refusal::Io { what, path, source }
    }
}
