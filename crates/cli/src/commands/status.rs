//! `herdbook status`: the daemon's health, and the segment of the status line.

use std::time::Duration;

use herdbook_api::v1::{Item, Listen, Status};

use super::Context;
use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::model::is_resting;
use crate::printer::{Line, Printer, Style};
use crate::text::{age, counted};

/// Show how the daemon is, or one line for a status bar
#[derive(Debug, clap::Args)]
pub struct Args {
    /// One short line for tmux: `⚠ 2 · 1 blocked`, nothing when nobody waits, `daemon down · 37 waiting`
    #[arg(long, value_enum, conflicts_with = "json")]
    format: Option<Format>,
    /// The answer of `/v1/status`
    #[arg(long)]
    json: bool,
}

/// Forms of a status line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Format {
    /// For `#(…)` in a tmux status line
    Tmux,
}

/// A status line is redrawn every other second: a daemon that hangs must not pile up programs that wait for it.
const SEGMENT_PATIENCE: Duration = Duration::from_millis(500);

/// Prints it.
///
/// # Errors
/// The daemon does not answer (the segment says so instead), or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?;
    if args.format.is_some() {
        let segment = match daemon.with_timeout(SEGMENT_PATIENCE).ask(|client| client.queue()) {
            Ok(queue) => segment(queue.iter(), now_ms()),
            Err(Problem::Down { waiting: 0 }) => "daemon down".to_owned(),
            Err(Problem::Down { waiting }) => format!("daemon down · {waiting} waiting"),
            Err(_) => "daemon does not answer".to_owned(),
        };
        context.printer.bare(&segment)?;
        return Ok(Exit::Ok);
    }
    let status = daemon.ask(|client| client.status())?;
    if args.json {
        context.printer.json(&status)?;
    } else {
        let queue = daemon.ask(|client| client.queue())?;
        print(context.printer, &status, &waiting(&queue, now_ms()))?;
    }
    Ok(Exit::Ok)
}

/// Returns the segment: how many wait, those in cooldown left out, and how many of them in mid-turn.
pub fn segment<'a>(queue: impl Iterator<Item = &'a Item>, now_ms: u64) -> String {
    let waiting: Vec<&Item> = queue.filter(|entry| !is_resting(entry, now_ms)).collect();
    let blocked = waiting.iter().filter(|entry| entry.is_blocked()).count();
    match (waiting.len(), blocked) {
        (0, _) => String::new(),
        (count, 0) => format!("⚠ {count}"),
        (count, blocked) => format!("⚠ {count} · {blocked} blocked"),
    }
}

/// Says how many are in the queue, how many of them in mid-turn, and how many were put off.
fn waiting(queue: &[Item], now_ms: u64) -> String {
    if queue.is_empty() {
        return "nobody waits".to_owned();
    }
    let mut words = format!("{} stuck", queue.len());
    let blocked = queue.iter().filter(|entry| entry.is_blocked()).count();
    let later = queue.iter().filter(|entry| is_resting(entry, now_ms)).count();
    for (count, what) in [(blocked, "in mid-turn"), (later, "later")] {
        if count > 0 {
            words.push_str(&format!(", {count} of them {what}"));
        }
    }
    words
}

fn print(printer: &mut Printer, status: &Status, queue: &str) -> Result<(), Problem> {
    let fact = |name: &'static str| Line::new().styled(name, Style::Dim).spaces(10 - name.len());
    let journal = format!("{} written, {} synced", status.journal.written_seq, status.journal.synced_seq);
    let daemon = format!("{}, pid {}, up {}", status.version, status.pid, age(status.uptime_ms));
    printer.line(&fact("daemon").text(&daemon, Style::Plain))?;
    printer.line(&fact("queue").text(queue, Style::Plain))?;
    printer.line(&fact("sessions").text(&format!("{} open", status.session_count), Style::Plain))?;
    printer.line(&fact("journal").text(&journal, Style::Plain))?;
    printer.line(&fact("spool").text(&counted(status.spool_count, "event"), Style::Plain))?;
    for listen in &status.http {
        printer.line(&fact("http").text(&listening(listen), Style::Plain))?;
    }
    for socket in &status.sockets {
        printer.line(&fact("socket").text(socket, Style::Plain))?;
    }
    printer.line(&fact("state").text(&status.state_dir, Style::Plain))?;
    for warning in &status.warnings {
        printer.line(&fact("warning").text(warning, Style::Alarm))?;
    }
    Ok(())
}

fn listening(listen: &Listen) -> String {
    let owner = match (&listen.name, listen.pid) {
        (Some(name), Some(pid)) => format!(" by {name} (pid {pid})"),
        (None, Some(pid)) => format!(" by pid {pid}"),
        _ => String::new(),
    };
    let error = listen.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
    format!("{} {}{owner}{error}", listen.addr, listen.state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(reason: &str, until: Option<u64>) -> Item {
        Item { reason: reason.into(), skip_cooldown_until: until, ..Item::default() }
    }

    #[test]
    fn the_queue_is_counted_with_those_for_later() {
        let queue = [entry("permission", None), entry("stopped", Some(1_001)), entry("stopped", Some(1_001))];
        assert_eq!(waiting(&queue, 1_000), "3 stuck, 1 of them in mid-turn, 2 of them later");
        assert_eq!(waiting(&queue[1..], 1_000), "2 stuck, 2 of them later");
        assert_eq!(waiting(&queue[1..], 1_001), "2 stuck");
        assert_eq!(waiting(&[], 1_000), "nobody waits");
    }

    #[test]
    fn the_segment_counts_who_waits_now() {
        let queue = [entry("permission", None), entry("stopped", Some(999)), entry("stopped", Some(1_001))];
        assert_eq!(segment(queue.iter(), 1_000), "⚠ 2 · 1 blocked");
        assert_eq!(segment(queue[1..].iter(), 1_000), "⚠ 1");
        assert_eq!(segment(queue[2..].iter(), 1_000), "");
        assert_eq!(segment([].iter(), 1_000), "");
    }
}
