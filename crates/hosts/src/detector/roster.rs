//! All watched panes: who is new, who waits, who is gone, as the reference's events.

use std::collections::HashMap;

use herdbook_events::{Detected, NormalizedEvent, PaneProgram, Reason};

use super::rules::Rules;
use super::watch::{Said, Screen, Watch};

/// What stands before a prompt in a message, as in the reference.
const QUIET: &str = "Quiet at prompt: ";

/// A tmux server, told apart from its successors on the same socket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerId {
    /// Path of the socket.
    pub socket: String,
    /// Process id.
    pub pid: u32,
    /// When it started, Unix seconds.
    pub start: u64,
}

impl ServerId {
    fn program(&self, pane: &str, pid: u32) -> PaneProgram {
        PaneProgram {
            socket: self.socket.clone(),
            server_pid: self.pid,
            server_start: self.start,
            pane: pane.to_owned(),
            pid,
        }
    }

    fn has(&self, program: &PaneProgram) -> bool {
        (program.socket.as_str(), program.server_pid, program.server_start)
            == (self.socket.as_str(), self.pid, self.start)
    }
}

/// A pane in the list of its server.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Pane id.
    pub pane: String,
    /// The process that tmux started in it.
    pub pid: u32,
    /// When something came out of a pane of its window last, Unix seconds.
    pub activity_s: u64,
    /// Columns and rows.
    pub size: (u32, u32),
    /// A human looks through its history, or a menu is open.
    pub in_mode: bool,
    /// Its program has ended and the pane stays.
    pub is_dead: bool,
    /// A session with hooks sits in it and speaks for itself.
    pub has_hooks: bool,
    /// Foreground command, where it was asked for.
    pub command: String,
    /// Title.
    pub title: String,
}

impl Row {
    /// Why it is watched; nothing where it is not.
    fn why(&self, rules: &Rules) -> Option<String> {
        rules.watch(&self.title, &self.command).filter(|_| !self.is_dead && !self.has_hooks)
    }

    /// True when the pane is watched.
    pub fn is_watched(&self, rules: &Rules) -> bool {
        self.why(rules).is_some()
    }
}

/// One look at the screen of a pane.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The process in it at that moment.
    pub pid: u32,
    /// It was in a mode at that moment.
    pub in_mode: bool,
    /// Working directory, empty if unknown.
    pub cwd: &'a str,
    /// The screen.
    pub screen: Screen<'a>,
}

/// The two clocks when a look began.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Milliseconds of a clock that never falls.
    pub mono_ms: u64,
    /// Unix milliseconds.
    pub wall_ms: u64,
}

/// All watched panes of all servers.
#[derive(Debug, Default)]
pub struct Roster {
    known: HashMap<PaneProgram, Known>,
    /// The time in the id that was given last: no two are the same, on whatever servers.
    given_ms: u64,
}

#[derive(Debug)]
struct Known {
    session_id: String,
    watch: Watch,
    looked: Option<Looked>,
}

/// The last look at a pane.
#[derive(Clone, Copy, Debug)]
struct Looked {
    activity_s: u64,
    size: (u32, u32),
    /// It was made in a later second than the activity: whatever comes after it shows.
    is_later: bool,
}

impl Roster {
    /// Takes the live sessions of the detector, as they are kept: goes on with those that it does not know (after a
    /// start, or when an event could not be told), and drops those that are over. The last of the three is the message
    /// of its wait, if it waits.
    pub fn resume(&mut self, live: impl IntoIterator<Item = (String, PaneProgram, Option<String>)>) {
        let mut before = std::mem::take(&mut self.known);
        for (session_id, program, waits) in live {
            let known = before.remove(&program).filter(|known| known.session_id == session_id);
            let known = known.unwrap_or_else(|| {
                let prompt = waits.map(|message| message.strip_prefix(QUIET).unwrap_or(&message).to_owned());
                Known { session_id, watch: Watch::resumed(prompt), looked: None }
            });
            self.known.insert(program, known);
        }
    }

    /// Takes the list of all panes of a server. Returns what ended, and which panes are to be looked at now.
    pub fn listed(
        &mut self,
        at: At,
        rules: &Rules,
        server: &ServerId,
        rows: &[Row],
    ) -> (Vec<Detected>, Vec<String>) {
        let mut over = Vec::new();
        for program in self.known.keys().filter(|program| program.socket == server.socket) {
            let pane = &program.pane;
            let row = rows.iter().find(|row| row.pane == *pane);
            let fact = match row {
                _ if !server.has(program) => "the tmux server of pane {} is gone",
                None => "pane {} is closed",
                Some(row) if row.pid != program.pid => "another program runs in pane {}",
                Some(row) if row.is_dead => "the program in pane {} has ended",
                Some(row) if row.has_hooks => "a session with hooks speaks for pane {}",
                Some(row) if !row.is_watched(rules) => {
                    "pane {} is no longer watched: its title and command changed"
                }
                Some(_) => continue,
            };
            over.push((program.clone(), fact.replace("{}", pane)));
        }
        let ended = over.into_iter().filter_map(|(program, fact)| self.end(at, program, fact)).collect();
        let mut wanted = Vec::new();
        for row in rows.iter().filter(|row| row.is_watched(rules)) {
            let known = self.known.get_mut(&server.program(&row.pane, row.pid));
            if row.in_mode {
                known.into_iter().for_each(|known| known.watch.lost_sight());
            } else if known.is_none_or(|known| known.is_wanted(at, rules, row)) {
                wanted.push(row.pane.clone());
            }
        }
        (ended, wanted)
    }

    /// Takes a look at a pane of the list; nothing where it could not be looked at.
    pub fn looked(
        &mut self,
        at: At,
        rules: &Rules,
        server: &ServerId,
        row: &Row,
        look: Option<Look<'_>>,
    ) -> Option<Detected> {
        let program = server.program(&row.pane, row.pid);
        let Some(look) = look.filter(|look| look.pid == row.pid && !look.in_mode) else {
            self.known.get_mut(&program).into_iter().for_each(|known| known.watch.lost_sight());
            return None;
        };
        let (pane, cwd) = (&row.pane, look.cwd);
        let new = if self.known.contains_key(&program) { None } else { row.why(rules) };
        let event = new.map(|why| {
            self.given_ms = at.wall_ms.max(self.given_ms + 1);
            let session_id = format!("tmux-{pane}-{}", self.given_ms);
            let known = Known { session_id: session_id.clone(), watch: Watch::default(), looked: None };
            self.known.insert(program.clone(), known);
            let event = NormalizedEvent::Registered {
                session_id,
                pane_id: pane.clone(),
                cwd: cwd.to_owned(),
                transcript_path: String::new(),
                timestamp: self.given_ms,
            };
            (event, format!("pane {pane} {why}"))
        });
        let known = self.known.get_mut(&program)?;
        known.looked = Some(Looked {
            activity_s: row.activity_s,
            size: look.screen.size,
            is_later: at.wall_ms / 1_000 > row.activity_s,
        });
        let session_id = known.session_id.clone();
        // The first look at a pane tells no more than that it is there.
        let said = known.watch.look(at.mono_ms, rules, &look.screen).map(|said| match said {
            Said::Stuck { prompt } => (
                NormalizedEvent::Stuck {
                    session_id,
                    pane_id: pane.clone(),
                    cwd: cwd.to_owned(),
                    transcript_path: String::new(),
                    reason: Reason::Stopped,
                    message: format!("{QUIET}{prompt}"),
                    timestamp: at.wall_ms,
                },
                format!("pane {pane} was quiet for {} s at a prompt", rules.quiet_ms / 1_000),
            ),
            Said::Unstuck => (
                NormalizedEvent::Unstuck { session_id, timestamp: at.wall_ms },
                format!("pane {pane} shows something else"),
            ),
        });
        let (event, fact) = event.or(said)?;
        Some(Detected { program, event, fact })
    }

    /// The server at this socket could not be asked: that proves nothing.
    pub fn lost_sight(&mut self, socket: &str) {
        let there = self.known.iter_mut().filter(|(program, _)| program.socket == socket);
        there.for_each(|(_, known)| known.watch.lost_sight());
    }

    /// The pids of the servers at this socket whose panes are watched.
    pub fn servers_at(&self, socket: &str) -> Vec<u32> {
        let there = self.known.keys().filter(|program| program.socket == socket);
        there.map(|program| program.server_pid).collect()
    }

    /// The server at this socket is gone for sure, and all that ran in it.
    pub fn server_gone(&mut self, at: At, socket: &str, pid: u32) -> Vec<Detected> {
        let is_there = |program: &&PaneProgram| program.socket == socket && program.server_pid == pid;
        let gone: Vec<PaneProgram> = self.known.keys().filter(is_there).cloned().collect();
        let fact = |pane: &str| format!("the tmux server of pane {pane} is gone");
        gone.into_iter().filter_map(|program| self.end(at, program.clone(), fact(&program.pane))).collect()
    }

    /// Every socket at which panes are watched.
    pub fn sockets(&self) -> Vec<String> {
        self.known.keys().map(|program| program.socket.clone()).collect()
    }

    /// An event of this session could not be told: what is kept of it counts, at the next [`Roster::resume`].
    pub fn forget(&mut self, session_id: &str) {
        self.known.retain(|_, known| known.session_id != session_id);
    }

    fn end(&mut self, at: At, program: PaneProgram, fact: String) -> Option<Detected> {
        let session_id = self.known.remove(&program)?.session_id;
        let event = NormalizedEvent::Ended { session_id, timestamp: at.wall_ms };
        Some(Detected { program, event, fact })
    }
}

impl Known {
    fn is_wanted(&self, at: At, rules: &Rules, row: &Row) -> bool {
        let is_as_it_was = self.looked.is_some_and(|looked| {
            looked.is_later && looked.activity_s == row.activity_s && looked.size == row.size
        });
        !is_as_it_was || self.watch.is_due(at.mono_ms, rules.quiet_ms)
    }
}
