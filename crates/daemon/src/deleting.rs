//! Sessions that are deleted: whole, with those they started, and each told in `retention.jsonl`.

use std::fs;
use std::io;
use std::path::Path;

use herdbook_log::{ClosedLogError, Glance, glance, take_lock};

use crate::families::Seen;
use crate::retention::{Entry, SESSIONS, is_held, note};

/// Where sessions lie while they are deleted: among the others, since these may lie on a disk of their own.
const DELETED: &str = ".deleted";

/// Deletes sessions that belong together, whose LOCKs it holds meanwhile: none of them where somebody writes to one, or did
/// since they were looked at. Each leaves its place at once, so nobody reads half of it.
pub(crate) fn delete(
    state_dir: &Path,
    members: &[&Seen],
    session_days: u64,
    now_ms: u64,
    gone: &mut dyn FnMut(&Seen),
) -> Result<(), ClosedLogError> {
    let mut locks = Vec::new();
    for member in members {
        match take_lock(&member.folder, now_ms) {
            Err(ClosedLogError::Open { .. }) => return Ok(()),
            lock => locks.push(lock?),
        }
    }
    for Seen { folder, glance: before } in members {
        let now = glance(folder).map_err(|source| ClosedLogError::Io { path: folder.clone(), source })?;
        // It is we who have it open.
        if (Glance { is_open: false, ..now }) != *before || is_held(folder) {
            return Ok(());
        }
    }
    for member in members {
        remove(state_dir, member, session_days, now_ms)
            .map_err(|source| ClosedLogError::Io { path: member.folder.clone(), source })?;
        gone(member);
    }
    Ok(())
}

/// Deletes a session. It leaves its place before that is told: what could not leave is not told to be deleted.
fn remove(state_dir: &Path, seen: &Seen, session_days: u64, now_ms: u64) -> io::Result<()> {
    let Some((parent, name)) = seen.folder.parent().zip(seen.folder.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let to = parent.join(DELETED).join(name);
    fs::create_dir_all(parent.join(DELETED))?;
    fs::rename(&seen.folder, &to)?;
    fs::File::open(parent)?.sync_all()?;
    if let Err(error) = note_deleted(state_dir, &to, &seen.glance, session_days, now_ms) {
        fs::rename(&to, &seen.folder)?;
        return Err(error);
    }
    fs::remove_dir_all(&to)
}

fn note_deleted(
    state_dir: &Path,
    folder: &Path,
    glance: &Glance,
    session_days: u64,
    now_ms: u64,
) -> io::Result<()> {
    let folder = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let entry = Entry::Deleted {
        at: now_ms,
        session: glance.session_id.as_deref(),
        folder: &folder,
        last_seq: glance.last_seq,
        last_ts: glance.last_ts_ms,
        bytes: glance.bytes,
        session_days,
    };
    note(state_dir, &entry)
}

/// Deletes what a crash left half deleted, and returns what did not work. Whether it was told already is not known: rather
/// twice than never.
pub(crate) fn finish(state_dir: &Path, session_days: u64, now_ms: u64) -> Vec<String> {
    let mut failed = Vec::new();
    let deleted = state_dir.join(SESSIONS).join(DELETED);
    for left in fs::read_dir(deleted).into_iter().flatten().flatten() {
        let left = left.path();
        let told = match glance(&left) {
            Ok(found) if found.last_seq > 0 => note_deleted(state_dir, &left, &found, session_days, now_ms),
            _ => Ok(()),
        };
        if let Err(error) = told.and_then(|()| fs::remove_dir_all(&left)) {
            failed.push(format!("{}: {error}", left.display()));
        }
    }
    failed
}
