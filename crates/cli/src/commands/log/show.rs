//! `herdbook log show`: a log as people read it.

use std::path::PathBuf;

use herdbook_log::{Damage, Head, Reader};
use herdbook_story::tell::{Row, RowKind};
use herdbook_story::{Line as Event, Teller, Telling};

use super::file::FileLine;
use super::lines::{Lines, Seal};
use super::target::Target;
use super::told::Told;
use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::pager::Pager;
use crate::printer::{Line, Printer, Style};

/// Show a log as people read it: turns, tools, diffs, waits, phases, checks, tokens
///
/// One line a step, at the place where it ended; what is longer than the terminal is cut, unless --full. On a terminal it
/// is shown in `$PAGER`, else in `less`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A session's key, or a file
    target: PathBuf,
    /// Whole texts, inputs, results and diffs
    #[arg(long)]
    full: bool,
    /// The first event, by its seq
    #[arg(long, value_name = "SEQ", conflicts_with = "last")]
    from: Option<u64>,
    /// The last event, by its seq
    #[arg(long, value_name = "SEQ", conflicts_with = "last")]
    to: Option<u64>,
    /// The last so many events
    #[arg(long, value_name = "COUNT")]
    last: Option<u64>,
    /// Never in a pager
    #[arg(long)]
    no_pager: bool,
}

const EXAMPLES: &str = "\
Examples:
  herdbook log show demo-1               all of it
  herdbook log show demo-1 --last 50     its last 50 events
  herdbook log show ./run.jsonl --full   whole texts, inputs, results and diffs";

/// How many events before the first one are read to know what it belongs to.
pub const WARM_UP: u64 = 1_000;

/// Shows it.
///
/// # Errors
/// The log cannot be read or is damaged, the pager cannot be run, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let target = Target::find(&args.target, &context.env)?;
    let from = match args.last {
        Some(count) => last_seq(&target)?.saturating_add(1).saturating_sub(count),
        None => args.from.unwrap_or(0),
    };
    let (lines, seal) = match &target {
        Target::Folder { path, .. } if from > WARM_UP => {
            Lines::of_log(Reader::open_from(path, from - WARM_UP))
        }
        _ => target.open()?,
    };
    let pager = if args.no_pager { None } else { Pager::start(&context.env, context.printer) };
    let shown = show(args, from, lines, seal, context.printer);
    if let Some(pager) = pager {
        pager.finish(context.printer)?;
    }
    let (bad, lines) = shown?;
    if lines == 0 && bad == 0 {
        context.printer.say(&Line::new().own("there is no event in it"));
    }
    if bad > 0 { Err(Problem::BadLog { bad, lines }) } else { Ok(Exit::Ok) }
}

/// Prints the rows. Returns how many faults there were, and the number of the last line.
fn show(
    args: &Args,
    from: u64,
    mut lines: Lines,
    mut seal: Seal,
    printer: &mut Printer,
) -> Result<(u64, u64), Problem> {
    let mut teller = Teller::new(Telling { full: args.full, live: false });
    let mut told = Told::new(args.full);
    let (mut bad, mut last) = (0, 0);
    let mut is_cut = false;
    while let Some(FileLine { number, bytes, .. }) = lines.next()? {
        last = number;
        bad += damage(printer, seal.push(bytes))?;
        let seq = Head::read(bytes).map(|head| head.seq);
        if seq.is_some_and(|seq| seq.saturating_add(WARM_UP) < from) {
            continue;
        }
        is_cut = args.to.zip(seq).is_some_and(|(to, seq)| seq > to);
        if is_cut {
            break;
        }
        let read = std::str::from_utf8(bytes).map_err(|error| format!("no UTF-8: {error}"));
        match read.and_then(|text| Event::read(text).map_err(|error| error.to_string())) {
            Ok(event) => {
                let rows = teller.push(&event);
                for row in rows.iter().filter(|_| event.seq >= from) {
                    told.print(row, printer)?;
                }
            }
            Err(why) => {
                bad += 1;
                fault(printer, &format!("line {number}: {why}"))?;
            }
        }
    }
    if !is_cut {
        bad += damage(printer, seal.finish())?;
        // What the whole comes to says nothing about a part.
        let is_shown = |row: &&Row| from <= 1 || row.kind != RowKind::Total || row.label == "turn";
        for row in teller.finish().iter().filter(is_shown) {
            told.print(row, printer)?;
        }
    }
    Ok((bad, last))
}

/// Names damage where it stands, among the rows.
pub fn damage(printer: &mut Printer, found: Vec<Damage>) -> Result<u64, Problem> {
    for damage in &found {
        fault(printer, &damage.to_string())?;
    }
    Ok(found.len() as u64)
}

fn fault(printer: &mut Printer, words: &str) -> Result<(), Problem> {
    let line = Line::new().styled("damaged:", Style::Alarm).own(" ").text(words, Style::Plain);
    Ok(printer.line(&line)?)
}

/// The seq of the last event: of a file, the one on its last line that has one.
fn last_seq(target: &Target) -> Result<u64, Problem> {
    if let Some(seq) = target.last_seq()? {
        return Ok(seq);
    }
    let (mut lines, _) = target.open()?;
    let mut last = 0;
    while let Some(FileLine { bytes, .. }) = lines.next()? {
        last = Head::read(bytes).map_or(last, |head| head.seq);
    }
    Ok(last)
}
