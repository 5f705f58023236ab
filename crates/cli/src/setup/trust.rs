//! Hosts that run a hook only once it is trusted. Today that is Codex.
//!
//! SEAM: the two functions are called at the right moments with all that trusting needs; the calls into the Codex part
//! (`setup::codex::Codex`) go in here.

use std::path::Path;

use super::target::Target;

/// What trusting needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Trust<'a> {
    /// The host, its program and its folder.
    pub target: &'a Target,
    /// Where copies of what is changed go; a private folder that is there.
    #[allow(dead_code, reason = "for the Codex part")]
    pub backups: &'a Path,
}

/// Called when the hooks are in the file and the human has agreed. Returns what is left for the human to do.
pub fn after_install(trust: Trust<'_>) -> Option<String> {
    (trust.target.table.host == "codex").then(|| "start codex and accept the hooks in /hooks".to_owned())
}

/// Called before our hooks are taken out of the file, with its text. Returns what is left for the human to do.
pub fn before_uninstall(_trust: Trust<'_>, _hooks_text: &str) -> Option<String> {
    None
}
