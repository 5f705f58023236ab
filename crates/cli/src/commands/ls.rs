//! `herdbook ls`: who waits, who works.

use herdbook_api::v1::{Agent, Item, Session};
use serde::Serialize;

use super::Context;
use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::listing;
use crate::model::{Row, agent_rows, is_hookable, rows, sort};
use crate::moment::parse_moment;
use crate::past;
use crate::printer::{Line, Style};

/// List the sessions: who waits for you first, in the order in which `next` goes there
///
/// Agents that run without hooks come last: what they do cannot be told, and `--at` does not know of them.
///
/// STATE is registered (no turn running), working, stuck (waits for you), ended, or unknown (cannot be told). KIND says what a
/// stuck session waits for; what is held can be answered from here, with `approve` or `deny`. A pane with a question mark is a guess; `%3@HOST` is on another machine, and of a pane that is
/// closed the agent lives on.
#[derive(Debug, clap::Args)]
#[command(visible_alias = "list")]
pub struct Args {
    /// Ended sessions, too
    #[arg(short, long)]
    all: bool,
    /// As it was at that time, from the journal: 14:05, '2026-11-30 14:05', or 10m for ten minutes ago
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    at: Option<u64>,
    /// One JSON object with the members `queue`, `sessions` and `agents`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    queue: Vec<Item>,
    sessions: Vec<Session>,
    agents: Vec<Agent>,
    /// The moment of `--at`, Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
}

/// Prints the table.
///
/// # Errors
/// The daemon does not answer, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?;
    let (queue, mut sessions, agents) = match args.at {
        None => daemon.ask(|client| Ok((client.queue()?, client.sessions()?, client.agents()?)))?,
        Some(at_ms) => {
            let past = past::at(&context.env, at_ms)?;
            past::tell_gaps(&past, &daemon, context.printer);
            (past.queue(), past.sessions(), Vec::new())
        }
    };
    let ended = sessions.len();
    sessions.retain(|session| args.all || session.state != "ended");
    let ended = ended - sessions.len();
    if args.json {
        context.printer.json(&Answer { queue, sessions, agents, at: args.at })?;
        return Ok(Exit::Ok);
    }
    if let Some(at_ms) = args.at {
        past::head(context.printer, at_ms)?;
    }
    let mut rows = rows(queue, sessions);
    if args.at.is_none() {
        mark_held(&daemon, &mut rows);
    }
    sort(&mut rows);
    let (now, unhooked) = (args.at.unwrap_or_else(now_ms), agents.iter().any(is_hookable));
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
    if args.at.is_none() {
        daemon.tell_warnings(context.printer);
    }
    Ok(Exit::Ok)
}

/// Marks what can be answered from here. Not being told is no failure.
fn mark_held(daemon: &Daemon, rows: &mut [Row]) {
    let waits = daemon.ask(|client| client.waits()).unwrap_or_default();
    let held: Vec<&str> =
        waits.iter().filter(|wait| wait.held_until.is_some()).map(|wait| wait.session_id.as_str()).collect();
    rows.iter_mut().for_each(|row| row.is_held = held.contains(&row.key()));
}
