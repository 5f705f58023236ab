//! `herdbook route trust`: the human's word that a route may be run as it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use herdbook_daemon::routes::{self, Loaded, LoadedRoute, RouteState};
use herdbook_hosts::HostTable;
use herdbook_machine::{private_dir, replace_file, session_folder};
use herdbook_wire::paths::state_dir;

use super::{choose, ls};
use crate::commands::{Context, install};
use crate::consent::by_human;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};
use crate::setup::ask::agrees;
use crate::setup::needs::Waiting;
use crate::setup::session::Consent;
use crate::setup::show::short;
use crate::setup::{diff, refit, show};
use crate::text::counted;

/// Trust routes as they are now, so that they are run
///
/// It shows each of them and asks. A route that is changed afterwards is not run until it is trusted again. An agent cannot
/// do this: it is refused to whatever an agent has started.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which: the id that `herdbook route ls` shows, or the end of it
    #[arg(value_name = "ROUTE", required_unless_present = "all")]
    routes: Vec<String>,
    /// All that are new or changed
    #[arg(long, conflicts_with = "routes")]
    all: bool,
    /// Trust them no longer
    #[arg(long, conflicts_with = "all")]
    revoke: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

/// Lines of a route that are shown.
const SHOWN_LINES: usize = 20;
/// A longer file is not kept to be compared with later.
const KEPT_BYTES: u64 = 1 << 20;

/// Trusts them.
///
/// # Errors
/// An agent asks; there is no such route; the human says no.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    by_human()?;
    let state = state_dir(&context.env.places)?;
    let loaded = choose::all(&context.env)?;
    if args.revoke {
        return revoke(context, &state, &loaded, &args.routes);
    }
    let chosen: Vec<&LoadedRoute> = if args.all {
        loaded.routes.iter().filter(|route| route.state != RouteState::Active).collect()
    } else {
        args.routes.iter().map(|name| choose::one(&context.env, &loaded, name)).collect::<Result<_, _>>()?
    };
    if args.all {
        for refused in &loaded.refused {
            let words = format!("{} {}", short(&refused.path, context.env.home()), refused.why);
            show::warning(context.printer, &words);
        }
    }
    let mut exit = Exit::Ok;
    let mut wanted = Vec::new();
    let copies = Copies { folder: state.join("trusted-copies") };
    for route in chosen {
        match &route.state {
            RouteState::Active => say(context.printer, &route.route.id, "is trusted already"),
            RouteState::Refused(why) => {
                exit = Exit::Failed;
                say(context.printer, &route.route.id, &format!("cannot be trusted: {why}"));
            }
            RouteState::New | RouteState::Changed => {
                wanted.push((route, describe(context, route, &copies)?));
            }
        }
    }
    if wanted.is_empty() {
        return Ok(exit);
    }
    // What was shown must be what is trusted.
    let again = choose::all(&context.env)?;
    for (route, _) in &wanted {
        let is_same = |other: &LoadedRoute| other.route.id == route.route.id && other.sha256 == route.sha256;
        if !again.routes.iter().any(is_same) {
            return Err(Problem::NoRoute {
                name: route.route.id.clone(),
                why: "it was changed meanwhile; look at it again".to_owned(),
            });
        }
    }
    if !args.yes && !agrees(context.printer)? {
        return Err(Problem::Declined);
    }
    for (route, seen) in &wanted {
        routes::trust(&state, route)?;
        // Only to show later what changed; without it the whole is shown.
        let _ = copies.keep(&route.route.id, seen);
        say(context.printer, &route.route.id, "is trusted");
    }
    tell_daemon(context);
    let fitted = fit(context, &wanted.iter().map(|(route, _)| *route).collect::<Vec<_>>(), args.yes)?;
    Ok(if exit == Exit::Ok { fitted } else { exit })
}

fn revoke(
    context: &mut Context<'_>,
    state: &Path,
    loaded: &Loaded,
    names: &[String],
) -> Result<Exit, Problem> {
    let mut exit = Exit::Ok;
    let mut done = Vec::new();
    for name in names {
        let route = choose::one(&context.env, loaded, name)?;
        if routes::distrust(state, &route.route.id)? {
            say(context.printer, &route.route.id, "is not trusted any more");
            done.push(route);
        } else {
            exit = Exit::Failed;
            say(context.printer, &route.route.id, "was not trusted");
        }
    }
    tell_daemon(context);
    let fitted = fit(context, &done, false)?;
    Ok(if exit == Exit::Ok { fitted } else { exit })
}

/// Lets the daemon look at once: what counts from now on counts for the very next call. One that is down looks when it
/// starts.
fn tell_daemon(context: &Context<'_>) {
    let told = Daemon::of(&context.env)
        .and_then(|daemon| daemon.with_timeout(ls::PATIENCE).ask(|client| client.routes()));
    drop(told);
}

/// Says which hosts' entries do not fit what waits now, and fits them where the human agrees.
fn fit(context: &mut Context<'_>, routes: &[&LoadedRoute], yes: bool) -> Result<Exit, Problem> {
    let waiting = Waiting::read(&context.env)?;
    let mut unfit: Vec<&'static HostTable> = Vec::new();
    let mut is_installed = false;
    for table in routes.iter().flat_map(|route| choose::hosts(&route.route)) {
        is_installed |= !refit::files(&context.env, table)?.is_empty();
        if !unfit.iter().any(|known| known.host == table.host)
            && refit::is_unfit(&context.env, table, &waiting)?
        {
            unfit.push(table);
        }
    }
    if !is_installed && !routes.is_empty() {
        show::warning(
            context.printer,
            "no agent at which it runs has our hooks: `herdbook install` puts them in",
        );
    }
    if unfit.is_empty() {
        return Ok(Exit::Ok);
    }
    let names: Vec<&str> = unfit.iter().map(|table| table.host).collect();
    let command = format!("herdbook install {}", names.join(" "));
    show::note(
        context.printer,
        &format!("the entries of {} do not fit your routes yet; `{command}` fits them", names.join(", ")),
    );
    // Where nobody can be asked, the note has said it.
    match yes || agrees(context.printer).unwrap_or(false) {
        true => {
            let mut exit = Exit::Ok;
            for table in unfit {
                let consent = Consent { yes: true, ..Consent::default() };
                let fitted = install::refit(table, &waiting, consent, context)?;
                exit = if exit == Exit::Ok { fitted } else { exit };
            }
            Ok(exit)
        }
        false => Ok(Exit::Ok),
    }
}

/// What was shown of a route: its program, where it is a text that is not too long, and its settings.
struct Seen {
    program: Option<String>,
    settings: Option<String>,
}

impl Seen {
    fn read(route: &LoadedRoute) -> Seen {
        Seen { program: text(&route.path), settings: text(&settings_of(&route.path)) }
    }
}

fn settings_of(program: &Path) -> PathBuf {
    let mut name = program.as_os_str().to_owned();
    name.push(".toml");
    name.into()
}

fn text(path: &Path) -> Option<String> {
    let is_short = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= KEPT_BYTES);
    if is_short { fs::read_to_string(path).ok() } else { None }
}

/// Shows a route, whole or as what changed, and what it may do.
fn describe(context: &mut Context<'_>, route: &LoadedRoute, copies: &Copies) -> Result<Seen, Problem> {
    let home = context.env.home().map(str::to_owned);
    let printer = &mut *context.printer;
    let seen = Seen::read(route);
    let size = fs::metadata(&route.path).map_or(0, |found| found.len());
    let file = short(&route.path, home.as_deref());
    let head = format!(": {}, {file}, {}", route.state.as_str(), counted(size, "byte"));
    printer.line(&Line::new().text(&route.route.id, Style::Name).text(&head, Style::Plain))?;
    let old = if route.state == RouteState::Changed { copies.read(&route.route.id) } else { None };
    match old {
        Some(old) => {
            printer.line(&Line::new().own("  since you trusted it:"))?;
            diff::print(printer, &route.path, old.program.as_deref(), seen.program.as_deref())?;
            diff::print(
                printer,
                &settings_of(&route.path),
                old.settings.as_deref(),
                seen.settings.as_deref(),
            )?;
        }
        None => {
            whole(printer, seen.program.as_deref())?;
            if let Some(settings) = &seen.settings {
                printer.line(&Line::new().own("  its settings:"))?;
                whole(printer, Some(settings))?;
            }
        }
    }
    for words in abilities(route) {
        printer.line(&Line::new().own("  ").text(&words, Style::Plain))?;
    }
    let mut notes = route.route.brief_notes();
    notes.extend(choose::cuts(&route.route));
    if !notes.is_empty() {
        printer.line(&Line::new().own("  not everywhere (why: herdbook route ls -v):"))?;
    }
    for note in notes {
        printer.line(&Line::new().own("    ").text(&note, Style::Dim))?;
    }
    Ok(seen)
}

fn whole(printer: &mut Printer, text: Option<&str>) -> io::Result<()> {
    let Some(text) = text else {
        return printer
            .line(&Line::new().own("  | ").styled("it is no text that could be shown", Style::Dim));
    };
    for line in text.lines().take(SHOWN_LINES) {
        printer.line(&Line::new().own("  | ").text(&line.replace('\t', "    "), Style::Plain))?;
    }
    match text.lines().count().saturating_sub(SHOWN_LINES) {
        0 => Ok(()),
        more => {
            let words = format!("… {} more: look at the file", counted(more as u64, "line"));
            printer.line(&Line::new().own("  | ").text(&words, Style::Dim))
        }
    }
}

/// Says where it runs and what it may do.
fn abilities(route: &LoadedRoute) -> Vec<String> {
    let said = &route.route;
    let hosts: Vec<&str> = choose::hosts(said).map(|table| table.host).collect();
    let tools =
        if said.tools.is_empty() { String::new() } else { format!(", tools {}", said.tools.join(", ")) };
    let fails = if said.closed { "denies" } else { "lets the host go on" };
    vec![
        format!("it sees {} of {}{tools}", said.family.as_str(), hosts.join(", ")),
        format!("it may answer {}", choose::may(said).join(", ")),
        format!("it has {}; when it fails, it {fails}", ls::time(said.timeout_ms)),
    ]
}

fn say(printer: &mut Printer, id: &str, words: &str) {
    printer.say(&Line::new().text(id, Style::Name).own(" ").text(words, Style::Plain));
}

/// Copies of what was trusted, to show what changed.
struct Copies {
    folder: PathBuf,
}

impl Copies {
    fn place(&self, id: &str, part: &str) -> PathBuf {
        self.folder.join(format!("{}-{part}", session_folder(id)))
    }

    fn read(&self, id: &str) -> Option<Seen> {
        let program = text(&self.place(id, "program"))?;
        Some(Seen { program: Some(program), settings: text(&self.place(id, "settings")) })
    }

    fn keep(&self, id: &str, seen: &Seen) -> io::Result<()> {
        private_dir(&self.folder).map_err(io::Error::other)?;
        for (part, text) in [("program", &seen.program), ("settings", &seen.settings)] {
            let place = self.place(id, part);
            match text {
                Some(text) => replace_file(&place, text.as_bytes(), 0o600)?,
                None if place.exists() => fs::remove_file(&place)?,
                None => {}
            }
        }
        Ok(())
    }
}
