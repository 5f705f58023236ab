//! `herdbook stats`: how long agents waited and worked.

use super::Context;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::moment::parse_moment;
use crate::tally;

/// Show how long agents waited for you and how long they worked
///
/// A wait counts as the queue showed it, in full, where it ended. P50 and P90 say within what time half of the
/// answered waits and nine of ten were answered. What ended with its session, was settled, or aged out counts as a wait,
/// but not as an answer. Headless sessions are left out, and so is the time in which the machine slept.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What ended since then: 24h, 7d, 14:05, 2026-11-01, 2026-11-01T14:05
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = parse_moment)]
    since: u64,
    /// What the rows are
    #[arg(long, value_enum, default_value_t = By::Kind)]
    by: By,
    /// The answer of `/v1/stats`
    #[arg(long)]
    json: bool,
}

/// What the rows are.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum By {
    /// The working directory
    Project,
    /// The agent product
    Host,
    /// What was waited for
    Kind,
    /// The day on which it ended
    Day,
}

impl By {
    fn as_str(self) -> &'static str {
        match self {
            By::Project => "project",
            By::Host => "host",
            By::Kind => "kind",
            By::Day => "day",
        }
    }
}

/// Prints it.
///
/// # Errors
/// The daemon does not answer, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?;
    let stats = daemon.ask(|client| client.stats(args.since, args.by.as_str()))?;
    if args.json {
        context.printer.json(&stats)?;
    } else {
        tally::print(context.printer, &stats, context.env.home())?;
    }
    Ok(Exit::Ok)
}
