//! `herdbook log`: what a session log says.

mod check;
mod export;
mod file;
mod ls;
mod replay;

use clap::Subcommand;

use super::Context;
use crate::error::Problem;
use crate::exit::Exit;

/// List, check, replay and export session logs: files of one JSON event a line
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Ls(ls::Args),
    Check(check::Args),
    Replay(replay::Args),
    Export(export::Args),
}

/// Runs it.
///
/// # Errors
/// Whatever the verb says.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    match &args.verb {
        Verb::Ls(args) => ls::run(args, context),
        Verb::Check(args) => check::run(args, context),
        Verb::Replay(args) => replay::run(args, context),
        Verb::Export(args) => export::run(args, context),
    }
}
