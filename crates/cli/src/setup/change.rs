//! One settings file, from what it is to what it shall be.

use std::fs;
use std::path::PathBuf;

use herdbook_hosts::settings::{self, Before, Entry, Needs};
use herdbook_machine::{guarded_command, sweep_beside};

use super::file::SettingsFile;
use super::program::HookProgram;
use super::receipt::{PROJECT, Receipt, Receipts, USER, hash};
use super::refusal::Refusal;
use super::target::Target;

/// What shall become of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// It is as it shall be.
    Nothing,
    /// It gets this text.
    Write(String),
    /// It goes.
    Remove,
}

/// A change that is thought through, and not made yet.
#[derive(Debug)]
pub struct Change {
    /// Whose file it is.
    pub target: Target,
    /// The file as it is.
    pub file: SettingsFile,
    /// What becomes of it.
    pub edit: Edit,
    /// Events that are left out because nobody knows whether the installed client has them.
    pub unsure: Vec<&'static str>,
    receipt: Option<Receipt>,
}

/// How many entries of ours a change concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// New ones.
    pub added: usize,
    /// Those that get another text.
    pub mended: usize,
    /// Those that go.
    pub removed: usize,
}

impl Change {
    /// Thinks an installation through. `version` is the installed client's; `needs` is what waits at its events.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn to_install(
        target: Target,
        version: Option<&str>,
        needs: &Needs,
        hook: &HookProgram,
        receipts: &Receipts,
    ) -> Result<Change, Refusal> {
        let mut change = Change::open(target, receipts)?;
        let old = change.text()?;
        let entries = old.and_then(|old| settings::list(change.target.table, old).ok()).unwrap_or_default();
        let written: Vec<String> =
            entries.iter().filter_map(|entry| settings::program(&entry.command)).collect();
        let program = hook.path_beside(written.iter().map(String::as_str));
        let command = |args: &[&str]| guarded_command(program, args);
        let before = change.before(receipts);
        let new = settings::install(change.target.table, version, needs, &command, old, before.known());
        let new = new.map_err(|source| change.refused(source))?;
        let entries = settings::list(change.target.table, &new).unwrap_or_default();
        let unsure = settings::unsure(change.target.table, version, needs).map(|event| event.name);
        let unsure = unsure.filter(|name| !entries.iter().any(|entry| entry.event == *name)).collect();
        if old != Some(&new) {
            change.edit = Edit::Write(new);
        }
        change.unsure = unsure;
        Ok(change)
    }

    /// Thinks the removal of our entries through. A file that is still as we wrote it becomes what it was before us;
    /// out of any other, exactly our entries are taken.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn to_uninstall(target: Target, receipts: &Receipts) -> Result<Change, Refusal> {
        let mut change = Change::open(target, receipts)?;
        let Some(bytes) = change.file.bytes.clone() else { return Ok(change) };
        if let Some(receipt) = change.receipt.as_ref().filter(|receipt| receipt.written == hash(&bytes)) {
            match receipt.before.as_ref().map(|copy| receipts.copy(copy)) {
                None => {
                    change.edit = Edit::Remove;
                    return Ok(change);
                }
                Some(Ok(before)) => {
                    let before = settings::text(&before).map_err(|source| change.refused(source))?.to_owned();
                    change.edit = Edit::Write(before);
                    return Ok(change);
                }
                // The copy is gone or was changed: as without a receipt.
                Some(Err(_)) => {}
            }
        }
        change.edit = match change.without_ours(receipts)? {
            Some(new) if Some(new.as_str()) == change.text()? => Edit::Nothing,
            Some(new) => Edit::Write(new),
            None => Edit::Remove,
        };
        Ok(change)
    }

    fn open(target: Target, receipts: &Receipts) -> Result<Change, Refusal> {
        let file = SettingsFile::open(&target.file, &target.bases)?;
        let receipt = receipts.load(&target.file);
        Ok(Change { target, file, edit: Edit::Nothing, unsure: Vec::new(), receipt })
    }

    /// The file's text as it is.
    ///
    /// # Errors
    /// It is no text.
    pub fn text(&self) -> Result<Option<&str>, Refusal> {
        let text = self.file.bytes.as_deref().map(settings::text).transpose();
        text.map_err(|source| self.refused(source))
    }

    /// The file's text as it will be; nothing where there will be no file.
    pub fn text_after(&self) -> Option<&str> {
        match &self.edit {
            Edit::Nothing => self.text().ok().flatten(),
            Edit::Write(text) => Some(text),
            Edit::Remove => None,
        }
    }

    /// Counts what the change does to our entries.
    pub fn counts(&self) -> Counts {
        let list = |text: Option<&str>| {
            text.and_then(|text| settings::list(self.target.table, text).ok()).unwrap_or_default()
        };
        let old = list(self.text().ok().flatten());
        let new = match &self.edit {
            Edit::Nothing => return Counts::default(),
            Edit::Write(text) => list(Some(text)),
            Edit::Remove => Vec::new(),
        };
        let is_in = |all: &[Entry], entry: &Entry| all.iter().any(|other| other.event == entry.event);
        let added = new.iter().filter(|entry| !is_in(&old, entry)).count();
        let kept = new.iter().filter(|entry| is_in(&old, entry));
        Counts {
            added,
            mended: kept.filter(|entry| !old.contains(entry)).count(),
            removed: (old.len() + added).saturating_sub(new.len()),
        }
    }

    /// Makes an installation. Returns where a copy of the file lies, if there was one.
    ///
    /// # Errors
    /// See [`Refusal`]; the file is then as it was.
    pub fn install(&self, receipts: &Receipts) -> Result<Option<PathBuf>, Refusal> {
        let Edit::Write(new) = &self.edit else { return Ok(None) };
        sweep_beside(&self.file.path);
        let host = self.target.table.host;
        let keep = |bytes: &[u8]| receipts.keep(host, &self.target.file, bytes);
        let copy = self.file.bytes.as_deref().map(keep).transpose()?;
        let known = self
            .receipt
            .as_ref()
            .filter(|receipt| self.file.bytes.as_deref().is_some_and(|bytes| hash(bytes) == receipt.written));
        let before = match known {
            // It is as we left it: what was before us is what was before us then.
            Some(receipt) => receipt.before.clone(),
            None => self.without_ours(receipts)?.map(|text| keep(text.as_bytes())).transpose()?,
        };
        let made = self.receipt.as_ref().map(|receipt| receipt.folders.clone()).unwrap_or_default();
        let receipt = Receipt {
            path: self.target.file.clone(),
            host: host.to_owned(),
            scope: if self.target.project.is_some() { PROJECT } else { USER }.to_owned(),
            written: hash(new.as_bytes()),
            before,
            folders: self.file.missing_folders().into_iter().chain(made).collect(),
        };
        // First the receipt: a file of ours without one is worse than one that names a file that was not written.
        receipts.save(&receipt)?;
        if let Err(refusal) = self.file.write(new.as_bytes(), self.target.project.is_some()) {
            if self.file.holds(new.as_bytes()) {
                // Another `install` was faster with the same: its receipt is ours.
                return Ok(copy);
            }
            match &self.receipt {
                Some(old) => receipts.save(old)?,
                None => receipts.forget(&self.target.file),
            }
            return Err(refusal);
        }
        Ok(copy)
    }

    /// Makes a removal. Returns where a copy of the file as it was lies.
    ///
    /// # Errors
    /// See [`Refusal`]; the file is then as it was.
    pub fn uninstall(&self, receipts: &Receipts) -> Result<Option<PathBuf>, Refusal> {
        sweep_beside(&self.file.path);
        let keep = |bytes: &[u8]| receipts.keep(self.target.table.host, &self.target.file, bytes);
        let copy = match &self.edit {
            Edit::Nothing => None,
            Edit::Write(new) => {
                let copy = self.file.bytes.as_deref().map(keep).transpose()?;
                self.file.write(new.as_bytes(), self.target.project.is_some())?;
                copy
            }
            Edit::Remove => {
                let copy = self.file.bytes.as_deref().map(keep).transpose()?;
                self.file.remove()?;
                copy
            }
        };
        if let Some(receipt) = self.receipt.as_ref().filter(|_| !self.file.path.exists()) {
            // One that holds something else by now is no longer ours alone.
            for folder in receipt.folders.iter().rev() {
                let _ = fs::remove_dir(folder);
            }
        }
        receipts.forget(&self.target.file);
        Ok(copy)
    }

    /// The file's text without our entries; nothing where there is no file, or it would be ours alone.
    fn without_ours(&self, receipts: &Receipts) -> Result<Option<String>, Refusal> {
        let Some(text) = self.text()? else { return Ok(None) };
        let before = self.before(receipts);
        settings::remove(self.target.table, text, before.known()).map_err(|source| self.refused(source))
    }

    /// What was in the file before us, as far as the receipt tells.
    fn before(&self, receipts: &Receipts) -> Kept {
        let Some(receipt) = &self.receipt else { return Kept::Unknown };
        let Some(copy) = &receipt.before else { return Kept::NoFile };
        let text = receipts.copy(copy).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        text.map_or(Kept::Unknown, Kept::Text)
    }

    fn refused(&self, source: settings::SettingsError) -> Refusal {
        Refusal::Settings { path: self.target.file.clone(), source }
    }
}

/// A [`Before`] of its own.
enum Kept {
    Unknown,
    NoFile,
    Text(String),
}

impl Kept {
    fn known(&self) -> Before<'_> {
        match self {
            Kept::Unknown => Before::Unknown,
            Kept::NoFile => Before::NoFile,
            Kept::Text(text) => Before::Text(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_installs_at_once_the_slower_one_keeps_the_receipt() {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().canonicalize().unwrap();
        let receipts = Receipts::of(&home.join("state"));
        let target = || Target {
            table: herdbook_hosts::table("claude").unwrap(),
            home: home.join(".claude"),
            project: None,
            file: home.join(".claude/settings.json"),
            bases: vec![home.clone()],
            home_bases: vec![home.clone()],
            program: None,
        };
        herdbook_machine::private_dir(&home.join("state")).unwrap();
        let hook = |path: &str| HookProgram { path: path.to_owned(), is_build: false };
        let ours = hook("/opt/herdbook-hook");
        let plan = || Change::to_install(target(), None, &Needs::NONE, &ours, &receipts).unwrap();
        let (faster, slower) = (plan(), plan());
        faster.install(&receipts).unwrap();
        let written = fs::read(&faster.file.path).unwrap();
        slower.install(&receipts).unwrap();
        assert_eq!(fs::read(&faster.file.path).unwrap(), written);
        let out = Change::to_uninstall(target(), &receipts).unwrap();
        assert_eq!(out.edit, Edit::Remove, "there was no file before the two");
        // What is not the same is still refused, and the receipt is as it was.
        let late = Change::to_install(target(), None, &Needs::NONE, &hook("/other/herdbook-hook"), &receipts)
            .unwrap();
        out.uninstall(&receipts).unwrap();
        assert!(matches!(late.install(&receipts), Err(Refusal::Changed { .. })));
    }
}
