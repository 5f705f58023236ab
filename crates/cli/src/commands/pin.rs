//! `herdbook pin`: this one first.

use super::{Context, queue};
use crate::error::Problem;
use crate::exit::Exit;

/// Keep a waiting session at the front of the queue
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A queue number, a key, a native id, or the beginning of one
    session: String,
    /// No longer
    #[arg(long)]
    off: bool,
}

/// Pins it, or takes the pin out.
///
/// # Errors
/// As [`queue::act`].
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let done = if args.off { "unpinned" } else { "pinned" };
    queue::act(context, &args.session, done, |client, key| client.pin(key, !args.off))
}
