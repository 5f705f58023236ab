//! `herdbook next` for a human who looks elsewhere, while the client really waits.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use herdbook_api::v1::Item;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::herd::Herd;

/// How often the queue is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long tmux may take to show a client.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Jump {
    /// Nobody was ever in the queue.
    NobodyWaited,
    /// It landed in the pane that waits.
    Landed(String),
    /// It did not; in words.
    Wrong(String),
}

/// Waits until somebody is in the queue, then jumps once from a client that looks at another window.
pub fn when_somebody_waits(herd: &Herd, socket: &str, quit: &AtomicBool) -> Jump {
    while !quit.load(Ordering::Relaxed) {
        if let Some(first) = herd.client.queue().ok().and_then(|queue| queue.into_iter().next()) {
            return Stage { herd, socket }.jump(&first).unwrap_or_else(Jump::Wrong);
        }
        thread::sleep(LOOK_AGAIN);
    }
    Jump::NobodyWaited
}

struct Stage<'a> {
    herd: &'a Herd,
    socket: &'a str,
}

/// A terminal with a tmux client on it. It is closed with this value.
struct Seat {
    client: Child,
    _terminal: OwnedFd,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

impl Stage<'_> {
    fn tmux(&self, words: &[&str]) -> Result<String, String> {
        let done = self.herd.command("tmux", &[]).args(["-S", self.socket]).args(words).output();
        let done = done.map_err(|error| format!("tmux: {error}"))?;
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }

    fn jump(&self, entry: &Item) -> Result<Jump, String> {
        let window =
            self.tmux(&["new-window", "-d", "-P", "-F", "#{window_id}", "-t", "dev:", "sleep 60"])?;
        let outcome = self.jump_from(&window, entry);
        self.tmux(&["kill-window", "-t", &window])?;
        outcome
    }

    fn jump_from(&self, window: &str, entry: &Item) -> Result<Jump, String> {
        let (_seat, tty) = self.sit_down()?;
        self.tmux(&["switch-client", "-c", &tty, "-t", window])?;
        let server = format!("{},{},0", self.socket, self.tmux(&["display-message", "-p", "#{pid}"])?);
        let done = self.herd.herdbook(&["next", "--client", &tty], &[("TMUX", &server)])?;
        let at = self.tmux(&["display-message", "-p", "-c", &tty, "#{pane_id}"])?;
        if at == entry.pane_id {
            return Ok(Jump::Landed(at));
        }
        let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).trim().to_owned());
        Ok(Jump::Wrong(format!("in {at}, not {}: {}", entry.pane_id, said.join(" "))))
    }

    /// Attaches a client to the driver's tmux and returns it with its terminal's name.
    fn sit_down(&self) -> Result<(Seat, String), String> {
        let words = |error: io::Error| format!("no terminal for a tmux client: {error}");
        let (ours, theirs) = open_terminal().map_err(words)?;
        // What tmux draws has to be read, or it stops.
        let mut screen = File::from(ours.try_clone().map_err(words)?);
        thread::spawn(move || io::copy(&mut screen, &mut io::sink()));
        let client = self
            .herd
            .command("tmux", &[])
            .args(["-S", self.socket, "attach", "-t", "dev"])
            .stdin(Stdio::from(theirs.try_clone().map_err(words)?))
            .stdout(Stdio::from(theirs.try_clone().map_err(words)?))
            .stderr(Stdio::from(theirs))
            .spawn()
            .map_err(words)?;
        let seat = Seat { client, _terminal: ours };
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let clients = self.tmux(&["list-clients", "-F", "#{client_tty}"])?;
            if let Some(tty) = clients.lines().next().filter(|tty| !tty.is_empty()) {
                return Ok((seat, tty.to_owned()));
            }
            thread::sleep(LOOK_AGAIN);
        }
        Err("tmux took no client".to_owned())
    }
}

fn open_terminal() -> io::Result<(OwnedFd, File)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = PathBuf::from(ptsname(&ours, Vec::new())?.to_string_lossy().into_owned());
    rustix::termios::tcsetwinsize(
        &ours,
        rustix::termios::Winsize { ws_row: 50, ws_col: 150, ws_xpixel: 0, ws_ypixel: 0 },
    )?;
    Ok((ours, OpenOptions::new().read(true).write(true).open(name)?))
}
