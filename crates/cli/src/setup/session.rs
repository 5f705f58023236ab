//! The course of `install` and `uninstall`: each host thought through, shown, asked for once, and done.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use herdbook_hosts::installable;
use herdbook_machine::private_dir;
use herdbook_wire::paths::{private_dir as private_state, state_dir};

use super::ask::agrees;
use super::change::{Change, Edit};
use super::limits::Limits;
use super::receipt::Receipts;
use super::refusal::Refusal;
use super::show;
use super::target::{Target, targets};
use super::tmux;
use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;

/// The name that stands for tmux among the hosts.
const TMUX: &str = "tmux";

/// What both commands are told.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Which: claude, codex, …, or tmux. None: every agent that is installed here
    #[arg(value_name = "HOST", value_parser = PossibleValuesParser::new(installable().map(|table| table.host).chain([TMUX])), hide_possible_values = true)]
    pub hosts: Vec<String>,
    /// In the settings of a project (by default the one in this folder), not in your own
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub project: Option<PathBuf>,
    /// Show what would change, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

impl Options {
    /// True when only tmux is meant.
    pub fn is_tmux_alone(&self) -> bool {
        !self.hosts.is_empty() && self.hosts.iter().all(|host| host == TMUX)
    }

    /// What tmux is told of them.
    pub fn of_tmux(&self) -> tmux::Options {
        let Options { dry_run, yes, .. } = *self;
        tmux::Options { dry_run, yes, force: false, keys: None }
    }
}

/// What one of the two commands does with each host.
pub trait Work {
    /// Whether settings that are there count, where their host is not.
    fn is_for_what_is_there(&self) -> bool;

    /// Thinks a change through.
    ///
    /// # Errors
    /// The host is left out, with the reason.
    fn plan(&self, target: Target, receipts: &Receipts) -> Result<Change, Refusal>;

    /// Shows what else it changes beside the host's settings. Returns whether there is anything to agree to.
    ///
    /// # Errors
    /// stdout could not be written.
    fn preview(
        &self,
        context: &mut Context<'_>,
        change: &Change,
        receipts: &Receipts,
        as_diff: bool,
    ) -> Result<bool, Problem>;

    /// Makes it, and tells what came of it. Where there was nothing to agree to, nobody `agreed`.
    ///
    /// # Errors
    /// As [`Work::plan`].
    fn apply(
        &self,
        context: &mut Context<'_>,
        change: &Change,
        receipts: &Receipts,
        agreed: bool,
    ) -> Result<(), Refusal>;

    /// Does the same to tmux.
    ///
    /// # Errors
    /// Whatever that says.
    fn tmux(&self, context: &mut Context<'_>, options: &tmux::Options) -> Result<Exit, Problem>;
}

/// Goes through all hosts. One that is refused keeps no other from being done, and makes the exit code 1.
///
/// # Errors
/// Nobody could be asked, no host was found, or an own folder is not usable.
pub fn run(context: &mut Context<'_>, options: &Options, work: &dyn Work) -> Result<Exit, Problem> {
    let hosts: Vec<String> = options.hosts.iter().filter(|host| *host != TMUX).cloned().collect();
    let has_tmux = hosts.len() < options.hosts.len();
    let mut exit = Exit::Ok;
    if !hosts.is_empty() || !has_tmux {
        exit = run_hosts(context, options, &hosts, work)?;
    }
    if has_tmux {
        let tmux = work.tmux(context, &options.of_tmux())?;
        exit = if exit == Exit::Ok { tmux } else { exit };
    }
    Ok(exit)
}

fn run_hosts(
    context: &mut Context<'_>,
    options: &Options,
    hosts: &[String],
    work: &dyn Work,
) -> Result<Exit, Problem> {
    let targets = targets(&context.env, hosts, options.project.as_deref(), work.is_for_what_is_there())?;
    run_targets(context, targets, Consent { dry_run: options.dry_run, yes: options.yes }, work)
}

/// How far the human has agreed beforehand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Consent {
    /// Only show it.
    pub dry_run: bool,
    /// Do not ask.
    pub yes: bool,
}

/// Goes through these settings files, as [`run`] does.
///
/// # Errors
/// As [`run`].
pub fn run_targets(
    context: &mut Context<'_>,
    targets: Vec<Target>,
    consent: Consent,
    work: &dyn Work,
) -> Result<Exit, Problem> {
    let state = state_dir(&context.env.places)?;
    let receipts = Receipts::of(&state);
    let home = context.env.home().map(str::to_owned);
    let mut exit = Exit::Ok;
    let mut changes = Vec::new();
    let mut is_idle = true;
    for target in targets {
        let host = target.table.host;
        match work.plan(target, &receipts) {
            Ok(change) => {
                show::change(context.printer, &change, home.as_deref(), consent.dry_run)?;
                let more = work.preview(context, &change, &receipts, consent.dry_run)?;
                is_idle &= change.edit == Edit::Nothing && !more;
                changes.push(change);
            }
            Err(refusal) => {
                exit = Exit::Failed;
                show::refusal(context.printer, host, &refusal);
            }
        }
    }
    if consent.dry_run {
        return Ok(exit);
    }
    // With nothing shown there is nothing to agree to, whatever was said beforehand.
    let agreed = !is_idle && (consent.yes || agrees(context.printer)?);
    if !is_idle && !agreed {
        return Err(Problem::Declined);
    }
    if changes.is_empty() {
        return Ok(exit);
    }
    // Where nothing is to be done, no folder is made either.
    if agreed {
        private_state(&state)?;
        prepare(&receipts.backups)?;
        // A hook must not wait longer than its entry, be it the old one or the new one.
        let mut limits = Limits::standing(&receipts);
        for change in &changes {
            let texts = [change.text().ok().flatten(), change.text_after()];
            texts.into_iter().flatten().for_each(|text| limits.add(change.target.table, text));
        }
        limits.write(&state)?;
    }
    for change in &changes {
        if let Err(refusal) = work.apply(context, change, &receipts, agreed) {
            exit = Exit::Failed;
            show::refusal(context.printer, change.target.table.host, &refusal);
        }
    }
    if state.is_dir() {
        Limits::standing(&receipts).write(&state)?;
    }
    Ok(exit)
}

fn prepare(backups: &Path) -> Result<(), Problem> {
    private_dir(backups).map_err(|error| Problem::Backups(error.to_string()))
}
