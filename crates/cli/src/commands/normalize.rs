//! `herdbook normalize`: native envelopes in, canonical events out.

use std::io::{self, BufRead, BufReader};

use herdbook_events::CanonicalEvent;
use herdbook_hosts::{Projected, faults, news, project, read};

use super::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};

/// Turn native hook payloads into canonical events
///
/// Reads one JSON object a line from stdin, each as a host wrote it to its hook's stdin, and prints one canonical event
/// a line. A line that is no JSON object is named on stderr; the others are still printed, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(visible_alias = "project")]
pub struct Args {
    /// The host whose payloads they are: claude, codex, cursor, gemini, droid, …
    #[arg(long)]
    host: String,
    /// The native event name, for hosts whose payload does not name it
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Also name, on stderr, what a payload lacks of what its host promises, or has in another shape
    #[arg(long)]
    check: bool,
}

/// Reads stdin to its end.
///
/// # Errors
/// stdin or stdout failed, or at least one line was no event.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    if herdbook_hosts::table(&args.host).is_none() {
        warn_unknown_host(context.printer, &args.host);
    }
    let mut input = BufReader::new(io::stdin().lock());
    let (mut number, mut lines, mut bad) = (0u64, 0u64, 0u64);
    let (mut line, mut printed) = (Vec::new(), String::new());
    loop {
        line.clear();
        // A person who types, or a producer that waits for our answer, sees each line before we read the next.
        if input.buffer().is_empty() {
            context.printer.flush()?;
        }
        if input.read_until(b'\n', &mut line).map_err(Problem::Input)? == 0 {
            break;
        }
        number += 1;
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        lines += 1;
        match read(&args.host, args.event.as_deref(), text) {
            Ok(native) => {
                printed.clear();
                native.write_line(&mut printed);
                context.printer.json_text(&printed)?;
            }
            Err(salvage) => {
                bad += 1;
                complain(context.printer, number, &salvage.error);
                continue;
            }
        }
        if args.check
            && let Projected::Event(event) = project(&args.host, args.event.as_deref(), text)
        {
            warn(context.printer, number, &event);
        }
    }
    if bad > 0 { Err(Problem::BadLines { bad, lines }) } else { Ok(Exit::Ok) }
}

fn warn_unknown_host(printer: &mut Printer, host: &str) {
    let known: Vec<&str> = herdbook_hosts::HOSTS.iter().map(|table| table.host).collect();
    let words = format!("host '{host}' is not known, so no field is mapped; known are {}", known.join(", "));
    printer.say(&Line::new().styled("warning:", Style::Alarm).own(" ").text(&words, Style::Plain));
}

/// Names the faults of one line's payload, with the client's version where it tells it.
fn warn(printer: &mut Printer, number: u64, event: &CanonicalEvent) {
    let faults: Vec<String> = faults(event).iter().map(ToString::to_string).collect();
    if faults.is_empty() {
        return;
    }
    let version = news(event).version.map_or(String::new(), |version| format!(" {version}"));
    let name = event.native_event.as_deref().unwrap_or_default();
    let words = format!("line {number}: '{name}' of {}{version}: {}", event.host, faults.join(", "));
    printer.say(&Line::new().styled("warning:", Style::Alarm).own(" ").text(&words, Style::Plain));
}

fn complain(printer: &mut Printer, number: u64, error: &str) {
    printer.complain(&format!("line {number}: {error}"));
}
