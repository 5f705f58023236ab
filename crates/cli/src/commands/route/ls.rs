//! `herdbook route ls`: which routes there are, and which are run.

use std::time::Duration;

use herdbook_api::routes::Route;
use herdbook_daemon::routes::{Loaded, LoadedRoute, NotRoute, RouteState};
use serde::Serialize;

use super::choose;
use crate::clock::now_ms;
use crate::commands::Context;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};
use crate::setup::show::{note, short};
use crate::text::{age, span, wrap};

/// List the routes, and say which are run and which are not and why
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also what each host cannot be told, and what becomes of it
    #[arg(short, long)]
    verbose: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// The whole list, for scripts.
#[derive(Serialize)]
struct Shown<'a> {
    routes: Vec<ShownRoute<'a>>,
    refused: Vec<ShownRefused>,
}

#[derive(Serialize)]
struct ShownRoute<'a> {
    id: &'a str,
    path: String,
    family: &'static str,
    hosts: Vec<&'static str>,
    tools: &'a [String],
    may: Vec<&'static str>,
    timeout_ms: u64,
    fail: &'static str,
    /// `active`, `new`, `changed` or `refused`.
    state: &'static str,
    /// Why it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    /// What hosts cannot be told, and what becomes of it.
    notes: Vec<String>,
    /// What the daemon counted since it started; absent where it is down.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<Counted<'a>>,
}

#[derive(Serialize)]
struct Counted<'a> {
    runs: u64,
    failed: u64,
    last_run_at: Option<u64>,
    last_failed_at: Option<u64>,
    last_failure: Option<&'a str>,
}

#[derive(Serialize)]
struct ShownRefused {
    path: String,
    why: String,
}

/// How long the daemon may take to say what it counted.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// Prints it.
///
/// # Errors
/// The folders cannot be told, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let loaded = choose::all(&context.env)?;
    // It works without a daemon as well.
    let daemon = Daemon::of(&context.env)?.with_timeout(PATIENCE);
    let counts = daemon.ask(|client| client.routes()).map(|routes| routes.items).unwrap_or_default();
    let counted = |id: &str| counts.iter().find(|counted| counted.id == id);
    if args.json {
        context.printer.json(&shown(&loaded, &counted))?;
        return Ok(Exit::Ok);
    }
    let home = context.env.home().map(str::to_owned);
    if loaded.routes.is_empty() && loaded.refused.is_empty() {
        let folder =
            herdbook_daemon::routes::routes_dir(&herdbook_wire::paths::config_dir(&context.env.places)?);
        let words =
            format!("no routes: put an executable file into {}/tool/before", short(&folder, home.as_deref()));
        context.printer.say(&Line::new().text(&words, Style::Plain));
        return Ok(Exit::Ok);
    }
    table(context.printer, &loaded.routes, &counted)?;
    for route in &loaded.routes {
        if let RouteState::Refused(why) = &route.state {
            below(context.printer, &route.route.id, why, Style::Alarm)?;
        }
        let failure = counted(&route.route.id).filter(|counted| is_failing(counted));
        if let Some(why) = failure.and_then(|counted| counted.last_failure.as_deref()) {
            below(
                context.printer,
                &route.route.id,
                &format!("failed when it ran last: it {why}"),
                Style::Alarm,
            )?;
        }
        if args.verbose {
            for words in notes(route) {
                below(context.printer, &route.route.id, &words, Style::Dim)?;
            }
        }
    }
    for refused in &loaded.refused {
        let path = short(&refused.path, home.as_deref());
        context.printer.line(&Line::new().text(&format!("{path} {}", refused.why), Style::Alarm))?;
    }
    let is_untrusted = |route: &&LoadedRoute| matches!(route.state, RouteState::New | RouteState::Changed);
    let untrusted: Vec<&LoadedRoute> = loaded.routes.iter().filter(is_untrusted).collect();
    if let Some(first) = untrusted.first() {
        let which = if untrusted.len() == 1 { first.route.id.as_str() } else { "--all" };
        let words = format!("new and changed routes are not run: herdbook route trust {which}");
        note(context.printer, &words);
    }
    Ok(Exit::Ok)
}

/// What a host cannot be told, and where it grants less time.
fn notes(route: &LoadedRoute) -> Vec<String> {
    route.route.notes().into_iter().chain(choose::cuts(&route.route)).collect()
}

/// How far the lines are set in that go on with what is said of a route.
const INDENT: usize = 4;

fn below(printer: &mut Printer, id: &str, words: &str, style: Style) -> Result<(), Problem> {
    let head = format!("{id}: ");
    // A program that reads it gets one line for each thing.
    let room = printer.width().filter(|_| printer.is_read()).map(|width| width.saturating_sub(INDENT));
    for (place, part) in wrap(&format!("{head}{words}"), room).iter().enumerate() {
        let line = match part.strip_prefix(&head) {
            Some(rest) if place == 0 => Line::new().text(id, Style::Name).own(": ").text(rest, style),
            _ => Line::new().spaces(if place == 0 { 0 } else { INDENT }).text(part, style),
        };
        printer.line(&line)?;
    }
    Ok(())
}

/// True when its last run failed.
pub fn is_failing(counted: &Route) -> bool {
    counted.last_failed_at.is_some() && counted.last_failed_at >= counted.last_run_at
}

fn shown<'a>(loaded: &'a Loaded, counted: &dyn Fn(&str) -> Option<&'a Route>) -> Shown<'a> {
    let refused = |refused: &NotRoute| ShownRefused {
        path: refused.path.display().to_string(),
        why: refused.why.clone(),
    };
    Shown {
        routes: loaded.routes.iter().map(|route| shown_route(route, counted(&route.route.id))).collect(),
        refused: loaded.refused.iter().map(refused).collect(),
    }
}

fn shown_route<'a>(route: &'a LoadedRoute, counted: Option<&'a Route>) -> ShownRoute<'a> {
    let LoadedRoute { route: said, path, state, .. } = route;
    ShownRoute {
        id: &said.id,
        path: path.display().to_string(),
        family: said.family.as_str(),
        hosts: choose::hosts(said).map(|table| table.host).collect(),
        tools: &said.tools,
        may: choose::may(said),
        timeout_ms: said.timeout_ms,
        fail: choose::fail(said),
        state: state.as_str(),
        why: match state {
            RouteState::Refused(why) => Some(why),
            _ => None,
        },
        notes: notes(route),
        counted: counted.map(|counted| Counted {
            runs: counted.runs,
            failed: counted.failed,
            last_run_at: counted.last_run_at,
            last_failed_at: counted.last_failed_at,
            last_failure: counted.last_failure.as_deref(),
        }),
    }
}

/// Columns between two columns of the table.
const GAP: usize = 2;

fn table<'a>(
    printer: &mut Printer,
    routes: &[LoadedRoute],
    counted: &dyn Fn(&str) -> Option<&'a Route>,
) -> Result<(), Problem> {
    if routes.is_empty() {
        return Ok(());
    }
    let header = ["ROUTE", "STATE", "HOSTS", "MAY", "TIME-OUT", "FAIL", "LAST"];
    let mut rows = vec![header.map(|name| Line::new().styled(name, Style::Dim)).to_vec()];
    rows.extend(routes.iter().map(|route| cells(route, counted(&route.route.id), now_ms())));
    let columns = header.len();
    let width = |column: usize| rows.iter().map(|cells| cells[column].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for cells in rows {
        let mut line = Line::new();
        for (place, cell) in cells.into_iter().enumerate() {
            let fill = if place + 1 == columns { 0 } else { widths[place] - cell.width() + GAP };
            line = line.join(cell).spaces(fill);
        }
        printer.row(&line)?;
    }
    Ok(())
}

fn cells(route: &LoadedRoute, counted: Option<&Route>, now_ms: u64) -> Vec<Line> {
    let said = &route.route;
    let style = match route.state {
        RouteState::Active => Style::Good,
        RouteState::New | RouteState::Changed => Style::Plain,
        RouteState::Refused(_) => Style::Alarm,
    };
    let hosts: Vec<&str> = match &said.hosts {
        None => vec!["all"],
        Some(_) => choose::hosts(said).map(|table| table.host).collect(),
    };
    vec![
        Line::new().text(&said.id, Style::Name),
        Line::new().styled(route.state.as_str(), style),
        Line::new().text(&hosts.join(","), Style::Plain),
        Line::new().text(&choose::may(said).join(","), Style::Plain),
        Line::new().text(&time(said.timeout_ms), Style::Plain),
        Line::new().styled(choose::fail(said), Style::Plain),
        Line::new().text(&last(counted, now_ms), Style::Plain),
    ]
}

/// When it ran last, and how often it failed: `12s, 2 of 40 failed`.
fn last(counted: Option<&Route>, now_ms: u64) -> String {
    let Some((counted, at)) = counted.and_then(|counted| Some((counted, counted.last_run_at?))) else {
        return String::new();
    };
    let ago = age(now_ms.saturating_sub(at));
    if counted.failed == 0 { ago } else { format!("{ago}, {} of {} failed", counted.failed, counted.runs) }
}

/// A time-out in words: `250ms`, `3s`.
pub fn time(ms: u64) -> String {
    if ms < 1_000 || !ms.is_multiple_of(1_000) { format!("{ms}ms") } else { span(ms) }
}
