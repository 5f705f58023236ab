//! A new session with what can be read of a damaged one, and a link to it.

use std::path::Path;

use crate::cold::ClosedLogError;
use crate::line::{self, NewRecord};
use crate::reader::Reader;
use crate::refused::OpenError;
use crate::repair::look;
use crate::sessions::Sessions;
use crate::storage::Folder;
use crate::store::{Durability, Options};
use crate::whole;

/// How much is appended at once, in bytes.
const BATCH_BYTES: usize = 1 << 20;

/// What a new session was given of a damaged one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continued {
    /// The last seq of both.
    pub to_seq: u64,
}

/// Why a session could not be continued under a new key.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// There is nothing to get away from.
    #[error("the log of '{key}' is not damaged: go on with it")]
    NotDamaged {
        /// The session.
        key: String,
    },
    /// The new session has a log of its own.
    #[error("'{key}' has a log already: choose another key")]
    Taken {
        /// The new key.
        key: String,
    },
    /// The log of the new session could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The damaged log could not be read.
    #[error(transparent)]
    Read(#[from] ClosedLogError),
    /// A line could not be written.
    #[error("could not write the new session's log: {0}")]
    Write(String),
}

/// The name of the file that says which session another one continues.
const LINK: &str = "link.json";

/// Begins a new session with the lines of a damaged one up to its first damage, with their seqs, ids and times. The file
/// `link.json` in the new session's folder says which session it continues, up to which seq, and what was damaged; the
/// damaged log stays as it is. Called again after a crash it goes on where it was.
///
/// # Errors
/// The log is not damaged, the new key has a log of its own, or the system refuses.
pub fn continue_as(
    sessions: &Sessions,
    key: &str,
    new_key: &str,
    now_ms: u64,
) -> Result<Continued, RepairError> {
    let (old, new) = (sessions.folder(key), sessions.folder(new_key));
    let found = look(&old)?;
    let Some(damage) = found.damage.first() else {
        return Err(RepairError::NotDamaged { key: key.to_owned() });
    };
    let link = format!(
        "{{\"continues\":{},\"toSeq\":{},\"damage\":{}}}\n",
        line::quote(key),
        found.readable_to,
        line::quote(&damage.to_string())
    );
    if Reader::open(&new).next().is_some() && link_of(&new).as_deref() != Some(&*link) {
        return Err(RepairError::Taken { key: new_key.to_owned() });
    }
    let (mut log, opened) = sessions.open(new_key, Options::of_session(now_ms))?;
    let write = |what: String| RepairError::Write(what);
    whole::replace(&Folder::new(&new), LINK, link.as_bytes()).map_err(|error| write(error.to_string()))?;
    let mut lines = Reader::open_from(&old, opened.last_seq + 1)
        .take_while(|line| line.as_ref().is_ok_and(|line| line.seq <= found.readable_to));
    loop {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES
            && let Some(Ok(line)) = lines.next()
        {
            bytes += line.raw.len();
            let (id, ts_ms, kind, payload) = (line.id, line.ts_ms, line.kind, line.payload);
            batch.push(NewRecord { id, ts_ms, kind, payload });
        }
        let is_last = batch.is_empty();
        let (sender, answer) = std::sync::mpsc::channel();
        log.append(batch, Durability::Synced, move |done| drop(sender.send(done)));
        let done = answer.recv().map_err(|error| write(error.to_string()))?;
        done.map_err(|error| write(error.to_string()))?;
        if is_last {
            let health = log.close();
            let to_seq = health.synced_seq;
            let short = || write(format!("it ends at seq {to_seq}, not {}", found.readable_to));
            return if to_seq == found.readable_to { Ok(Continued { to_seq }) } else { Err(short()) };
        }
    }
}

/// Returns what `link.json` in a session's folder says, one JSON object: `continues` is the key of the damaged session that it
/// began with the lines of. Nothing where it began by itself.
pub fn link_of(folder: &Path) -> Option<String> {
    read_small(&folder.join(LINK))
}

fn read_small(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let file = crate::storage::open_regular(std::fs::OpenOptions::new().read(true), path).ok()?;
    file.take(64 << 10).read_to_string(&mut text).ok()?;
    Some(text)
}
