//! With the real client, where one is installed: `HERDBOOK_CLIENTS`, or `target/clients`, is a folder with
//! `codex/node_modules/.bin/codex`. What the client told is in the words at the top of [`super::super`].

use std::os::unix::fs::symlink;

use super::*;

/// The real client with a home of its own; nothing that it sends leaves the machine.
struct Real {
    program: PathBuf,
    folder: tempfile::TempDir,
    user: OsString,
}

/// A port that nobody listens on.
const CLOSED: &str = "http://127.0.0.1:9";

impl Real {
    /// Finds it, or says that the test of that name is skipped.
    fn find(test: &str) -> Option<Real> {
        #[expect(clippy::disallowed_methods, reason = "tests find the installed clients by it")]
        let named = std::env::var_os("HERDBOOK_CLIENTS").map(PathBuf::from);
        let clients =
            named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients"));
        let program = clients.join("codex/node_modules/.bin/codex");
        if !program.exists() {
            println!("skipped: {test}: no codex in {}", clients.display());
            return None;
        }
        let folder = scratch();
        for name in ["user/.codex", "repo/.codex"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let user = folder.path().join("user").into_os_string();
        Some(Real { program, folder, user })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Does something with the user's hooks, or those of a project.
    fn with<T>(&self, home: &str, project: Option<&str>, then: impl FnOnce(&Codex<'_>) -> T) -> T {
        let (home, project) = (self.at(home), project.map(|name| self.at(name)));
        let env = [
            ("HOME", self.user.as_os_str()),
            ("HTTP_PROXY", CLOSED.as_ref()),
            ("HTTPS_PROXY", CLOSED.as_ref()),
            ("ALL_PROXY", CLOSED.as_ref()),
        ];
        then(&Codex { program: &self.program, home: &home, project: project.as_deref(), env: &env })
    }

    fn user<T>(&self, then: impl FnOnce(&Codex<'_>) -> T) -> T {
        self.with("user/.codex", None, then)
    }

    fn trust(&self, of: &str) -> Outcome {
        self.user(|codex| codex.trust(|command| command == of, |change| write(change, &self.at("copy"))))
    }

    /// Position, and whether it is trusted, of every hook of the user.
    fn listed(&self) -> Vec<(String, bool)> {
        let file = text(&self.at("user/.codex/hooks.json")).unwrap();
        let listing = self.user(|codex| codex.list()).unwrap();
        assert_eq!(listing.warnings, [""; 0]);
        let position = |hook: &Hook| hook.key.strip_prefix(&format!("{file}:")).unwrap().to_owned();
        listing.hooks.iter().map(|hook| (position(hook), hook.is_trusted())).collect()
    }

    fn untrust(&self, hooks: &str) {
        let untrust = self.user(|codex| codex.untrust(hooks, is_ours)).unwrap();
        assert_eq!(untrust.left, [""; 0]);
        write(&untrust.change.unwrap(), &self.at("copy")).unwrap();
    }
}

fn trusted(positions: &[(&str, bool)]) -> Vec<(String, bool)> {
    positions.iter().map(|(position, is)| ((*position).to_owned(), *is)).collect()
}

#[test]
fn hooks_that_others_trusted_stay_trusted_and_ours_are_trusted_between() {
    let Some(real) = Real::find("hooks_that_others_trusted_stay_trusted_and_ours_are_trusted_between") else {
        return;
    };
    let (hooks, config) = (real.at("user/.codex/hooks.json"), real.at("user/.codex/config.toml"));
    // Others were there first: one hook trusted, one not.
    put(&hooks, &json_of(&[("SessionStart", &[&["theirs"]]), ("Stop", &[&["waits"]])]));
    put(&config, "# mine\nmodel = \"gpt-5\"   # odd\n\n[tui]\n# last words\n");
    assert!(matches!(real.trust("theirs"), Outcome::Trusted { changed: true, .. }));
    let before = get(&config);

    // Ours come, with an event that this version does not know.
    let with_ours = json_of(&[
        ("NotYetKnown", &[&[OURS]]),
        ("SessionStart", &[&["theirs"], &[OURS]]),
        ("Stop", &[&["waits"], &[OURS]]),
    ]);
    let planned = real.user(|codex| codex.plan(&with_ours, is_ours)).unwrap().unwrap();
    assert_eq!(get(&config), before, "a plan changes nothing");
    put(&hooks, &with_ours);
    let Outcome::Trusted { keys, changed: true } = real.trust(OURS) else { panic!() };
    let file = text(&hooks).unwrap();
    assert_eq!(keys, [format!("{file}:session_start:1:0"), format!("{file}:stop:1:0")]);
    assert_eq!(planned.after.unwrap(), get(&config), "the plan is what was done");
    let all =
        [("session_start:0:0", true), ("session_start:1:0", true), ("stop:0:0", false), ("stop:1:0", true)];
    assert_eq!(real.listed(), trusted(&all));
    let after = get(&config);
    assert!(matches!(real.trust(OURS), Outcome::Trusted { changed: false, .. }));
    assert_eq!((get(&config), real.user(|codex| codex.plan(&with_ours, is_ours)).unwrap()), (after, None));

    // Ours go, and all is as before.
    real.untrust(&with_ours);
    assert_eq!(get(&config), before);

    // Ours come again, another tool after us, and ours go: an empty group keeps the place of the other.
    assert!(matches!(real.trust(OURS), Outcome::Trusted { changed: true, .. }));
    let later = json_of(&[("SessionStart", &[&["theirs"], &[OURS], &["later"]])]);
    put(&hooks, &later);
    assert!(matches!(real.trust("later"), Outcome::Trusted { changed: true, .. }));
    real.untrust(&with_ours);
    put(&hooks, &json_of(&[("SessionStart", &[&["theirs"], &[], &["later"]])]));
    assert_eq!(real.listed(), trusted(&[("session_start:0:0", true), ("session_start:2:0", true)]));
}

#[test]
fn what_codex_does_not_take_is_a_next_step_with_the_reason() {
    let Some(real) = Real::find("what_codex_does_not_take_is_a_next_step_with_the_reason") else { return };
    let (hooks, config) = (real.at("user/.codex/hooks.json"), real.at("user/.codex/config.toml"));
    let ours = json_of(&[("Stop", &[&[OURS]]), ("SessionEnd", &[&[OURS]])]);
    let next = |outcome| match outcome {
        Outcome::NextStep(next) => next,
        Outcome::Trusted { .. } => panic!(),
    };
    let why = |outcome| {
        let next = next(outcome);
        (next.why, next.trusted.len(), next.untrusted.len())
    };
    // A comment voids the file for Codex.
    put(&hooks, &format!("// mine\n{ours}"));
    let words = next(real.trust(OURS)).to_string();
    let expected = "mend the hooks file and install again: codex does not list our hooks: failed to parse";
    assert!(words.starts_with(expected), "{words}");
    put(&hooks, &ours);
    put(&config, "[features]\nhooks = false\n");
    let expected = "switch hooks on (`[features] hooks` in config.toml) and install again: codex does not list our \
                    hooks; are hooks switched off there?";
    assert_eq!(next(real.trust(OURS)).to_string(), expected);
    put(&config, "model = \n");
    let (words, ..) = why(real.trust(OURS));
    assert!(words.starts_with("codex could not read its settings: "), "{words}");
    // The human's switch is the human's.
    let off = format!("[hooks.state.\"{}:stop:0:0\"]\nenabled = false\n", hooks.display());
    put(&config, &off);
    assert_eq!(why(real.trust(OURS)), ("some of them are switched off there".to_owned(), 1, 1));
    assert!(get(&config).starts_with(&off) && get(&config).contains(":session_end:0:0\"]\ntrusted_hash"));
    // Nothing could be written: both are left to the human.
    put(&config, "");
    let outcome = real.user(|codex| codex.trust(is_ours, |_| Err("no space".to_owned())));
    assert_eq!(why(outcome), ("no space".to_owned(), 0, 2));
    // Trust of another text is no trust; it is made good.
    let old = format!("[hooks.state.\"{}:stop:0:0\"]\ntrusted_hash = \"sha256:0\" # old\n", hooks.display());
    put(&config, &old);
    assert!(matches!(real.trust(OURS), Outcome::Trusted { changed: true, .. }));
    assert!(get(&config).contains("\" # old\n"));
}

#[test]
fn symlinks_of_home_and_hooks_file_are_understood_as_codex_does() {
    let Some(real) = Real::find("symlinks_of_home_and_hooks_file_are_understood_as_codex_does") else {
        return;
    };
    symlink(real.at("user"), real.at("link")).unwrap();
    put(&real.at("elsewhere.json"), &json_of(&[("Stop", &[&[], &[OURS]])]));
    symlink(real.at("elsewhere.json"), real.at("user/.codex/hooks.json")).unwrap();
    let write = |change: &Change| write(change, &real.at("copy"));
    let outcome = real.with("link/.codex", None, |codex| codex.trust(is_ours, write));
    let key = format!("{}:stop:1:0", real.at("user/.codex/hooks.json").display());
    assert_eq!(outcome, Outcome::Trusted { keys: vec![key], changed: true });
    let hooks = get(&real.at("elsewhere.json"));
    let untrust = real.with("link/.codex", None, |codex| codex.untrust(&hooks, is_ours)).unwrap();
    assert_eq!(untrust.change.unwrap().after, None, "the file was ours alone");
}

#[test]
fn hooks_of_a_project_are_trusted_once_its_folder_is() {
    let Some(real) = Real::find("hooks_of_a_project_are_trusted_once_its_folder_is") else { return };
    symlink(real.at("repo"), real.at("link")).unwrap();
    let (hooks, config) = (json_of(&[("Stop", &[&[OURS]])]), real.at("user/.codex/config.toml"));
    put(&real.at("repo/.codex/hooks.json"), &hooks);
    let write = |change: &Change| write(change, &real.at("copy"));
    let trust = || real.with("user/.codex", Some("link"), |codex| codex.trust(is_ours, write));
    let Outcome::NextStep(next) = trust() else { panic!() };
    assert_eq!(next.why, "codex lists the hooks of a project once it trusts its folder");
    assert_eq!(next.step, "start codex in that folder, trust it, and accept the hooks in /hooks");
    let before = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", real.at("repo").display());
    put(&config, &before);
    let plan = real.with("user/.codex", Some("link"), |codex| codex.plan(&hooks, is_ours)).unwrap().unwrap();
    let key = format!("{}:stop:0:0", real.at("repo/.codex/hooks.json").display());
    assert_eq!(trust(), Outcome::Trusted { keys: vec![key], changed: true });
    assert_eq!(plan.after.unwrap(), get(&config));
    let untrust = real.with("user/.codex", Some("link"), |codex| codex.untrust(&hooks, is_ours)).unwrap();
    assert_eq!(untrust.change.unwrap().after.unwrap(), before);
}
