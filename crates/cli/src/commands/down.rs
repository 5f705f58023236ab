//! `herdbook down`: the daemon ends.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use herdbook_wire::paths::state_dir;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::Context;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Style};

/// End the daemon; hooks go to the spool until it is up again
#[derive(Debug, clap::Args)]
#[command(visible_alias = "stop")]
pub struct Args {}

/// How long the daemon may take to write down what it holds.
const PATIENCE: Timespec = Timespec { tv_sec: 15, tv_nsec: 0 };

/// Asks the daemon to end and waits until it has.
///
/// # Errors
/// It cannot be asked, or goes on.
pub fn run(context: &mut Context<'_>) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?;
    let pid = match daemon.ask(|client| client.status()) {
        Ok(status) => Some(status.pid),
        // It may hang, or be about to start: then the lock knows it.
        Err(_) => holder(&state_dir(&context.env.places)?.join("LOCK")),
    };
    let Some(pid) = pid else {
        context.printer.say(&Line::new().own("the daemon is not running"));
        return Ok(Exit::Ok);
    };
    if !end(pid).map_err(|source| Problem::NotDown { pid, source: Some(source) })? {
        return Err(Problem::NotDown { pid, source: None });
    }
    context.printer.say(&Line::new().text(&format!("the daemon is down (it was pid {pid})"), Style::Plain));
    Ok(Exit::Ok)
}

/// Sends SIGTERM and waits for the end of the process; false when it goes on.
fn end(pid: u32) -> io::Result<bool> {
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
        match poll(&mut over, Some(&PATIENCE)) {
            Err(rustix::io::Errno::INTR) => {}
            polled => return Ok(polled? > 0),
        }
    }
}

/// Returns the process that holds the lock of the state folder.
fn holder(lock: &Path) -> Option<u32> {
    let mut file = File::open(lock).ok()?;
    if file.try_lock_shared().is_ok() {
        return None;
    }
    let mut text = String::new();
    file.by_ref().take(4096).read_to_string(&mut text).ok()?;
    text.lines().find_map(|line| line.strip_prefix("pid ")?.parse().ok())
}
