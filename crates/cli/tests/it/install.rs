//! `install` and `uninstall` in a scratch home: theirs survive to the byte, ours come once and go.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use herdbook_hosts::{Form, HostTable, installable};
use herdbook_machine::guarded_command;
use tempfile::TempDir;

use crate::support::{Ran, TestEnv, finish, write_program};

/// A home, and our two programs in a folder whose name needs quoting.
pub(crate) struct Machine {
    pub(crate) env: TestEnv,
    pub(crate) programs: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Machine {
        let env = TestEnv::new();
        let programs =
            tempfile::Builder::new().prefix("it's ").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::hard_link(env!("CARGO_BIN_EXE_herdbook"), programs.path().join("herdbook")).unwrap();
        let machine = Machine { env, programs };
        machine.script("herdbook-hook", "cat > \"$HOME/got\"; printf '%s' \"$*\" >> \"$HOME/got\"");
        machine
    }

    fn script(&self, name: &str, text: &str) {
        write_program(&self.programs.path().join(name), format!("#!/bin/sh\n{text}\n").as_bytes());
    }

    pub(crate) fn hook(&self) -> String {
        let path = fs::canonicalize(self.programs.path()).unwrap().join("herdbook-hook");
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.env.path().join("home")
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.env.program(self.programs.path().join("herdbook").to_str().unwrap());
        let path = format!("{}:/usr/bin:/bin", self.programs.path().display());
        command.args(words).env("PATH", path);
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        finish(self.command(words), b"")
    }

    fn file(&self, table: &HostTable) -> PathBuf {
        let base = if table.setup.home.xdg { self.home().join(".config") } else { self.home() };
        base.join(table.setup.home.folder).join(table.setup.user_file)
    }

    pub(crate) fn copies(&self) -> Vec<PathBuf> {
        let folder = self.env.path().join("state/herdbook/backups");
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "a test sets the scene")]
pub(crate) fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// Settings as they are met: comments, tabs, line ends, a mark, nothing at all, hooks of other tools.
const SETTINGS: &[&str] = &[
    "",
    "{}",
    "{\n}\n",
    "\u{feff}{\r\n\t\"model\": \"large\", // mine\r\n\t\"x\": [1,],\r\n}\r\n",
    "// top\n{ \"model\" : \"large\" /* why */ }",
    "{\"hooks\":{\"Stop\":[{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\",\"command\":\"theirs\"}]},],\"stop\":[{\"command\":\"theirs\"}]}}",
    "{\n    \"hooks\": {\n        // theirs\n        \"SessionStart\": [], \"sessionStart\": []\n    }\n}\n",
];

#[test]
fn settings_of_every_host_come_back_to_the_byte() {
    let machine = Machine::new();
    for table in installable() {
        let file = machine.file(table);
        for theirs in SETTINGS {
            if matches!(table.setup.form, Form::OwnFile | Form::Plugin(_)) && theirs.contains('{') {
                continue;
            }
            put(&file, theirs.as_bytes());
            fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
            let ran = machine.run(&["install", table.host, "--yes"]);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{} {theirs:?}: {}", table.host, ran.stderr);
            let installed = fs::read(&file).unwrap();
            let text = String::from_utf8(installed.clone()).unwrap();
            let command = serde_json::json!(guarded_command(&machine.hook(), &[table.host])).to_string();
            assert!(text.contains(&command), "{text} has no {command}");
            let again = machine.run(&["install", table.host, "--yes"]);
            assert_eq!(again.code, 0, "{}", again.stderr);
            assert!(again.stderr.contains(": nothing to do\n"), "{}", again.stderr);
            assert_eq!(fs::read(&file).unwrap(), installed, "{} {theirs:?}", table.host);
            let ran = machine.run(&["uninstall", table.host, "--yes"]);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            assert_eq!(fs::read(&file).unwrap(), theirs.as_bytes(), "{} {theirs:?}", table.host);
            assert_eq!(mode(&file), 0o640);
            fs::remove_file(&file).unwrap();
        }
    }
    assert!(machine.copies().iter().all(|copy| mode(copy) == 0o600));
    assert_eq!(mode(&machine.env.path().join("state/herdbook/backups")), 0o700);
}

#[test]
fn what_was_not_there_is_not_there_afterwards() {
    let machine = Machine::new();
    fs::create_dir(machine.home().join("project")).unwrap();
    fs::create_dir(machine.home().join(".claude")).unwrap();
    assert_eq!(machine.run(&["install", "claude", "--yes", "--project", "home/project"]).code, 0);
    let ran = machine.run(&["uninstall", "--yes"]);
    let words = "warning: still installed in ~/project/.claude/settings.json: run this with --project";
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    assert_eq!(machine.run(&["uninstall", "--yes", "--project", "home/project"]).code, 0);
    fs::remove_dir(machine.home().join(".claude")).unwrap();
    for scope in [&[][..], &["--project", "home/project"][..]] {
        for table in installable() {
            let run = |word| machine.run(&[&[word, table.host, "--yes"], scope].concat());
            let ran = run("install");
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            assert!(ran.stderr.contains(": new file, "), "{}", ran.stderr);
            let file = if scope.is_empty() {
                machine.file(table)
            } else {
                machine.home().join("project").join(table.setup.project_file)
            };
            assert_eq!(mode(&file), if scope.is_empty() { 0o600 } else { 0o644 });
            let ran = run("uninstall");
            assert_eq!(ran.code, 0, "{}", ran.stderr);
        }
        assert_eq!(fs::read_dir(machine.home().join("project")).unwrap().count(), 0);
        assert_eq!(fs::read_dir(machine.home()).unwrap().count(), 1, "no folder of ours is left");
    }
    let receipts = machine.env.path().join("state/herdbook/installed");
    assert_eq!(fs::read_dir(receipts).unwrap().count(), 0);
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let machine = Machine::new();
    let file = machine.home().join(".claude/settings.json");
    let theirs = b"{\n  \"model\": \"large\"\n}\n";
    put(&file, theirs);
    let ran = machine.run(&["install", "claude", "--dry-run"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with(&format!("--- {0}\n+++ {0}\n@@ ", file.display())), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("\n-  \"model\": \"large\"\n+  \"model\": \"large\",\n+  \"hooks\": {\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("claude    ~/.claude/settings.json: add 25 hooks\n"), "{}", ran.stderr);
    assert_eq!(fs::read(&file).unwrap(), theirs);
    assert!(!machine.env.path().join("state/herdbook").exists());
    assert_eq!(machine.run(&["install", "claude", "--yes"]).code, 0);
    let installed = fs::read(&file).unwrap();
    let ran = machine.run(&["uninstall", "claude", "--dry-run"]);
    assert!(ran.stdout.contains("\n-  \"hooks\": {\n"), "{}", ran.stdout);
    assert_eq!((ran.code, fs::read(&file).unwrap()), (0, installed));
}

#[test]
fn nothing_is_written_before_the_human_agreed() {
    let machine = Machine::new();
    let file = machine.home().join(".claude/settings.json");
    put(&file, b"{}");
    let ran = machine.run(&["install", "claude"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("error: nothing was changed: there is no terminal to ask on\nhint: pass --yes"),
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read(&file).unwrap(), b"{}");
    for (answer, is_changed) in [("n", false), ("", false), ("y", true)] {
        let said = in_terminal(machine.command(&["install", "claude"]), answer);
        assert!(said.contains("Go on? [y/N] "), "{said}");
        assert_eq!(fs::read(&file).unwrap() != b"{}", is_changed, "{said}");
    }
}

/// Runs a command on a terminal of its own and types one line into it.
fn in_terminal(mut command: Command, line: &str) -> String {
    use std::io::{Read as _, Write as _};
    let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY;
    let ours = rustix::pty::openpt(flags).unwrap();
    rustix::pty::grantpt(&ours).unwrap();
    rustix::pty::unlockpt(&ours).unwrap();
    let name = rustix::pty::ptsname(&ours, Vec::new()).unwrap();
    let theirs = fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut child =
        command.stdin(theirs.try_clone().unwrap()).stdout(Stdio::null()).stderr(theirs).spawn().unwrap();
    drop(command);
    let mut ours = fs::File::from(ours);
    writeln!(ours, "{line}").unwrap();
    let mut said = Vec::new();
    // The last holder of the other side is gone: reading then fails.
    let _ = ours.read_to_end(&mut said);
    child.wait().unwrap();
    String::from_utf8(said).unwrap()
}

#[test]
fn what_must_not_be_touched_is_refused_with_words_and_the_others_are_done() {
    let machine = Machine::new();
    let folder = machine.home().join(".claude");
    let file = folder.join("settings.json");
    let outside = machine.env.path().join("outside.json");
    let shown = file.display().to_string();
    type Scene<'a> = (&'a dyn Fn(), String);
    let scenes: [Scene<'_>; 9] = [
        (
            &|| put(&file, b"{\n  \"a\": 1\n  \"b\": 2\n}"),
            format!("{shown}: line 2, column 9: Expected comma"),
        ),
        (&|| put(&file, b"{\"hooks\": null}"), format!("{shown}: line 1, column 11: `hooks` is no object")),
        (&|| put(&file, b"{\"a\": \"\xff\"}"), format!("{shown}: line 1 is no UTF-8 text")),
        (&|| fs::create_dir_all(&file).unwrap(), format!("{shown} is no regular file: move it away")),
        (
            &|| {
                put(&outside, b"{}");
                symlink(&outside, &file).unwrap();
            },
            format!("{shown} is a symlink out of {} to {}", machine.home().display(), outside.display()),
        ),
        (&|| symlink("nowhere", &file).unwrap(), format!("{shown} is a symlink to nothing")),
        (
            &|| {
                put(&file, b"{}");
                fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
            },
            format!("{shown} is read-only: chmod u+w it"),
        ),
        (
            &|| fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap(),
            format!("{} is read-only: chmod u+w it", folder.display()),
        ),
        (
            &|| {
                fs::remove_dir_all(&folder).unwrap();
                put(&folder, b"");
            },
            format!("{} is no folder: move it away", folder.display()),
        ),
    ];
    for (number, (set, words)) in scenes.iter().enumerate() {
        fs::create_dir_all(&folder).unwrap();
        set();
        let before = fs::read(&file).ok();
        let ran = machine.run(&["install", "claude", "cursor", "--yes"]);
        assert_eq!(ran.code, 1, "scene {number}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("claude    error: {words}")), "scene {number}: {}", ran.stderr);
        assert_eq!(fs::read(&file).ok(), before, "scene {number}");
        assert!(machine.home().join(".cursor/hooks.json").is_file(), "scene {number}");
        assert_eq!(machine.run(&["uninstall", "cursor", "--yes"]).code, 0, "scene {number}");
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o755));
        let _ = fs::remove_dir_all(&folder);
    }
    assert_eq!(fs::read(&outside).unwrap(), b"{}");
}

#[test]
fn a_file_of_another_user_is_refused() {
    if rustix::process::geteuid().as_raw() != 0 {
        println!("skipped: a_file_of_another_user_is_refused: only root can make one");
        return;
    }
    let machine = Machine::new();
    let file = machine.home().join(".claude/settings.json");
    put(&file, b"{}");
    std::os::unix::fs::chown(&file, Some(12345), None).unwrap();
    let ran = machine.run(&["install", "claude", "--yes"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("settings.json belongs to uid 12345, not to you"), "{}", ran.stderr);
}

#[test]
fn linked_settings_stay_linked() {
    let machine = Machine::new();
    let real = machine.home().join("dotfiles/claude.json");
    put(&real, b"{}\n");
    let link = machine.home().join(".claude/settings.json");
    fs::create_dir(link.parent().unwrap()).unwrap();
    symlink("../dotfiles/claude.json", &link).unwrap();
    // A whole folder can be linked, too.
    put(&machine.home().join("dotfiles/cursor/hooks.json"), b"{ }");
    symlink("dotfiles/cursor", machine.home().join(".cursor")).unwrap();
    let ran = machine.run(&["install", "claude", "cursor", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("herdbook-hook"));
    assert_eq!(machine.run(&["uninstall", "claude", "cursor", "--yes"]).code, 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&real).unwrap(), b"{}\n");
    assert_eq!(fs::read(machine.home().join("dotfiles/cursor/hooks.json")).unwrap(), b"{ }");
}

#[test]
fn what_was_written_after_us_stays_and_only_ours_goes() {
    let machine = Machine::new();
    let file = machine.home().join(".claude/settings.json");
    put(&file, b"{\n  \"hooks\": {\n    \"Stop\": [] // none\n  }\n}\n");
    assert_eq!(machine.run(&["install", "claude", "--yes"]).code, 0);
    let installed = fs::read_to_string(&file).unwrap();
    put(
        &file,
        installed.replace("{\n  \"hooks\"", "{\n  \"model\": \"large\", // new\n  \"hooks\"").as_bytes(),
    );
    let ran = machine.run(&["uninstall", "claude", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = "{\n  \"model\": \"large\", // new\n  \"hooks\": {\n    \"Stop\": [] // none\n  }\n}\n";
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    let ran = machine.run(&["uninstall", "claude", "--yes"]);
    assert!(ran.stderr.contains("settings.json: nothing to do\n"), "{}", ran.stderr);
}

#[test]
fn a_moved_program_is_written_anew_and_what_was_before_is_kept() {
    let machine = Machine::new();
    let file = machine.home().join(".codex/hooks.json");
    let theirs =
        b"{ \"hooks\": { \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}] } }";
    put(&file, theirs);
    assert_eq!(machine.run(&["install", "codex", "--yes"]).code, 0);
    let first = fs::read_to_string(&file).unwrap();
    let moved = Machine::new();
    let moved = Machine { env: machine.env, programs: moved.programs };
    let ran = moved.run(&["install", "codex", "--yes"]);
    assert!(ran.stderr.contains("codex     ~/.codex/hooks.json: mend 11 hooks\n"), "{}", ran.stderr);
    let second = fs::read_to_string(&file).unwrap();
    assert_ne!(first, second);
    assert_eq!(first.lines().count(), second.lines().count());
    assert_eq!(moved.run(&["uninstall", "codex", "--yes"]).code, 0);
    assert_eq!(fs::read(&file).unwrap(), theirs);
}

#[test]
fn entries_that_were_pasted_by_hand_are_taken_over() {
    let machine = Machine::new();
    let file = machine.home().join(".claude/settings.json");
    put(&file, include_bytes!("../../../hosts/tests/pasted/claude.json"));
    let ran = machine.run(&["install", "claude", "--yes"]);
    assert!(ran.stderr.contains("settings.json: mend 25 hooks\n"), "{}", ran.stderr);
    assert_eq!(machine.run(&["uninstall", "claude", "--yes"]).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
}

#[test]
fn the_written_command_runs_the_hook_and_is_silent_without_it() {
    let machine = Machine::new();
    assert_eq!(machine.run(&["install", "claude", "--yes"]).code, 0);
    let text = fs::read(machine.home().join(".claude/settings.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let command = settings["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    let hook = machine.hook().replace('\'', r"'\''");
    assert_eq!(command, format!("[ -x '{hook}' ] && exec '{hook}' claude; exit 0"));
    let sh = || {
        let mut sh = machine.env.program("sh");
        sh.args(["-c", command]);
        let ran = finish(sh, b"{}");
        (ran.code, ran.stdout, ran.stderr)
    };
    let silence = || (0, String::new(), String::new());
    assert_eq!(sh(), silence());
    assert_eq!(fs::read_to_string(machine.home().join("got")).unwrap(), "{}claude");
    fs::remove_file(machine.hook()).unwrap();
    assert_eq!(sh(), silence());
}

#[test]
fn only_hosts_that_are_here_are_done_and_only_events_that_they_know() {
    let machine = Machine::new();
    let none = machine.run(&["install", "--yes"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("error: no coding agent was found\nhint: name one"), "{}", none.stderr);
    let unknown = machine.run(&["install", "codex", "--dry-run"]);
    assert!(
        unknown.stderr.contains("its version is not known, so without Interrupt; put it on PATH"),
        "{}",
        unknown.stderr
    );
    machine.script("codex", "echo what?");
    let mute = machine.run(&["install", "codex", "--dry-run"]);
    assert!(mute.stderr.contains("without Interrupt; mend `codex --version`"), "{}", mute.stderr);
    machine.script("codex", "echo codex-cli 0.149.0");
    fs::create_dir(machine.home().join(".cursor")).unwrap();
    let ran = machine.run(&["install", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let hooks = machine.home().join(".codex/hooks.json");
    assert!(machine.home().join(".cursor/hooks.json").is_file());
    assert!(!machine.home().join(".claude").exists());
    assert!(!fs::read_to_string(&hooks).unwrap().contains("Interrupt"));
    assert!(
        ran.stderr
            .contains("codex     next: start codex and accept the hooks in /hooks: codex app-server did"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("cursor    next: restart running sessions of Cursor\n"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("warning: the daemon is not running: `herdbook up` starts it\n"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("in a build folder"), "{}", ran.stderr);
    machine.script("codex", "echo codex-cli 0.171.0");
    let ran = machine.run(&["install", "codex", "--yes"]);
    assert!(ran.stderr.contains(": add 1 hook\n"), "{}", ran.stderr);
    assert!(fs::read_to_string(&hooks).unwrap().contains("Interrupt"));
}

#[test]
fn a_folder_that_a_variable_names_is_taken() {
    let machine = Machine::new();
    let place = machine.env.path().join("elsewhere");
    let mut command = machine.command(&["install", "claude", "--yes"]);
    command.env("CLAUDE_CONFIG_DIR", &place);
    let ran = finish(command, b"");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(place.join("settings.json").is_file());
    assert!(!machine.home().join(".claude").exists());
}

#[test]
fn without_our_hook_program_nothing_is_installed() {
    let machine = Machine::new();
    fs::remove_file(machine.hook()).unwrap();
    let ran = machine.run(&["install", "claude", "--yes"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.starts_with(&format!("error: there is no program {}\nhint: ", machine.hook())),
        "{}",
        ran.stderr
    );
    assert!(!machine.home().join(".claude").exists());
}
