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
    /// Absolute. Where `PATH` has a symlink to it, that link: it stays when the next version lies in another folder, and
    /// Codex trusts the text (overview D1).
    pub path: String,
    /// It lies in a build folder, where the next clean-up removes it.
    pub is_build: bool,
}

impl HookProgram {
    /// The path for a file in which these programs stand: one that leads to the same program stays as it is written.
    pub fn path_beside<'a>(&'a self, written: impl IntoIterator<Item = &'a str>) -> &'a str {
        let real = |path: &str| fs::canonicalize(path).ok().filter(|_| path.starts_with('/'));
        let own = real(&self.path);
        let is_same = |path: &&str| own.is_some() && real(path) == own;
        written.into_iter().find(is_same).unwrap_or(&self.path)
    }
}

/// Finds the hook program beside this one, and a link to it along `PATH`.
///
/// # Errors
/// It is not there, or its path is no text, which settings files could not hold.
pub fn hook_program(path: Option<&OsStr>) -> Result<HookProgram, Problem> {
    let own = std::env::current_exe().and_then(fs::canonicalize).map_err(Problem::Program)?;
    let real = own.with_file_name(PROGRAM);
    let is_build = real.ancestors().any(|folder| folder.join(".rustc_info.json").is_file());
    match link_to(&real, path).unwrap_or_else(|| real.clone()).to_str() {
        Some(text) if is_program(&real) => Ok(HookProgram { path: text.to_owned(), is_build }),
        _ => Err(Problem::NoHook { path: real }),
    }
}

/// The first of that name along `PATH`, when it is a symlink that leads to this program.
fn link_to(program: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    let link = find(&[PROGRAM], path).filter(|link| link.is_symlink())?;
    let is_same = fs::canonicalize(&link).ok()? == fs::canonicalize(program).ok()?;
    // Its folder without links, so that it does not matter by which of them it was found.
    is_same.then_some(fs::canonicalize(link.parent()?).ok()?.join(PROGRAM))
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

/// True for a file that can be run.
pub fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
