//! Codex runs a hook only once the human has trusted it; this does it for exactly our own, after the human said yes.
//!
//! What was seen with the real client, 0.171.0 (the tests with the real client hold the most of it):
//! - `hooks/list` of `codex app-server` gives for a folder every hook with `key`, `sourcePath`, `command`, `enabled`,
//!   `currentHash` and `trustStatus` (`untrusted`, `trusted`, `modified`, `managed`).
//! - `key` is `FILE:EVENT:GROUP:HOOK`: the event in `snake_case`, two positions from 0. An empty group
//!   (`{"hooks": []}`, or `{}`) is accepted and keeps the positions of those after it.
//! - FILE has the home folder without symlinks, but a symlinked `hooks.json` is not followed. For a project it is the
//!   folder as it was asked for, so we ask for the one without symlinks, which is what a client started there sees.
//!   The hooks of a project are listed only once the human trusts that folder.
//! - The hash is of event, matcher, time limit and command, and neither of the file nor of the position. So the hashes
//!   of hooks that are not written yet are learnt in a scratch home ([`Codex::plan`]).
//! - Trust is `[hooks.state."KEY"]` with `trusted_hash = "HASH"` in the user's `config.toml`, for projects as well.
//!   `enabled = false` beside it is the human's switch in `/hooks`, which we leave alone.
//! - `config/batchWrite` could write it, but sets CRLF to LF, the mode to 0600 and moves comments at the end of the
//!   file. So we write the text ourselves ([`config`]).
//! - An event that it does not know is skipped. Another key beside `hooks` and `description` at the top, a comment, a
//!   byte-order mark or an unknown type of handler voids the whole file: one warning in the list, no hook.
//! - The server ends with its standard input and drops what it has not answered by then.

mod config;
mod server;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use herdbook_machine::replace_file;

pub use server::{Hook, Listing};

/// One Codex: its program, its home, and the file with the hooks that this is about.
#[derive(Clone, Copy, Debug)]
pub struct Codex<'a> {
    /// The program `codex`.
    pub program: &'a Path,
    /// Its home folder: `$CODEX_HOME`, or `~/.codex`.
    pub home: &'a Path,
    /// The project whose hooks these are, or `None` for the user's own.
    pub project: Option<&'a Path>,
    /// Variables for the program beside `PATH`, `HOME`, the XDG folders and `CODEX_HOME`.
    pub env: &'a [(&'a str, &'a OsStr)],
}

/// A file as it is and as it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// Its text; `None` where there is no file.
    pub before: Option<String>,
    /// The text to be; `None` where the file, which held nothing but ours, goes.
    pub after: Option<String>,
}

/// How it stands after [`Codex::trust`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Codex runs all of our hooks and asks nobody.
    Trusted {
        /// Their keys.
        keys: Vec<String>,
        /// Whether `config.toml` was changed for it.
        changed: bool,
    },
    /// The human has to do it: see [`NextStep`]'s words. The hooks are installed all the same.
    NextStep(NextStep),
}

/// What the human has to do, and why we could not. Its words hold foreign text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextStep {
    /// What to do.
    pub step: &'static str,
    /// Why we could not.
    pub why: String,
    /// Keys of our hooks that run.
    pub trusted: Vec<String>,
    /// Keys of our hooks that do not.
    pub untrusted: Vec<String>,
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.why)
    }
}

/// What a human can do in most cases.
pub const REVIEW: &str = "start codex and accept the hooks in /hooks";
/// Where codex reads nothing of the hooks file.
const MEND: &str = "mend the hooks file and install again";
/// Where codex reads no hooks at all.
const SWITCH_ON: &str = "switch hooks on (`[features] hooks` in config.toml) and install again";
/// Where codex does not read a project's hooks yet.
const TRUST_FOLDER: &str = "start codex in that folder, trust it, and accept the hooks in /hooks";

/// Why our hooks are not listed, and what a human can do about it.
struct Unlisted {
    step: &'static str,
    why: String,
}

/// What [`Codex::untrust`] would do to `config.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrust {
    /// The change; `None` where nothing is to be done.
    pub change: Option<Change>,
    /// Keys of ours that are written in a form that we do not edit. They trust nothing that is there.
    pub left: Vec<String>,
}

impl Codex<'_> {
    /// Trusts our hooks in this Codex: lists them, writes trust for those of them that are not trusted, and lists them
    /// again. Hooks of others, those that the human switched off, and every other entry stay as they are.
    ///
    /// The human must have agreed before. `write` makes the change; [`write()`] does.
    pub fn trust(
        &self,
        is_ours: impl Fn(&str) -> bool,
        write: impl FnOnce(&Change) -> Result<(), String>,
    ) -> Outcome {
        let next_step = |why: Unlisted, hooks: &[Hook]| {
            let keys =
                |runs| hooks.iter().filter(|hook| hook.runs() == runs).map(|hook| hook.key.clone()).collect();
            let Unlisted { step, why } = why;
            Outcome::NextStep(NextStep { step, why, trusted: keys(true), untrusted: keys(false) })
        };
        let review = |why| Unlisted { step: REVIEW, why };
        let before = match self.ours(&is_ours) {
            Ok(hooks) => hooks,
            Err(why) => return next_step(why, &[]),
        };
        let wanted: Vec<&Hook> = before.iter().filter(|hook| hook.enabled && !hook.is_trusted()).collect();
        let changed = !wanted.is_empty();
        let after = if changed {
            let written = self.change(&wanted).and_then(|change| write(&change));
            match written.map_err(review).and_then(|()| self.ours(&is_ours)) {
                Ok(hooks) => hooks,
                Err(why) => return next_step(why, &before),
            }
        } else {
            before
        };
        if after.iter().any(|hook| !hook.enabled) {
            return next_step(review("some of them are switched off there".to_owned()), &after);
        }
        if !after.iter().all(Hook::is_trusted) {
            return next_step(review("codex does not take the trust that was written".to_owned()), &after);
        }
        Outcome::Trusted { keys: after.into_iter().map(|hook| hook.key).collect(), changed }
    }

    /// Tells what [`Codex::trust`] would write once the hooks file has this text, without touching this Codex: to be
    /// shown before the human is asked. `None` if all is trusted already.
    ///
    /// # Errors
    /// Why it cannot be told, in words.
    pub fn plan(&self, hooks_text: &str, is_ours: impl Fn(&str) -> bool) -> Result<Option<Change>, String> {
        let scratch = tempfile::Builder::new().prefix("herdbook-codex-").tempdir();
        let scratch = scratch.map_err(|error| format!("no scratch folder could be made: {error}"))?;
        let home = scratch.path().canonicalize().map_err(|error| format!("no scratch folder: {error}"))?;
        replace_file(&home.join("hooks.json"), hooks_text.as_bytes(), 0o600)
            .map_err(|error| format!("the scratch folder could not be written: {error}"))?;
        let there = Codex { home: &home, project: None, ..*self };
        let mut hooks = there.ours(is_ours).map_err(|unlisted| unlisted.why)?;
        let (scratch_file, file) = (text(&home.join("hooks.json"))?, text(&self.key_file())?);
        for hook in &mut hooks {
            if let Some(position) = hook.key.strip_prefix(&scratch_file) {
                hook.key = format!("{file}{position}");
            }
        }
        let change = self.change(&hooks.iter().collect::<Vec<_>>())?;
        Ok((change.before != change.after).then_some(change))
    }

    /// Tells what takes our trust out of `config.toml` again: the entries at the positions that hold a hook of ours in
    /// `hooks_text`, which is the hooks file before our hooks are taken out. Needs no `codex`.
    ///
    /// # Errors
    /// Why it cannot be told, in words.
    pub fn untrust(&self, hooks_text: &str, is_ours: impl Fn(&str) -> bool) -> Result<Untrust, String> {
        let path = self.config_file();
        let Some(before) = read(&path)? else { return Ok(Untrust { change: None, left: Vec::new() }) };
        let positions = config::positions(hooks_text, is_ours)?;
        let mut files = vec![text(&self.key_file())?, text(&self.hooks_file())?];
        files.dedup();
        let keys: Vec<String> = files
            .iter()
            .flat_map(|file| positions.iter().map(move |position| format!("{file}:{position}")))
            .collect();
        let (after, left) = config::without_trust(&before, &keys)?;
        // An empty file that was there before us has a line feed before our first entry, and so one line left.
        let is_made_by_us = after.is_empty() && before.starts_with('[') && !path.is_symlink();
        let change = (after != before).then(|| Change {
            path,
            before: Some(before),
            after: (!is_made_by_us).then_some(after),
        });
        Ok(Untrust { change, left })
    }

    /// Lists the hooks of our hooks file, whosever they are.
    ///
    /// # Errors
    /// Why there is no list, in words.
    pub fn list(&self) -> Result<Listing, String> {
        let asked = match self.project {
            Some(project) => real(project),
            // No project of this user's is there.
            None => PathBuf::from("/"),
        };
        let mut listing = server::list(self.program, self.home, &asked, self.env)?;
        let file = real(&self.hooks_file());
        listing.hooks.retain(|hook| real(Path::new(&hook.source_path)) == file);
        Ok(listing)
    }

    fn ours(&self, is_ours: impl Fn(&str) -> bool) -> Result<Vec<Hook>, Unlisted> {
        let Listing { mut hooks, warnings } = self.list().map_err(|why| Unlisted { step: REVIEW, why })?;
        hooks.retain(|hook| hook.command.as_deref().is_some_and(&is_ours));
        let (step, why) = match (hooks.is_empty(), warnings.first(), self.project) {
            (false, ..) => return Ok(hooks),
            (true, Some(warning), _) => (MEND, format!("codex does not list our hooks: {warning}")),
            (true, None, Some(_)) => {
                (TRUST_FOLDER, "codex lists the hooks of a project once it trusts its folder".to_owned())
            }
            (true, None, None) => {
                (SWITCH_ON, "codex does not list our hooks; are hooks switched off there?".to_owned())
            }
        };
        Err(Unlisted { step, why })
    }

    fn change(&self, hooks: &[&Hook]) -> Result<Change, String> {
        let path = self.config_file();
        let before = read(&path)?;
        let entries: Vec<(&str, &str)> =
            hooks.iter().map(|hook| (hook.key.as_str(), hook.current_hash.as_str())).collect();
        let after = config::with_trust(before.as_deref(), &entries)?;
        Ok(Change { path, before, after: Some(after) })
    }

    /// The hooks file.
    pub fn hooks_file(&self) -> PathBuf {
        match self.project {
            Some(project) => project.join(".codex/hooks.json"),
            None => self.home.join("hooks.json"),
        }
    }

    fn config_file(&self) -> PathBuf {
        self.home.join("config.toml")
    }

    /// The hooks file as Codex writes it into its keys.
    fn key_file(&self) -> PathBuf {
        match self.project {
            Some(project) => real(project).join(".codex/hooks.json"),
            None => real(self.home).join("hooks.json"),
        }
    }
}

/// Makes a change: refuses a file that changed meanwhile or is not ours to change, leaves a copy (`backup`, 0600), and
/// replaces the file whole, with its mode and its symlink kept.
///
/// # Errors
/// Why the file was left as it was, in words.
pub fn write(change: &Change, backup: &Path) -> Result<(), String> {
    let path = &change.path;
    if read(path)? != change.before {
        return Err(format!("{} was changed by another program meanwhile", path.display()));
    }
    let failed = |error: io::Error| format!("{} could not be written: {error}", path.display());
    if let Some(before) = &change.before {
        replace_file(backup, before.as_bytes(), 0o600).map_err(failed)?;
    }
    match &change.after {
        Some(after) => replace_file(path, after.as_bytes(), 0o600).map_err(failed),
        None => fs::remove_file(path).map_err(failed),
    }
}

/// Reads a text that we may change: a regular file of this user's that is not read-only, or a symlink to one. `None` if
/// there is none.
fn read(path: &Path) -> Result<Option<String>, String> {
    let name = path.display();
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => return Ok(None),
        Err(error) => return Err(format!("{name} could not be read: {error}")),
    };
    if !found.is_file() {
        return Err(format!("{name} is no regular file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(format!("{name} belongs to another user (uid {})", found.uid()));
    }
    if found.mode() & 0o222 == 0 {
        return Err(format!("{name} is read-only"));
    }
    let bytes = fs::read(path).map_err(|error| format!("{name} could not be read: {error}"))?;
    String::from_utf8(bytes).map(Some).map_err(|_| format!("{name} is not UTF-8"))
}

/// The path without symlinks, or as it is where it leads to nothing.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn text(path: &Path) -> Result<String, String> {
    let text: OsString = path.into();
    text.into_string().map_err(|_| format!("{} is not UTF-8", path.display()))
}
