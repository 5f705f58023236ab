//! The small files beside the events: how many bytes lie here, how many events were lost.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::process::{Resource, getrlimit};

use crate::limits::SPOOL_BYTES;
use crate::paths::own_uid;

const TALLY: &str = "tally";
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_micros(250);

/// Adds `bytes` to the tally if the spool still takes events; false when it is full.
///
/// Looking at every file would take longer than the hook has. Where the tally itself cannot be used (planted link,
/// full disk, its lock held by a stopped process) the event is taken: an event counts more than the bound.
pub(super) fn admit(dir: &Path, bytes: u64) -> bool {
    let Ok(file) = open_locked(dir, TALLY) else { return true };
    let held = held(&file);
    if held >= SPOOL_BYTES {
        return false;
    }
    let _ = set(&file, held.saturating_add(bytes));
    true
}

/// Adds what was appended after admission.
pub(super) fn add(dir: &Path, bytes: u64) {
    if let Ok(file) = open_locked(dir, TALLY) {
        let _ = set(&file, held(&file).saturating_add(bytes));
    }
}

/// Sets the tally to what was counted.
pub(super) fn correct(dir: &Path, bytes: u64) {
    if let Ok(file) = open_locked(dir, TALLY)
        && held(&file) != bytes
    {
        let _ = set(&file, bytes);
    }
}

fn held(file: &File) -> u64 {
    let mut bytes = [0; 8];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => u64::from_le_bytes(bytes),
        Err(_) => 0,
    }
}

fn set(file: &File, bytes: u64) -> io::Result<()> {
    check_size_limit(8)?;
    file.write_all_at(&bytes.to_le_bytes(), 0)
}

/// Opens (or makes) one of the small files and locks it; the lock goes with the file. Never follows a link and never
/// waits for a pipe or for long (case F-111).
pub(super) fn open_locked(dir: &Path, name: &str) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
        .open(dir.join(name))?;
    check_own_file(&file)?;
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// Refuses what is not a regular file of our own.
pub(super) fn check_own_file(file: &File) -> io::Result<u64> {
    let found = file.metadata()?;
    if found.is_file() && found.uid() == own_uid() {
        Ok(found.len())
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "not a regular file of our own"))
    }
}

/// Refuses to make a file longer than the process may: the kernel would answer with a signal (SIGXFSZ) that ends it.
pub(super) fn check_size_limit(len: u64) -> io::Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if len > limit => Err(io::ErrorKind::FileTooLarge.into()),
        _ => Ok(()),
    }
}
