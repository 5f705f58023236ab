//! A lasting tmux client: all that is asked in one cycle goes out in one write and comes back in one piece, without a
//! new process for each question.
//!
//! It sits in control mode (`tmux -C`), takes no part in the size of windows, gets no output of panes, and does not touch
//! the environment of sessions (`-E`). It only ever lists and captures. It is not marked read-only: where it is the only
//! client, tmux takes it for the sender of what other programs send to a pane in copy mode, and would refuse them. It lasts as long as the session it sits in; then, and after every
//! error, it is dropped and another one attached.
//!
//! It is no human: [`Client::is_human`](crate::Client::is_human) leaves out what is in control mode, so it is neither
//! where somebody looks nor what a jump moves. tmux itself counts it in `session_attached`, which is therefore asked
//! for nothing here. It sits where it is the least in the way (`Tmux::seat`), and never in a session with
//! `destroy-unattached`, which would outlive its human for us.

mod blocks;
mod screens;

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::command::{self, Command, RunError};
use crate::pane::{FieldValue, is_pane_id, parse_panes};
use crate::tmux::{SEPARATOR, Server, Tmux, TmuxError, number, text};
use blocks::{Block, Blocks, Broken};

pub use screens::{ListedPane, PaneScreen};

/// Fields of a pane in a cycle. Free text comes last.
const FIELDS: &[&str] = &[
    "pane_id",
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "pane_in_mode",
    "pane_dead",
    "window_activity",
    "pane_title",
];

/// More than a hundred panes full of wide text; whoever sends more is not believed.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// Why a lasting client gave no answer. None of these says anything about a pane.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// tmux could not be asked at all.
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    /// tmux ended the conversation: its server, or the session the client sat in, is gone.
    #[error("tmux ended the conversation")]
    Closed,
    /// All sessions are destroyed when nobody is in them: a client of ours would keep them.
    #[error("every tmux session is one that ends with its last client")]
    NoSeat,
    /// No answer in time.
    #[error("tmux did not answer within {after_ms} ms")]
    TimedOut {
        /// The limit in milliseconds.
        after_ms: u128,
    },
    /// It cannot be told which answer is whose.
    #[error("tmux answered in a way that cannot be read: {0}")]
    Garbled(String),
    /// Talking to it failed.
    #[error("could not talk to tmux")]
    Io(#[from] io::Error),
}

impl From<RunError> for ControlError {
    fn from(error: RunError) -> Self {
        TmuxError::Run(error).into()
    }
}

/// A pane as a cycle finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneRow {
    /// Pane id.
    pub id: String,
    /// Columns and rows.
    pub size: (u32, u32),
    /// The cursor: column and row from 0.
    pub cursor: (u32, u32),
    /// A human looks through its history, or a menu is open.
    pub in_mode: bool,
    /// Its program has ended and the pane stays.
    pub is_dead: bool,
    /// When something came out of a pane of its window last, Unix seconds.
    pub activity_s: u64,
    /// Title, not cleaned.
    pub title: String,
}

/// All that one cycle found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// All panes of the server, each once.
    pub panes: Vec<PaneRow>,
    /// The visible text of the panes that were asked for, not cleaned; `None`: that one could not be looked at.
    pub screens: Vec<(String, Option<String>)>,
}

/// A lasting client of one server.
#[derive(Debug)]
pub struct Control {
    child: Child,
    server: Server,
    blocks: Blocks,
    timeout: Duration,
    is_over: bool,
}

impl Control {
    /// Attaches a client to a server, in the session where it is the least in the way.
    ///
    /// # Errors
    /// See [`ControlError`]; nothing is left running. [`ControlError::NoSeat`]: there is none to sit in.
    pub fn attach(tmux: &Tmux) -> Result<Control, ControlError> {
        // Looked up before, by a process of its own: that one tells what is wrong with a socket.
        let server = tmux.server()?;
        let session = tmux.seat()?.ok_or(ControlError::NoSeat)?;
        let child = Command::new("tmux")
            .env("LC_ALL", "C.UTF-8")
            .args(["-u", "-S"])
            .arg(tmux.socket())
            .args(["-C", "attach-session", "-E", "-f", "no-output,ignore-size", "-t", &session])
            .start()?;
        let mut control =
            Control { child, server, blocks: Blocks::default(), timeout: tmux.time_limit(), is_over: false };
        let stdout = control.child.stdout.as_ref().map(|pipe| rustix::io::ioctl_fionbio(pipe, true));
        let stdin = control.child.stdin.as_ref().map(|pipe| rustix::io::ioctl_fionbio(pipe, true));
        stdout.transpose().and(stdin.transpose()).map_err(io::Error::from)?;
        let answers = control.ask("display-message -p '#{pid} #{start_time}'\n", 1)?;
        let expected = format!("{} {}\n", control.server.pid, control.server.started_at);
        match answers.first() {
            Some(block) if block.ok && block.text == expected => Ok(control),
            // Another server took the socket in between.
            _ => Err(ControlError::Closed),
        }
    }

    /// The server it sits in.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Lists all panes and captures these, in one write.
    ///
    /// # Errors
    /// See [`ControlError`]. After one, every further call says [`ControlError::Closed`].
    pub fn cycle(&mut self, panes: &[&str]) -> Result<Cycle, ControlError> {
        if let Some(bad) = panes.iter().find(|pane| !is_pane_id(pane)) {
            return Err(TmuxError::BadId((*bad).to_owned()).into());
        }
        let format = FIELDS.iter().map(|field| format!("#{{{field}}}")).collect::<Vec<_>>().join(SEPARATOR);
        let mut commands = format!("list-panes -a -F '{format}'\n");
        for pane in panes {
            commands.push_str("capture-pane -p -t ");
            commands.push_str(pane);
            commands.push('\n');
        }
        let mut answers = self.ask(&commands, panes.len() + 1)?.into_iter();
        let listed = answers.next().filter(|block| block.ok).map(|block| block.text).unwrap_or_default();
        let parsed = parse_panes(FIELDS, SEPARATOR, &listed);
        if parsed.rows.is_empty() {
            // A server without panes does not live, so an empty list is no answer.
            self.is_over = true;
            return Err(ControlError::Garbled("no list of panes".into()));
        }
        let screens = panes
            .iter()
            .zip(answers)
            .map(|(pane, block)| ((*pane).to_owned(), block.ok.then_some(block.text)))
            .collect();
        let mut panes: Vec<PaneRow> = Vec::with_capacity(parsed.rows.len());
        let mut known = std::collections::BTreeSet::new();
        // A pane whose window is linked into several sessions comes once for each.
        panes.extend(parsed.rows.iter().map(pane_row).filter(|pane| known.insert(pane.id.clone())));
        Ok(Cycle { panes, screens })
    }

    /// Takes what tmux says unasked, so that nothing piles up while nothing is asked, and tells whether the client
    /// still sits there. Never waits.
    pub fn is_there(&mut self) -> bool {
        let mut chunk = [0; 4 << 10];
        let mut answers = Vec::new();
        let Some(stdout) = self.child.stdout.as_mut().filter(|_| !self.is_over) else { return false };
        // So much at once; the rest is for the next time.
        for _ in 0..64 {
            match stdout.read(&mut chunk) {
                Ok(read) if read > 0 && self.blocks.take(&chunk[..read], &mut answers).is_ok() => {}
                Err(error) if command::is_later(&error) => return true,
                _ => {
                    self.is_over = true;
                    return false;
                }
            }
        }
        true
    }

    /// Writes commands, one a line, and waits for the answer of each.
    fn ask(&mut self, commands: &str, count: usize) -> Result<Vec<Block>, ControlError> {
        if self.is_over {
            return Err(ControlError::Closed);
        }
        let result = self.talk(commands.as_bytes(), count);
        self.is_over = result.is_err();
        result
    }

    fn talk(&mut self, mut unwritten: &[u8], count: usize) -> Result<Vec<Block>, ControlError> {
        let deadline = Instant::now() + self.timeout;
        let (Some(stdin), Some(stdout)) = (&mut self.child.stdin, &mut self.child.stdout) else {
            return Err(ControlError::Closed);
        };
        let mut answers = Vec::with_capacity(count);
        let mut chunk = vec![0; 64 << 10];
        let mut taken = 0;
        while answers.len() < count {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ControlError::TimedOut { after_ms: self.timeout.as_millis() });
            }
            let writing = (!unwritten.is_empty()).then_some(&*stdin);
            command::wait_for(writing, Some(&*stdout), None::<&std::process::ChildStderr>, None, None, left)?;
            if !unwritten.is_empty() {
                match stdin.write(unwritten) {
                    Ok(written) => unwritten = &unwritten[written..],
                    Err(error) if command::is_later(&error) => {}
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        return Err(ControlError::Closed);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            match stdout.read(&mut chunk) {
                Ok(0) => return Err(ControlError::Closed),
                Ok(read) => {
                    taken += read;
                    if taken > MAX_ANSWER_BYTES {
                        return Err(ControlError::Garbled(format!("more than {MAX_ANSWER_BYTES} bytes")));
                    }
                    self.blocks.take(&chunk[..read], &mut answers).map_err(|broken| match broken {
                        Broken::Exit => ControlError::Closed,
                        Broken::Garbled(row) => ControlError::Garbled(row),
                    })?;
                }
                Err(error) if command::is_later(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if answers.len() > count {
            return Err(ControlError::Garbled("more answers than questions".into()));
        }
        Ok(answers)
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // The end of its input lets a client go; one that hangs is killed. It is ours, and not collected yet.
        drop(self.child.stdin.take());
        command::kill_group(&self.child);
        let _ = self.child.wait();
    }
}

fn pane_row(row: &BTreeMap<String, FieldValue>) -> PaneRow {
    let small = |name: &str| u32::try_from(number(row, name)).unwrap_or(u32::MAX);
    PaneRow {
        id: text(row, "pane_id"),
        size: (small("pane_width"), small("pane_height")),
        cursor: (small("cursor_x"), small("cursor_y")),
        in_mode: number(row, "pane_in_mode") != 0,
        is_dead: number(row, "pane_dead") != 0,
        activity_s: number(row, "window_activity"),
        title: text(row, "pane_title"),
    }
}
