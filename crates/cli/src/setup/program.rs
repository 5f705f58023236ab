//! Programs: our hook, which hosts run by its path, and the hosts themselves.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herdbook_hosts::settings::{PROGRAM, find_version};
use herdbook_machine::Command;

use crate::error::Problem;

/// How long a host may take to tell its version: some start a whole runtime for it.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// Our hook program, by the path that goes into the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookProgram {
    /// Absolute, without symlinks.
    pub path: String,
    /// It lies in a build folder, where the next clean-up removes it.
    pub is_build: bool,
}

/// Finds the hook program beside this one.
///
/// # Errors
/// It is not there, or its path is no text, which settings files could not hold.
pub fn hook_program() -> Result<HookProgram, Problem> {
    let own = std::env::current_exe().and_then(fs::canonicalize).map_err(Problem::Program)?;
    let path = own.with_file_name(PROGRAM);
    let Some(text) = path.to_str().filter(|_| is_program(&path)) else {
        return Err(Problem::NoHook { path });
    };
    let is_build = path.ancestors().any(|folder| folder.join(".rustc_info.json").is_file());
    Ok(HookProgram { path: text.to_owned(), is_build })
}

/// Finds a program along `PATH`.
pub fn find(names: &[&str], path: Option<&OsStr>) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(path?).filter(|folder| folder.is_absolute()).collect();
    names
        .iter()
        .find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|program| is_program(program)))
}

/// Asks a host for its version. Nothing when it does not say one in time.
pub fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").timeout(VERSION_LIMIT).run().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    find_version(&text).map(str::to_owned)
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
