//! Where a hook ran: facts about its process, never the environment as a whole (overview D3).

use serde::{Deserialize, Serialize};

/// One process, told apart from later ones with the same pid by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot (`/proc/PID/stat` field 22); `None` when it could not be read.
    pub start: Option<u64>,
}

/// What the hook saw of the place it ran in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The hook's ancestors, the parent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<Process>,
    /// The terminal of the agent: the controlling terminal of the nearest ancestor that has one.
    #[serde(default, skip_serializing_if = "Terminal::is_unknown")]
    pub tty: Terminal,
    /// Working directory of the hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The allow-listed variables that were set (overview D3), by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vars: Vec<(String, String)>,
    /// The machine, where it is not this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// Whether the agent has a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminal {
    /// Nobody could tell.
    #[default]
    Unknown,
    /// It has none: a headless or background run.
    None,
    /// It has one whose name is not known.
    Some,
    /// It has this one, for example `/dev/pts/3`.
    Named(String),
}

impl Terminal {
    /// True when nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Terminal::Unknown
    }

    /// Returns its name, if that is known.
    pub fn name(&self) -> Option<&str> {
        match self {
            Terminal::Named(name) => Some(name),
            _ => None,
        }
    }
}

impl Origin {
    /// Returns an allow-listed variable; an empty value counts as not set.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|v| !v.is_empty())
    }

    /// Returns the tmux server socket and server pid out of `TMUX` (`socket,pid,session`).
    pub fn tmux_server(&self) -> Option<(&str, Option<u32>)> {
        let mut parts = self.var("TMUX")?.rsplitn(3, ',');
        let (_session, pid, socket) = (parts.next()?, parts.next()?, parts.next()?);
        Some((socket, pid.parse().ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tmux_socket_may_hold_commas() {
        let origin =
            Origin { vars: vec![("TMUX".into(), "/tmp/a,b/default,4242,0".into())], ..Origin::default() };
        assert_eq!(origin.tmux_server(), Some(("/tmp/a,b/default", Some(4242))));
    }
}
