//! `herdbook route ls`: which routes there are, and which are run.

use herdbook_daemon::routes::{Loaded, LoadedRoute, NotRoute, RouteState};
use serde::Serialize;

use super::choose;
use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};
use crate::setup::show::short;
use crate::text::span;

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
}

#[derive(Serialize)]
struct ShownRefused {
    path: String,
    why: String,
}

/// Prints it.
///
/// # Errors
/// The folders cannot be told, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let loaded = choose::all(&context.env)?;
    if args.json {
        context.printer.json(&shown(&loaded))?;
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
    table(context.printer, &loaded.routes)?;
    for route in &loaded.routes {
        if let RouteState::Refused(why) = &route.state {
            below(context.printer, &route.route.id, why, Style::Alarm)?;
        }
        if args.verbose {
            for note in notes(route) {
                below(context.printer, &route.route.id, &note, Style::Dim)?;
            }
        }
    }
    for refused in &loaded.refused {
        let path = short(&refused.path, home.as_deref());
        context.printer.line(&Line::new().text(&format!("{path} {}", refused.why), Style::Alarm))?;
    }
    Ok(Exit::Ok)
}

/// What a host cannot be told, and where it grants less time.
pub fn notes(route: &LoadedRoute) -> Vec<String> {
    route.route.notes().into_iter().chain(choose::cuts(&route.route)).collect()
}

fn below(printer: &mut Printer, id: &str, words: &str, style: Style) -> Result<(), Problem> {
    printer.line(&Line::new().text(id, Style::Name).own(": ").text(words, style))?;
    Ok(())
}

fn shown(loaded: &Loaded) -> Shown<'_> {
    let refused = |refused: &NotRoute| ShownRefused {
        path: refused.path.display().to_string(),
        why: refused.why.clone(),
    };
    Shown {
        routes: loaded.routes.iter().map(shown_route).collect(),
        refused: loaded.refused.iter().map(refused).collect(),
    }
}

fn shown_route(route: &LoadedRoute) -> ShownRoute<'_> {
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
    }
}

/// Columns between two columns of the table.
const GAP: usize = 2;

fn table(printer: &mut Printer, routes: &[LoadedRoute]) -> Result<(), Problem> {
    if routes.is_empty() {
        return Ok(());
    }
    let header = ["ROUTE", "STATE", "HOSTS", "MAY", "TIME-OUT", "FAIL"];
    let mut rows = vec![header.map(|name| Line::new().styled(name, Style::Dim)).to_vec()];
    rows.extend(routes.iter().map(cells));
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

fn cells(route: &LoadedRoute) -> Vec<Line> {
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
    ]
}

/// A time-out in words: `250ms`, `3s`.
pub fn time(ms: u64) -> String {
    if ms < 1_000 || !ms.is_multiple_of(1_000) { format!("{ms}ms") } else { span(ms) }
}
