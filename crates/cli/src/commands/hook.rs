//! `herdbook hook`: what hosts run, under a name that people find.

use std::ffi::OsString;
use std::process::ExitCode;

/// Deliver one hook call (hosts run `herdbook-hook`, which is the same but smaller)
///
/// Reads one payload from stdin and hands it to the daemon, or to the spool when no daemon answers. Whatever happens,
/// it prints nothing of its own and ends with exit code 0, so that it never disturbs the agent. Only where a route of
/// yours decided it prints that, or ends with exit code 2 where this is how the host is refused.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The host: claude, codex, cursor, …
    #[arg(value_name = "HOST")]
    _host: String,
    /// `event:NAME` where the payload does not name its event, and whatever else the host appends
    #[arg(value_name = "REST", trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<OsString>,
}

/// Runs the hook code when the first word is `hook`, before anything else is looked at: to hosts, exit code 2 of a usage
/// error means "block". Only a person's `herdbook hook --help` goes on to the argument parser.
pub fn fast_path(words: &[OsString]) -> Option<ExitCode> {
    let rest = words.get(2..).unwrap_or_default();
    if words.get(1)? != "hook" || (rest.len() == 1 && (rest[0] == "--help" || rest[0] == "-h")) {
        return None;
    }
    Some(herdbook_wire::hook::run_process(rest.iter().filter(|word| *word != "--").cloned()))
}
