//! What the detector says of a program in a pane: the reference's four events for harnesses without hooks.

use serde::{Deserialize, Serialize};

use crate::NormalizedEvent;
use crate::observation::PaneRef;

/// A program in a tmux pane, told apart from all that had that pane's id before and will have it after it: ids come
/// back with a new server, and pids with a new boot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaneProgram {
    /// Path of the server's socket.
    pub socket: String,
    /// Pid of the server.
    pub server_pid: u32,
    /// When the server started, Unix seconds.
    pub server_start: u64,
    /// Pane id, for example `%3`.
    pub pane: String,
    /// The process that tmux started in the pane.
    pub pid: u32,
}

impl PaneProgram {
    /// The pane it runs in.
    pub fn pane_ref(&self) -> PaneRef {
        PaneRef { socket: self.socket.clone(), server_pid: Some(self.server_pid), pane: self.pane.clone() }
    }
}

/// One event of the detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The program it is about.
    pub program: PaneProgram,
    /// The event, as the reference's detector would post it.
    pub event: NormalizedEvent,
    /// What it follows from, in words.
    pub fact: String,
}
