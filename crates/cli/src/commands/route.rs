//! `herdbook route`: scripts of the human's that see hook calls and may answer them.

mod choose;
mod ls;
mod test;
mod trust;

use clap::Subcommand;

pub use ls::is_failing;

use super::Context;
use crate::error::Problem;
use crate::exit::Exit;

/// Look at your routes: scripts that see what agents do and may allow, deny or ask
///
/// A route is an executable file routes/FAMILY/NAME in your settings folder, routes/tool/before/no-force-push for example.
/// It reads one JSON object, {"canonical", "native"}, and prints a decision or nothing. New and changed ones are not run
/// before `herdbook route trust`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Ls(ls::Args),
    Trust(trust::Args),
    Test(test::Args),
}

/// Runs it.
///
/// # Errors
/// Whatever the verb says.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    match &args.verb {
        Verb::Ls(args) => ls::run(args, context),
        Verb::Trust(args) => trust::run(args, context),
        Verb::Test(args) => test::run(args, context),
    }
}
