//! `herdbook hook`: what hosts run, under a name that people find.

use std::ffi::OsString;
use std::process::ExitCode;

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
    herdbook_wire::hook::run_process(words.iter().skip(2).cloned());
    Some(ExitCode::SUCCESS)
}

/// Runs it where the fast path was not taken (`herdbook hook -- HOST`).
pub fn run(args: Args) -> Exit {
    herdbook_wire::hook::run_process(std::iter::once(args.host.into()).chain(args.rest));
    Exit::Ok
}
