//! `herdbook hold`: whether permission requests may be answered from elsewhere.

use clap::Subcommand;
use herdbook_hosts::HostTable;
use herdbook_hosts::settings::Needs;
use herdbook_wire::paths::{private_dir, state_dir};
use serde::Serialize;

use super::{Context, install};
use crate::consent::by_human;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Style};
use crate::setup::ask::agrees;
use crate::setup::holds::{Hold, Holds, held_event, holdable, why_not};
use crate::setup::needs::Waiting;
use crate::setup::session::Consent;
use crate::setup::{refit, show};
use crate::text::{parse_duration, span};

/// Let permission requests be answered from elsewhere, with `herdbook approve` and `herdbook deny`
///
/// While it is on, the hook of a permission request waits for your answer. The agent's own dialog is open meanwhile, and
/// whoever answers first counts. It is only for agents that show their dialog while the hook waits. Off is how it begins;
/// an agent cannot switch it.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Let the hook wait
    On(OnArgs),
    /// Let it wait no longer
    Off(OffArgs),
}

#[derive(Debug, clap::Args)]
struct OnArgs {
    /// Which agent
    #[arg(default_value = "claude")]
    host: String,
    /// How long a request waits at most, from 10s to 10m: 90s, 5m
    #[arg(long = "for", value_name = "DURATION", default_value = "600s", value_parser = parse_hold)]
    hold_ms: u32,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
struct OffArgs {
    /// Which agent
    #[arg(default_value = "claude")]
    host: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

/// The least and the most that a hook may be held for, in milliseconds. No hook waits longer than ten minutes, whatever it
/// is told.
const HOLD_MS: std::ops::RangeInclusive<u64> = 10_000..=600_000;

fn parse_hold(text: &str) -> Result<u32, String> {
    let hold_ms = parse_duration(text).map_err(|error| error.to_string())?;
    let outside = || format!("'{text}' is not from 10s to 10m");
    u32::try_from(hold_ms).ok().filter(|_| HOLD_MS.contains(&hold_ms)).ok_or_else(outside)
}

/// What is switched on, for scripts.
#[derive(Serialize)]
struct Shown {
    hosts: Vec<ShownHost>,
}

#[derive(Serialize)]
struct ShownHost {
    host: &'static str,
    event: &'static str,
    on: bool,
    /// Absent where it is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_ms: Option<u32>,
    /// Entries in the host's settings grant the time.
    fits: bool,
}

/// Shows or switches it.
///
/// # Errors
/// An agent asks; the host cannot be held; its settings are not changed.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    match &args.verb {
        None => show_all(context, args.json),
        Some(Verb::On(on)) => {
            let table = held_table(&on.host)?;
            switch(context, table, Some(Hold { hold_ms: on.hold_ms }), on.yes)
        }
        Some(Verb::Off(off)) => switch(context, held_table(&off.host)?, None, off.yes),
    }
}

fn held_table(host: &str) -> Result<&'static HostTable, Problem> {
    let no_hold = |why: String| Problem::NoHold { host: host.to_owned(), why };
    let table = herdbook_hosts::table(host).ok_or_else(|| no_hold("no such agent is known".to_owned()))?;
    if holdable().any(|holdable| holdable.host == table.host) {
        Ok(table)
    } else {
        Err(no_hold(why_not(table)))
    }
}

fn switch(
    context: &mut Context<'_>,
    table: &'static HostTable,
    hold: Option<Hold>,
    yes: bool,
) -> Result<Exit, Problem> {
    by_human()?;
    let state = state_dir(&context.env.places)?;
    let old = Holds::read(&state)?;
    let new = old.clone().with(table.host, hold);
    if hold.is_some() && refit::files(&context.env, table)?.is_empty() {
        return Err(Problem::NotInstalled { host: table.host, title: table.title });
    }
    let waiting = Waiting::read(&context.env)?.with_holds(new.clone());
    let is_same = old == new && !refit::is_unfit(&context.env, table, &waiting)?;
    if is_same && hold.is_none() {
        show::host(context.printer, table.host, "off already");
        return Ok(Exit::Ok);
    }
    show::host(context.printer, table.host, &words(table, hold, &waiting.at(table)));
    if !is_same && !yes && !agrees(context.printer)? {
        return Err(Problem::Declined);
    }
    private_dir(&state)?;
    // The daemon must not hold a hook whose entry grants no time for it.
    if hold.is_none() {
        new.write(&state)?;
    }
    let exit = install::refit(table, &waiting, Consent { yes: true, ..Consent::default() }, context)?;
    if hold.is_some() && exit == Exit::Ok {
        new.write(&state)?;
    }
    let done = match (exit, hold) {
        (Exit::Ok, Some(_)) => {
            "permission requests can be answered from elsewhere: herdbook approve, herdbook deny"
        }
        (Exit::Ok, None) => "permission requests are answered in their own dialog alone",
        _ => return Ok(exit),
    };
    show::host(context.printer, table.host, done);
    Ok(exit)
}

/// Says what will be.
fn words(table: &HostTable, hold: Option<Hold>, needs: &Needs) -> String {
    let Some(event) = held_event(table) else { return String::new() };
    let limit = span(needs.entry_ms(table, event).into());
    let name = event.name;
    match hold {
        Some(hold) => format!(
            "its hook for {name} will wait up to {} for your answer, and its entry gets a time-out of {limit}; \
             {}'s dialog is open meanwhile",
            span(hold.hold_ms.into()),
            table.title
        ),
        None => format!("its hook for {name} will not wait, and its entry gets its time-out of {limit} back"),
    }
}

fn show_all(context: &mut Context<'_>, json: bool) -> Result<Exit, Problem> {
    let holds = Holds::read(&state_dir(&context.env.places)?)?;
    let waiting = Waiting::read(&context.env)?;
    let mut hosts = Vec::new();
    for table in holdable() {
        let Some(event) = held_event(table) else { continue };
        let hold_ms = holds.of(table.host).map(|hold| hold.hold_ms);
        let is_installed = !refit::files(&context.env, table)?.is_empty();
        let fits = is_installed && !refit::is_unfit(&context.env, table, &waiting)?;
        hosts.push(ShownHost { host: table.host, event: event.name, on: hold_ms.is_some(), hold_ms, fits });
    }
    if json {
        context.printer.json(&Shown { hosts })?;
        return Ok(Exit::Ok);
    }
    for shown in hosts {
        let mut line = Line::new().styled(shown.host, Style::Name).own("  ");
        line = match shown.hold_ms {
            Some(hold_ms) => line
                .styled("on", Style::Good)
                .text(&format!(", up to {} at {}", span(hold_ms.into()), shown.event), Style::Plain),
            None => line.own("off; `herdbook hold on` switches it on"),
        };
        if shown.on && !shown.fits {
            line = line
                .text(&format!("; its entries do not fit: herdbook install {}", shown.host), Style::Alarm);
        }
        context.printer.line(&line)?;
    }
    Ok(Exit::Ok)
}
