//! Observations: what one event says about who waits, in words that know no host.
//!
//! A host's folder in `hosts` makes them from canonical events; `attention` folds them.

use serde::{Deserialize, Serialize};

use crate::ids::SessionKey;
use crate::normalized::Reason;
use crate::origin::{Process, Terminal};

/// What a session needs the human for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// The turn is over.
    TurnEnd,
    /// An error ended the turn.
    Error,
    /// The human interrupted the turn.
    Interrupted,
    /// A tool use needs a yes.
    Permission,
    /// The agent asked a question.
    Question,
    /// A plan wants approval.
    Plan,
    /// A tool's server asks for input.
    Elicitation,
    /// Some dialog, not known which.
    Dialog,
}

impl WaitKind {
    /// Returns the reference's reason for this kind (overview section 4).
    pub fn reason(self) -> Reason {
        match self {
            WaitKind::TurnEnd | WaitKind::Error | WaitKind::Interrupted => Reason::Stopped,
            _ => Reason::Permission,
        }
    }

    /// Returns the word for listings and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            WaitKind::TurnEnd => "turn_end",
            WaitKind::Error => "error",
            WaitKind::Interrupted => "interrupted",
            WaitKind::Permission => "permission",
            WaitKind::Question => "question",
            WaitKind::Plan => "plan",
            WaitKind::Elicitation => "elicitation",
            WaitKind::Dialog => "dialog",
        }
    }
}

/// A tool use as far as an event tells: the id where the host gives one, and what it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUse {
    /// The host's tool use id.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// Text that is equal for the request and the call of one tool use (the command, or the canonical input).
    pub fingerprint: String,
    /// Starts a subagent of the same session.
    pub starts_agent: bool,
}

/// One fact about waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A session started or was resumed. `replaces` is true when the same process dropped its former session (clear).
    SessionStarted {
        /// The start follows a `/clear`-like command in the same process.
        replaces: bool,
        /// A start inside a running turn (compaction): says nothing about waiting.
        inside_turn: bool,
    },
    /// The session is over.
    SessionEnded,
    /// A prompt went in. `human` is false for the host's own prompts (task notifications, subagent tasks).
    PromptSubmitted {
        /// A human wrote it.
        human: bool,
    },
    /// A tool use is about to start.
    ToolStarting(ToolUse),
    /// A tool use is over (completed, failed or denied).
    ToolOver(ToolUse),
    /// All tool uses of one batch are over.
    BatchOver,
    /// The host asks the human about a tool use.
    Asked {
        /// What for.
        kind: WaitKind,
        /// The tool use.
        tool: ToolUse,
        /// Text for the human.
        message: String,
        /// The host's own request says so; where a host sends those, a reminder opens nothing by itself.
        by_request: bool,
    },
    /// As [`Signal::Asked`], from a host that gives each request an id and names it in the answer.
    Requested {
        /// The host's id of the request.
        request: String,
        /// What for.
        kind: WaitKind,
        /// The tool use.
        tool: ToolUse,
        /// Text for the human.
        message: String,
    },
    /// The human answered the request of that id, whatever the answer is.
    Replied {
        /// The host's id of the request.
        request: String,
    },
    /// The session runs a subagent of another session: what it says counts for that one (case F-014).
    ChildOf {
        /// The session that started it, which may be a subagent's itself.
        parent: SessionKey,
    },
    /// A tool's server asks for input (no tool use id).
    ElicitationOpened {
        /// Ties the answer to the request where the host gives an id.
        id: Option<String>,
        /// Text for the human.
        message: String,
    },
    /// The input a tool's server asked for was given or refused.
    ElicitationClosed {
        /// Ties the answer to the request where the host gives an id.
        id: Option<String>,
    },
    /// A late, weak signal that the human is needed (notification). Confirms, or opens when nothing better is known.
    Reminder {
        /// What for.
        kind: WaitKind,
        /// Text for the human.
        message: String,
    },
    /// The turn is over.
    TurnEnded {
        /// How: [`WaitKind::TurnEnd`], [`WaitKind::Error`] or [`WaitKind::Interrupted`].
        kind: WaitKind,
        /// Text for the human.
        message: String,
        /// Work that goes on in the background and will wake the agent.
        background: bool,
        /// Certainly the main agent's: the host build tells a subagent's end apart (case F-045).
        main_for_sure: bool,
        /// Nobody is told (the human pressed the key himself).
        quiet: bool,
    },
    /// A subagent started.
    AgentStarted {
        /// Its id.
        id: String,
    },
    /// A subagent is over.
    AgentStopped {
        /// Its id.
        id: Option<String>,
    },
    /// The session is alive; says nothing about waiting.
    Alive,
}

/// One fact about one session, from one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The session.
    pub session: SessionKey,
    /// Its host (`claude`, …).
    pub host: String,
    /// The subagent it is about, none for the main agent.
    pub agent: Option<String>,
    /// The fact.
    pub signal: Signal,
    /// What else the event tells about the session.
    pub facts: Facts,
}

/// Facts that ride along with an observation. Absent means: this event does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Working directory.
    pub cwd: Option<String>,
    /// Transcript path.
    pub transcript_path: Option<String>,
    /// The folder below which the host keeps its transcripts (overview D13).
    pub transcript_root: Option<String>,
    /// The pane the agent runs in.
    pub pane: Option<PaneRef>,
    /// The pane is only a hint (a shared server may report another one's, overview D11).
    pub pane_uncertain: bool,
    /// The agent's process.
    pub process: Option<Process>,
    /// The agent's terminal.
    pub terminal: Terminal,
    /// A human sits at it: yes, no, or not said.
    pub attended: Option<bool>,
    /// Permission questions are answered without a human (bypass modes).
    pub asks_nobody: Option<bool>,
    /// The machine, where it is not this one.
    pub machine: Option<String>,
}

/// Where an agent that runs in a terminal sits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its host.
    pub host: String,
    /// Its processes, without its tools.
    pub processes: Vec<Process>,
    /// The pane, if it is in one that is proven.
    pub pane: Option<PaneRef>,
}

impl Seat {
    /// True when that process is one of the agent's. One whose start is not known is told by its pid alone.
    pub fn has(&self, process: Process) -> bool {
        self.processes
            .iter()
            .any(|own| own.pid == process.pid && (own.start == process.start || process.start.is_none()))
    }
}

/// A tmux pane: ids like `%3` are per server, so the server's socket and pid belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PaneRef {
    /// Path of the server's socket, empty if not known.
    pub socket: String,
    /// Pid of the server.
    pub server_pid: Option<u32>,
    /// Pane id, for example `%3`.
    pub pane: String,
}
