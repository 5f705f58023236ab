//! `herdbook ls`: who waits, who works.

use herdbook_api::v1::{Agent, Item, Session};
use serde::Serialize;

use super::Context;
use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::listing;
use crate::model::{agent_rows, is_hookable, rows, sort};
use crate::printer::{Line, Style};

/// List the sessions: who waits for you first, in the order in which `next` goes there
///
/// Agents that run without hooks come last: what they do cannot be told.
///
/// STATE is registered (no turn running), working, stuck (waits for you), ended, or unknown (cannot be told). KIND says what a
/// stuck session waits for. A pane with a question mark is a guess; `%3@HOST` is on another machine, and of a pane that is
/// closed the agent lives on.
#[derive(Debug, clap::Args)]
#[command(visible_alias = "list")]
pub struct Args {
    /// Ended sessions, too
    #[arg(short, long)]
    all: bool,
    /// One JSON object with the members `queue`, `sessions` and `agents`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    queue: Vec<Item>,
    sessions: Vec<Session>,
    agents: Vec<Agent>,
}

/// Prints the table.
///
/// # Errors
/// The daemon does not answer, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?;
    let (queue, mut sessions, agents) =
        daemon.ask(|client| Ok((client.queue()?, client.sessions()?, client.agents()?)))?;
    let ended = sessions.len();
    sessions.retain(|session| args.all || session.state != "ended");
    let ended = ended - sessions.len();
    if args.json {
        context.printer.json(&Answer { queue, sessions, agents })?;
        return Ok(Exit::Ok);
    }
    let mut rows = rows(queue, sessions);
    sort(&mut rows);
    let (now, unhooked) = (now_ms(), agents.iter().any(is_hookable));
    rows.extend(agent_rows(agents, now));
    if rows.is_empty() {
        let words = if ended > 0 {
            "no session is open; `--all` shows those that ended"
        } else {
            "no session was seen yet"
        };
        context.printer.say(&Line::new().own(words));
    } else {
        listing::print(context.printer, &rows, context.env.home(), now)?;
    }
    if unhooked {
        let hint = Line::new().styled("hint:", Style::Name);
        context.printer.say(&hint.own(" agents without hooks: `herdbook install`, then restart them"));
    }
    daemon.tell_warnings(context.printer);
    Ok(Exit::Ok)
}
