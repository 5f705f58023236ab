//! What travels from a hook to the daemon, and what comes back.

/// One process, told apart from later ones with the same pid by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot (`/proc/PID/stat` field 22); `None` when it could not be read.
    pub start: Option<u64>,
}

/// Whether the agent has a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tty {
    /// Nobody could tell.
    #[default]
    Unknown,
    /// No ancestor of the hook has one: a headless or background run.
    None,
    /// It has one whose name is not known.
    Some,
    /// It has this one, for example `/dev/pts/3`.
    Named(String),
}

/// Where a hook ran: facts about its process, never the environment as a whole (overview D3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The hook's ancestors, the parent first; at most [`crate::origin::MAX_ANCESTORS`].
    pub ancestors: Vec<Process>,
    /// The controlling terminal of the nearest ancestor that has one.
    pub tty: Tty,
    /// Working directory of the hook.
    pub cwd: Option<String>,
    /// The allow-listed variables that were set ([`crate::env::ORIGIN_VARS`]), by name.
    pub vars: Vec<(String, String)>,
    /// The machine, where it is not this one.
    pub machine: Option<String>,
}

/// One hook call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// The adapter that was called: `claude`, `codex`, …. Any text; an unknown host is delivered too.
    pub host: String,
    /// The native event name, where the hook was told it as the argument `event:NAME`.
    pub native_event: Option<String>,
    /// Identity of this hook call. The upper 10 bits are the microseconds within `stamp_ms` (so that two calls in one
    /// millisecond keep their order when sorted by stamp and id), the other 118 bits are random.
    pub delivery: u128,
    /// Milliseconds since boot at the start of the hook process, sleep included (`CLOCK_BOOTTIME`).
    pub stamp_ms: u64,
    /// Unix milliseconds at the start of the hook process.
    pub started_at_ms: u64,
    /// Where the hook ran.
    pub origin: Origin,
    /// The received bytes, untouched.
    pub body: Vec<u8>,
    /// The hook kept only the beginning of the input ([`crate::limits::CUT_BYTES`]).
    pub cut: bool,
}

/// What the server says to a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The event is in the journal.
    Done,
    /// The event is in the journal and a route decided: these bytes go to the host as the hook's output.
    Decision(Vec<u8>),
    /// The event is in the journal and a route refused, of a host that is told so by exit code 2: these bytes go to its
    /// standard error.
    Refusal(Vec<u8>),
    /// Somebody may answer: wait so many milliseconds more for the next answer. Counts once per delivery.
    Wait(u32),
    /// The server cannot take the event now (other protocol version, stopping): write it to the spool.
    Spool,
}
