//! The story that the agent plays: a person has a spreadsheet importer mended, and nearly everything happens on the way.

mod late;
mod middle;
mod opening;
mod side;

use crate::agent::script::{Scene, Script};

/// The tools of the reference's harness.
const TOOLS: [&str; 11] =
    ["read", "write", "edit", "grep", "glob", "bash", "process", "design", "remember", "symbols", "refs"];

/// Returns the story. It writes events of all types, and lets two other sessions run.
pub fn tale() -> Script {
    let scenes: Vec<Scene> =
        [opening::scenes(), middle::scenes(), late::scenes()].into_iter().flatten().collect();
    Script { scenes, tools: &TOOLS }
}
