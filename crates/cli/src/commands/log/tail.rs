//! `herdbook log tail`: the last events of a log, and those that come.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use herdbook_log::Reader;
use herdbook_story::{Line as Event, Teller, Telling};

use super::file::FileLine;
use super::lines::{Lines, Seal};
use super::ls::listed;
use super::show::WARM_UP;
use super::target::Target;
use super::told::Told;
use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::Printer;

/// Print the last events of a log, and with -f those that come, until Ctrl-C
///
/// Each is a line as `log ls` prints it (seq, time in Unix milliseconds, type), told as in `log show`, or the line itself.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A session's key, or a file
    target: PathBuf,
    /// Wait for more, and print it as it comes
    #[arg(short, long)]
    follow: bool,
    /// How many of the events that are there
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10)]
    lines: u64,
    /// As in `log show`
    #[arg(long)]
    show: bool,
    /// The lines as they stand in the log
    #[arg(long, conflicts_with = "show")]
    raw: bool,
}

const EXAMPLES: &str = "\
Examples:
  herdbook log tail -f --show demo-1           read along
  herdbook log tail -n 1 --raw demo-1 | jq .   the last event, whole";

/// How often it is looked for more.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Prints them.
///
/// # Errors
/// The log cannot be read or is damaged, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let target = Target::find(&args.target, &context.env)?;
    // What a step belongs to stands before it.
    let before = if args.show { WARM_UP } else { 0 };
    let kept = usize::try_from(args.lines.saturating_add(before)).unwrap_or(usize::MAX);
    let (lines, seal) = match (&target, target.last_seq()?) {
        (Target::Folder { path, .. }, Some(last)) => {
            let first = last.saturating_add(1).saturating_sub(args.lines.saturating_add(before));
            Lines::of_log(Reader::open_from(path, first.max(1)))
        }
        _ => target.open()?,
    };
    let mut follower = Follower { lines, seal, partial: Vec::new() };
    let mut rows = Rows::of(args);
    let mut there = VecDeque::new();
    let mut keep = |line| {
        there.push_back(line);
        if there.len() > kept {
            there.pop_front();
        }
    };
    while let Some(line) = follower.next()? {
        keep(line);
    }
    if !args.follow && !follower.partial.is_empty() {
        keep(std::mem::take(&mut follower.partial));
    }
    let warm = there.len().saturating_sub(usize::try_from(args.lines).unwrap_or(usize::MAX));
    let (mut bad, lines) = (follower.damage(context.printer), there.len() as u64);
    for (place, line) in there.into_iter().enumerate() {
        bad += rows.print(&line, place >= warm, context.printer)?;
    }
    // What somebody is waited for now may have been asked long before.
    rows.print_open(context.printer)?;
    if !args.follow {
        return if bad > 0 { Err(Problem::BadLog { bad, lines }) } else { Ok(Exit::Ok) };
    }
    loop {
        context.printer.flush()?;
        while let Some(line) = follower.next()? {
            rows.print(&line, true, context.printer)?;
        }
        follower.damage(context.printer);
        context.printer.flush()?;
        // Ctrl-C ends the process, as it does every other command.
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Reads whole lines, also such as come in pieces.
struct Follower {
    lines: Lines,
    seal: Seal,
    /// The beginning of a line whose end is not there yet.
    partial: Vec<u8>,
}

impl Follower {
    /// Returns the next whole line, nothing while there is none.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        while let Some(FileLine { bytes, is_ended, .. }) = self.lines.next()? {
            self.partial.extend_from_slice(bytes);
            if is_ended {
                return Ok(Some(std::mem::take(&mut self.partial)));
            }
        }
        Ok(None)
    }

    /// Names what was found damaged, and counts it.
    fn damage(&self, printer: &mut Printer) -> u64 {
        let found = self.seal.told();
        found.iter().for_each(|damage| printer.complain(&damage.to_string()));
        found.len() as u64
    }
}

/// The form of the rows.
enum Rows {
    Listed,
    Raw,
    Shown(Box<(Teller, Told)>),
}

impl Rows {
    fn of(args: &Args) -> Rows {
        match (args.show, args.raw) {
            (true, _) => {
                let teller = Teller::new(Telling::default());
                Rows::Shown(Box::new((teller, Told::new(false))))
            }
            (false, true) => Rows::Raw,
            (false, false) => Rows::Listed,
        }
    }

    /// Prints what is open, where that is known; from here on, what begins is printed, too.
    fn print_open(&mut self, printer: &mut Printer) -> Result<(), Problem> {
        if let Rows::Shown(telling) = self {
            let (teller, told) = telling.as_mut();
            for row in teller.open() {
                told.print(&row, printer)?;
            }
            teller.go_live();
        }
        Ok(())
    }

    /// Takes a line, and prints it if it counts. Returns how many faults it has.
    fn print(&mut self, line: &[u8], counts: bool, printer: &mut Printer) -> Result<u64, Problem> {
        let text = String::from_utf8_lossy(line);
        match self {
            Rows::Raw => printer.json_text(&text)?,
            Rows::Listed => match listed(line) {
                Ok(row) => printer.line(&row)?,
                Err(why) => {
                    printer.complain(&format!("a line {why}"));
                    return Ok(1);
                }
            },
            Rows::Shown(telling) => {
                let (teller, told) = telling.as_mut();
                let event = match Event::read(&text) {
                    Ok(event) => event,
                    Err(why) => {
                        printer.complain(&format!("a line cannot be read: {why}"));
                        return Ok(1);
                    }
                };
                for row in teller.push(&event).iter().filter(|_| counts) {
                    told.print(row, printer)?;
                }
            }
        }
        Ok(0)
    }
}
