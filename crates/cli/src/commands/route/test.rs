//! `herdbook route test`: a route run by hand, and what each host would be told.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use herdbook_daemon::routes::{self, LoadedRoute, RouteState};
use herdbook_events::{CanonicalEvent, Family, Field};
use herdbook_hosts::{Answer, Decision, HostTable, NativeEvent, Output, Projected, project, sample};
use serde::Serialize;

use super::{choose, ls};
use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};
use crate::setup::show::note;
use crate::text::counted;

/// Run a route once for each host, trusted or not, and show what the host would be told
///
/// Nothing is told to anybody, and nothing is recorded. Without `--event` it is given a made-up event of each host.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The id that `herdbook route ls` shows, or the end of it
    #[arg(value_name = "ROUTE")]
    route: String,
    /// Only for this host
    #[arg(long)]
    host: Option<String>,
    /// What a host wrote to a hook, from a file, or from stdin with `-`; it is taken for the named host's
    #[arg(long, value_name = "FILE", requires = "host")]
    event: Option<String>,
    /// Also what it is given on stdin
    #[arg(short, long)]
    verbose: bool,
    /// One JSON object a line for each run
    #[arg(long)]
    json: bool,
}

/// One run, for scripts.
#[derive(Serialize)]
struct Shown<'a> {
    route: &'a str,
    host: &'static str,
    event: &'static str,
    /// False where it would not be run for this event, by its tools.
    runs: bool,
    took_ms: u64,
    /// What it was given.
    input: &'a serde_json::value::RawValue,
    printed: &'a str,
    /// What it answered; absent where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// How it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    /// What the host would get on stdout, with exit code 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<&'a str>,
    /// What it would get on stderr, with exit code 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<&'a str>,
    given: Vec<&'static str>,
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct LeftOut {
    answer: &'static str,
    why: &'static str,
    nearest: String,
}

/// Runs it.
///
/// # Errors
/// There is no such route or host; the event cannot be read, or is none of its family.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let loaded = choose::all(&context.env)?;
    let route = choose::one(&context.env, &loaded, &args.route)?;
    let mut exit = Exit::Ok;
    for (table, event, native) in events(args, route)? {
        let Projected::Event(canonical) = project(table.host, Some(event.name), native.as_bytes()) else {
            return Err(not_an_event(table, "it is no JSON object"));
        };
        let trial = Trial::run(route, table, event, *canonical);
        if trial.run.answer.is_err() {
            exit = Exit::Failed;
        }
        if args.json {
            trial.print_json(context.printer)?;
        } else {
            trial.print(context.printer, args.verbose)?;
        }
    }
    let state = route.state.as_str();
    let words = match route.state {
        _ if args.json => return Ok(exit),
        RouteState::Active => return Ok(exit),
        RouteState::Refused(_) => format!("it is {state} and not run: see herdbook route ls"),
        _ => format!("it is {state} and not run yet: herdbook route trust {}", route.route.id),
    };
    note(context.printer, &words);
    Ok(exit)
}

/// What it is run for: hosts, their events, and what they wrote.
fn events(
    args: &Args,
    route: &LoadedRoute,
) -> Result<Vec<(&'static HostTable, &'static NativeEvent, String)>, Problem> {
    let said = &route.route;
    let tables: Vec<&HostTable> = match &args.host {
        None => choose::hosts(said).collect(),
        Some(host) => {
            let found = choose::hosts(said).find(|table| table.host == host);
            let known: Vec<&str> = choose::hosts(said).map(|table| table.host).collect();
            let why = || format!("it is not run for '{host}', but for {}", known.join(", "));
            let found = found.ok_or_else(|| Problem::NoRoute { name: said.id.clone(), why: why() })?;
            vec![found]
        }
    };
    let Some(file) = &args.event else {
        let sampled = |table: &'static HostTable| {
            table.routed(said.family).map(move |event| (table, event, made_up(table, event, route)))
        };
        return Ok(tables.into_iter().flat_map(sampled).collect());
    };
    let native = if file == "-" {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text).map_err(Problem::Input)?;
        text
    } else {
        let failed = |source| Problem::File { what: "read", path: file.into(), source };
        fs::read_to_string(Path::new(file)).map_err(failed)?
    };
    let Some(table) = tables.first() else { return Ok(Vec::new()) };
    let only = only_event(table, said.family);
    let named = match project(table.host, only.map(|event| event.name), native.as_bytes()) {
        Projected::Event(event) => event.native_event,
        Projected::Unreadable(_) => return Err(not_an_event(table, "it is no JSON object")),
    };
    let event =
        named.as_deref().and_then(|name| table.event(name)).filter(|event| event.family == Some(said.family));
    let Some(event) = event else {
        let named = named.unwrap_or_else(|| "without a name".to_owned());
        let why = format!("'{named}' is none of {}", said.family.as_str());
        return Err(not_an_event(table, &why));
    };
    Ok(vec![(table, event, native)])
}

/// The event of a family where there is one alone: a payload may not name it.
fn only_event(table: &'static HostTable, family: Family) -> Option<&'static NativeEvent> {
    let mut events = table.routed(family);
    events.next().filter(|_| events.next().is_none())
}

fn not_an_event(table: &HostTable, why: &str) -> Problem {
    Problem::NotAnEvent { title: table.title, why: why.to_owned() }
}

/// A made-up event, of a tool at which the route runs.
fn made_up(table: &HostTable, event: &NativeEvent, route: &LoadedRoute) -> String {
    let usual = sample(table, event, None).to_string();
    let runs = |native: &str| match project(table.host, Some(event.name), native.as_bytes()) {
        Projected::Event(event) => route.route.matches(&event),
        Projected::Unreadable(_) => false,
    };
    if runs(&usual) {
        return usual;
    }
    let named = route.route.tools.iter().find(|tool| !tool.contains('*'));
    let named = named.map(|tool| sample(table, event, Some(tool)).to_string());
    named.filter(|native| runs(native)).unwrap_or(usual)
}

/// One run of a route and what came of it.
struct Trial<'a> {
    route: &'a LoadedRoute,
    table: &'static HostTable,
    event: &'static NativeEvent,
    canonical: CanonicalEvent,
    input: Arc<[u8]>,
    run: routes::Run,
}

impl<'a> Trial<'a> {
    fn run(
        route: &'a LoadedRoute,
        table: &'static HostTable,
        event: &'static NativeEvent,
        canonical: CanonicalEvent,
    ) -> Trial<'a> {
        let input: Arc<[u8]> = routes::input(&canonical, route.route.family).into();
        let limit = Duration::from_millis(route.route.timeout_ms);
        let run = routes::run(route, (table, event), Arc::clone(&input), limit, None);
        Trial { route, table, event, canonical, input, run }
    }

    /// What counts of it.
    fn decision(&self) -> Decision {
        self.run.answer.clone().unwrap_or_else(|why| self.route.failed(&why))
    }

    fn print_json(&self, printer: &mut Printer) -> Result<(), Problem> {
        let said = self.table.say(self.event, &self.decision());
        let (stdout, stderr) = match &said.output {
            Output::Nothing => (None, None),
            Output::Stdout(text) => (Some(text.as_str()), None),
            Output::ExitTwo(text) => (None, Some(text.as_str())),
        };
        let input = serde_json::from_slice(&self.input).map_err(|error| Problem::Output(error.into()))?;
        printer.json(&Shown {
            route: &self.route.route.id,
            host: self.table.host,
            event: self.event.name,
            runs: self.route.route.matches(&self.canonical),
            took_ms: u64::try_from(self.run.took.as_millis()).unwrap_or(u64::MAX),
            input,
            printed: &String::from_utf8_lossy(&self.run.printed),
            outcome: self.run.answer.as_ref().ok().map(|decision| decision.outcome.as_str()),
            failure: self.run.answer.as_ref().err().map(String::as_str),
            stdout,
            stderr,
            given: said.given.iter().map(|answer| answer.as_str()).collect(),
            left_out: said
                .left_out
                .iter()
                .map(|(answer, refusal)| LeftOut {
                    answer: answer.as_str(),
                    why: refusal.why,
                    nearest: refusal.nearest.to_string(),
                })
                .collect(),
        })?;
        Ok(())
    }

    fn print(&self, printer: &mut Printer, verbose: bool) -> Result<(), Problem> {
        let took = ls::time(u64::try_from(self.run.took.as_millis()).unwrap_or(u64::MAX));
        let (word, style) = match &self.run.answer {
            Ok(decision) => (decision.outcome.as_str(), Style::Good),
            Err(_) => ("failed", Style::Alarm),
        };
        let head =
            Line::new().styled(self.table.host, Style::Name).own(" ").styled(self.event.name, Style::Name);
        printer.line(&head.own(": ").styled(word, style).text(&format!(" in {took}"), Style::Plain))?;
        if !self.route.route.matches(&self.canonical) {
            let tool = self.canonical.payload.text(Field::ToolName).unwrap_or_default();
            below(printer, "it would not be run here: its tools do not name", &format!("'{tool}'"))?;
        }
        if verbose {
            below(printer, "is given", &String::from_utf8_lossy(&self.input))?;
        }
        if let Err(why) = &self.run.answer {
            below(printer, "failed:", &format!("it {why}"))?;
        }
        match String::from_utf8_lossy(&self.run.printed).trim() {
            "" => below(printer, "printed nothing", "")?,
            text => below(printer, "printed", text)?,
        }
        for line in String::from_utf8_lossy(&self.run.stderr).lines().take(STDERR_LINES) {
            below(printer, "stderr |", line)?;
        }
        let said = self.table.say(self.event, &self.decision());
        match &said.output {
            Output::Nothing => below(printer, "the host is told nothing", "and goes by its own rules")?,
            Output::Stdout(text) => below(printer, "the host is told", text)?,
            Output::ExitTwo(text) => below(printer, "the host is told, with exit code 2,", text)?,
        }
        for (answer, refusal) in &said.left_out {
            let words =
                format!("{}: {}; the nearest is {}", Answer::as_str(*answer), refusal.why, refusal.nearest);
            below(printer, "it cannot be told", &words)?;
        }
        Ok(())
    }
}

/// Lines that are shown of what a route wrote to stderr.
const STDERR_LINES: usize = 12;

/// Bytes of foreign text that are shown.
const SHOWN_BYTES: usize = 4096;

fn below(printer: &mut Printer, words: &'static str, text: &str) -> Result<(), Problem> {
    let cut = text.char_indices().map(|(at, _)| at).find(|at| *at >= SHOWN_BYTES);
    let shown = text.get(..cut.unwrap_or(text.len())).unwrap_or_default();
    let mut line = Line::new().own("  ").own(words);
    if !shown.is_empty() {
        line = line.own(" ").text(shown, Style::Plain);
    }
    if cut.is_some() {
        line =
            line.text(&format!(" … {}", counted((text.len() - shown.len()) as u64, "more byte")), Style::Dim);
    }
    printer.line(&line)?;
    Ok(())
}
