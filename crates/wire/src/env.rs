//! The environment, read once at the edge and handed down as a value. The only place that knows variable names.

use std::ffi::{OsStr, OsString};

/// The state folder; absolute. It has a daemon of its own: unless [`HERDBOOK_SOCKET`] is set, too, nobody looks for a
/// socket outside it.
pub const HERDBOOK_STATE: &str = "HERDBOOK_STATE";
/// The daemon's unix socket; absolute. Nobody then tries another, and the daemon listens on no other.
pub const HERDBOOK_SOCKET: &str = "HERDBOOK_SOCKET";
/// The daemon's HTTP address.
pub const HERDBOOK_ADDR: &str = "HERDBOOK_ADDR";

/// `off`: the daemon does not look for running agents that no hook was seen of.
pub const HERDBOOK_DISCOVER: &str = "HERDBOOK_DISCOVER";
/// `off`: the daemon does not look at what the panes of agents show.
pub const HERDBOOK_PANES: &str = "HERDBOOK_PANES";

/// Variables of the hook's environment that travel with a delivery (overview D3). Everything else stays where it is:
/// keys live there. Of `SSH_CONNECTION` only the presence travels, as the value `1`.
pub const ORIGIN_VARS: &[&str] = &[
    "TMUX",
    "TMUX_PANE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_PID",
    "CLAUDE_JOB_DIR",
    "HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "CURSOR_VERSION",
    "COPILOT_CLI",
    "COPILOT_LOADER_PID",
    "OPENCODE_PID",
    "GEMINI_SESSION_ID",
    "TRACEPARENT",
    SSH_CONNECTION,
];

const SSH_CONNECTION: &str = "SSH_CONNECTION";

/// The variables Herdbook's places and its daemon depend on. An empty value counts as not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env {
    /// `HERDBOOK_STATE`
    pub herdbook_state: Option<OsString>,
    /// `HERDBOOK_SOCKET`
    pub herdbook_socket: Option<OsString>,
    /// `HERDBOOK_ADDR`
    pub herdbook_addr: Option<OsString>,
    /// `HERDBOOK_DISCOVER`
    pub herdbook_discover: Option<OsString>,
    /// `HERDBOOK_PANES`
    pub herdbook_panes: Option<OsString>,
    /// `XDG_STATE_HOME`
    pub xdg_state_home: Option<OsString>,
    /// `XDG_RUNTIME_DIR`
    pub xdg_runtime_dir: Option<OsString>,
    /// `XDG_CONFIG_HOME`
    pub xdg_config_home: Option<OsString>,
    /// `HOME`
    pub home: Option<OsString>,
}

impl Env {
    /// Reads the environment of this process.
    pub fn read() -> Env {
        Env::from_lookup(variable)
    }

    /// Makes it of another source of variables, as tests do.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Env {
        let set = |name| lookup(name).filter(|value| !value.is_empty());
        Env {
            herdbook_state: set(HERDBOOK_STATE),
            herdbook_socket: set(HERDBOOK_SOCKET),
            herdbook_addr: set(HERDBOOK_ADDR),
            herdbook_discover: set(HERDBOOK_DISCOVER),
            herdbook_panes: set(HERDBOOK_PANES),
            xdg_state_home: set("XDG_STATE_HOME"),
            xdg_runtime_dir: set("XDG_RUNTIME_DIR"),
            xdg_config_home: set("XDG_CONFIG_HOME"),
            home: set("HOME"),
        }
    }
}

/// Returns the allow-listed variables that are set in this process, by name.
pub fn origin_vars() -> Vec<(String, String)> {
    origin_vars_from(variable)
}

fn origin_vars_from(lookup: impl Fn(&str) -> Option<OsString>) -> Vec<(String, String)> {
    let mut vars = Vec::new();
    for name in ORIGIN_VARS {
        if let Some(value) = lookup(name) {
            let value = if *name == SSH_CONNECTION { "1".to_owned() } else { lossy(&value) };
            vars.push(((*name).to_owned(), value));
        }
    }
    vars
}

fn lossy(value: &OsStr) -> String {
    value.to_string_lossy().into_owned()
}

#[expect(clippy::disallowed_methods, reason = "the one place where the hook's environment is read")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_travel_and_the_ssh_peer_does_not() {
        let lookup = |name: &str| match name {
            "TMUX_PANE" => Some(OsString::from("%7")),
            "SSH_CONNECTION" => Some(OsString::from("192.0.2.7 50000 192.0.2.1 22")),
            "ANTHROPIC_API_KEY" => Some(OsString::from("sk-demo")),
            _ => None,
        };
        let expected =
            [("TMUX_PANE", "%7"), ("SSH_CONNECTION", "1")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(origin_vars_from(lookup), expected);
    }

    #[test]
    fn an_empty_value_counts_as_not_set() {
        let env = Env::from_lookup(|name| (name == "HOME").then(OsString::new));
        assert_eq!(env, Env::default());
    }
}
