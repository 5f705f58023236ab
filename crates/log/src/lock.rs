//! One writer per store: the LOCK file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use crate::storage::open_regular;

/// Who holds a lock, as that process wrote it down. The lock itself is the kernel's: it ends with the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockOwner {
    /// Its process id.
    pub pid: u32,
    /// The boot in which it runs, as the kernel names it.
    pub boot: String,
    /// When the process started, in clock ticks since boot; with `pid` and `boot` it names one process for good.
    pub start: u64,
    /// Unix milliseconds at which it took the lock.
    pub since_ms: u64,
}

pub(crate) enum LockError {
    Held(Option<LockOwner>),
    Io(io::Error),
}

/// Takes the lock for this process. It is given back when the file is dropped.
pub(crate) fn take(path: &Path, now_ms: u64) -> Result<File, LockError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = loop {
        let file = open_regular(&mut options, path).map_err(LockError::Io)?;
        refuse_network(&file).map_err(LockError::Io)?;
        take_from_whoever_is_gone(&file, path)?;
        // The log may have been deleted between the two: the lock of a file that nobody finds keeps nobody out.
        if is_at(&file, path) {
            break file;
        }
    };
    let owner = LockOwner {
        pid: std::process::id(),
        boot: boot_id(),
        start: start_of("self").unwrap_or_default(),
        since_ms: now_ms,
    };
    let text = format!(
        "pid {}\nboot {}\nstart {}\nsince_ms {}\n",
        owner.pid, owner.boot, owner.start, owner.since_ms
    );
    let written = file.rewind().and_then(|()| file.set_len(0)).and_then(|()| file.write_all(text.as_bytes()));
    // Whoever holds the lock is the writer even if a full disk keeps its name from being written down.
    drop(written);
    Ok(file)
}

/// True where a path leads to this open file.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// How often a lock is tried that is held although nobody who lives says so.
const TRIES: u32 = 100;

/// Takes the lock of an open file. A program that a killed holder was about to start has the lock for a moment longer,
/// until it runs: that is waited out.
fn take_from_whoever_is_gone(file: &File, path: &Path) -> Result<(), LockError> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
            Err(TryLockError::WouldBlock) => match read_owner(path) {
                Some(owner) if lives(&owner) => return Err(LockError::Held(Some(owner))),
                _ => std::thread::sleep(Duration::from_millis(5)),
            },
        }
    }
    Err(LockError::Held(read_owner(path)))
}

fn lives(owner: &LockOwner) -> bool {
    owner.boot == boot_id() && start_of(&owner.pid.to_string()) == Some(owner.start)
}

fn read_owner(path: &Path) -> Option<LockOwner> {
    let mut text = String::new();
    open_regular(OpenOptions::new().read(true), path).ok()?.take(4096).read_to_string(&mut text).ok()?;
    let mut owner = LockOwner::default();
    for line in text.lines() {
        match line.split_once(' ')? {
            ("pid", pid) => owner.pid = pid.parse().ok()?,
            ("boot", boot) => owner.boot = boot.to_owned(),
            ("start", start) => owner.start = start.parse().ok()?,
            ("since_ms", since) => owner.since_ms = since.parse().ok()?,
            _ => {}
        }
    }
    (owner.pid > 0).then_some(owner)
}

fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// Field 22 of `/proc/PID/stat` (proc(5)), counted from the end of the command name, which may hold anything.
fn start_of(process: &str) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Locks of network file systems do not always reach the other machine (eventlog 1.5).
fn refuse_network(file: &File) -> io::Result<()> {
    const NFS: u32 = 0x6969;
    const SMB: u32 = 0x517B;
    const SMB2: u32 = 0xFE53_4D42;
    const CIFS: u32 = 0xFF53_4D42;
    let kind = rustix::fs::fstatfs(file)?.f_type as u32;
    if [NFS, SMB, SMB2, CIFS].contains(&kind) {
        return Err(io::Error::other("it lies on a network file system, where a lock does not hold"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lock file that a process which is gone wrote, still held through another handle.
    fn left_behind(path: &Path) -> File {
        let text = format!("pid 4194303\nboot {}\nstart 1\nsince_ms 1\n", boot_id());
        let mut file = File::create_new(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.try_lock().unwrap();
        file
    }

    #[test]
    fn a_lock_that_a_killed_process_leaves_to_its_child_is_waited_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let held = left_behind(&path);
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| take(&path, 5).map_err(|_| "held"));
            drop(held);
            assert!(taking.join().unwrap().is_ok());
        });
        assert_eq!(read_owner(&path).unwrap().pid, std::process::id());
    }

    #[test]
    fn a_lock_of_a_deleted_log_is_not_one_of_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let held = left_behind(&path);
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| take(&path, 5).map_err(|_| "held"));
            std::fs::rename(&path, folder.path().join("deleted")).unwrap();
            assert!(!is_at(&held, &path));
            drop(held);
            // Whichever of the two it opened, it has the one that everybody finds.
            let taken = taking.join().unwrap().unwrap();
            assert!(is_at(&taken, &path));
        });
    }

    #[test]
    fn a_lock_whose_holder_lives_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let _held = take(&path, 7).map_err(|_| "held").unwrap();
        match take(&path, 8) {
            Err(LockError::Held(Some(owner))) => {
                assert_eq!((owner.pid, owner.since_ms), (std::process::id(), 7));
            }
            _ => panic!("a second lock was given"),
        }
    }
}
