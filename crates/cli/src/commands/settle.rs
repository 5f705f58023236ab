//! `herdbook settle`: that is dealt with.

use super::{Context, queue};
use crate::error::Problem;
use crate::exit::Exit;

/// Take a session as not waiting until something new happens in it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A queue number, a key, a native id, or the beginning of one
    session: String,
}

/// Settles it.
///
/// # Errors
/// As [`queue::act`].
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    queue::act(context, &args.session, "settled", |client, key| client.settle(key))
}
