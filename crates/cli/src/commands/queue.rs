//! What the verbs on the queue share: choosing the session, and saying what came of it.

use herdbook_api::{Client, ClientError, v1::Acted};

use super::Context;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::model::find;
use crate::printer::{Line, Style};

/// Does something to one session and says what is next.
///
/// # Errors
/// No one session has that name, it is not in the queue, or the daemon does not answer.
pub fn act(
    context: &mut Context<'_>,
    asked: &str,
    done: &'static str,
    verb: impl FnOnce(&Client, &str) -> Result<Acted, ClientError>,
) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?;
    let key = find(&daemon.rows()?, asked)?.key().to_owned();
    let acted = daemon.ask(|client| verb(client, &key))?;
    tell(context, done, &acted)
}

/// Says what was done and what is next.
///
/// # Errors
/// None; the signature is that of a command's end.
pub fn tell(context: &mut Context<'_>, done: &'static str, acted: &Acted) -> Result<Exit, Problem> {
    let Some(session) = &acted.session else {
        context.printer.say(&Line::new().own("nobody waits"));
        return Ok(Exit::Nothing);
    };
    let mut line = Line::new().own(done).own(" ").text(session, Style::Name);
    line = match &acted.next {
        Some(next) => line.own("; next is ").text(&next.session_id, Style::Name),
        None => line.own("; nobody else waits"),
    };
    context.printer.say(&line);
    Ok(Exit::Ok)
}
