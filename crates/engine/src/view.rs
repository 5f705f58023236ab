//! What the engine shows of its state: plain values for listings, the API and the conformance runner.

use std::path::PathBuf;

use herdbook_events::observation::PaneRef;
use herdbook_events::origin::Terminal;
use herdbook_events::{PaneProgram, Process, SessionKey, WaitKind};
use serde::Serialize;

/// State of a session (overview section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Known, no turn yet.
    Registered,
    /// In a turn.
    Working,
    /// Waits for the human.
    Stuck,
    /// Over.
    Ended,
    /// Cannot be told.
    Unknown,
}

/// One piece of evidence for a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Journal id of the record.
    pub id: String,
    /// Where it came from: `hook`, `posted`, `detector`, `human`, `process`, `timer`, ….
    pub source: String,
    /// What it said, in words.
    pub fact: String,
    /// Unix milliseconds.
    pub at_ms: u64,
}

/// A transcript whose news can move a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptFile {
    /// The session.
    pub session: SessionKey,
    /// Its host.
    pub host: String,
    /// The host's own id of it.
    pub native_id: String,
    /// The file, as the host names it: foreign text.
    pub path: PathBuf,
    /// The folder below which it must lie.
    pub root: PathBuf,
    /// It is the file of a subagent that waits: all it can tell is that its tool uses were answered.
    pub of_child: bool,
}

/// A pane that may tell what no hook does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedPane {
    /// The pane; its socket is known.
    pub pane: PaneRef,
    /// Host of the agent in it.
    pub host: String,
    /// The session waits for the human now.
    pub waits: bool,
    /// It may change at any moment: to be looked at often.
    pub soon: bool,
    /// Only the pane tells of this agent: if it is gone, nobody else says so.
    pub found: bool,
}

/// A live session that the detector told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedSession {
    /// Its id, `tmux-{paneId}-{ms}`.
    pub session_id: String,
    /// The program.
    pub program: PaneProgram,
    /// The message of its wait, if it waits, be it that the human settled it.
    pub waits: Option<String>,
}

/// One session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionView {
    /// Key.
    pub key: SessionKey,
    /// Host; `posted` or `detected` where none is known.
    pub host: String,
    /// Native session id.
    pub native_id: String,
    /// State.
    pub state: State,
    /// Kind of the wait it shows, when stuck.
    pub kind: Option<WaitKind>,
    /// In state since, Unix milliseconds.
    pub since_ms: u64,
    /// What it waits for; empty when it does not.
    pub message: String,
    /// Working directory.
    pub cwd: String,
    /// Transcript path.
    pub transcript_path: String,
    /// Pane, if known.
    pub pane: Option<PaneRef>,
    /// The pane is a hint only.
    pub pane_uncertain: bool,
    /// No human sits at it: listed, never queued.
    pub headless: bool,
    /// Its pane was closed and its agent lives on: listed, not queued.
    pub detached: bool,
    /// The machine it runs on, where it is not this one.
    pub machine: Option<String>,
    /// Dropped out of the queue for age.
    pub stale: bool,
    /// Live subagents.
    pub children: usize,
    /// Open permission-like waits.
    pub pending: usize,
    /// Canonical prompt events counted.
    pub turns: u64,
    /// Canonical tool/before events counted.
    pub tools: u64,
    /// Closed waits that lasted beyond the grace period.
    pub waits: u64,
    /// The posted session that is the same as this one, and hidden behind it.
    pub linked: Option<SessionKey>,
    /// The session whose conversation it goes on with (case F-037).
    pub resumed_from: Option<SessionKey>,
    /// Why it is in this state, oldest first.
    pub evidence: Vec<Evidence>,
    /// When the engine looks again by itself, Unix milliseconds, and why.
    pub looks_again: Option<(u64, String)>,
}

/// A session, and what a person may ask about its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhyView {
    /// The session, with its evidence.
    pub session: SessionView,
    /// What came in since it is in this state and did not count, oldest first.
    pub ruled_out: Vec<RuledOut>,
    /// What would change it, by source.
    pub would_change: Vec<FromSource>,
    /// Sources that cannot tell of it now, and why not.
    pub not_looked_at: Vec<FromSource>,
}

/// A fact that did not move a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuledOut {
    /// Journal id; none where the journal does not hold it since it changed nothing. Such a note ends with the run.
    pub id: Option<String>,
    /// Where it came from, as [`Evidence::source`].
    pub source: String,
    /// What it said, in words.
    pub fact: String,
    /// Why it did not count.
    pub reason: String,
    /// When the last one came in, Unix milliseconds.
    pub at_ms: u64,
    /// How many of that source and reason came in.
    pub times: u32,
}

/// What is said of one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FromSource {
    /// `hook`, `posted`, `detector`, `status`, `transcript`, `pane`, `process` or `you`.
    pub source: String,
    /// In words.
    pub words: String,
}

/// One open wait; a session may have several at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitView {
    /// Journal id of the record that opened it.
    pub id: String,
    /// Session.
    pub session: SessionKey,
    /// Host.
    pub host: String,
    /// Kind of wait.
    pub kind: WaitKind,
    /// The subagent that waits, none for the main agent.
    pub agent: Option<String>,
    /// The tool that it is about.
    pub tool: Option<String>,
    /// Text for the human.
    pub message: String,
    /// Since when, Unix milliseconds.
    pub since_ms: u64,
}

/// One entry of the queue, in queue order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueEntry {
    /// Entry id: stays with the wait, not the session.
    pub id: String,
    /// Session.
    pub session: SessionKey,
    /// Host.
    pub host: String,
    /// Kind of wait.
    pub kind: WaitKind,
    /// Since when, Unix milliseconds (the order value for posted ones).
    pub stuck_at_ms: u64,
    /// Position, from 0.
    pub order: usize,
    /// In cooldown until, Unix milliseconds.
    pub skip_cooldown_until_ms: Option<u64>,
    /// Kept at the front.
    pub pinned: bool,
    /// Text for the human.
    pub message: String,
    /// Working directory.
    pub cwd: String,
    /// Pane id as the reference shows it; the synthetic one for posted sessions, empty if unknown.
    pub pane_id: String,
    /// Pane to jump to.
    pub pane: Option<PaneRef>,
    /// The machine that the pane is on, where it is not this one.
    pub machine: Option<String>,
    /// The pane is a hint only.
    pub pane_uncertain: bool,
}

/// A session whose host may know what no hook told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubted {
    /// The session.
    pub session: SessionKey,
    /// The host's own id of it.
    pub native_id: String,
    /// Its agent's process.
    pub process: Process,
    /// The folder below which its host keeps transcripts.
    pub root: PathBuf,
    /// When it moved last, on the fold's clock.
    pub moved_ms: u64,
}

/// What the hooks of a session told of its agent's place on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Host.
    pub host: String,
    /// The agent's process; after a single hook it may be a shell that is gone by now.
    pub process: Option<Process>,
    /// The agent's terminal.
    pub terminal: Terminal,
    /// Pane, as the hooks named it.
    pub pane: Option<PaneRef>,
    /// Working directory.
    pub cwd: String,
    /// The session is not over.
    pub is_live: bool,
}
