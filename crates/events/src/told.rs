//! What a transcript tells about waiting, in words that know no host. Below what hooks say: only newer, explicit proof
//! moves a session (overview section 4).

use serde::{Deserialize, Serialize};

use crate::observation::{PaneRef, WaitKind};
use crate::origin::Process;

/// One fact that a record of a transcript proves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Told {
    /// The file is of a session of its own, which hooks may never have named.
    Opened {
        /// Working directory.
        cwd: Option<String>,
        /// A human sits at it, where the file says so.
        attended: Option<bool>,
    },
    /// The process that has the file open. Only known of files whose sessions no hook named.
    Seated {
        /// The process.
        process: Process,
        /// The pane it runs in, if it is in one that is proven.
        pane: Option<PaneRef>,
    },
    /// The file is of a session that another one started (case F-041).
    ChildOf {
        /// The host's own id of that one.
        parent: String,
    },
    /// It goes on with the conversation of an earlier session (cases F-037, F-055).
    ResumedFrom {
        /// The host's own id of that one.
        earlier: String,
    },
    /// A turn started.
    TurnStarted,
    /// The turn is over.
    TurnEnded {
        /// How: [`WaitKind::TurnEnd`], [`WaitKind::Error`] or [`WaitKind::Interrupted`].
        kind: WaitKind,
        /// Text for the human, empty if there is none.
        message: String,
    },
    /// The tool use of that id got its answer, or its result, which is one.
    Answered {
        /// The host's tool use id.
        tool: String,
        /// The result is an error, as after a refusal.
        failed: bool,
    },
}

impl Told {
    /// The fact in words, for `why`.
    pub fn words(&self) -> String {
        match self {
            Told::Opened { .. } => "a session of its own".into(),
            Told::Seated { process, .. } => format!("written by process {}", process.pid),
            Told::ChildOf { parent } => format!("started by {parent}"),
            Told::ResumedFrom { earlier } => format!("goes on with {earlier}"),
            Told::TurnStarted => "turn started".into(),
            Told::TurnEnded { kind: WaitKind::Interrupted, .. } => "interrupted by the human".into(),
            Told::TurnEnded { kind: WaitKind::Error, .. } => "turn ended by an error".into(),
            Told::TurnEnded { .. } => "turn over".into(),
            Told::Answered { tool, failed: true } => format!("refusal or error for {tool}"),
            Told::Answered { tool, failed: false } => format!("result for {tool}"),
        }
    }
}
