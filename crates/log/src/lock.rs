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

/// A lock that this process has. It is given back when this is dropped, also where a program that is just being started
/// has the file too, until it runs.
#[derive(Debug)]
pub struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file gives it back as well, a moment later perhaps.
        drop(self.0.unlock());
    }
}

/// Takes the lock for this process.
pub(crate) fn take(path: &Path, now_ms: u64) -> Result<Lock, LockError> {
    let mut file = take_file(path)?;
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
    Ok(Lock(file))
}

/// Locks the file that has this name. Whoever held it may have moved it away with its folder, to delete both: the lock of
/// a file that nobody finds keeps nobody out.
fn take_file(path: &Path) -> Result<File, LockError> {
    for _ in 0..TRIES {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = open_regular(&mut options, path).map_err(LockError::Io)?;
        refuse_network(&file).map_err(LockError::Io)?;
        take_from_whoever_is_gone(&file, path)?;
        let (ours, named) = (file.metadata().map_err(LockError::Io)?, std::fs::symlink_metadata(path));
        if named.is_ok_and(|named| (named.dev(), named.ino()) == (ours.dev(), ours.ino())) {
            return Ok(file);
        }
    }
    Err(LockError::Held(read_owner(path)))
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

/// Field 22 of `/proc/PID/stat` (proc(5)), counted from the end of the command name, which may hold anything. Nothing
/// where the process is dead, and its parent has not taken notice yet.
fn start_of(process: &str) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    fields.nth(18).filter(|_| !is_dead)?.parse().ok()
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

    /// How many open files of this process have this path.
    fn handles_of(path: &Path) -> usize {
        let handles = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        handles.filter(|handle| std::fs::read_link(handle.path()).is_ok_and(|to| to == path)).count()
    }

    /// Waits until a thread has the lock file open that another handle holds, or is done with it.
    fn until_it_tries<T>(path: &Path, taking: &std::thread::ScopedJoinHandle<'_, T>) {
        while handles_of(path) < 2 && !taking.is_finished() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_lock_that_a_killed_process_leaves_to_its_child_is_waited_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let held = left_behind(&path);
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| take(&path, 5).map_err(|_| "held"));
            until_it_tries(&path, &taking);
            drop(held);
            assert!(taking.join().unwrap().is_ok());
        });
        assert_eq!(read_owner(&path).unwrap().pid, std::process::id());
    }

    #[test]
    fn a_lock_is_given_back_although_a_child_has_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let held = take(&path, 5).map_err(|_| "held").unwrap();
        let of_child = held.0.try_clone().unwrap();
        drop(held);
        assert!(take(&path, 6).is_ok());
        drop(of_child);
    }

    #[test]
    fn the_lock_of_a_file_that_was_moved_away_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let deleter = left_behind(&path);
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| take(&path, 5).map_err(|_| "held"));
            // It waits for a file that goes away, as the whole folder does when a session is deleted.
            until_it_tries(&path, &taking);
            std::fs::rename(&path, folder.path().join("moved")).unwrap();
            drop(deleter);
            let taken = taking.join().unwrap().unwrap();
            let ours = taken.0.metadata().unwrap().ino();
            assert_eq!(std::fs::symlink_metadata(&path).unwrap().ino(), ours);
        });
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a child that is killed and not waited for")]
    fn a_killed_process_whose_parent_has_not_noticed_is_dead() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let pid = child.id().to_string();
        assert!(start_of(&pid).is_some());
        child.kill().unwrap();
        let start = std::time::Instant::now();
        while start_of(&pid).is_some() {
            assert!(start.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
        assert!(std::fs::metadata(format!("/proc/{pid}")).is_ok());
        child.wait().unwrap();
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
