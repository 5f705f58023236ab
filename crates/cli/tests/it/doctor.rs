//! `doctor` in a scratch home: the right words for what is wrong, and `--fix` for what it may mend.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ran, TestEnv, finish, write_program};

/// A home, and a folder of programs with ours and stand-ins of the agents.
struct Machine {
    env: TestEnv,
    programs: TempDir,
}

impl Machine {
    fn new(agents: &[&str]) -> Machine {
        // Beside the binary, since only a hard link can be run while other tests start programs.
        let programs = tempfile::Builder::new().tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let machine = Machine { env: TestEnv::new(), programs };
        let own = machine.program("herdbook");
        fs::hard_link(env!("CARGO_BIN_EXE_herdbook"), &own).unwrap();
        let exec = format!("exec '{}' hook \"$@\"", own.display());
        machine.script("herdbook-hook", &exec);
        for agent in agents {
            machine.script(agent, "[ \"$1\" = --version ] && echo 99.0.0");
        }
        machine
    }

    fn program(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.programs.path()).unwrap().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        write_program(&self.program(name), format!("#!/bin/sh\n{text}\n").as_bytes());
    }

    fn home(&self, name: &str) -> PathBuf {
        self.env.path().join("home").join(name)
    }

    fn state(&self) -> PathBuf {
        self.env.path().join("state/herdbook")
    }

    fn run_in(&self, folder: &Path, words: &[&str]) -> Ran {
        let mut command = self.env.program(self.program("herdbook").to_str().unwrap());
        let path = self.program("").display().to_string();
        command.args(words).current_dir(folder).env("PATH", path).env("HERDBOOK_ADDR", "127.0.0.1:0");
        // Which agents run on the tester's machine is not the test's.
        command.env("HERDBOOK_DISCOVER", "off").env("HERDBOOK_PANES", "off");
        finish(command, b"")
    }

    fn run(&self, words: &[&str]) -> Ran {
        self.run_in(self.env.path(), words)
    }

    /// What doctor found: check, level and word of everything that is not ok.
    fn found(&self) -> Vec<String> {
        self.found_in(self.env.path())
    }

    fn found_in(&self, folder: &Path) -> Vec<String> {
        let ran = self.run_in(folder, &["doctor", "--json"]);
        let checks: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
        let is_faulty = checks.iter().any(|check| check["level"] == "fault");
        assert_eq!(ran.code, i32::from(is_faulty), "{}{}", ran.stdout, ran.stderr);
        // Our programs lie in a build folder here.
        let is_ours = |check: &&Value| check["finding"] != "build-folder";
        let found = checks.iter().filter(|check| check["level"] != "ok").filter(is_ours);
        found.map(|check| format!("{} {}", text(check, "check"), text(check, "finding"))).collect()
    }

    /// Runs the hook program as an agent would.
    fn fire(&self, host: &str, payload: &str) {
        let mut command = self.env.program(self.program("herdbook-hook").to_str().unwrap());
        command.arg(host);
        assert_eq!(finish(command, payload.as_bytes()).code, 0);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.run(&["down"]);
    }
}

fn text(check: &Value, key: &str) -> String {
    check[key].as_str().unwrap().to_owned()
}

#[expect(clippy::disallowed_methods, reason = "a test sets the scene")]
fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A whole payload: nothing of it is a fault.
const STOP: &str = r#"{"session_id":"1","transcript_path":"/t","cwd":"/srv/demo","hook_event_name":"Stop","stop_hook_active":false}"#;

#[test]
fn an_empty_machine_is_told_what_to_do_line_by_line() {
    let machine = Machine::new(&["claude"]);
    let ran = machine.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    let state = machine.state();
    let expected = format!(
        "✗ daemon    it does not run: hooks go to the spool → herdbook up\n\
         ! state     {state} is not there yet → herdbook up\n\
         ✓ spool     empty\n\
         ! claude    Claude Code is here, without our hooks → herdbook install claude\n\
         ✗ hooks     no agent has our hooks: nothing is seen of what they do → herdbook install\n",
        state = state.display()
    );
    // A line that is too wide for the terminal (100 columns) is broken before what mends it.
    assert_eq!(ran.stdout.replace("\n            →", " →"), expected);
    assert_eq!(ran.stderr, "2 faults, 2 warnings; `herdbook doctor --fix` mends some of it\n");
}

#[test]
fn a_fault_in_the_humans_settings_is_named_with_its_line() {
    let machine = Machine::new(&[]);
    let file = machine.home(".config/herdbook/config.toml");
    put(&file, "[detector]\nquiet_s = 30\npoll = 2\n");
    let ran = machine.run(&["doctor"]);
    let expected = format!(
        "✗ settings  {} line 3: unknown field `poll`, expected one of `quiet_s`, `poll_s`, `servers`, `patterns`, `rule`: \
         none of them are used, and old logs stay as they are → mend that line, then restart the daemon: herdbook down; herdbook up\n",
        file.display()
    );
    let told = ran.stdout.replace("\n            →", " →");
    assert!(told.contains(&expected), "{told}");
    put(&file, "[detector]\nquiet_s = 30\n");
    assert!(!machine.found().iter().any(|found| found.starts_with("settings")), "{:?}", machine.found());
    // What deletes is told.
    put(&file, "[retention]\nsession_days = 90\n");
    let told = machine.run(&["doctor"]).stdout;
    assert!(told.contains("sessions are deleted 90 days after they were last written to"), "{told}");
}

#[test]
fn fix_starts_the_daemon_and_closes_its_folder_to_others() {
    let machine = Machine::new(&[]);
    let state = machine.state();
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    drop(UnixListener::bind(state.join("sock")).unwrap());
    assert_eq!(
        machine.found(),
        ["daemon daemon-down", "socket stale-socket", "state unsafe-folder", "hooks no-agent"]
    );
    let ran = machine.run(&["doctor", "--fix"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(fs::metadata(&state).unwrap().mode() & 0o777, 0o700);
    assert_eq!(machine.found(), ["hooks no-agent"]);
    let ran = machine.run(&["doctor", "--yes"]);
    assert_eq!(ran.code, 2, "--yes is for --fix");
}

#[test]
fn a_folder_that_others_can_write_is_left_to_a_person() {
    let machine = Machine::new(&[]);
    let state = machine.state();
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    machine.run(&["doctor", "--fix"]);
    assert_eq!(fs::metadata(&state).unwrap().mode() & 0o777, 0o777);
    assert!(machine.found().contains(&"state unsafe-folder".to_owned()));
}

#[test]
fn hooks_are_followed_from_install_to_the_first_event() {
    let machine = Machine::new(&["claude", "cursor-agent"]);
    assert_eq!(machine.run(&["up"]).code, 0);
    assert_eq!(machine.run(&["install", "claude", "--yes"]).code, 0);
    assert_eq!(machine.found(), ["claude never-fired", "cursor not-installed"]);
    let prompt = r#"{"session_id":"1","transcript_path":"/t","cwd":"/srv/demo","hook_event_name":"UserPromptSubmit","prompt":"x"}"#;
    machine.fire("claude", prompt);
    assert_eq!(machine.found(), ["cursor not-installed"]);
    machine.fire("claude", r#"{"session_id":"1","hook_event_name":"Dreamed","dream":1}"#);
    assert_eq!(machine.found(), ["claude unknown-sent", "cursor not-installed"]);
    let words = machine.run(&["doctor"]).stdout;
    assert!(words.contains("1 event: Dreamed; 1 field: dream (Dreamed)"), "{words}");
    machine.fire("claude", &prompt.replace("\"x\"", "[\"x\"]"));
    assert_eq!(machine.found(), ["claude unknown-sent", "claude faulty-sent", "cursor not-installed"]);
    let words = machine.run(&["doctor"]).stdout;
    assert!(words.contains("not as documented, prompt is no string (UserPromptSubmit)"), "{words}");
}

#[test]
fn both_files_of_a_double_registration_are_named_but_home_is_no_project() {
    let machine = Machine::new(&["claude"]);
    assert_eq!(machine.run(&["up"]).code, 0);
    assert_eq!(machine.run(&["install", "claude", "--yes"]).code, 0);
    let file = machine.home(".claude/settings.json");
    assert_eq!(machine.found_in(&machine.home("")), ["claude never-fired"]);
    let project = machine.home("app/src");
    fs::create_dir_all(&project).unwrap();
    put(&machine.home("app/.claude/settings.json"), &fs::read_to_string(&file).unwrap());
    assert_eq!(machine.found_in(&project), ["claude registered-twice", "claude never-fired"]);
    let words = machine.run_in(&project, &["doctor"]).stdout;
    assert!(words.contains("in ~/.claude/settings.json and in ~/app/.claude/settings.json"), "{words}");
}

#[test]
fn what_keeps_hooks_from_running_is_named_and_mended_with_consent() {
    let machine = Machine::new(&["claude"]);
    assert_eq!(machine.run(&["up"]).code, 0);
    assert_eq!(machine.run(&["install", "claude", "--yes"]).code, 0);
    machine.fire("claude", STOP);
    let file = machine.home(".claude/settings.json");
    let good = fs::read_to_string(&file).unwrap();
    put(&file, &good.replace("/herdbook-hook", "/gone/herdbook-hook"));
    assert_eq!(machine.found(), ["claude program-missing"]);
    put(&file, &good.replace("\"PreCompact\"", "\"OtherEvent\""));
    assert_eq!(machine.found(), ["claude missing-events"]);
    let ran = machine.run(&["doctor", "--fix"]);
    assert!(ran.stderr.contains("error: nothing was changed"), "nobody was asked: {}", ran.stderr);
    assert_eq!(machine.found(), ["claude missing-events"]);
    let ran = machine.run(&["doctor", "--fix", "--yes"]);
    assert_eq!(fs::read_to_string(&file).unwrap().matches("PreCompact").count(), 1, "{}", ran.stderr);
    // What was mended has to prove itself anew.
    assert_eq!(machine.found(), ["claude never-fired"]);
    machine.fire("claude", STOP);
    assert_eq!(machine.found(), [] as [&str; 0]);
    let off = fs::read_to_string(&file).unwrap().replacen('{', "{\"disableAllHooks\": true, ", 1);
    put(&file, &off);
    assert_eq!(machine.found(), ["claude hooks-disabled"]);
    put(&file, "{ broken");
    assert_eq!(machine.found(), ["claude unreadable-settings", "hooks not-installed"]);
}
