//! Room on the disk that is kept for the end: a file of 16 MiB. A daemon that stops on a full disk lets go of it, so that what
//! waits in its memory is written before it ends (eventlog 1.3).

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

use crate::own_file;

const BYTES: u64 = 16 << 20;

/// The file, there or not.
pub(crate) struct Reserve {
    path: PathBuf,
}

impl Reserve {
    /// Makes the file in the state folder, unless it would take half of what is free there. Where it cannot be had there is
    /// none: nothing but a stop on a full disk misses it.
    pub(crate) fn make(state_dir: &Path) -> Reserve {
        let reserve = Reserve { path: state_dir.join("reserve") };
        if reserve.fill().is_err() {
            reserve.let_go();
        }
        reserve
    }

    fn fill(&self) -> io::Result<()> {
        let file = own_file::open(OpenOptions::new().write(true).create(true), &self.path)?;
        if file.metadata()?.blocks() * 512 >= BYTES {
            return Ok(());
        }
        if self.free()? < 2 * BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(fallocate(&file, FallocateFlags::empty(), 0, BYTES)?)
    }

    /// How many bytes this user may still write there.
    fn free(&self) -> io::Result<u64> {
        let found = statvfs(self.path.parent().unwrap_or(&self.path))?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// For a daemon that stops: gives the room to what is to be written yet, if something waits for room, or there is
    /// less than that on the disk. True where it did.
    pub(crate) fn open_up(&self, is_waited_for: bool) -> bool {
        let is_full = is_waited_for || self.free().is_ok_and(|free| free < BYTES);
        if is_full {
            self.let_go();
        }
        is_full
    }

    fn let_go(&self) {
        // What is not there, or cannot be removed, gives no room.
        drop(fs::remove_file(&self.path));
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test's own files")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn it_is_room_that_is_really_taken_and_stays_until_something_waits_for_room() {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join("reserve");
        let reserve = Reserve::make(state.path());
        let Ok(found) = fs::metadata(&path) else {
            println!(
                "skipped: it_is_room_that_is_really_taken_and_stays_until_something_waits_for_room: no room on this disk, \
                 or none that can be reserved"
            );
            return;
        };
        assert_eq!((found.mode() & 0o777, found.len()), (0o600, 16 << 20));
        assert!(found.blocks() * 512 >= 16 << 20);
        assert!(!reserve.open_up(false));
        assert!(path.exists());
        assert!(reserve.open_up(true));
        assert!(!path.exists());
        // Half a file of a start that was killed is filled.
        fs::write(&path, b"half").unwrap();
        Reserve::make(state.path());
        assert_eq!(fs::metadata(&path).unwrap().len(), 16 << 20);
    }

    #[test]
    fn what_a_link_in_its_place_leads_to_is_not_touched() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join("theirs"), "theirs").unwrap();
        symlink(state.path().join("theirs"), state.path().join("reserve")).unwrap();
        Reserve::make(state.path());
        assert_eq!(fs::read_to_string(state.path().join("theirs")).unwrap(), "theirs");
    }
}
