//! One line of the doctor's report.

use std::path::PathBuf;

use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works, but something is worth knowing.
    Warning,
    /// Something does not work.
    Fault,
}

/// Words for what was found, for scripts.
pub mod finding {
    /// No daemon answers.
    pub const DAEMON_DOWN: &str = "daemon-down";
    /// Somebody listens and does not answer.
    pub const DAEMON_HANGS: &str = "daemon-hangs";
    /// The daemon is of another version than this command.
    pub const OTHER_VERSION: &str = "other-version";
    /// Two sockets of ours lead to two daemons (case F-087).
    pub const TWO_DAEMONS: &str = "two-daemons";
    /// A socket file nobody listens on.
    pub const STALE_SOCKET: &str = "stale-socket";
    /// The daemon does not listen where this command looks.
    pub const NO_SOCKET: &str = "no-socket";
    /// Another process has the port (case F-088).
    pub const PORT_TAKEN: &str = "port-taken";
    /// There is no state folder yet.
    pub const NO_FOLDER: &str = "no-folder";
    /// The folder is a symlink, another's, or open to others (case F-111).
    pub const UNSAFE_FOLDER: &str = "unsafe-folder";
    /// The human's own settings cannot be read.
    pub const BAD_SETTINGS: &str = "bad-settings";
    /// Events wait in the spool.
    pub const SPOOLED: &str = "spooled";
    /// Events were lost.
    pub const LOST: &str = "lost";
    /// The journal cannot be written.
    pub const JOURNAL_ERROR: &str = "journal-error";
    /// The journal is damaged.
    pub const DAMAGED: &str = "damaged";
    /// A session's log cannot be appended to.
    pub const LOG_ERROR: &str = "log-error";
    /// Old logs could not be looked after.
    pub const UPKEEP_FAILED: &str = "upkeep-failed";
    /// No agent's program is on `PATH`.
    pub const NO_AGENT: &str = "no-agent";
    /// Our entries run a program in a build folder.
    pub const BUILD_FOLDER: &str = "build-folder";
    /// The client is there, and none of its events are registered.
    pub const NOT_INSTALLED: &str = "not-installed";
    /// Some events that the installed client knows are not registered.
    pub const MISSING_EVENTS: &str = "missing-events";
    /// Our entries run a program that is not there.
    pub const PROGRAM_MISSING: &str = "program-missing";
    /// Our entries run another copy of the hook program.
    pub const STALE_PATH: &str = "stale-path";
    /// Our entries are not as this version writes them.
    pub const STALE_ENTRIES: &str = "stale-entries";
    /// Our entries do not grant what routes and holds need, or more than that.
    pub const UNFIT_ENTRIES: &str = "unfit-entries";
    /// Something in the folder of routes is not run: it is not safe, or asks for what cannot be.
    pub const REFUSED_ROUTE: &str = "refused-route";
    /// A route failed when it ran last.
    pub const FAILING_ROUTE: &str = "failing-route";
    /// A route is not run before the human trusts it as it is.
    pub const UNTRUSTED_ROUTE: &str = "untrusted-route";
    /// The settings file, or one of the human's own rules, cannot be read.
    pub const UNREADABLE: &str = "unreadable-settings";
    /// Rules for screens that lie under no host's name.
    pub const UNUSED_SCREENS: &str = "unused-screens";
    /// The host does not run our entries before the human trusts them.
    pub const UNTRUSTED: &str = "untrusted";
    /// The host's settings switch hooks off.
    pub const DISABLED: &str = "hooks-disabled";
    /// Registered in two places that both count (case F-034).
    pub const REGISTERED_TWICE: &str = "registered-twice";
    /// Registered, and no event has come since (case F-115).
    pub const NEVER_FIRED: &str = "never-fired";
    /// Agents run that no hook was seen of.
    pub const NO_HOOK: &str = "no-hook";
    /// An event that every turn has never came.
    pub const NEVER_SEEN: &str = "never-seen";
    /// The host sends events or fields that this build does not know.
    pub const UNKNOWN_SENT: &str = "unknown-sent";
    /// The host sends payloads that are not as its table promises.
    pub const FAULTY_SENT: &str = "faulty-sent";
    /// Hook calls could not be read.
    pub const UNREADABLE_SENT: &str = "unreadable-sent";
}

/// What `--fix` can do by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// `herdbook up`, which also drains the spool.
    Start,
    /// Make the state folder, or take from others what they may only read.
    Folder(PathBuf),
    /// Remove a socket file nobody listens on.
    Socket(PathBuf),
    /// `herdbook install HOST`.
    Install(&'static str),
    /// `herdbook install tmux`.
    Tmux,
}

/// The outcome of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at: `daemon`, `port`, a host's name, ….
    pub check: String,
    /// How bad it is.
    pub level: Level,
    /// The word for what was found; absent where all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<&'static str>,
    /// What was found, in words.
    pub message: String,
    /// What mends it: a command, or what a person has to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// What `--fix` does about it.
    #[serde(skip)]
    pub mend: Option<Mend>,
}

impl Check {
    /// All is well.
    pub fn ok(check: &str, message: impl Into<String>) -> Check {
        Check::new(check, Level::Ok, None, message.into())
    }

    /// It works, but.
    pub fn warning(check: &str, finding: &'static str, message: impl Into<String>) -> Check {
        Check::new(check, Level::Warning, Some(finding), message.into())
    }

    /// It does not work.
    pub fn fault(check: &str, finding: &'static str, message: impl Into<String>) -> Check {
        Check::new(check, Level::Fault, Some(finding), message.into())
    }

    fn new(check: &str, level: Level, finding: Option<&'static str>, message: String) -> Check {
        Check { check: check.to_owned(), level, finding, message, fix: None, mend: None }
    }

    /// Says what mends it.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Check {
        self.fix = Some(fix.into());
        self
    }

    /// Says what `--fix` does about it.
    #[must_use]
    pub fn mend(mut self, mend: Mend) -> Check {
        self.mend = Some(mend);
        self
    }
}

/// So many names are told of a list.
const NAMED: usize = 4;

/// The first names of a list.
pub fn some(names: &[impl AsRef<str>]) -> String {
    let shown = names.iter().take(NAMED).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED { format!("{shown}, …") } else { shown }
}
