//! Exit codes of `herdbook`: a promise to scripts, listed in `docs/manual.md`.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// Something went wrong; the words on stderr say what. `normalize` ends so when a line could not be read,
    /// `doctor` when a fault remains; its warnings alone are 0.
    Failed = 1,
    /// The command line was not understood.
    Usage = 2,
    /// The daemon does not answer.
    Down = 3,
    /// No session has that name, or more than one has.
    NoSession = 4,
    /// Nobody waits, that session does not, or there is nowhere to go back to.
    Nothing = 5,
    /// Somebody waits, but no pane could be gone to: it is gone, uncertain, or on another tmux server, or the named
    /// client is not there.
    NoPane = 6,
    /// A daemon runs already on this state folder.
    Running = 7,
    /// No route has that name, or more than one has.
    NoRoute = 8,
    /// Ctrl-C, or another signal that asks to stop.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn codes_are_those_the_manual_lists() {
        let manual = include_str!("../../../docs/manual.md");
        for exit in [
            Exit::Ok,
            Exit::Failed,
            Exit::Usage,
            Exit::Down,
            Exit::NoSession,
            Exit::Nothing,
            Exit::NoPane,
            Exit::Running,
            Exit::NoRoute,
            Exit::Interrupted,
        ] {
            assert!(manual.contains(&format!("| {} |", exit as u8)), "{exit:?} is not in the manual");
        }
    }
}
