//! Events that could not be kept: counted, so that the daemon can own up to them by a gap record.
//!
//! The number is the length of an empty (sparse) file: it can still grow when the disk is full, and a crash leaves
//! either the old or the new number. The number that was owned up to is kept apart, so nobody ever counts down.

use std::io;
use std::path::Path;

use super::tally::{check_size_limit, open_locked};

const LOST: &str = "lost";
const TOLD: &str = "told";

/// Events lost before they reached the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Lost since the last [`own_up`]; at least 1.
    pub new: u64,
    /// Lost in all: what to hand to [`own_up`].
    pub total: u64,
}

/// Returns what was lost and not yet owned up to.
///
/// Write the gap record first, then call [`own_up`] with `total`: after a crash in between the same total is told once
/// more, so a gap record that carries it is never counted twice, and never forgotten.
///
/// # Errors
/// The numbers cannot be read.
pub fn lost(dir: &Path) -> io::Result<Option<Lost>> {
    let total = length(dir, LOST)?;
    if total == 0 {
        return Ok(None);
    }
    let told = length(dir, TOLD)?;
    // A smaller total than what was told means that somebody removed the file and it began anew.
    let new = total.checked_sub(told).unwrap_or(total);
    Ok((new > 0).then_some(Lost { new, total }))
}

/// Notes that so many lost events are in the journal now.
///
/// # Errors
/// The number cannot be written; the next [`lost`] then tells them again.
pub fn own_up(dir: &Path, total: u64) -> io::Result<()> {
    open_locked(dir, TOLD)?.set_len(total)
}

/// Counts one lost event. Where even that fails nothing can be done from here.
pub(super) fn count_one(dir: &Path) {
    if let Ok(file) = open_locked(dir, LOST)
        && let Ok(found) = file.metadata()
        && check_size_limit(found.len() + 1).is_ok()
    {
        let _ = file.set_len(found.len() + 1);
    }
}

fn length(dir: &Path, name: &str) -> io::Result<u64> {
    match std::fs::symlink_metadata(dir.join(name)) {
        Ok(found) if found.is_file() => Ok(found.len()),
        Ok(_) => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}
