//! `herdbook why`: what a session's state rests on.

use herdbook_api::v1::{FromSource, Session, Why};

use super::Context;
use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::model::{Unchosen, find, rows};
use crate::moment::{moment_words, parse_moment};
use crate::past;
use crate::printer::{Line, Printer, Style};
use crate::text::{age, wrap};

/// The longest fact beside which journal ids stand in one column.
const FACT_COLUMNS: usize = 40;
/// Fewest columns of facts: a terminal that has less of them beside the ids does without the ids.
const FACT_LEAST: usize = 20;
/// Columns of a journal id.
const ID_COLUMNS: usize = 26;
/// Columns of "  12m ago  ".
const WHEN_COLUMNS: usize = 12;

/// Show what a session's state rests on
///
/// Evidence moved it there. What was ruled out came in since and did not count. Then what would change it, by source, and which
/// sources cannot be looked at. Ids are those of the journal's records.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A queue number, a key, a native id, or the beginning of one
    session: String,
    /// As it was at that time, from the journal: 14:05, '2026-11-30 14:05', or 10m for ten minutes ago
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    at: Option<u64>,
    /// The answer of `/v1/sessions/{key}/why`
    #[arg(long)]
    json: bool,
}

/// Prints it.
///
/// # Errors
/// No one session has that name, the daemon does not answer, nothing was recorded by then, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?;
    let why = match args.at {
        None => {
            let key = find(&daemon.rows()?, &args.session)?.key().to_owned();
            daemon.ask(|client| client.why(&key))?
        }
        Some(at_ms) => {
            let past = past::at(&context.env, at_ms)?;
            let key = find(&rows(past.queue(), past.sessions()), &args.session)?.key().to_owned();
            past::tell_gaps(&past, &daemon, context.printer);
            past.why(&key).ok_or(Unchosen::None(key))?
        }
    };
    if args.json {
        context.printer.json(&why)?;
        return Ok(Exit::Ok);
    }
    if let Some(at_ms) = args.at {
        past::head(context.printer, at_ms)?;
    }
    print(context.printer, &why, args.at.unwrap_or_else(now_ms))?;
    Ok(Exit::Ok)
}

fn print(printer: &mut Printer, why: &Why, now_ms: u64) -> std::io::Result<()> {
    state(printer, &why.session, now_ms)?;
    printer.line(&Line::new().styled("evidence", Style::Bold))?;
    if why.evidence.is_empty() {
        printer.line(&Line::new().own("  none is kept for it"))?;
    }
    let sources = why.evidence.iter().map(|evidence| &evidence.source);
    let sources = widest(sources.chain(why.ruled_out.iter().map(|passed| &passed.source)));
    let facts = why.evidence.iter().map(|evidence| &evidence.fact);
    let facts = widest(facts.chain(why.ruled_out.iter().map(|passed| &passed.fact)));
    let place = Place::of(sources, facts, printer.width());
    for evidence in &why.evidence {
        place.print(printer, now_ms, (evidence.seen_at, &evidence.source, &evidence.fact, &evidence.id))?;
    }
    if !why.ruled_out.is_empty() {
        printer.line(&Line::new().styled("ruled out", Style::Bold))?;
    }
    for passed in &why.ruled_out {
        let id = passed.id.as_deref().unwrap_or("not in the journal");
        place.print(printer, now_ms, (passed.seen_at, &passed.source, &passed.fact, id))?;
        let times = if passed.count > 1 { format!(" ({} times)", passed.count) } else { String::new() };
        under(printer, place.before(), &format!("{}{times}", passed.reason))?;
    }
    said(printer, "would change it", &why.would_change)?;
    said(printer, "cannot be looked at", &why.not_looked_at)?;
    if let Some(again) = &why.looks_again {
        let when = format!("in {}: ", age(again.due_at.saturating_sub(now_ms)));
        printer.line(&Line::new().styled("looks again", Style::Bold))?;
        printer.line(&Line::new().own("  ").text(&when, Style::Plain).text(&again.reason, Style::Plain))?;
    }
    Ok(())
}

/// Where the columns of a row of evidence stand.
struct Place {
    sources: usize,
    facts: usize,
    /// Columns in which facts are wrapped.
    wrapped: Option<usize>,
    ids: bool,
}

impl Place {
    fn of(sources: usize, facts: usize, width: Option<usize>) -> Place {
        let place = Place { sources, facts: facts.min(FACT_COLUMNS), wrapped: None, ids: true };
        let Some(room) = width.map(|width| width.saturating_sub(place.before())) else { return place };
        let beside = room.saturating_sub(2 + ID_COLUMNS);
        let ids = beside >= facts.min(FACT_LEAST);
        let wrapped = if ids { beside } else { room };
        Place { facts: facts.min(wrapped), wrapped: Some(wrapped), ids, ..place }
    }

    /// Columns that stand before a fact.
    fn before(&self) -> usize {
        WHEN_COLUMNS + self.sources + 2
    }

    /// Prints a row: when it was seen, its source, the fact, the id of its record.
    fn print(
        &self,
        printer: &mut Printer,
        now_ms: u64,
        (at_ms, source, fact, id): (u64, &str, &str, &str),
    ) -> std::io::Result<()> {
        let when = format!("  {:>4} ago  ", age(now_ms.saturating_sub(at_ms)));
        let mut line = Line::new().text(&when, Style::Dim).join(padded(source, self.sources)).own("  ");
        for (place, words) in wrap(fact, self.wrapped).iter().enumerate() {
            line = if place > 0 {
                Line::new().spaces(self.before()).text(words, Style::Plain)
            } else if self.ids {
                line.join(padded(words, self.facts)).own("  ").text(id, Style::Dim)
            } else {
                line.text(words, Style::Plain)
            };
            printer.line(&line)?;
        }
        Ok(())
    }
}

fn state(printer: &mut Printer, session: &Session, now_ms: u64) -> std::io::Result<()> {
    let kind = session.kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
    let since = format!(" for {}", age(now_ms.saturating_sub(session.since_at)));
    printer.line(
        &Line::new()
            .text(&session.session_id, Style::Name)
            .own(" is ")
            .text(&format!("{}{kind}", session.state), Style::Bold)
            .text(&since, Style::Plain),
    )?;
    if !session.message.is_empty() {
        printer.line(&Line::new().own("  ").text(&session.message, Style::Plain))?;
    }
    let more = session.pending.saturating_sub(1);
    let marks = [
        (true, format!("since {}", moment_words(session.since_at))),
        (more == 1, "1 more question is open".to_owned()),
        (more > 1, format!("{more} more questions are open")),
        (session.headless, "no human sits at it: it is not queued for the end of a turn".to_owned()),
        (session.stale, "it left the queue for its age".to_owned()),
        (session.detached, "its pane was closed and its agent lives on: it is not queued".to_owned()),
        (session.pane_uncertain, "its pane is a guess".to_owned()),
    ];
    let facts = [("it runs on", &session.machine), ("it goes on with", &session.resumed_from)];
    let facts = facts.into_iter().filter_map(|(words, value)| Some(format!("{words} {}", value.as_ref()?)));
    let marks = marks.into_iter().filter_map(|(is_so, words)| is_so.then_some(words));
    for words in marks.chain(facts) {
        printer.line(&Line::new().own("  ").text(&words, Style::Dim))?;
    }
    Ok(())
}

/// Prints what is said of sources, those of which the same is said in one row.
fn said(printer: &mut Printer, title: &'static str, list: &[FromSource]) -> std::io::Result<()> {
    let mut rows: Vec<(String, &str)> = Vec::new();
    for one in list {
        match rows.last_mut().filter(|(_, words)| *words == one.words) {
            Some((sources, _)) => *sources = format!("{sources}, {}", one.source),
            None => rows.push((one.source.clone(), &one.words)),
        }
    }
    if !rows.is_empty() {
        printer.line(&Line::new().styled(title, Style::Bold))?;
    }
    let sources = widest(rows.iter().map(|(sources, _)| sources));
    for (source, words) in rows {
        let lines = wrap(words, printer.width().map(|width| width.saturating_sub(sources + 4)));
        for (place, words) in lines.iter().enumerate() {
            let source = if place == 0 { source.as_str() } else { "" };
            let line = Line::new().own("  ").join(padded(source, sources)).own("  ");
            printer.line(&line.text(words, Style::Plain))?;
        }
    }
    Ok(())
}

/// Prints words below others, so many columns from the left.
fn under(printer: &mut Printer, columns: usize, words: &str) -> std::io::Result<()> {
    for words in wrap(words, printer.width().map(|width| width.saturating_sub(columns))) {
        printer.line(&Line::new().spaces(columns).text(&words, Style::Dim))?;
    }
    Ok(())
}

fn padded(text: &str, columns: usize) -> Line {
    let line = Line::new().text(text, Style::Plain);
    let fill = columns.saturating_sub(line.width());
    line.spaces(fill)
}

fn widest<'a>(texts: impl Iterator<Item = &'a String>) -> usize {
    texts.map(|text| Line::new().text(text, Style::Plain).width()).max().unwrap_or(0)
}
