//! `herdbook snooze`: not for a while.

use super::{Context, queue};
use crate::error::Problem;
use crate::exit::Exit;
use crate::text::parse_duration;

/// Keep a waiting session out of the way for a time
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A queue number, a key, a native id, or the beginning of one
    session: String,
    /// How long: 90s, 20m, 1h30m, 2d
    #[arg(value_parser = parse_duration)]
    duration: u64,
}

/// Snoozes it.
///
/// # Errors
/// As [`queue::act`].
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    queue::act(context, &args.session, "snoozed", |client, key| client.snooze(key, args.duration))
}
