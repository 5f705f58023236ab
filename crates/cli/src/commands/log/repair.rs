//! `herdbook log repair`: what is damaged in a session's log, and what can be done about it.

use std::path::PathBuf;

use herdbook_log::{Repair, continue_as, look, repair};

use super::target::{Target, sessions};
use crate::clock::now_ms;
use crate::commands::Context;
use crate::error::{Problem, whole};
use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};
use crate::text::{counted, shell_word};

/// Mend a damaged session log
///
/// Damaged lines are taken from the compressed copy of their segment, where one lies beside it: the same seq, and a
/// checksum that continues the line before. The damaged bytes stay beside it, as SEGMENT.damaged-MILLISECONDS. Where there is
/// no copy, --new begins a session with the events before the first damage, with a link to this one; this log then stays as
/// it is. The exit code is 1 while something is damaged.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session, by its key or how that begins
    session: PathBuf,
    /// Only say what is damaged and what would be done
    #[arg(long)]
    dry_run: bool,
    /// Go on under this key, with the events before the first damage, where the log cannot be mended
    #[arg(long, value_name = "KEY")]
    new: Option<String>,
}

/// How many damaged places are listed.
const LISTED: usize = 20;

/// Mends it, or says what there is to mend.
///
/// # Errors
/// No session has that key, somebody writes to its log, or the system refuses.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let Target::Folder { name, path } = Target::find(&args.session, &context.env)? else {
        return Err(Problem::Log("only the log of a session is repaired: name it by its key".to_owned()));
    };
    let failed = |error: &dyn std::error::Error| Problem::Log(whole(error));
    let found = look(&path).map_err(|error| failed(&error))?;
    let printer = &mut *context.printer;
    if found.damage.is_empty() {
        say(printer, &format!("{name} is not damaged"))?;
        return Ok(Exit::Ok);
    }
    tell(printer, &found)?;
    let done = match args.dry_run {
        true => found,
        false => repair(&path, now_ms()).map_err(|error| failed(&error))?,
    };
    for mended in &done.mended {
        let lines = counted(mended.lines, "line");
        let copy = format!("{}.zst", mended.segment);
        say(
            printer,
            &match &mended.kept {
                None => format!("{}: {lines} can be taken from {copy}", mended.segment),
                Some(kept) => {
                    format!("{}: {lines} taken from {copy}; the damaged bytes are in {kept}", mended.segment)
                }
            },
        )?;
    }
    let is_mendable = |segment: &String| done.mended.iter().any(|mended| mended.segment == *segment);
    let is_whole = match args.dry_run {
        true => done.damage.iter().all(|damage| is_mendable(&damage.segment)),
        false => done.left.is_empty(),
    };
    if is_whole {
        say(printer, &format!("{name} {} whole", if args.dry_run { "would be" } else { "is" }))?;
        return Ok(if args.dry_run { Exit::Failed } else { Exit::Ok });
    }
    let first = if args.dry_run { &done.damage } else { &done.left };
    let to = first.first().map_or(done.readable_to, |damage| damage.seq.saturating_sub(1));
    match &args.new {
        Some(new) if args.dry_run => {
            say(printer, &format!("{new} would begin with the events of {name} up to seq {to}"))?;
            Ok(Exit::Failed)
        }
        Some(new) => {
            let sessions = sessions(&context.env)?;
            let done = continue_as(&sessions, &name, new, now_ms()).map_err(|error| failed(&error))?;
            say(printer, &format!("{new} begins with the events of {name} up to seq {}", done.to_seq))?;
            Ok(Exit::Ok)
        }
        None => {
            let words = format!(
                "no compressed copy has what is damaged: `herdbook log repair {} --new KEY` goes on under another \
                 key, behind seq {to}",
                shell_word(&name)
            );
            printer.say(&Line::new().text(&words, Style::Plain));
            Ok(Exit::Failed)
        }
    }
}

fn tell(printer: &mut Printer, found: &Repair) -> Result<(), Problem> {
    for damage in found.damage.iter().take(LISTED) {
        printer.line(&Line::new().text(&damage.to_string(), Style::Alarm))?;
    }
    if let Some(more) = found.damage.len().checked_sub(LISTED).filter(|more| *more > 0) {
        say(printer, &format!("and {more} more"))?;
    }
    Ok(())
}

fn say(printer: &mut Printer, words: &str) -> Result<(), Problem> {
    printer.line(&Line::new().text(words, Style::Plain))?;
    Ok(())
}
