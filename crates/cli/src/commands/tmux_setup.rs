//! `herdbook tmux-setup`: what `install tmux` and `uninstall tmux` do.

use super::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::setup::tmux::{Keys, Options, install, uninstall};

/// Put the keys and the status segment into tmux, or take them out
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// Take them out
    #[arg(long)]
    remove: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Take keys that are bound to something else
    #[arg(long)]
    force: bool,
    /// Keys behind tmux's prefix, for example next=Tab,skip=S,popup=g,return=B; `none` leaves one out
    #[arg(long, value_name = "VERB=KEY,…")]
    keys: Option<Keys>,
}

/// Does it.
///
/// # Errors
/// As [`install`].
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let options =
        Options { dry_run: args.dry_run, yes: args.yes, force: args.force, keys: args.keys.clone() };
    if args.remove { uninstall(context, &options) } else { install(context, &options) }
}
