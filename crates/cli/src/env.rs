//! The environment, read once. Every variable that `herdbook` looks at stands in this file.

use std::ffi::OsString;

/// What the environment says. An empty value counts as not set.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// `HERDBOOK_STATE`: the state folder.
    pub state: Option<OsString>,
    /// `HERDBOOK_SOCKET`: the daemon's unix socket.
    pub socket: Option<OsString>,
    /// `HERDBOOK_ADDR`: the daemon's HTTP address.
    pub addr: Option<String>,
    /// `XDG_STATE_HOME`: parent of the state folder.
    pub xdg_state_home: Option<OsString>,
    /// `XDG_RUNTIME_DIR`: parent of the socket's folder.
    pub xdg_runtime_dir: Option<OsString>,
    /// `HOME`.
    pub home: Option<OsString>,
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
    /// `PATH`: where `demo` and `next` find tmux.
    pub path: Option<OsString>,
}

impl Env {
    /// Reads the process's environment.
    pub fn read() -> Env {
        let text = |name| variable(name).and_then(|value| value.into_string().ok());
        Env {
            state: variable("HERDBOOK_STATE"),
            socket: variable("HERDBOOK_SOCKET"),
            addr: text("HERDBOOK_ADDR"),
            xdg_state_home: variable("XDG_STATE_HOME"),
            xdg_runtime_dir: variable("XDG_RUNTIME_DIR"),
            home: variable("HOME"),
            tmux: text("TMUX"),
            tmux_pane: text("TMUX_PANE"),
            no_color: variable("NO_COLOR"),
            term: text("TERM"),
            columns: text("COLUMNS")
                .and_then(|columns| columns.parse().ok())
                .filter(|columns| *columns >= 20),
            tmpdir: variable("TMPDIR"),
            path: variable("PATH"),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where the command reads its environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
