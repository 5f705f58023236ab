//! The daemon of a check.

use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use herdbook_wire::spool;

use crate::real::answer::fetch;
use crate::real::process;
use crate::real::scratch::Scratch;
use crate::real::tools::Tools;

const START_LIMIT: Duration = Duration::from_secs(15);
const STOP_LIMIT: Duration = Duration::from_secs(10);
const DRAIN_LIMIT: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A daemon that the runner started. It is stopped on drop.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
}

impl Daemon {
    /// Starts a daemon and waits until it answers on its socket and its port.
    ///
    /// # Errors
    /// It could not be started, ended, or did not answer in time; with the last line it wrote.
    pub fn start(tools: &Tools, scratch: &Scratch, env: &[(String, String)]) -> Result<Daemon, String> {
        let log = scratch.own_file("daemon.log");
        let open = || File::options().create(true).append(true).open(&log);
        let with_log = |mut command: std::process::Command| -> io::Result<Child> {
            command.stdout(open()?).stderr(open()?).current_dir(scratch.dir());
            command.arg("daemon").spawn()
        };
        let child = with_log(process::command(&tools.herdbook, env))
            .map_err(|error| format!("{} could not be started: {error}", tools.herdbook.display()))?;
        let mut daemon = Daemon { child };
        let deadline = Instant::now() + START_LIMIT;
        while !daemon.answers(scratch) {
            let last_line = || {
                let text = fs::read_to_string(&log).unwrap_or_default();
                text.lines().last().unwrap_or("it wrote nothing").to_owned()
            };
            if let Ok(Some(status)) = daemon.child.try_wait() {
                return Err(format!(
                    "the daemon ended with {}: {}",
                    process::exit_number(status),
                    last_line()
                ));
            }
            if Instant::now() > deadline {
                return Err(format!("the daemon does not answer: {}", last_line()));
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(daemon)
    }

    /// Ends it at once, as a crash would.
    ///
    /// # Errors
    /// It could not be killed.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(|_| ())
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// It runs, and answers on its port.
    pub fn is_alive(&mut self, scratch: &Scratch) -> bool {
        matches!(self.child.try_wait(), Ok(None))
            && fetch(scratch.port(), "/status").is_some_and(|answer| answer.status == 200)
    }

    fn answers(&self, scratch: &Scratch) -> bool {
        UnixStream::connect(scratch.socket()).is_ok()
            && fetch(scratch.port(), "/status").is_some_and(|answer| answer.status == 200)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        process::stop(&mut self.child, STOP_LIMIT);
    }
}

/// Waits until nothing lies in the spool. The hook is acknowledged when its event is in the journal, so then all is
/// there. Returns false when something stays.
pub fn drained(scratch: &Scratch) -> bool {
    let dir = scratch.state().join("spool");
    let deadline = Instant::now() + DRAIN_LIMIT;
    loop {
        if !dir.is_dir() || spool::count(&dir).is_ok_and(|count| count == 0) {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(LOOK_EVERY);
    }
}
