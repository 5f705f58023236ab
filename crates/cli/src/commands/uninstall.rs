//! `herdbook uninstall`: our hooks out of the agents' settings.

use herdbook_wire::paths::state_dir;

use super::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::setup::change::{Change, Edit};
use crate::setup::receipt::Receipts;
use crate::setup::refusal::Refusal;
use crate::setup::session::{self, Options, Work};
use crate::setup::target::Target;
use crate::setup::trust::{self, Trust};
use crate::setup::{show, tmux};

/// Take the hooks out of the coding agents' settings again
///
/// A file that nobody changed since becomes what it was, to the byte; out of any other, exactly the hooks are taken.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,
}

struct Uninstall;

/// Uninstalls.
///
/// # Errors
/// As [`session::run`].
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let exit = session::run(context, &args.options, &Uninstall)?;
    if args.options.hosts.is_empty() && args.options.project.is_none() && !args.options.dry_run {
        for receipt in Receipts::of(&state_dir(&context.env.places)?).of_projects() {
            let file = show::short(&receipt.path, context.env.home());
            let words = format!("still installed in {file}: run this with --project and its folder");
            show::warning(context.printer, &words);
        }
    }
    Ok(exit)
}

impl Work for Uninstall {
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
        let trust = Trust { target: &change.target, backups: &receipts.backups };
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
        let trust = Trust { target: &change.target, backups: &receipts.backups };
        let rest = trust::before_uninstall(trust, text, agreed);
        if let Some(copy) = change.uninstall(receipts)? {
            let copy = show::short(&copy, context.env.home());
            show::host(context.printer, host, &format!("copy of the file as it was: {copy}"));
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
