//! The environment, read once. The variables of Herdbook's places are those of [`herdbook_wire::env`]; every other one
//! that the command looks at stands in this file.

use std::ffi::OsString;

use herdbook_hosts::HOSTS;
use herdbook_wire::env::Env as Places;

/// What a daemon is given beside its environment. glibc (mallopt(3)) then gives blocks of 1 MiB and more back to the system at
/// once; by itself it begins to keep them after the first long append, for each thread apart.
pub const MEMORY: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "1048576");

/// What the environment says. An empty value counts as not set.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// `HERDBOOK_STATE`, `HERDBOOK_SOCKET`, `HERDBOOK_ADDR`, the XDG folders and `HOME`.
    pub places: Places,
    /// `TMUX`: set inside tmux, `socket,server pid,session`.
    pub tmux: Option<String>,
    /// `TMUX_PANE`: the pane we run in.
    pub tmux_pane: Option<String>,
    /// `NO_COLOR`: set and not empty, no colour is used.
    pub no_color: Option<OsString>,
    /// `TERM`: `dumb` has no colours.
    pub term: Option<String>,
    /// `COLUMNS`: width of listings, where the terminal shall not be asked.
    pub columns: Option<usize>,
    /// `TMPDIR`: where `demo` makes its scratch folder.
    pub tmpdir: Option<OsString>,
    /// `TMUX_TMPDIR`: the folder above tmux's sockets, `/tmp` if unset.
    pub tmux_tmpdir: Option<OsString>,
    /// `PATH`: where `demo` finds tmux, `install` the hosts, and `up` what the daemon shall find.
    pub path: Option<OsString>,
    /// `PAGER`: what shows a long text; `less` if unset.
    pub pager: Option<String>,
    /// `LESS` is set: the human's own options for `less` count, not ours.
    pub has_less: bool,
    /// The variables that move hosts' settings folders (`CLAUDE_CONFIG_DIR`, …), as far as they are set.
    pub host_homes: Vec<(&'static str, OsString)>,
}

impl Env {
    /// Reads the process's environment.
    pub fn read() -> Env {
        let text = |name| variable(name).and_then(|value| value.into_string().ok());
        Env {
            places: Places::read(),
            tmux: text("TMUX"),
            tmux_pane: text("TMUX_PANE"),
            no_color: variable("NO_COLOR"),
            term: text("TERM"),
            columns: text("COLUMNS")
                .and_then(|columns| columns.parse().ok())
                .filter(|columns| *columns >= 20),
            tmpdir: variable("TMPDIR"),
            tmux_tmpdir: variable("TMUX_TMPDIR"),
            path: variable("PATH"),
            pager: text("PAGER"),
            has_less: variable("LESS").is_some(),
            host_homes: HOSTS
                .iter()
                .filter_map(|table| table.setup.home.var)
                .filter_map(|name| Some((name, variable(name)?)))
                .collect(),
        }
    }

    /// Returns the home folder, to write it as `~`.
    pub fn home(&self) -> Option<&str> {
        self.places.home.as_deref()?.to_str()
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where the command reads its environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
