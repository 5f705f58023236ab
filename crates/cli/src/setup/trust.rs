//! Hosts that run a hook only once it is trusted. Today that is Codex ([`super::codex`]); of all others nothing is asked.

use std::path::Path;

use herdbook_hosts::settings;

use super::codex::{self, Codex, Outcome, REVIEW};
use super::file::SettingsFile;
use super::receipt::hash;
use super::target::Target;
use super::{diff, show};
use crate::error::Problem;
use crate::printer::Printer;

/// What trusting needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Trust<'a> {
    /// The host, its program and its folder.
    pub target: &'a Target,
    /// Where copies of what is changed go; a private folder that is there by the time something is written.
    pub backups: &'a Path,
    /// The human's home folder, shown as `~`.
    pub home: Option<&'a str>,
}

impl Trust<'_> {
    fn codex<'a>(&'a self, program: &'a Path) -> Codex<'a> {
        Codex { program, home: &self.target.home, project: self.target.project.as_deref(), env: &[] }
    }

    fn is_codex(&self) -> bool {
        self.target.table.host == "codex"
    }

    /// `config.toml` is looked at as the settings are: no link leads us out of the home.
    fn check_config(&self) -> Result<(), String> {
        let file = SettingsFile::open(&self.target.home.join("config.toml"), &self.target.home_bases);
        file.map(|_| ()).map_err(|refusal| refusal.to_string())
    }

    /// Makes a change of `config.toml` and keeps a copy of what it was.
    fn write(&self, change: &codex::Change) -> Result<(), String> {
        self.check_config()?;
        let was = hash(change.before.as_deref().unwrap_or_default().as_bytes());
        let copy = format!("codex-config.toml-{}", was.get(..16).unwrap_or_default());
        codex::write(change, &self.backups.join(copy))
    }

    fn show(
        &self,
        printer: &mut Printer,
        change: &codex::Change,
        words: &str,
        as_diff: bool,
    ) -> Result<(), Problem> {
        show::host(
            printer,
            self.target.table.host,
            &format!("{}: {words}", show::short(&change.path, self.home)),
        );
        if as_diff {
            diff::print(printer, &change.path, change.before.as_deref(), change.after.as_deref())?;
        }
        Ok(())
    }
}

/// Shows, before the human is asked, what trusting the hooks of this text will change. Returns whether it will change
/// anything.
///
/// # Errors
/// stdout could not be written.
pub fn preview_install(
    printer: &mut Printer,
    trust: Trust<'_>,
    hooks_text: &str,
    as_diff: bool,
) -> Result<bool, Problem> {
    let Some(program) = trust.target.program.as_deref().filter(|_| trust.is_codex()) else {
        return Ok(false);
    };
    let plan = trust.codex(program).plan(hooks_text, settings::is_ours);
    match plan
        .and_then(|change| if change.is_some() { trust.check_config().map(|()| change) } else { Ok(None) })
    {
        Ok(None) => Ok(false),
        Ok(Some(change)) => {
            trust.show(printer, &change, "trust exactly these hooks", as_diff)?;
            Ok(true)
        }
        Err(why) => {
            show::host(printer, trust.target.table.host, &format!("cannot trust the hooks by itself: {why}"));
            Ok(false)
        }
    }
}

/// Called when the hooks are in the file. Without `agreed` nothing is written. Returns what is left for the human
/// to do.
pub fn after_install(trust: Trust<'_>, agreed: bool) -> Option<String> {
    if !trust.is_codex() {
        return None;
    }
    let Some(program) = trust.target.program.as_deref() else { return Some(REVIEW.to_owned()) };
    let codex = trust.codex(program);
    let write = |change: &codex::Change| {
        if agreed { trust.write(change) } else { Err("nobody has agreed to trust them".to_owned()) }
    };
    match codex.trust(settings::is_ours, write) {
        Outcome::Trusted { .. } => None,
        Outcome::NextStep(step) => Some(step.to_string()),
    }
}

/// Shows, before the human is asked, what taking the trust away will change, with the hooks file's text as it is.
/// Returns whether it will change anything.
///
/// # Errors
/// stdout could not be written.
pub fn preview_uninstall(
    printer: &mut Printer,
    trust: Trust<'_>,
    hooks_text: &str,
    as_diff: bool,
) -> Result<bool, Problem> {
    match untrust(trust, hooks_text) {
        Some(Ok(change)) => {
            trust.show(printer, &change, "take the trust of these hooks out", as_diff)?;
            Ok(true)
        }
        Some(Err(why)) => {
            show::host(printer, trust.target.table.host, &format!("its trust in the hooks stays: {why}"));
            Ok(false)
        }
        None => Ok(false),
    }
}

/// Called before our hooks are taken out of the file, with its text. Without `agreed` nothing is written. Returns
/// what is left for the human to do.
pub fn before_uninstall(trust: Trust<'_>, hooks_text: &str, agreed: bool) -> Option<String> {
    if !agreed {
        return None;
    }
    let failed = match untrust(trust, hooks_text)? {
        Ok(change) => trust.write(&change).err()?,
        Err(why) => why,
    };
    Some(format!(
        "take the hooks' entries out of config.toml, if you like ({failed}); they trust nothing that is there"
    ))
}

/// What taking the trust away would change; none where there is nothing.
fn untrust(trust: Trust<'_>, hooks_text: &str) -> Option<Result<codex::Change, String>> {
    if !trust.is_codex() {
        return None;
    }
    // No client is asked for that.
    let program = trust.target.program.as_deref().unwrap_or(Path::new("codex"));
    match trust.codex(program).untrust(hooks_text, settings::is_ours) {
        Ok(untrust) => untrust.change.map(|change| trust.check_config().map(|()| change)),
        Err(why) => Some(Err(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_that_is_linked_out_of_the_home_is_not_written() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(at("home/.codex")).unwrap();
        herdbook_machine::replace_file(&at("outside.toml"), b"a = 1\n", 0o600).unwrap();
        std::os::unix::fs::symlink(at("outside.toml"), at("home/.codex/config.toml")).unwrap();
        let target = Target {
            table: herdbook_hosts::table("codex").unwrap(),
            home: at("home/.codex"),
            project: None,
            file: at("home/.codex/hooks.json"),
            bases: vec![at("home")],
            home_bases: vec![at("home")],
            program: None,
        };
        let trust = Trust { target: &target, backups: &at("backups"), home: None };
        let change = codex::Change {
            path: at("home/.codex/config.toml"),
            before: Some("a = 1\n".into()),
            after: Some("a = 2\n".into()),
        };
        let why = trust.write(&change).unwrap_err();
        assert!(why.contains("config.toml is a symlink out of "), "{why}");
        assert_eq!(std::fs::read(at("outside.toml")).unwrap(), b"a = 1\n");
    }
}
