//! `herdbook install`: our hooks into the agents' settings.

use std::time::Duration;

use herdbook_hosts::HostTable;

use super::Context;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::setup::change::{Change, Edit};
use crate::setup::needs::Waiting;
use crate::setup::program::{HookProgram, hook_program};
use crate::setup::receipt::Receipts;
use crate::setup::refusal::Refusal;
use crate::setup::session::{self, Consent, Options, Work};
use crate::setup::target::Target;
use crate::setup::trust::{self, Trust};
use crate::setup::{refit, show, tmux};

/// Put hooks into the settings of the coding agents on this machine
///
/// What stands in those files stays, to the byte; a copy of each is kept. `herdbook uninstall` takes exactly the hooks
/// out again. Sessions that run already have to be restarted.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    keys: KeyOptions,
}

/// What only tmux asks for.
#[derive(Clone, Debug, Default, clap::Args)]
struct KeyOptions {
    /// tmux: take keys that you bound to something else
    #[arg(long)]
    force: bool,
    /// tmux: keys behind its prefix, by default next=Tab,skip=S,popup=g,return=B; `none` leaves one out
    #[arg(long, value_name = "VERB=KEY,…")]
    keys: Option<tmux::Keys>,
}

impl KeyOptions {
    fn put_into(&self, options: &tmux::Options) -> tmux::Options {
        tmux::Options { force: self.force, keys: self.keys.clone(), ..options.clone() }
    }
}

struct Install {
    hook: HookProgram,
    keys: KeyOptions,
    waiting: Waiting,
}

/// How long the daemon may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// Installs.
///
/// # Errors
/// As [`session::run`]; our hook program is not there.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let exit = if args.options.is_tmux_alone() {
        // No hook is written, so none has to be there.
        tmux::install(context, &args.keys.put_into(&args.options.of_tmux()))?
    } else {
        let work = Install {
            hook: hook_program(context.env.path.as_deref())?,
            keys: args.keys.clone(),
            waiting: Waiting::read(&context.env)?,
        };
        let exit = session::run(context, &args.options, &work)?;
        if work.hook.is_build {
            let words =
                format!("the hooks run {}, in a build folder: without it they do nothing", work.hook.path);
            show::warning(context.printer, &words);
        }
        exit
    };
    let daemon = Daemon::of(&context.env)?.with_timeout(PATIENCE);
    if let Err(Problem::Down { .. }) = daemon.ask(|client| client.status()) {
        show::warning(context.printer, "the daemon is not running: `herdbook up` starts it");
    }
    Ok(exit)
}

/// Installs the hooks of one host into the user's settings, as `doctor --fix` does.
///
/// # Errors
/// As [`run`].
pub fn host(host: &str, yes: bool, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let options = Options { hosts: vec![host.to_owned()], yes, ..Options::default() };
    run(&Args { options, keys: KeyOptions::default() }, context)
}

/// Fits all files that have entries of ours of this host to what waits, the user's and those of projects.
///
/// # Errors
/// As [`run`].
pub fn refit(
    table: &HostTable,
    waiting: &Waiting,
    consent: Consent,
    context: &mut Context<'_>,
) -> Result<Exit, Problem> {
    let targets = refit::files(&context.env, table)?;
    let hook = hook_program(context.env.path.as_deref())?;
    let work = Install { hook, keys: KeyOptions::default(), waiting: waiting.clone() };
    session::run_targets(context, targets, consent, &work)
}

impl Work for Install {
    fn is_for_what_is_there(&self) -> bool {
        false
    }

    fn plan(&self, target: Target, receipts: &Receipts) -> Result<Change, Refusal> {
        let version = target.version();
        let needs = self.waiting.at(target.table);
        Change::to_install(target, version.as_deref(), &needs, &self.hook, receipts)
    }

    fn preview(
        &self,
        context: &mut Context<'_>,
        change: &Change,
        receipts: &Receipts,
        as_diff: bool,
    ) -> Result<bool, Problem> {
        let trust = Trust { target: &change.target, backups: &receipts.backups, home: context.env.home() };
        let text = change.text_after().unwrap_or_default();
        trust::preview_install(context.printer, trust, text, as_diff)
    }

    fn apply(
        &self,
        context: &mut Context<'_>,
        change: &Change,
        receipts: &Receipts,
        agreed: bool,
    ) -> Result<(), Refusal> {
        let host = change.target.table.host;
        if let Some(copy) = change.install(receipts)? {
            show::kept(context.printer, host, &copy, context.env.home());
        }
        let rest = trust::after_install(
            Trust { target: &change.target, backups: &receipts.backups, home: context.env.home() },
            agreed,
        );
        let restart = || format!("restart running sessions of {}", change.target.table.title);
        let next = match (rest, &change.edit) {
            (Some(rest), _) => Some(rest),
            (None, Edit::Nothing) => None,
            (None, _) => Some(restart()),
        };
        if let Some(next) = next {
            show::host(context.printer, host, &format!("next: {next}"));
            if let Some(caution) = change.target.table.setup.caution {
                show::host(context.printer, host, caution);
            }
        }
        Ok(())
    }

    fn tmux(&self, context: &mut Context<'_>, options: &tmux::Options) -> Result<Exit, Problem> {
        tmux::install(context, &self.keys.put_into(options))
    }
}
