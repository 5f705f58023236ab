//! `herdbook log ls`: the events of a log, one line each.

use std::path::PathBuf;

use herdbook_events::catalog::Members;
use herdbook_log::Head;

use super::file::FileLine;
use super::listing;
use super::target::Target;
use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Style};

/// List the events of a log (seq, time in Unix milliseconds, type), or the sessions that have a log
///
/// Events are separated by tabs. Payloads are not looked into, which `herdbook log check` does. A line without them is
/// named on stderr; the others are still printed, and the exit code is 1.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A session's key, or a file; nothing for a list of the sessions that have a log
    target: Option<PathBuf>,
    /// One JSON object with the member `logs`
    #[arg(long, conflicts_with = "target")]
    json: bool,
    /// Read every log whole in search of damage; only its two ends are looked at otherwise
    #[arg(long, conflicts_with = "target")]
    whole: bool,
}

/// How much is printed at once, in bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// Prints it.
///
/// # Errors
/// The file cannot be read, at least one line is no event, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let Some(target) = &args.target else { return listing::run(args.json, args.whole, context) };
    let (mut file, seals) = Target::find(target, &context.env)?.open()?;
    let mut rows = Vec::with_capacity(2 * CHUNK_BYTES);
    let (mut lines, mut bad) = (0, 0);
    while let Some(FileLine { number, bytes, .. }) = file.next()? {
        lines = number;
        if let Some(head) = Head::read(bytes) {
            push_number(&mut rows, head.seq);
            rows.push(b'\t');
            push_number(&mut rows, head.ts_ms);
            rows.push(b'\t');
            rows.extend_from_slice(&bytes[head.kind]);
            rows.push(b'\n');
            if rows.len() >= CHUNK_BYTES {
                context.printer.bytes(&rows)?;
                rows.clear();
            }
            continue;
        }
        context.printer.bytes(&rows)?;
        rows.clear();
        match listed(bytes) {
            Ok(row) => context.printer.line(&row)?,
            Err(why) => {
                bad += 1;
                context.printer.complain(&format!("line {number}: {why}"));
            }
        }
    }
    context.printer.bytes(&rows)?;
    for damage in seals.told() {
        bad += 1;
        context.printer.complain(&damage.to_string());
    }
    if bad > 0 { Err(Problem::BadLog { bad, lines }) } else { Ok(Exit::Ok) }
}

/// Prints a number; the formatter of the standard library takes longer than all else here.
fn push_number(rows: &mut Vec<u8>, mut number: u64) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    rows.extend_from_slice(&digits[start..]);
}

/// Makes a row of a line, however it is spelled; says why it cannot.
pub fn listed(line: &[u8]) -> Result<Line, String> {
    let (seq, ts, event_type) = match Head::read(line) {
        Some(head) => {
            let kind = String::from_utf8_lossy(&line[head.kind]).into_owned();
            (head.seq, head.ts_ms.to_string(), kind)
        }
        None => slowly(line)?,
    };
    let row = Line::new().text(&seq.to_string(), Style::Plain).own("\t").text(&ts, Style::Plain);
    Ok(row.own("\t").text(&event_type, Style::Plain))
}

/// Reads the three members of a line that is spelled in another way than ours.
fn slowly(line: &[u8]) -> Result<(u64, String, String), String> {
    let text = std::str::from_utf8(line).map_err(|error| format!("is no UTF-8: {error}"))?;
    let text = herdbook_events::replace_lone_surrogates(text);
    let members = Members::read(&text).map_err(|error| format!("is no JSON object: {error}"))?;
    let missing = |member: &str| format!("'{member}' is missing or has another type");
    let ts = members
        .get("ts")
        .filter(|ts| ts.get().starts_with(|first: char| first == '-' || first.is_ascii_digit()));
    Ok((
        members.read_as("seq").ok_or_else(|| missing("seq"))?,
        ts.ok_or_else(|| missing("ts"))?.get().to_owned(),
        members.read_as("type").ok_or_else(|| missing("type"))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_the_standard_library_does() {
        for number in [0, 9, 10, 1_767_225_600_250, 1 << 53, u64::MAX] {
            let mut rows = Vec::new();
            push_number(&mut rows, number);
            assert_eq!(rows, number.to_string().into_bytes());
        }
    }
}
