//! The life of the daemon's process as commands see it: who may start it now, whether it is the one this command would
//! start, and its end.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use herdbook_api::v1::Status;
use herdbook_wire::PROTOCOL_VERSION;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use semver::Version;

use crate::error::Problem;

/// How long the daemon may take to write down what it holds.
const END_PATIENCE: Timespec = Timespec { tv_sec: 15, tv_nsec: 0 };
/// How long another `up` or `down` may take: it ends a daemon and starts one.
pub const TURN_PATIENCE: Duration = Duration::from_secs(60);
/// How often a lock that is taken is tried.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// The turn to start and end daemons of one state folder; over when it is dropped. So of two `up` at once the second
/// finds the first one's daemon, and none ends it; an `up` never praises a daemon that a `down` is about to end.
#[derive(Debug)]
pub struct Turn {
    _lock: File,
}

impl Turn {
    /// Waits for the turn.
    ///
    /// # Errors
    /// The lock cannot be made, or somebody else takes too long.
    pub fn take(state: &Path, patience: Duration) -> Result<Turn, Problem> {
        let path = state.join("up.lock");
        let failed = |source| Problem::File { what: "lock", path: path.clone(), source };
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let mut options = OpenOptions::new();
        let lock =
            options.create(true).append(true).mode(0o600).custom_flags(flags).open(&path).map_err(failed)?;
        let end = Instant::now() + patience;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Turn { _lock: lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(TRY_AGAIN),
                Err(TryLockError::WouldBlock) => return Err(failed(io::ErrorKind::TimedOut.into())),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }
}

/// Whether two paths lead to the same state folder.
pub fn is_same_folder(one: &Path, other: &Path) -> bool {
    let place = |path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    one == other || place(one).is_some_and(|one| place(other) == Some(one))
}

/// What a running daemon is to this command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// What this command would start.
    Same,
    /// Something older, to be replaced; the words complete "restarted: …".
    Old(String),
    /// Newer than this command.
    Newer,
}

/// Compares a running daemon with this command: by version, then by the file of the program.
pub fn standing(status: &Status, own_version: &str) -> Standing {
    by_version(&status.version, own_version).unwrap_or_else(|| {
        let theirs = Path::new("/proc").join(status.pid.to_string()).join("exe");
        match is_replaced(&theirs, Path::new("/proc/self/exe")) {
            true => Standing::Old(format!("{own_version}, the program file was replaced")),
            false => Standing::Same,
        }
    })
}

/// Says what to do where daemon and command, and so the hook that lies beside it, are not of one build.
pub fn hint(status: &Status, own_version: &str) -> Option<String> {
    let protocol = match status.protocol {
        PROTOCOL_VERSION => "",
        _ => "; until then hooks go to the spool",
    };
    match standing(status, own_version) {
        Standing::Same => None,
        Standing::Old(change) => Some(format!("`herdbook up` restarts the daemon: {change}{protocol}")),
        Standing::Newer => {
            let version = &status.version;
            Some(format!("update this command: it is {own_version} and the daemon {version}{protocol}"))
        }
    }
}

/// Nothing when both are the same.
fn by_version(theirs: &str, own: &str) -> Option<Standing> {
    if theirs == own {
        return None;
    }
    match (Version::parse(theirs), Version::parse(own)) {
        (Ok(theirs), Ok(own)) if theirs.cmp_precedence(&own).is_gt() => Some(Standing::Newer),
        _ => Some(Standing::Old(format!("{theirs} → {own}"))),
    }
}

/// Whether the program file of a process is gone or older than ours. What cannot be told counts as no.
fn is_replaced(theirs: &Path, own: &Path) -> bool {
    // These links lead to the file itself, also where its name is another file's by now.
    let (Ok(theirs_found), Ok(own_found)) = (fs::metadata(theirs), fs::metadata(own)) else { return false };
    if (theirs_found.dev(), theirs_found.ino()) == (own_found.dev(), own_found.ino()) {
        return false;
    }
    // So the kernel marks a file without a name (proc_pid_exe(5)).
    let is_deleted = fs::read_link(theirs).is_ok_and(|path| path.to_string_lossy().ends_with(" (deleted)"));
    let changed = |found: &fs::Metadata| (found.mtime(), found.mtime_nsec());
    is_deleted || changed(&own_found) > changed(&theirs_found)
}

/// Ends a daemon: SIGTERM, then waits for the end of the process.
///
/// # Errors
/// It cannot be asked to, or goes on.
pub fn end(pid: u32) -> Result<(), Problem> {
    match try_end(pid) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Problem::NotDown { pid, source: None }),
        Err(source) => Err(Problem::NotDown { pid, source: Some(source) }),
    }
}

fn try_end(pid: u32) -> io::Result<bool> {
    let Some(pid) = Pid::from_raw(pid.cast_signed()) else { return Err(io::ErrorKind::InvalidInput.into()) };
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Err(rustix::io::Errno::SRCH) => return Ok(true),
        opened => opened?,
    };
    match pidfd_send_signal(&process, Signal::TERM) {
        Err(rustix::io::Errno::SRCH) => return Ok(true),
        sent => sent?,
    }
    // A process handle becomes readable when its process is over.
    let mut over = [PollFd::new(&process, PollFlags::IN)];
    loop {
        match poll(&mut over, Some(&END_PATIENCE)) {
            Err(rustix::io::Errno::INTR) => {}
            polled => return Ok(polled? > 0),
        }
    }
}

/// Returns the process that holds the lock of the state folder.
pub fn holder(lock: &Path) -> Option<u32> {
    let mut file = File::open(lock).ok()?;
    if file.try_lock_shared().is_ok() {
        return None;
    }
    let mut text = String::new();
    file.by_ref().take(4096).read_to_string(&mut text).ok()?;
    text.lines().find_map(|line| line.strip_prefix("pid ")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let old = |words: &str| Some(Standing::Old(words.to_owned()));
        assert_eq!(by_version("0.1.0", "0.1.0"), None);
        assert_eq!(by_version("0.1.0", "0.2.0"), old("0.1.0 → 0.2.0"));
        assert_eq!(by_version("0.9.0", "0.10.0"), old("0.9.0 → 0.10.0"));
        assert_eq!(by_version("0.10.0", "0.9.0"), Some(Standing::Newer));
        assert_eq!(by_version("0.2.0-rc.1", "0.2.0"), old("0.2.0-rc.1 → 0.2.0"));
        assert_eq!(by_version("", "0.2.0"), old(" → 0.2.0"));
    }

    #[test]
    fn hints_name_who_is_older_and_where_hooks_go() {
        let daemon = |version: &str, protocol| {
            let status =
                Status { version: version.into(), protocol, pid: std::process::id(), ..Status::default() };
            hint(&status, "0.2.0")
        };
        assert_eq!(daemon("0.2.0", PROTOCOL_VERSION), None);
        let old = "`herdbook up` restarts the daemon: 0.1.0 → 0.2.0; until then hooks go to the spool";
        assert_eq!(daemon("0.1.0", PROTOCOL_VERSION - 1).as_deref(), Some(old));
        let new = "update this command: it is 0.2.0 and the daemon 0.3.0";
        assert_eq!(daemon("0.3.0", PROTOCOL_VERSION).as_deref(), Some(new));
    }

    #[test]
    fn a_newer_file_replaces_and_an_older_one_does_not() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        for (name, seconds) in [("old", 1), ("new", 2)] {
            let file = File::create(at(name)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        }
        fs::hard_link(at("old"), at("same")).unwrap();
        assert!(is_replaced(&at("old"), &at("new")));
        assert!(!is_replaced(&at("new"), &at("old")));
        assert!(!is_replaced(&at("same"), &at("old")));
        assert!(!is_replaced(&at("missing"), &at("old")));
    }

    #[test]
    fn a_turn_is_had_by_one_at_a_time() {
        let scratch = tempfile::tempdir().unwrap();
        let first = Turn::take(scratch.path(), Duration::ZERO).unwrap();
        assert!(Turn::take(scratch.path(), Duration::ZERO).is_err());
        drop(first);
        Turn::take(scratch.path(), Duration::ZERO).unwrap();
    }
}
