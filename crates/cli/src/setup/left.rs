//! What is still here of ours once the agents' settings of this environment are done: told with the command that takes
//! it out.

use std::fs;
use std::path::{Path, PathBuf};

use herdbook_hosts::{HostTable, settings};
use herdbook_wire::paths::state_dir;

use super::receipt::{PROJECT, Receipt, Receipts};
use super::target::targets;
use super::{show, systemd, tmux};
use crate::commands::Context;
use crate::error::Problem;

/// Tells everything of ours that is still here.
///
/// # Errors
/// The state folder has no place.
pub fn tell(context: &mut Context<'_>) -> Result<(), Problem> {
    let state = state_dir(&context.env.places)?;
    let home = context.env.home().map(str::to_owned);
    let named = |path: &Path| show::short(path, home.as_deref());
    let done: Vec<PathBuf> = targets(&context.env, &[], None, true)
        .unwrap_or_default()
        .into_iter()
        .map(|target| target.file)
        .collect();
    for receipt in Receipts::of(&state).all() {
        // One that was refused has been told already.
        if !done.contains(&receipt.path)
            && let Some(table) = still_in(&receipt)
        {
            let words = format!(
                "still installed in {}: run this with {}",
                named(&receipt.path),
                way(&receipt, table)
            );
            show::warning(context.printer, &words);
        }
    }
    let others = tmux::with_block(&context.env).into_iter().chain(systemd::files(&context.env.places));
    for path in others {
        let words = format!("{} is still there: `herdbook uninstall --all` takes it out, too", named(&path));
        show::warning(context.printer, &words);
    }
    if state.is_dir() {
        let words = format!(
            "records, and copies of the settings, stay in {}: remove it if you like, after `herdbook down`",
            named(&state)
        );
        show::note(context.printer, &words);
    }
    Ok(())
}

/// Returns the host, when our entries are in its file.
fn still_in(receipt: &Receipt) -> Option<&'static HostTable> {
    let table = herdbook_hosts::table(&receipt.host)?;
    // A pipe in its place would keep us waiting.
    let bytes = Some(&receipt.path).filter(|path| path.is_file()).and_then(|path| fs::read(path).ok())?;
    let entries = settings::list(table, settings::text(&bytes).ok()?).ok()?;
    (!entries.is_empty()).then_some(table)
}

/// How to reach a file that the same command without more does not reach.
fn way(receipt: &Receipt, table: &HostTable) -> String {
    let is_project = receipt.scope == PROJECT;
    let file = if is_project { table.setup.project_file } else { table.setup.user_file };
    let folder = receipt.path.ancestors().nth(Path::new(file).components().count());
    let folder = folder.unwrap_or(&receipt.path);
    let home = &table.setup.home;
    // Where the host's folder lies below the configuration folder or the home.
    let base =
        folder.ancestors().nth(Path::new(home.folder).components().count()).unwrap_or(folder).display();
    match (is_project, home.var) {
        (true, _) => format!("--project {}", folder.display()),
        (false, Some(var)) => format!("{var}={}", folder.display()),
        (false, None) if home.xdg => format!("XDG_CONFIG_HOME={base}"),
        (false, None) => format!("HOME={base}"),
    }
}
