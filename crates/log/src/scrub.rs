//! A session's log without a secret that was found in it later (eventlog 1.7).

use std::io;
use std::path::Path;

use crate::cold::{ClosedLogError, folder_of, take_lock};
use crate::memo::MEMO;
use crate::rewrite::{Change, Rewritten, rewrite_noted};
use crate::segment::segments_of;
use crate::storage::{Storage, read_full, remove_if_there};
use crate::whole;

/// The file that says that a log was scrubbed: what a model saw cannot be told from it exactly any more.
const NOTE: &str = "scrubbed.json";
/// Cut bytes that are larger are not looked through.
const MAX_KEPT_BYTES: u64 = 1 << 30;

/// What a scrub did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// The lines that were changed, and their segments.
    pub lines: Rewritten,
    /// Files with cut or damaged bytes that were changed.
    pub kept: Vec<String>,
}

/// Changes lines of a closed log, and the bytes that were cut off it or kept of damaged segments, and notes that in
/// `scrubbed.json` beside them before the first line is changed. What a writer remembers of the log is forgotten. The log's LOCK is held meanwhile.
///
/// # Errors
/// Somebody writes to it, it is damaged, or the system refuses. What was changed already stays so; do it again.
pub fn scrub(
    folder: &Path,
    now_ms: u64,
    change: &mut Change<'_>,
    change_bytes: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<Scrubbed, ClosedLogError> {
    let _lock = take_lock(folder, now_ms)?;
    let storage = folder_of(folder);
    let in_folder = |error: ClosedLogError| error.in_folder(folder);
    let mut note = || whole::replace(&*storage, NOTE, format!("{{\"scrubbedAt\":{now_ms}}}\n").as_bytes());
    remove_if_there(&*storage, MEMO).map_err(|source| in_folder(source.into()))?;
    let lines = rewrite_noted(&storage, change, &mut note).map_err(in_folder)?;
    remove_copies(&*storage).map_err(|source| in_folder(source.into()))?;
    let kept = scrub_kept(&*storage, change_bytes).map_err(|source| in_folder(source.into()))?;
    Ok(Scrubbed { lines, kept })
}

/// True for the folder of a log that was scrubbed.
pub fn is_scrubbed(folder: &Path) -> bool {
    std::fs::symlink_metadata(folder.join(NOTE)).is_ok()
}

/// Removes compressed copies beside plain files, which were read whole: a copy may have other lines than those.
fn remove_copies(storage: &dyn Storage) -> io::Result<()> {
    let names = storage.list()?;
    for segment in segments_of(&names).into_iter().filter(|segment| names.contains(&segment.file_name())) {
        remove_if_there(storage, &segment.cold_name())?;
    }
    storage.sync_folder()
}

fn scrub_kept(storage: &dyn Storage, change: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> io::Result<Vec<String>> {
    let mut changed = Vec::new();
    for name in storage.list()? {
        // Half a file that a crash left.
        if name.ends_with(".tmp") {
            storage.remove(&name)?;
            continue;
        }
        if !name.contains(".torn-") && !name.contains(".damaged-") {
            continue;
        }
        let file = storage.open(&name, false)?;
        let length = file.length()?;
        if length > MAX_KEPT_BYTES {
            return Err(io::Error::other(format!("{name} has {length} bytes: too many to look through")));
        }
        let mut bytes = vec![0; length as usize];
        let filled = read_full(&*file, &mut bytes, 0)?;
        if let Some(without) = change(&bytes[..filled]) {
            whole::replace(storage, &name, &without)?;
            changed.push(name);
        }
    }
    changed.sort_unstable();
    Ok(changed)
}
