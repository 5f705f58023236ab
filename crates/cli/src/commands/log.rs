//! `herdbook log`: what a session log says.

mod check;
mod export;
mod file;
mod import;
mod keep;
mod lines;
mod listing;
mod ls;
mod repair;
mod replay;
mod scrub;
mod show;
mod tail;
mod target;
mod told;

use clap::Subcommand;

use super::Context;
use crate::error::Problem;
use crate::exit::Exit;

/// Session logs: list, show, follow, check, replay, export, import, repair and scrub them
///
/// A log is named by its session's key (or how that begins), or it is a file of one JSON event a line. No daemon is
/// needed. Without a command it lists the sessions that have a log, the latest first.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// One JSON object with the member `logs`
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Ls(ls::Args),
    Show(show::Args),
    Tail(tail::Args),
    Check(check::Args),
    Replay(replay::Args),
    Export(export::Args),
    Import(import::Args),
    Repair(repair::Args),
    Scrub(scrub::Args),
    Keep(keep::Args),
}

/// Runs it.
///
/// # Errors
/// Whatever the verb says.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let Some(verb) = &args.verb else { return listing::run(args.json, false, context) };
    match verb {
        Verb::Ls(args) => ls::run(args, context),
        Verb::Show(args) => show::run(args, context),
        Verb::Tail(args) => tail::run(args, context),
        Verb::Check(args) => check::run(args, context),
        Verb::Replay(args) => replay::run(args, context),
        Verb::Export(args) => export::run(args, context),
        Verb::Import(args) => import::run(args, context),
        Verb::Repair(args) => repair::run(args, context),
        Verb::Scrub(args) => scrub::run(args, context),
        Verb::Keep(args) => keep::run(args, context),
    }
}
