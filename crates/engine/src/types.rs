//! What goes into the engine and what comes out.

use herdbook_events::observation::Seat;
use herdbook_events::{Detected, NormalizedEvent, Origin, PaneSeen, PostedStatus, Process, SessionKey, Told};

use crate::record::Record;

/// Settings of the engine; defaults are the product's.
#[derive(Clone, Debug)]
pub struct Config {
    /// Seed of the random parts of ids.
    pub seed: u64,
    /// Key of redaction marks (`store.json`).
    pub redact_key: [u8; 32],
    /// How long a new wait is kept back before it is announced.
    pub grace_ms: u64,
    /// How long a skipped entry stays behind the others.
    pub skip_cooldown_ms: u64,
    /// Equal content from another registration of the same hook call is dropped within this time.
    pub twin_window_ms: u64,
    /// `working` without any evidence becomes `unknown` after this time.
    pub working_expiry_ms: u64,
    /// A wait without a process or pane to look at leaves the queue after this time.
    pub stale_wait_ms: u64,
    /// How long ended sessions are remembered.
    pub tombstone_ms: u64,
    /// Panes are looked at; only for what is said of it.
    pub panes: bool,
}

impl Default for Config {
    fn default() -> Config {
        const MINUTE: u64 = 60_000;
        const DAY: u64 = 24 * 60 * MINUTE;
        Config {
            seed: 0,
            redact_key: [0; 32],
            grace_ms: 1_500,
            skip_cooldown_ms: 30_000,
            twin_window_ms: 2_000,
            working_expiry_ms: 30 * MINUTE,
            stale_wait_ms: DAY,
            tombstone_ms: 30 * DAY,
            panes: true,
        }
    }
}

/// The two clocks at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Unix milliseconds; may step in either direction.
    pub wall_ms: u64,
    /// Monotonic milliseconds that stand still while the machine sleeps; only differences count.
    pub mono_ms: u64,
}

/// One hook call as it reached us, over the socket, HTTP or the spool.
#[derive(Clone, Debug)]
pub struct HookDelivery {
    /// The adapter that was called: `claude`, `codex`, ….
    pub host: String,
    /// The native event name, where the hook was told it as an argument.
    pub native_event: Option<String>,
    /// 128-bit delivery id; the same id is dropped for good.
    pub delivery: u128,
    /// Milliseconds since boot at the start of the hook process (`None`: not known). Orders events of a session.
    pub stamp_ms: Option<u64>,
    /// Unix milliseconds at the start of the hook process (`None`: not known).
    pub started_at_ms: Option<u64>,
    /// Where the hook ran.
    pub origin: Origin,
    /// The received bytes.
    pub body: Vec<u8>,
    /// The hook cut the input (over 256 MiB): kept as `unreadable`.
    pub cut: bool,
    /// It lay in the spool.
    pub spooled: bool,
    /// It ran before the machine was started last: the agent it tells of is gone.
    pub earlier_boot: bool,
}

/// Something that happened outside.
#[derive(Clone, Debug)]
pub enum Input {
    /// A hook call.
    Hook(HookDelivery),
    /// A posted normalized event, already validated, with the body as received.
    Normalized {
        /// The event.
        event: NormalizedEvent,
        /// The body as received.
        body: String,
    },
    /// What the human did through us.
    Human(HumanAct),
    /// What was decided about a hook call while its host waited.
    Decided(Decided),
    /// What tmux answered (only what it says; absent parts say nothing).
    Tmux(TmuxFacts),
    /// Where all agents that run in terminals of this machine sit. Not recorded: it moves no session, it only tells
    /// whether a pane is the one (overview D11).
    Seats(Vec<Seat>),
    /// What the process table of a machine says about one of its processes.
    Process {
        /// The process; without a start time any process of that pid is meant.
        process: Process,
        /// The machine, where it is not this one: ours says nothing of its pids (case F-116).
        machine: Option<String>,
        /// It is there.
        alive: bool,
    },
    /// What the text of a pane says of the agent in it. A look that could not be made, or tells nothing, is no input.
    Pane(PaneSeen),
    /// What the detector says of a program in a pane, for a harness without hooks.
    Detected(Detected),
    /// What a program reports of itself. Recorded where it changed something.
    Status(PostedStatus),
    /// What new lines of a session's transcript prove. Recorded where it moved the session.
    Transcript(TranscriptNews),
    /// Events were lost before they reached the journal.
    Gap {
        /// How many.
        lost: u64,
        /// Why, in words.
        reason: String,
    },
    /// The daemon started (after the journal was replayed) or stops; goes into the journal.
    Daemon {
        /// `start` or `stop`.
        what: &'static str,
        /// Version of the program.
        version: String,
        /// Names the boot of the machine (`None`: not known). A start in another one than before ends what ran then.
        boot: Option<u32>,
    },
    /// Nothing happened but time.
    Tick,
}

/// Facts out of the transcript of one session, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptNews {
    /// The session whose file it is: the last one that a hook named with it (case F-055).
    pub session: SessionKey,
    /// Its host.
    pub host: String,
    /// Path of the file.
    pub path: String,
    /// They were written while the file was followed; else what is older than the session says nothing (case F-054).
    pub fresh: bool,
    /// The facts.
    pub facts: Vec<ToldRecord>,
}

/// One fact, and the record it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldRecord {
    /// The host's id of the record.
    pub record: Option<String>,
    /// When it was written, Unix milliseconds.
    pub written_ms: Option<u64>,
    /// The fact.
    pub told: Told,
}

/// An act of the human through Herdbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HumanAct {
    /// Put an entry (none: the head) behind the others for a while.
    Skip(Option<SessionKey>),
    /// Keep an entry out of the way for so many milliseconds.
    Snooze(SessionKey, u64),
    /// Keep an entry at the front (true) or no longer (false).
    Pin(SessionKey, bool),
    /// Take it as not waiting until something new happens.
    Settle(SessionKey),
}

/// What was decided about a hook call while its host waited, and what the host was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Delivery id of the call.
    pub delivery: u128,
    /// The host.
    pub host: String,
    /// Its own name of the event.
    pub native_event: String,
    /// The session.
    pub session: Option<SessionKey>,
    /// Who decided.
    pub by: DecidedBy,
    /// `continue`, `allow`, `ask` or `deny`: all together.
    pub outcome: &'static str,
    /// What the host takes for it: `deny` where that had to stand for `ask`, `continue` where it could not be told.
    pub given: &'static str,
    /// Why.
    pub reason: Option<String>,
    /// What was written to the host, to the letter; nothing where it was told nothing.
    pub told: Option<String>,
    /// What of the decision the host could not be told, in words.
    pub left_out: Vec<String>,
    /// How long the host waited for it, in milliseconds.
    pub took_ms: u64,
}

/// Who decided about a hook call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// Routes, in their order.
    Routes(Vec<RouteRun>),
    /// The human, from elsewhere.
    Human {
        /// By what means: `cli`.
        how: String,
        /// The process that told us, where that is known.
        process: Option<Process>,
        /// Why his answer was refused, where it was: the host was told nothing then.
        refused: Option<String>,
    },
}

/// One run of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRun {
    /// The route: `tool/before/no-force-push`.
    pub route: String,
    /// SHA-256 of what was trusted, in hex.
    pub trusted: String,
    /// What it answered; nothing where it failed.
    pub outcome: Option<&'static str>,
    /// Why it answered so.
    pub reason: Option<String>,
    /// How it failed, in words.
    pub error: Option<String>,
    /// How long it ran, in milliseconds.
    pub took_ms: u64,
}

/// What tmux answered about one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TmuxFacts {
    /// The server: socket path and pid.
    pub server: Option<(String, u32)>,
    /// Ids of all panes of the server.
    pub panes: Option<Vec<String>>,
    /// Where the human looks.
    pub focus: Option<Focus>,
}

/// The pane in front of a human.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Focus {
    /// Pane id.
    pub pane: String,
    /// How long ago the client was used.
    pub client_active_ms_ago: u64,
}

/// What shall happen outside because of an input.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Write these records to the journal as one batch, in this order. At most one such effect comes from a step,
    /// and it comes first.
    Append(Vec<Record>),
    /// Tell the readers of the attention stream. `id` is the record it was written as.
    Publish {
        /// Journal id of the transition record.
        id: String,
        /// The normalized event.
        event: NormalizedEvent,
    },
    /// Call the human, once for all sessions that became due together.
    Announce {
        /// The sessions that wait, what blocks first.
        sessions: Vec<SessionKey>,
        /// The one session's message, or how many wait; cleaned of control characters.
        message: String,
    },
    /// A call that was made is void: the wait is over.
    Withdraw {
        /// The session.
        session: SessionKey,
    },
    /// Something a person should know about the installation, once (unknown host, unreadable hook).
    Warn(String),
}
