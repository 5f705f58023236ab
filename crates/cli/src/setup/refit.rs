//! The settings files that have entries of ours, the user's and those of projects, fitted to what waits.

use std::fs;
use std::path::{Path, PathBuf};

use herdbook_hosts::{HostTable, settings};
use herdbook_wire::paths::state_dir;

use super::needs::Waiting;
use super::receipt::{PROJECT, Receipts};
use super::target::{Target, targets};
use crate::env::Env;
use crate::error::Problem;

/// Returns the settings files of a host that have entries of ours: the user's, and those of projects as far as receipts
/// tell of them.
///
/// # Errors
/// There is no home, or no state folder.
pub fn files(env: &Env, table: &HostTable) -> Result<Vec<Target>, Problem> {
    let hosts = [table.host.to_owned()];
    let mut found = targets(env, &hosts, None, true)?;
    let receipts = Receipts::of(&state_dir(&env.places)?);
    for receipt in receipts.all() {
        let root = project_of(&receipt.path, table).filter(|_| receipt.scope == PROJECT);
        if receipt.host == table.host
            && let Some(root) = root
            // One that is gone keeps no other from being done.
            && let Ok(in_project) = targets(env, &hosts, Some(&root), true)
        {
            found.extend(in_project);
        }
    }
    found.retain(|target| has_ours(table, &target.file));
    Ok(found)
}

/// True when entries of ours in any of a host's files grant less than what waits there needs, more than it does, or are
/// not there. Files that are not understood are passed over.
pub fn is_unfit(env: &Env, table: &'static HostTable, waiting: &Waiting) -> Result<bool, Problem> {
    let needs = waiting.at(table);
    let is_unfit = |target: &Target| {
        let granted = text(&target.file).and_then(|text| settings::granted(table, &text).ok());
        settings::unfit(table, &needs, &granted.unwrap_or_default()).next().is_some()
    };
    Ok(files(env, table)?.iter().any(is_unfit))
}

fn project_of(file: &Path, table: &HostTable) -> Option<PathBuf> {
    let depth = Path::new(table.setup.project_file).components().count();
    file.ancestors().nth(depth).map(Path::to_owned)
}

fn has_ours(table: &HostTable, file: &Path) -> bool {
    text(file).is_some_and(|text| settings::list(table, &text).is_ok_and(|entries| !entries.is_empty()))
}

fn text(file: &Path) -> Option<String> {
    // A pipe in its place would keep us waiting.
    fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    fs::read_to_string(file).ok()
}
