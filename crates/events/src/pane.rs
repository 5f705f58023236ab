//! What the text of a pane says of the agent in it: the weakest source, so it only ends or opens a wait with newer,
//! explicit proof (overview section 4).

use serde::{Deserialize, Serialize};

use crate::observation::{PaneRef, WaitKind};

/// How long after its request a dialog is drawn, at most, where a host is not known to take longer.
pub const DRAWN_MS: u64 = 1_000;

/// One look at a pane, as far as it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaneSeen {
    /// The pane.
    pub pane: PaneRef,
    /// The host of the agent in it.
    pub host: String,
    /// What it shows.
    pub shows: Shows,
    /// So long the samples have said so, in milliseconds up to this one. A dialog that only this one shows: 0.
    pub for_ms: u64,
    /// The host draws a dialog no later than this after it asked, as a rule: work on the screen before is no answer.
    #[serde(default = "drawn_ms")]
    pub drawn_ms: u64,
    /// One line of the screen for the human.
    pub message: String,
}

/// Looks of earlier builds did not say it.
fn drawn_ms() -> u64 {
    DRAWN_MS
}

/// What a pane shows. That it could not be looked at, or could not be told, is no proof and is never passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub enum Shows {
    /// Work.
    Busy,
    /// A composer, and nothing that works.
    Ready {
        /// How the turn before ended.
        kind: WaitKind,
    },
    /// A question to the human.
    Dialog {
        /// What for.
        kind: WaitKind,
        /// The host's own dialog is known; else it only looks like one.
        sure: bool,
    },
    /// A menu that the human opened.
    Menu,
    /// The agent is no longer in that pane, or the pane is gone.
    Gone,
    /// The pane is not among those of its server, which is still there: nobody can go to it any more.
    Closed,
}

impl PaneRef {
    /// True when both may be the same pane. Where one of them does not name its server, the id decides.
    pub fn may_be(&self, other: &PaneRef) -> bool {
        let same_server = self.socket.is_empty() || other.socket.is_empty() || self.socket == other.socket;
        let same_life = match (self.server_pid, other.server_pid) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        self.pane == other.pane && same_server && same_life
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_of_two_servers_are_two_panes() {
        let pane =
            |socket: &str, server_pid| PaneRef { socket: socket.into(), server_pid, pane: "%3".into() };
        assert!(pane("/tmp/a", Some(1)).may_be(&pane("/tmp/a", Some(1))));
        assert!(pane("/tmp/a", Some(1)).may_be(&pane("", None)));
        assert!(!pane("/tmp/a", Some(1)).may_be(&pane("/tmp/b", Some(1))));
        assert!(!pane("/tmp/a", Some(1)).may_be(&pane("/tmp/a", Some(2))));
    }
}
