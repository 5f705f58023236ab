//! A session's log without a secret that was found in it later (eventlog 1.7).

use std::io;
use std::path::Path;

use crate::cold::{ClosedLogError, folder_of, open_segment, take_lock};
use crate::memo::MEMO;
use crate::rewrite::{Change, Rewritten, rewrite_noted};
use crate::segment::segments_of;
use crate::source::{LineSource, Next};
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
/// `scrubbed.json` beside them before the first line is changed. What a writer remembers of the log is forgotten.
/// The log's LOCK is held meanwhile.
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

/// True where a line of a log, right or damaged, or bytes that were kept of it, are as asked. Nothing is changed or locked.
///
/// # Errors
/// A file cannot be read.
pub fn has_bytes(folder: &Path, asked: &dyn Fn(&[u8]) -> bool) -> io::Result<bool> {
    let storage = folder_of(folder);
    let names = storage.list()?;
    for segment in segments_of(&names) {
        let mut source = LineSource::new(open_segment(&*storage, segment)?.file);
        loop {
            match source.next() {
                Ok(Next::Line(range)) if asked(source.bytes(range.clone())) => return Ok(true),
                Ok(Next::Line(_) | Next::TooLong) => {}
                Ok(Next::End(range)) if asked(source.bytes(range.clone())) => return Ok(true),
                Ok(Next::End(_)) => break,
                Err(_) if source.skip_fault() => {}
                Err(error) => return Err(error),
            }
        }
    }
    for name in names.iter().filter(|name| is_kept(name)) {
        if asked(&read_kept(&*storage, name)?) {
            return Ok(true);
        }
    }
    Ok(false)
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
        if !is_kept(&name) {
            continue;
        }
        if let Some(without) = change(&read_kept(storage, &name)?) {
            whole::replace(storage, &name, &without)?;
            changed.push(name);
        }
    }
    changed.sort_unstable();
    Ok(changed)
}

/// True for the name of a file with cut or damaged bytes.
fn is_kept(name: &str) -> bool {
    name.contains(".torn-") || name.contains(".damaged-")
}

fn read_kept(storage: &dyn Storage, name: &str) -> io::Result<Vec<u8>> {
    let file = storage.open(name, false)?;
    let length = file.length()?;
    if length > MAX_KEPT_BYTES {
        return Err(io::Error::other(format!("{name} has {length} bytes: too many to look through")));
    }
    let mut bytes = vec![0; length as usize];
    let filled = read_full(&*file, &mut bytes, 0)?;
    bytes.truncate(filled);
    Ok(bytes)
}
