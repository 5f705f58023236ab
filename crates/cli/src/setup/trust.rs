//! Hosts that run a hook only once it is trusted. Today that is Codex.
//!
//! SEAM: the four functions are called at the right moments with all that trusting needs; the calls into the Codex part
//! (`setup::codex::Codex`: plan, trust, untrust) go in here.

use std::path::Path;

use super::target::Target;
use crate::error::Problem;
use crate::printer::Printer;

/// What trusting needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Trust<'a> {
    /// The host, its program and its folder.
    pub target: &'a Target,
    /// Where copies of what is changed go; a private folder that is there by the time something is written.
    #[allow(dead_code, reason = "for the Codex part")]
    pub backups: &'a Path,
}

/// Shows, before the human is asked, what trusting the hooks of this text will change. Returns whether it will change
/// anything.
///
/// # Errors
/// stdout could not be written.
pub fn preview_install(
    _printer: &mut Printer,
    _trust: Trust<'_>,
    _hooks_text: &str,
    _as_diff: bool,
) -> Result<bool, Problem> {
    Ok(false)
}

/// Called when the hooks are in the file. Without `agreed` nothing may be written. Returns what is left for the human
/// to do.
pub fn after_install(trust: Trust<'_>, _agreed: bool) -> Option<String> {
    (trust.target.table.host == "codex").then(|| "start codex and accept the hooks in /hooks".to_owned())
}

/// Shows, before the human is asked, what taking the trust away will change, with the hooks file's text as it is.
/// Returns whether it will change anything.
///
/// # Errors
/// stdout could not be written.
pub fn preview_uninstall(
    _printer: &mut Printer,
    _trust: Trust<'_>,
    _hooks_text: &str,
    _as_diff: bool,
) -> Result<bool, Problem> {
    Ok(false)
}

/// Called before our hooks are taken out of the file, with its text. Without `agreed` nothing may be written. Returns
/// what is left for the human to do.
pub fn before_uninstall(_trust: Trust<'_>, _hooks_text: &str, _agreed: bool) -> Option<String> {
    None
}
