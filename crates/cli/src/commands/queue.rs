//! What the verbs on the queue share: choosing the session, and saying what came of it.

use herdbook_api::{Client, ClientError, v1::Acted};

use super::Context;
use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::model::{find, is_resting};
use crate::printer::{Line, Style};
use crate::text::resting_words;

/// Does something to one session and says what is next.
///
/// # Errors
/// No one session has that name, or the daemon does not answer.
pub fn act(
    context: &mut Context<'_>,
    asked: &str,
    done: &'static str,
    verb: impl FnOnce(&Client, &str) -> Result<Acted, ClientError>,
) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?;
    let key = find(&daemon.rows()?, asked)?.key().to_owned();
    match daemon.ask(|client| verb(client, &key)) {
        Ok(acted) => tell(context, &daemon, done, &acted),
        // The session is known, so what is not there is its wait.
        Err(Problem::Answer(error)) if error.is_not_found() => {
            context.printer.say(&Line::new().text(&key, Style::Name).own(" does not wait"));
            Ok(Exit::Nothing)
        }
        Err(problem) => Err(problem),
    }
}

/// Says what was done and what is next.
///
/// # Errors
/// The daemon does not answer any more.
pub fn tell(
    context: &mut Context<'_>,
    daemon: &Daemon,
    done: &'static str,
    acted: &Acted,
) -> Result<Exit, Problem> {
    let (mut line, exit) = match &acted.session {
        Some(session) => (Line::new().own(done).own(" ").text(session, Style::Name).own("; "), Exit::Ok),
        None => (Line::new(), Exit::Nothing),
    };
    line = match &acted.next {
        Some(next) => line.own("next is ").text(&next.session_id, Style::Name),
        None => {
            let now = now_ms();
            let queue = daemon.ask(|client| client.queue())?;
            let others = queue.iter().filter(|entry| Some(&entry.session_id) != acted.session.as_ref());
            let resting = others.filter(|entry| is_resting(entry, now)).count() as u64;
            let nobody = if acted.session.is_some() { "nobody else waits" } else { "nobody waits" };
            line.own(nobody).text(&resting_words(resting), Style::Plain)
        }
    };
    context.printer.say(&line);
    Ok(exit)
}
