//! `herdbook stand-in`: the program in the panes of `demo`. Not for people.

use std::path::PathBuf;

use super::Context;
use crate::demo::stand_in::{Part, own_terminal, play};
use crate::error::Problem;
use crate::exit::Exit;

/// Play a part in `herdbook demo`
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// The part
    name: String,
    /// Where the director listens
    socket: PathBuf,
    /// Make stdin the terminal of a session of its own
    #[arg(long)]
    own_terminal: bool,
}

/// Plays it.
///
/// # Errors
/// The director cannot be reached.
pub fn run(args: Args, context: &Context<'_>) -> Result<Exit, Problem> {
    let cannot = |error| Problem::Demo { what: "could not play".into(), source: Some(error) };
    if args.own_terminal {
        own_terminal().map_err(cannot)?;
    }
    let part = Part { name: args.name, socket: args.socket, pane: context.env.tmux_pane.clone() };
    play(&part).map_err(cannot)?;
    Ok(Exit::Ok)
}
