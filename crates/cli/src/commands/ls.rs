//! `herdbook ls`: who waits, who works.

use herdbook_api::v1::{Item, Session};
use serde::Serialize;

use super::Context;
use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::listing;
use crate::model::{rows, sort};
use crate::printer::Line;

/// List the sessions: who waits for you first, in the order in which `next` goes there
///
/// STATE is registered (no turn running), working, stuck (waits for you), ended, or unknown (cannot be told). KIND says what a
/// stuck session waits for. A pane with a question mark is a guess.
#[derive(Debug, clap::Args)]
#[command(visible_alias = "list")]
pub struct Args {
    /// Ended sessions, too
    #[arg(short, long)]
    all: bool,
    /// One JSON object with the members `queue` and `sessions`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    queue: Vec<Item>,
    sessions: Vec<Session>,
}

/// Prints the table.
///
/// # Errors
/// The daemon does not answer, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?;
    let (queue, mut sessions) = daemon.ask(|client| Ok((client.queue()?, client.sessions()?)))?;
    let ended = sessions.len();
    sessions.retain(|session| args.all || session.state != "ended");
    let ended = ended - sessions.len();
    if args.json {
        context.printer.json(&Answer { queue, sessions })?;
        return Ok(Exit::Ok);
    }
    let mut rows = rows(queue, sessions);
    sort(&mut rows);
    if rows.is_empty() {
        let words = if ended > 0 {
            "no session is open; `--all` shows those that ended"
        } else {
            "no session was seen yet"
        };
        context.printer.say(&Line::new().own(words));
    } else {
        listing::print(context.printer, &rows, context.env.home(), now_ms())?;
    }
    daemon.tell_warnings(context.printer);
    Ok(Exit::Ok)
}
