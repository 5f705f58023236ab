//! Requests and answers under `/v1`.

use serde::{Deserialize, Serialize};

/// Answer of `GET /v1/status`. What a daemon of another version does not say counts as empty, so that every command can
/// ask every daemon who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Version of the daemon.
    pub version: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// Version of the hook frame it speaks.
    pub protocol: u16,
    /// The store it writes (`storeId` of `store.json`): two answers with the same id are the same record book.
    pub store_id: String,
    /// The state folder.
    pub state_dir: String,
    /// The unix sockets it listens on.
    pub sockets: Vec<String>,
    /// The HTTP addresses and what became of them.
    pub http: Vec<Listen>,
    /// Unix milliseconds of its start.
    pub started_at: u64,
    /// How long it has been running.
    pub uptime_ms: u64,
    /// Entries of the queue, those in cooldown included.
    pub stuck_count: usize,
    /// Entries that block in mid-turn (reason `permission`), those in cooldown included.
    pub blocked_count: usize,
    /// Sessions that are not over.
    pub session_count: usize,
    /// Sessions for which the human was called since the start.
    pub announced: u64,
    /// Hook events that wait in the spool.
    pub spool_count: u64,
    /// Entries the spool could not take any more and that no gap record owns up to yet.
    pub spool_lost: u64,
    /// Looks at panes since the start; one looks at all that are near a decision, or at as many as have their turn.
    pub pane_looks: u64,
    /// How long these took, all together, in microseconds.
    pub pane_looks_us: u64,
    /// The journal.
    pub journal: Journal,
    /// Logs of sessions that cannot be written as they should.
    pub log_troubles: Vec<LogTrouble>,
    /// What did not work when old logs were looked after last, one sentence each: foreign text may be in it.
    pub upkeep_failed: Vec<String>,
    /// What a person should know, one sentence each; empty when all is well.
    pub warnings: Vec<String>,
}

impl Status {
    /// Returns the address that is taken by another process, if one is.
    pub fn taken(&self) -> Option<&Listen> {
        self.http.iter().find(|listen| listen.state == Listen::TAKEN)
    }
}

/// What became of one HTTP address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Listen {
    /// For example `127.0.0.1:4000`.
    pub addr: String,
    /// [`Listen::LISTENING`], [`Listen::TAKEN`] or [`Listen::FAILED`].
    pub state: String,
    /// The process that holds the port, where it could be told.
    pub pid: Option<u32>,
    /// Its name.
    pub name: Option<String>,
    /// Why it failed, in words.
    pub error: Option<String>,
}

impl Listen {
    /// The daemon listens there.
    pub const LISTENING: &'static str = "listening";
    /// Another process does.
    pub const TAKEN: &'static str = "taken";
    /// Nobody can (no such address on this machine, not permitted).
    pub const FAILED: &'static str = "failed";
}

/// What is wrong with the log of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogTrouble {
    /// The session's key: foreign text, clean it before it reaches a terminal.
    pub session_id: String,
    /// What is wrong, in words.
    pub error: String,
    /// Nothing is appended before somebody does something about it; else it may pass.
    pub is_unusable: bool,
}

/// Health of the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Journal {
    /// Seq of the last record that was written.
    pub written_seq: u64,
    /// Seq of the last record that survives a power cut.
    pub synced_seq: u64,
    /// What the disk says, while it refuses.
    pub error: Option<String>,
    /// Bytes that wait to be written.
    pub pending_bytes: u64,
    /// Records lost since the start that no gap record owns up to yet.
    pub lost: u64,
    /// Records of the journal that could not be folded at the start.
    pub unfolded: u64,
    /// Damage found in the files: segment and line, one sentence each. It was not touched.
    pub damage: Vec<String>,
}

/// Answer of `GET /v1/queue`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// This page, in queue order; entries in cooldown come last.
    pub items: Vec<Item>,
    /// How many entries there are on all pages.
    pub count: usize,
    /// Cursor of the next page (`?after=`), or null on the last one. A queue that changes between two pages may show
    /// an entry twice; it leaves none out that stayed.
    pub next: Option<String>,
}

/// One entry of the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Entry id; stays with the wait.
    pub id: String,
    /// Session key.
    pub session_id: String,
    /// Pane id as the reference shows it, empty if unknown.
    pub pane_id: String,
    /// Working directory, empty if unknown.
    pub cwd: String,
    /// `stopped` or `permission`.
    pub reason: String,
    /// Text for the human, as it was received: clean it before it reaches a terminal.
    pub last_message: String,
    /// Unix milliseconds.
    pub stuck_at: u64,
    /// Unix milliseconds until which the entry is in cooldown, or null.
    pub skip_cooldown_until: Option<u64>,
    /// Host; `posted` or `detected` where none is known.
    pub host: String,
    /// `turn_end`, `error`, `interrupted`, `permission`, `question`, `plan`, `elicitation` or `dialog`.
    pub kind: String,
    /// Position in the queue, from 0.
    pub order: usize,
    /// What is asked, in one line without control characters.
    pub ask: String,
    /// Kept at the front.
    pub pinned: bool,
    /// Where to jump to.
    pub pane: Option<Pane>,
    /// The pane is a hint only: never jump there without saying so.
    pub pane_uncertain: bool,
    /// The machine that the pane is on; null for this one.
    #[serde(default)]
    pub machine: Option<String>,
}

impl Item {
    /// True when the agent waits in mid-turn (`next --blocked`).
    pub fn is_blocked(&self) -> bool {
        self.reason == "permission"
    }
}

/// A tmux pane: ids like `%3` are per server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pane {
    /// Path of the server's socket, empty if not known.
    pub socket: String,
    /// Pid of the server.
    pub server_pid: Option<u32>,
    /// Pane id, for example `%3`.
    pub pane: String,
}

/// Answer of `GET /v1/sessions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// This page; ended sessions come last.
    pub items: Vec<Session>,
    /// How many sessions there are on all pages.
    pub count: usize,
    /// Cursor of the next page (`?after=`), or null on the last one.
    pub next: Option<String>,
}

/// One session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Session key: `<host>-<native id>`, or a posted session's id.
    pub session_id: String,
    /// Host; `posted` or `detected` where none is known.
    pub host: String,
    /// The host's own id.
    pub native_id: String,
    /// `registered`, `working`, `stuck`, `ended` or `unknown`.
    pub state: String,
    /// Kind of the wait it shows, when stuck.
    pub kind: Option<String>,
    /// In this state since, Unix milliseconds.
    pub since_at: u64,
    /// What it waits for; empty when it does not. As it was received: clean it before it reaches a terminal.
    pub message: String,
    /// Working directory, empty if unknown.
    pub cwd: String,
    /// Transcript path, empty if unknown.
    pub transcript_path: String,
    /// Pane, if known.
    pub pane: Option<Pane>,
    /// The pane is a hint only.
    pub pane_uncertain: bool,
    /// No human sits at it: listed, not queued for turn ends.
    pub headless: bool,
    /// Dropped out of the queue for age.
    pub stale: bool,
    /// Live subagents.
    pub children: usize,
    /// Open waits in mid-turn.
    pub pending: usize,
    /// Prompts counted.
    pub turns: u64,
    /// Tool calls counted.
    pub tools: u64,
    /// Closed waits that lasted beyond the grace period.
    pub waits: u64,
    /// The posted session that is the same as this one, and hidden behind it.
    pub linked: Option<String>,
    /// Its pane was closed and its agent lives on: listed, not queued.
    #[serde(default)]
    pub detached: bool,
    /// The machine it runs on; null for this one.
    #[serde(default)]
    pub machine: Option<String>,
    /// Key of the session whose conversation it goes on with, as its transcript proves.
    #[serde(default)]
    pub resumed_from: Option<String>,
}

/// Answer of `GET /v1/agents`: agents that run in terminals and that no session's hooks came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agents {
    /// All of them, by pid.
    pub items: Vec<Agent>,
    /// How many there are.
    pub count: usize,
}

/// An agent that runs without hooks, as far as was seen. What it does cannot be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Host.
    pub host: String,
    /// Its outermost process.
    pub pid: u32,
    /// Start of that process, Unix milliseconds, or null if it cannot be told.
    pub started_at: Option<u64>,
    /// Its working directory, empty if unknown. As it was read: clean it before it reaches a terminal.
    pub cwd: String,
    /// Path of its terminal, empty if that has no usual name.
    pub tty: String,
    /// The tmux pane it sits in, where its process or terminal proves one.
    pub pane: Option<Pane>,
}

/// Answer of `GET /v1/sessions/{key}/why`: a session and what its state rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// The session.
    pub session: Session,
    /// What its state rests on, oldest first.
    pub evidence: Vec<Evidence>,
    /// When the daemon looks again by itself.
    pub looks_again: Option<LooksAgain>,
    /// What came in since it is in this state and did not count, oldest first. Of the same source and reason the last.
    #[serde(default)]
    pub ruled_out: Vec<RuledOut>,
    /// What would change it, by source.
    #[serde(default)]
    pub would_change: Vec<FromSource>,
    /// Sources that cannot tell of it now, and why not.
    #[serde(default)]
    pub not_looked_at: Vec<FromSource>,
}

/// A fact that did not move a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuledOut {
    /// Journal id; null where the journal does not hold it (a look at a pane, a line of a transcript). Such a note ends
    /// with the daemon's run.
    pub id: Option<String>,
    /// As [`Evidence::source`].
    pub source: String,
    /// What it said, in words.
    pub fact: String,
    /// Why it did not count.
    pub reason: String,
    /// When the last one came in, Unix milliseconds.
    pub seen_at: u64,
    /// How many came in.
    pub count: u32,
}

/// What is said of one source of facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FromSource {
    /// `hook`, `posted`, `transcript`, `pane`, `process` or `you`.
    pub source: String,
    /// In words.
    pub words: String,
}

/// One piece of evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Journal id of the record.
    pub id: String,
    /// `hook`, `posted`, `detector`, `human`, `process`, `timer`, ….
    pub source: String,
    /// What it said, in words.
    pub fact: String,
    /// Unix milliseconds.
    pub seen_at: u64,
}

/// When the daemon looks again by itself, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LooksAgain {
    /// Unix milliseconds.
    pub due_at: u64,
    /// What it looks for.
    pub reason: String,
}

/// Answer of `GET /v1/hooks`: what each host has sent since the journal began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hooks {
    /// Every host that sent anything, sorted by name.
    pub hosts: Vec<HostHooks>,
}

/// What one host has sent. Names of events and fields are cleaned and cut; at most 64 of each list are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostHooks {
    /// The host.
    pub host: String,
    /// Hook calls in all, repeats and unreadable ones included.
    pub count: u64,
    /// Unix milliseconds of the last one's arrival.
    pub last_at: u64,
    /// Calls by event, sorted by name.
    pub events: Vec<HookEvent>,
    /// Top-level fields of payloads that this build does not know.
    pub unknown_fields: Vec<UnknownField>,
    /// Calls whose payload was not as the host's table promises: warnings, the calls were taken all the same.
    #[serde(default)]
    pub faulty_count: u64,
    /// Unix milliseconds of the last one of them, or null.
    #[serde(default)]
    pub faulty_at: Option<u64>,
    /// What they lacked or had in another shape, by event, field and version of the client.
    #[serde(default)]
    pub faults: Vec<HookFault>,
    /// Calls that could not be read.
    pub unreadable_count: u64,
    /// Unix milliseconds of the last one of them, or null.
    pub unreadable_at: Option<u64>,
    /// Events that the plugin in the host did not pass on, since the commands before them hung.
    #[serde(default)]
    pub dropped_count: u64,
    /// Unix milliseconds of the last time it told of some, or null.
    #[serde(default)]
    pub dropped_at: Option<u64>,
    /// Versions of the client, where it told them, the one seen last first.
    pub versions: Vec<SeenVersion>,
    /// Events that came twice, by another registration of the same hook.
    pub repeats: Vec<HookEvent>,
}

/// How often one event came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookEvent {
    /// The host's own name of it.
    pub event: String,
    /// The canonical family, or null.
    pub family: Option<String>,
    /// This build knows the name.
    pub known: bool,
    /// How often it came.
    pub count: u64,
    /// Unix milliseconds.
    pub first_at: u64,
    /// Unix milliseconds.
    pub last_at: u64,
}

/// A field that this build does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownField {
    /// Its key.
    pub field: String,
    /// An event that carried it.
    pub event: String,
    /// How often it came.
    pub count: u64,
    /// Unix milliseconds.
    pub last_at: u64,
}

/// A field of an event's payload that was not as the host's table promises.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookFault {
    /// The host's own name of the event.
    pub event: String,
    /// The field's key.
    pub field: String,
    /// The shape it should have had, such as `string`; null where it was missing.
    pub wanted: Option<String>,
    /// The version of the client, where it told it, or null.
    pub version: Option<String>,
    /// How often it came.
    pub count: u64,
    /// Unix milliseconds.
    pub last_at: u64,
}

/// A version that a client told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenVersion {
    /// As told.
    pub version: String,
    /// Unix milliseconds.
    pub last_at: u64,
}

/// Answer of `POST /v1/status`: what became of the reports of a program (OSC 7501).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusTaken {
    /// Always true.
    pub ok: bool,
    /// Reports that were read.
    pub reports: usize,
    /// Sequences that broke a rule of the protocol and say nothing.
    pub passed_over: usize,
}

/// Body of `POST /v1/queue/skip`: puts an entry behind the others for a while. No body at all skips the head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skip {
    /// Session key; absent or null is the head of the queue.
    #[serde(default)]
    pub session: Option<String>,
}

/// Body of `POST /v1/queue/snooze`: keeps an entry out of the way for a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snooze {
    /// Session key.
    pub session: String,
    /// For how long.
    pub for_ms: u64,
}

/// Body of `POST /v1/queue/pin`: keeps an entry at the front, or no longer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Session key.
    pub session: String,
    /// True keeps it at the front.
    pub pinned: bool,
}

/// Body of `POST /v1/queue/settle`: takes it as not waiting until something new happens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// Session key.
    pub session: String,
}

/// Answer to an act of the human, once it is in the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acted {
    /// The session it was about; null when the queue was empty.
    pub session: Option<String>,
    /// The head of the queue now, entries in cooldown passed over.
    pub next: Option<Item>,
}
