//! `herdbook skip`: not now.

use super::{Context, queue};
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;

/// Put a waiting session behind the others for 30 seconds
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A queue number, a key, a native id, or the beginning of one; without it the head of the queue
    session: Option<String>,
}

/// Skips it.
///
/// # Errors
/// As [`queue::act`].
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    match &args.session {
        Some(session) => queue::act(context, session, "skipped", |client, key| client.skip(Some(key))),
        None => {
            let daemon = Daemon::of(&context.env)?;
            let acted = daemon.ask(|client| client.skip(None))?;
            queue::tell(context, &daemon, "skipped", &acted)
        }
    }
}
