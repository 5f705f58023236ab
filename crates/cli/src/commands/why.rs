//! `herdbook why`: what a session's state rests on.

use herdbook_api::v1::Why;

use super::Context;
use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::model::find;
use crate::printer::{Line, Style};
use crate::text::age;

/// Show the evidence for a session's state
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A queue number, a key, a native id, or the beginning of one
    session: String,
    /// The answer of `/v1/sessions/{key}/why`
    #[arg(long)]
    json: bool,
}

/// Prints it.
///
/// # Errors
/// No one session has that name, the daemon does not answer, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?;
    let key = find(&daemon.rows()?, &args.session)?.key().to_owned();
    let why: Why = daemon.ask(|client| client.why(&key))?;
    if args.json {
        context.printer.json(&why)?;
        return Ok(Exit::Ok);
    }
    let (session, now) = (&why.session, now_ms());
    let mut state = session.state.clone();
    if let Some(kind) = &session.kind {
        state = format!("{state} ({kind})");
    }
    let since = format!(" for {}", age(now.saturating_sub(session.since_at)));
    context.printer.line(
        &Line::new()
            .text(&session.session_id, Style::Name)
            .own(" is ")
            .text(&state, Style::Bold)
            .text(&since, Style::Plain),
    )?;
    let marks = [
        (session.headless, "no human sits at it: it is not queued for the end of a turn"),
        (session.stale, "it left the queue for its age"),
        (session.detached, "its pane was closed and its agent lives on: it is not queued"),
        (session.pane_uncertain, "its pane is a guess"),
    ];
    for (_, words) in marks.into_iter().filter(|(is_so, _)| *is_so) {
        context.printer.line(&Line::new().own("  ").styled(words, Style::Dim))?;
    }
    let facts = [("it runs on ", &session.machine), ("it goes on with ", &session.resumed_from)];
    for (words, value) in facts {
        if let Some(value) = value {
            context.printer.line(&Line::new().own("  ").styled(words, Style::Dim).text(value, Style::Dim))?;
        }
    }
    if !session.message.is_empty() {
        context.printer.line(&Line::new().own("  ").text(&session.message, Style::Plain))?;
    }
    if why.evidence.is_empty() {
        context.printer.line(&Line::new().own("  no evidence is kept for it"))?;
    }
    let widest = why.evidence.iter().map(|evidence| evidence.source.chars().count()).max().unwrap_or(0);
    for evidence in &why.evidence {
        let when = format!("{:>4} ago", age(now.saturating_sub(evidence.seen_at)));
        let source = Line::new().text(&evidence.source, Style::Plain);
        let fill = widest.saturating_sub(source.width()) + 2;
        context.printer.line(
            &Line::new()
                .own("  ")
                .text(&when, Style::Dim)
                .own("  ")
                .join(source)
                .spaces(fill)
                .text(&evidence.fact, Style::Plain)
                .own("  ")
                .text(&evidence.id, Style::Dim),
        )?;
    }
    if let Some(again) = &why.looks_again {
        let when = format!("looks again in {}: ", age(again.due_at.saturating_sub(now)));
        context
            .printer
            .line(&Line::new().own("  ").text(&when, Style::Dim).own(" ").text(&again.reason, Style::Dim))?;
    }
    Ok(Exit::Ok)
}
