//! `herdbook demo`: see it work.

use super::Context;
use crate::demo::play::Play;
use crate::demo::stage::Stage;
use crate::demo::stop::Stop;
use crate::error::Problem;
use crate::exit::Exit;

/// See it work without an agent: about 10 seconds on a terminal, and nothing is left behind
///
/// Starts a daemon and, where tmux exists, a tmux server of its own in a scratch folder. Stand-ins for two agents and a
/// harness send what real ones send, through the real hook and the real socket. Your own daemon, sessions and settings
/// are not touched.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Plays it. Leaving this function, however, ends and removes all that was started.
///
/// # Errors
/// Something could not be started, the daemon did not say what it should, or somebody interrupted.
pub fn run(context: &mut Context<'_>) -> Result<Exit, Problem> {
    let stage = Stage::new(&context.env, Stop::watch()?)?;
    Play::open(stage, context.printer)?.run()?;
    Ok(Exit::Ok)
}
