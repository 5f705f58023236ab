//! Why a store could not be opened, and why an append was refused.

use std::io;
use std::path::{Path, PathBuf};

use crate::damage::Damage;
use crate::line::{LINE_VERSION, MAX_SESSION_ID_BYTES};
use crate::lock::LockOwner;

/// Why an append was refused. Nothing of it is in the log then, unless the text says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The writer has more to do than it is given time for.
    #[error("{records} records ({bytes} bytes) already wait to be written; try again")]
    Busy {
        /// How many wait.
        records: usize,
        /// How many bytes they have.
        bytes: usize,
    },
    /// Nothing can be written now and no more fits in memory. It is counted and owned up to by a gap record.
    #[error("{pending_bytes} bytes already wait for the disk; free some space")]
    Full {
        /// How many bytes wait.
        pending_bytes: u64,
    },
    /// A record cannot be written as a line.
    #[error("record {index} of the append: {fault}")]
    BadRecord {
        /// Its place in the append, from 0.
        index: usize,
        /// The field, and what is wrong with it.
        fault: String,
    },
    /// The code failed while it wrote this batch.
    #[error("the writer failed inside this batch; nothing of it was kept")]
    Panicked,
    /// An append before it was refused after this one had been given its place, which therefore is none any more.
    #[error("an append before this one was refused: the log goes on at seq {next_seq}; try again")]
    Moved {
        /// Where the log goes on.
        next_seq: u64,
    },
    /// Two syncs failed one after the other: what was written may not be durable, and no more is written. Opening
    /// the log again reads what the system still has in memory; whether that is on the disk only a restart of the
    /// machine can tell.
    #[error("the log is read-only until it is opened again: {reason}")]
    ReadOnly {
        /// What failed.
        reason: String,
    },
    /// The store was closed before this was written.
    #[error("the store is closed")]
    Closed,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process writes to it.
    #[error("{}", locked_text(path, *pid))]
    Locked {
        /// The LOCK file.
        path: PathBuf,
        /// The process that holds it, where that could be read.
        pid: Option<u32>,
        /// What it wrote down about itself.
        owner: Option<LockOwner>,
    },
    /// The session id is empty or too long.
    #[error("the session id must have 1 to {MAX_SESSION_ID_BYTES} bytes, not {bytes}")]
    SessionId {
        /// How many it has.
        bytes: usize,
    },
    /// The folder has another session's log.
    #[error("{} holds the log of '{found}', not of '{wanted}'", path.display())]
    OtherSession {
        /// The folder.
        path: PathBuf,
        /// Whose log it is.
        found: String,
        /// Whose log was asked for.
        wanted: String,
    },
    /// Lines of the log are damaged or missing, and it was to be refused then
    /// ([`OnDamage::Refuse`](crate::OnDamage::Refuse)). Nothing was changed; it can be read.
    #[error("{}", damaged_text(path, damage))]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// The damaged places, the first 1,000.
        damage: Vec<Damage>,
    },
    /// The log ends in lines of a newer format. It can be read.
    #[error("{} has format {found}; this build writes up to {LINE_VERSION}: use a newer build to append", path.display())]
    NewerFormat {
        /// The folder.
        path: PathBuf,
        /// The format of its last line.
        found: u64,
    },
    /// The system refused.
    #[error("could not open {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn locked_text(path: &Path, pid: Option<u32>) -> String {
    let process = pid.map_or("another process".to_owned(), |pid| format!("process {pid}"));
    format!(
        "{process} already writes here (it holds {}); stop it first, or use another state folder",
        path.display()
    )
}

fn damaged_text(path: &Path, damage: &[Damage]) -> String {
    let first = damage.first().map(Damage::to_string).unwrap_or_default();
    let more = match damage.len() {
        0 | 1 => String::new(),
        count => format!(", and {} more", count - 1),
    };
    format!("the log in {} is damaged: {first}{more}; nothing of it was changed", path.display())
}
