//! How a human gets to a pane from where they are (field case F-072).

use serde::{Deserialize, Serialize};

use crate::names::shell_word;
use crate::pane::{is_pane_id, is_session_id, is_window_id};

/// Where the human calls from.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Caller {
    /// `TMUX` of the caller: `socket,server pid,session number`.
    pub caller_tmux: Option<String>,
    /// Whether that server still runs; not known counts as running, since nesting is worse than a command to copy.
    pub caller_server_alive: Option<bool>,
}

/// The present place of the pane to go to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JumpTarget {
    /// Socket of its server; not known for posted sessions.
    pub socket: Option<String>,
    /// Whether that server runs.
    pub server_alive: bool,
    /// tmux session id, `$1`.
    pub session: String,
    /// Window id, `@4`.
    pub window: String,
    /// Pane id, `%7`.
    pub pane: String,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum JumpPlan {
    /// Become a client of the target's server.
    Attach {
        /// Socket of the server.
        socket: String,
        /// tmux session id.
        session: String,
        /// Window id.
        window: String,
        /// Pane id.
        pane: String,
    },
    /// Move the caller's client, which is on the same server.
    SwitchClient {
        /// tmux session id.
        session: String,
        /// Window id.
        window: String,
        /// Pane id.
        pane: String,
    },
    /// The caller is inside another server: nesting is refused, this is what to type in a free terminal.
    PrintCommand {
        /// The command, for a shell.
        text: String,
    },
    /// The server is not there any more.
    ReportGone,
    /// No pane is known.
    NoJumpTarget,
}

/// Plans a jump.
pub fn jump_plan(caller: &Caller, target: Option<&JumpTarget>) -> JumpPlan {
    let Some(target) = target else { return JumpPlan::NoJumpTarget };
    let Some(socket) = target.socket.as_ref().filter(|socket| !socket.is_empty()) else {
        return JumpPlan::NoJumpTarget;
    };
    if !(is_session_id(&target.session) && is_window_id(&target.window) && is_pane_id(&target.pane)) {
        return JumpPlan::NoJumpTarget;
    }
    if !target.server_alive {
        return JumpPlan::ReportGone;
    }
    let (session, window, pane) = (target.session.clone(), target.window.clone(), target.pane.clone());
    let inside = caller
        .caller_tmux
        .as_deref()
        .and_then(socket_of)
        .filter(|_| caller.caller_server_alive != Some(false));
    match inside {
        None => JumpPlan::Attach { socket: socket.clone(), session, window, pane },
        Some(own) if own == socket => JumpPlan::SwitchClient { session, window, pane },
        Some(_) => JumpPlan::PrintCommand { text: attach_line(socket, &session, &window, &pane) },
    }
}

/// The socket in a value of `TMUX`. The path itself may have commas; the two numbers after it have none.
pub(crate) fn socket_of(tmux: &str) -> Option<&str> {
    let mut parts = tmux.rsplitn(3, ',');
    let (_, _, socket) = (parts.next()?, parts.next()?, parts.next()?);
    (!socket.is_empty()).then_some(socket)
}

/// Arguments of tmux that select the pane and attach to its session.
pub(crate) fn attach_args(socket: &str, session: &str, window: &str, pane: &str) -> Vec<String> {
    [
        "-S",
        socket,
        "select-window",
        "-t",
        window,
        ";",
        "select-pane",
        "-t",
        pane,
        ";",
        "attach-session",
        "-t",
        session,
    ]
    .map(str::to_owned)
    .to_vec()
}

fn attach_line(socket: &str, session: &str, window: &str, pane: &str) -> String {
    let words: Vec<String> =
        attach_args(socket, session, window, pane).iter().map(|word| shell_word(word)).collect();
    format!("tmux {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> JumpTarget {
        JumpTarget {
            socket: Some("/tmp/it's/s,1".into()),
            server_alive: true,
            session: "$1".into(),
            window: "@4".into(),
            pane: "%7".into(),
        }
    }

    #[test]
    fn the_printed_command_is_quoted_for_a_shell() {
        let caller = Caller { caller_tmux: Some("/tmp/other,1,0".into()), caller_server_alive: None };
        let JumpPlan::PrintCommand { text } = jump_plan(&caller, Some(&target())) else {
            unreachable!("another server is printed")
        };
        assert_eq!(
            text,
            r"tmux -S '/tmp/it'\''s/s,1' select-window -t @4 ';' select-pane -t %7 ';' attach-session -t '$1'"
        );
    }

    #[test]
    fn a_socket_path_may_have_commas() {
        let caller = Caller { caller_tmux: Some("/tmp/it's/s,1,77,0".into()), caller_server_alive: None };
        assert!(matches!(jump_plan(&caller, Some(&target())), JumpPlan::SwitchClient { .. }));
        assert_eq!(socket_of("/tmp/s"), None);
    }

    #[test]
    fn a_name_is_no_target() {
        let named = JumpTarget { session: "work".into(), ..target() };
        assert_eq!(jump_plan(&Caller::default(), Some(&named)), JumpPlan::NoJumpTarget);
    }
}
