//! `herdbook uninstall`: our hooks out of the agents' settings.

use super::Context;
use crate::error::{Problem, whole};
use crate::exit::Exit;
use crate::setup::ask::agrees;
use crate::setup::change::{Change, Edit};
use crate::setup::receipt::Receipts;
use crate::setup::refusal::Refusal;
use crate::setup::session::{self, Options, Work};
use crate::setup::target::Target;
use crate::setup::trust::{self, Trust};
use crate::setup::{left, show, systemd, tmux};

/// Take the hooks out of the coding agents' settings again
///
/// A file that nobody changed since becomes what it was, to the byte; out of any other, exactly the hooks are taken. What
/// else is still there is told, with the command that takes it out.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// Everything that was put somewhere: the keys in tmux and the systemd units as well. Your records stay
    #[arg(long, conflicts_with_all = ["hosts", "project"])]
    all: bool,
}

struct Uninstall;

/// Uninstalls.
///
/// # Errors
/// As [`session::run`].
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let Options { dry_run, yes, .. } = args.options;
    let is_bare = args.options.hosts.is_empty() && args.options.project.is_none();
    let mut exits = Vec::new();
    match session::run(context, &args.options, &Uninstall) {
        // What is not there needs no taking out; more of ours may be.
        Err(Problem::NoHost) if is_bare => show::note(context.printer, "no coding agent was found"),
        exit => exits.push(exit?),
    }
    if args.all {
        exits.push(tmux::uninstall(context, &args.options.of_tmux())?);
        exits.push(units(context, dry_run, yes)?);
    }
    if is_bare && !dry_run {
        left::tell(context)?;
    }
    Ok(exits.into_iter().find(|exit| *exit != Exit::Ok).unwrap_or(Exit::Ok))
}

/// Takes out the systemd units that `herdbook up` wrote, and with them the daemon that they run.
fn units(context: &mut Context<'_>, dry_run: bool, yes: bool) -> Result<Exit, Problem> {
    let files = systemd::files(&context.env.places);
    for file in &files {
        let file = show::short(file, context.env.home());
        show::note(context.printer, &format!("{file}: remove the file, which is ours, and end what it runs"));
    }
    if files.is_empty() || dry_run {
        return Ok(Exit::Ok);
    }
    if !yes && !agrees(context.printer)? {
        return Err(Problem::Declined);
    }
    match systemd::remove(&context.env.places) {
        Ok(_) => Ok(Exit::Ok),
        Err(error) => {
            show::warning(context.printer, &whole(&error));
            Ok(Exit::Failed)
        }
    }
}

impl Work for Uninstall {
    fn is_for_what_is_there(&self) -> bool {
        true
    }

    fn plan(&self, target: Target, receipts: &Receipts) -> Result<Change, Refusal> {
        Change::to_uninstall(target, receipts)
    }

    fn preview(
        &self,
        context: &mut Context<'_>,
        change: &Change,
        receipts: &Receipts,
        as_diff: bool,
    ) -> Result<bool, Problem> {
        let trust = Trust { target: &change.target, backups: &receipts.backups, home: context.env.home() };
        let text = change.text().ok().flatten().unwrap_or_default();
        trust::preview_uninstall(context.printer, trust, text, as_diff)
    }

    fn apply(
        &self,
        context: &mut Context<'_>,
        change: &Change,
        receipts: &Receipts,
        agreed: bool,
    ) -> Result<(), Refusal> {
        let host = change.target.table.host;
        let text = change.text()?.unwrap_or_default();
        let trust = Trust { target: &change.target, backups: &receipts.backups, home: context.env.home() };
        let rest = trust::before_uninstall(trust, text, agreed);
        if let Some(copy) = change.uninstall(receipts)? {
            show::kept(context.printer, host, &copy, context.env.home());
        }
        if let Some(rest) = rest {
            show::host(context.printer, host, &format!("next: {rest}"));
        } else if change.edit != Edit::Nothing {
            show::host(context.printer, host, "done; running sessions forget the hooks when they end");
        }
        Ok(())
    }

    fn tmux(&self, context: &mut Context<'_>, options: &tmux::Options) -> Result<Exit, Problem> {
        tmux::uninstall(context, options)
    }
}
