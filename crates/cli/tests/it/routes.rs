//! `herdbook route` and `herdbook hold` in a scratch home: what the human trusts is run, and the entries in his agents'
//! settings follow.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::install::{Machine, put};
use crate::support::{Ran, TestDaemon, finish, write_program};

const QUIET: &str = "#!/bin/sh\nexit 0\n";

/// True where no agent has started this test; says by name which test is skipped under one, since what is tried is
/// refused to it.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn by_human(test: &str) -> bool {
    let above = herdbook_machine::Proc::system().agent_among_ancestors(std::process::id());
    if above != Ok(None) {
        println!("skipped: {test}: an agent runs it");
    }
    above == Ok(None)
}

impl Machine {
    fn routes(&self) -> PathBuf {
        self.home().join(".config/herdbook/routes")
    }

    fn put_route(&self, id: &str, text: &str, settings: Option<&str>) {
        let path = self.routes().join(id);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_program(&path, text.as_bytes());
        if let Some(settings) = settings {
            put(&self.routes().join(format!("{id}.toml")), settings.as_bytes());
        }
    }

    fn state_file(&self, name: &str) -> PathBuf {
        self.env.path().join("state/herdbook").join(name)
    }

    fn limits(&self) -> Option<Value> {
        let text = fs::read(self.state_file("entry-limits.json")).ok()?;
        Some(serde_json::from_slice(&text).unwrap())
    }

    /// The word for the state of a route.
    fn state_of(&self, id: &str) -> String {
        let all = self.listed();
        let found = all["routes"].as_array().unwrap().iter().find(|route| route["id"] == id);
        assert!(found.is_some(), "no {id} in {all}");
        found.unwrap()["state"].as_str().unwrap().to_owned()
    }

    fn listed(&self) -> Value {
        serde_json::from_str(&self.done(&["route", "ls", "--json"]).stdout).unwrap()
    }

    fn done(&self, words: &[&str]) -> Ran {
        let ran = self.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {}{}", ran.stdout, ran.stderr);
        ran
    }

    /// What the doctor finds, as (check, finding).
    fn findings(&self) -> Vec<(String, String)> {
        let ran = self.run(&["doctor", "--json"]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let checks = report.as_array().unwrap().iter();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        checks.map(|check| (word(&check["check"]), word(&check["finding"]))).collect()
    }
}

/// The time-out of our entry, in the host's unit.
fn timeout(settings: &Path, event: &str) -> Value {
    let settings: Value = serde_json::from_slice(&fs::read(settings).unwrap()).unwrap();
    settings["hooks"][event][0]["hooks"][0]["timeout"].clone()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn entries_follow_the_routes_that_are_trusted() {
    if !by_human("entries_follow_the_routes_that_are_trusted") {
        return;
    }
    let machine = Machine::new();
    let settings = machine.home().join(".claude/settings.json");
    let theirs = b"{\n  \"model\": \"large\",\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n";
    put(&settings, theirs);
    machine.done(&["install", "claude", "--yes"]);
    let plain = fs::read(&settings).unwrap();
    let route = "tool/before/guard";
    machine.put_route(route, QUIET, Some("hosts = [\"claude\", \"codex\"]\ntimeout_ms = 60000\n"));
    machine.put_route("file/change/note", QUIET, None);
    assert_eq!(machine.state_of(route), "new");
    // What nobody trusts needs nothing.
    assert!(machine.done(&["install", "claude", "--yes"]).stderr.contains(": nothing to do\n"));
    let ran = machine.run(&["route", "trust", "guard"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("nothing was changed: there is no terminal to ask on"), "{}", ran.stderr);
    let ran = machine.done(&["route", "trust", "guard", "--yes"]);
    for words in [
        "tool/before/guard: new, ~/.config/herdbook/routes/tool/before/guard, 17 bytes\n  | #!/bin/sh\n  | exit 0\n",
        "  its settings:\n  | hosts = [\"claude\", \"codex\"]\n",
        "  it sees tool/before of claude, codex\n  it may answer deny, ask, context\n",
        "  it has 1m; when it fails, it lets the host go on\n",
        "    ask becomes deny at codex\n",
    ] {
        assert!(ran.stdout.contains(words), "{}", ran.stdout);
    }
    assert!(
        ran.stderr.contains(
            "note: the entries of claude do not fit your routes yet; `herdbook install claude` fits them"
        ),
        "{}",
        ran.stderr
    );
    assert_eq!(machine.state_of(route), "active");
    assert_eq!((timeout(&settings, "PreToolUse"), timeout(&settings, "PostToolUse")), (json!(62), json!(5)));
    assert_eq!(machine.limits(), Some(json!({"claude": {"PreToolUse": 62_000}})));
    assert_eq!(mode(&machine.state_file("entry-limits.json")), 0o600);
    assert!(machine.done(&["install", "claude", "--yes"]).stderr.contains(": nothing to do\n"));
    // An event for routes alone.
    machine.done(&["route", "trust", "--all", "--yes"]);
    assert_eq!(timeout(&settings, "FileChanged"), json!(5));
    assert!(!machine.findings().iter().any(|(_, finding)| finding == "unfit-entries"));
    // They go, and so does what they needed.
    fs::remove_dir_all(machine.routes()).unwrap();
    let unfit = ("claude".to_owned(), "unfit-entries".to_owned());
    assert!(machine.findings().contains(&unfit), "{:?}", machine.findings());
    let ran = machine.done(&["install", "claude", "--yes"]);
    assert!(ran.stderr.contains("settings.json: mend 1 hook, remove 1 hook\n"), "{}", ran.stderr);
    assert_eq!(fs::read(&settings).unwrap(), plain);
    assert_eq!(machine.limits(), None);
    machine.done(&["uninstall", "claude", "--yes"]);
    assert_eq!(fs::read(&settings).unwrap(), theirs);
}

#[test]
fn what_is_taken_out_with_routes_leaves_the_file_as_it_was() {
    if !by_human("what_is_taken_out_with_routes_leaves_the_file_as_it_was") {
        return;
    }
    let machine = Machine::new();
    let settings = machine.home().join(".claude/settings.json");
    put(&settings, b"{}\n");
    machine.put_route("file/change/note", QUIET, Some("timeout_ms = 20000\n"));
    machine.done(&["route", "trust", "note", "--yes"]);
    machine.done(&["install", "claude", "--yes"]);
    assert_eq!(timeout(&settings, "FileChanged"), json!(22));
    let text = fs::read_to_string(&settings).unwrap();
    // Somebody wrote there since, so our entries are taken out one by one.
    put(&settings, text.replacen('{', "{\n  \"model\": \"large\",", 1).as_bytes());
    machine.done(&["uninstall", "claude", "--yes"]);
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{\n  \"model\": \"large\"\n}\n");
    assert_eq!(machine.limits(), None);
}

#[test]
fn a_changed_route_is_not_run_before_it_is_looked_at_again() {
    if !by_human("a_changed_route_is_not_run_before_it_is_looked_at_again") {
        return;
    }
    let machine = Machine::new();
    let route = "stop/again";
    machine.put_route(route, "#!/bin/sh\n# one\nexit 0\n", None);
    machine.done(&["route", "trust", route, "--yes"]);
    assert_eq!(machine.state_of(route), "active");
    machine.put_route(route, "#!/bin/sh\n# two\nexit 0\n", None);
    assert_eq!(machine.state_of(route), "changed");
    assert!(machine.findings().contains(&("routes".into(), "untrusted-route".into())));
    let ran = machine.done(&["route", "trust", "again", "--yes"]);
    assert!(ran.stdout.contains("  since you trusted it:\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n-# one\n+# two\n exit 0\n"), "{}", ran.stdout);
    let ran = machine.done(&["route", "trust", "again", "--yes"]);
    assert_eq!(ran.stderr, "stop/again is trusted already\n");
    // Its settings count as well.
    put(&machine.routes().join("stop/again.toml"), b"timeout_ms = 100\n");
    assert_eq!(machine.state_of(route), "changed");
    machine.done(&["route", "trust", "again", "--yes"]);
    machine.done(&["route", "trust", "again", "--revoke"]);
    assert_eq!(machine.state_of(route), "new");
    assert_eq!(machine.run(&["route", "trust", "again", "--revoke"]).code, 1);
}

#[test]
fn what_cannot_be_a_route_is_told_with_the_reason() {
    let machine = Machine::new();
    let ran = machine.done(&["route", "ls"]);
    assert_eq!(ran.stderr, "no routes: put an executable file into ~/.config/herdbook/routes/tool/before\n");
    machine.put_route("tool/before/wish", QUIET, Some("hosts = [\"codex\"]\nmay = [\"ask\"]\n"));
    machine.put_route("tool/before/wrong", QUIET, Some("\ntimeout = 3\n"));
    symlink("wish", machine.routes().join("tool/before/link")).unwrap();
    let ran = machine.done(&["route", "ls"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "ROUTE             STATE    HOSTS  MAY  TIME-OUT  FAIL  LAST");
    assert_eq!(lines[1], "tool/before/wish  refused  codex  ask  3s        open");
    assert!(
        lines[2].starts_with("tool/before/wish: may = [\"ask\"]: codex cannot be told that at PreToolUse: "),
        "{}",
        lines[2]
    );
    assert_eq!(
        lines[3],
        "~/.config/herdbook/routes/tool/before/link is a symlink: put there what it leads to"
    );
    assert!(
        lines[4].starts_with("~/.config/herdbook/routes/tool/before/wrong is not run: wrong.toml"),
        "{}",
        lines[4]
    );
    assert!(lines[4].contains("wrong.toml line 2: unknown field `timeout`"), "{}", lines[4]);
    let listed = machine.listed();
    assert_eq!(listed["routes"][0]["state"], "refused");
    assert_eq!(listed["refused"].as_array().unwrap().len(), 2);
    let keys: Vec<&String> = listed["routes"][0].as_object().unwrap().keys().collect();
    let known =
        ["id", "path", "family", "hosts", "tools", "may", "timeout_ms", "fail", "state", "why", "notes"];
    assert_eq!(keys.len(), known.len());
    assert!(known.iter().all(|known| keys.iter().any(|key| key == known)), "{keys:?}");
    if by_human("what_cannot_be_a_route_is_told_with_the_reason") {
        let ran = machine.run(&["route", "trust", "wish", "--yes"]);
        assert_eq!(ran.code, 1);
        assert!(
            ran.stderr.contains("tool/before/wish cannot be trusted: may = [\"ask\"]: codex"),
            "{}",
            ran.stderr
        );
        for (name, words) in
            [("link", "is a symlink: put there what it leads to"), ("none", "there is none of that name")]
        {
            let ran = machine.run(&["route", "trust", name, "--yes"]);
            assert_eq!(ran.code, 8);
            assert!(ran.stderr.starts_with(&format!("error: no route '{name}': ")), "{}", ran.stderr);
            assert!(ran.stderr.contains(words), "{}", ran.stderr);
        }
    }
    assert!(machine.findings().iter().filter(|(_, finding)| finding == "refused-route").count() == 3);
}

#[test]
fn an_agent_cannot_speak_for_its_human() {
    let machine = Machine::new();
    machine.put_route("stop/again", QUIET, None);
    machine.done(&["install", "claude", "--yes"]);
    let agent = machine.programs.path().join("claude");
    write_program(
        &agent,
        b"#!/bin/sh\nif [ \"$1\" = --version ]; then echo 2.1.332; exit; fi\n\"$@\"\nexit $?\n",
    );
    let herdbook = machine.programs.path().join("herdbook");
    for words in
        [&["route", "trust", "--all", "--yes"][..], &["hold", "on", "--yes"], &["hold", "off", "--yes"]]
    {
        let mut command = machine.env.program(agent.to_str().unwrap());
        command.arg(&herdbook).args(words);
        let ran = finish(command, b"");
        assert_eq!(ran.code, 1, "{words:?}: {}", ran.stderr);
        assert!(
            ran.stderr.starts_with("error: this is for the human alone, and claude (pid "),
            "{words:?}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains("\nhint: run it in a terminal of your own\n"), "{}", ran.stderr);
    }
    assert_eq!(machine.state_of("stop/again"), "new");
    assert!(!machine.state_file("hold.json").exists());
}

#[test]
fn a_hold_takes_its_time_in_every_file_and_gives_it_back() {
    if !by_human("a_hold_takes_its_time_in_every_file_and_gives_it_back") {
        return;
    }
    let machine = Machine::new();
    fs::create_dir(machine.home().join("project")).unwrap();
    let settings = machine.home().join(".claude/settings.json");
    let project = machine.home().join("project/.claude/settings.json");
    let ran = machine.run(&["hold", "on", "--yes"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (1, "error: Claude Code has none of our hooks\nhint: run `herdbook install claude` first\n")
    );
    machine.done(&["install", "claude", "--yes"]);
    machine.done(&["install", "claude", "--yes", "--project", "home/project"]);
    let before = [fs::read(&settings).unwrap(), fs::read(&project).unwrap()];
    assert_eq!(machine.done(&["hold"]).stdout, "claude  off; `herdbook hold on` switches it on\n");
    let ran = machine.run(&["hold", "on", "codex", "--yes"]);
    assert_eq!(ran.code, 1);
    let words = "error: permission requests of codex cannot be answered from elsewhere: Codex shows its dialog only after its \
                 hook for PermissionRequest is over\n";
    assert!(ran.stderr.starts_with(words), "{}", ran.stderr);
    for outside in ["5s", "11m"] {
        assert_eq!(machine.run(&["hold", "on", "--for", outside, "--yes"]).code, 2);
    }
    let ran = machine.run(&["hold", "on"]);
    assert_eq!(ran.code, 1, "nobody can be asked");
    assert!(!machine.state_file("hold.json").exists());
    let ran = machine.done(&["hold", "on", "--yes"]);
    let words = "claude    its hook for PermissionRequest will wait up to 10m for your answer, and its entry gets a time-out \
                 of 10m2s; Claude Code's dialog is open meanwhile\n";
    assert!(ran.stderr.starts_with(words), "{}", ran.stderr);
    for file in [&settings, &project] {
        assert_eq!((timeout(file, "PermissionRequest"), timeout(file, "PreToolUse")), (json!(602), json!(5)));
    }
    assert_eq!(
        fs::read_to_string(machine.state_file("hold.json")).unwrap(),
        "{\"claude\":{\"hold_ms\":600000}}"
    );
    assert_eq!(mode(&machine.state_file("hold.json")), 0o600);
    assert_eq!(machine.limits(), Some(json!({"claude": {"PermissionRequest": 602_000}})));
    assert_eq!(machine.done(&["hold"]).stdout, "claude  on, up to 10m at PermissionRequest\n");
    assert!(machine.done(&["install", "claude", "--yes"]).stderr.contains(": nothing to do\n"));
    let shown: Value = serde_json::from_str(&machine.done(&["hold", "--json"]).stdout).unwrap();
    let on =
        json!({"host": "claude", "event": "PermissionRequest", "on": true, "hold_ms": 600_000, "fits": true});
    assert_eq!(shown, json!({"hosts": [on]}));
    machine.done(&["hold", "on", "--for", "90s", "--yes"]);
    assert_eq!(timeout(&project, "PermissionRequest"), json!(92));
    machine.done(&["hold", "off", "--yes"]);
    assert_eq!(machine.done(&["hold", "off"]).stderr, "claude    off already\n");
    assert_eq!([fs::read(&settings).unwrap(), fs::read(&project).unwrap()], before);
    assert!(!machine.state_file("hold.json").exists() && machine.limits().is_none());
}

#[test]
fn a_file_that_was_not_fitted_keeps_hooks_short() {
    if !by_human("a_file_that_was_not_fitted_keeps_hooks_short") {
        return;
    }
    let machine = Machine::new();
    fs::create_dir(machine.home().join("project")).unwrap();
    machine.done(&["install", "claude", "--yes"]);
    machine.done(&["install", "claude", "--yes", "--project", "home/project"]);
    machine.put_route("tool/before/slow", QUIET, Some("hosts = [\"claude\"]\ntimeout_ms = 60000\n"));
    machine.done(&["route", "trust", "slow", "--yes"]);
    assert_eq!(machine.limits(), Some(json!({"claude": {"PreToolUse": 62_000}})), "both were fitted");
    let project = machine.home().join("project/.claude/settings.json");
    let text = fs::read_to_string(&project).unwrap();
    put(&project, text.replace("\"timeout\": 62", "\"timeout\": 7").as_bytes());
    machine.done(&["install", "claude", "--yes"]);
    assert_eq!(machine.limits(), Some(json!({"claude": {"PreToolUse": 7_000}})));
}

/// Prints what it was given, as the reason for asking.
const ASK: &str = "#!/bin/sh\ncat > given\necho '{\"outcome\": \"ask\", \"reason\": \"sure?\"}'\n";

#[test]
fn a_route_is_tried_for_each_host_and_says_what_it_would_be_told() {
    let machine = Machine::new();
    machine.put_route("tool/before/ask", ASK, Some("hosts = [\"claude\", \"codex\"]\n"));
    let ran = machine.done(&["route", "test", "ask"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 7, "{}", ran.stdout);
    assert!(lines[0].starts_with("claude PreToolUse: ask in "), "{}", lines[0]);
    assert_eq!(lines[1], "  printed {\"outcome\": \"ask\", \"reason\": \"sure?\"}");
    assert_eq!(
        lines[2],
        "  the host is told {\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"sure?\"}}"
    );
    assert!(lines[5].contains("\"permissionDecision\":\"deny\""), "{}", lines[5]);
    assert!(lines[6].starts_with("  it cannot be told ask: it is an error: "), "{}", lines[6]);
    // It runs in its own folder, and reads both forms of the event.
    let given = fs::read(machine.routes().join("tool/before/given")).unwrap();
    let given: Value = serde_json::from_slice(&given).unwrap();
    assert_eq!(given["canonical"]["payload"]["toolName"], json!({"value": "Bash", "nativeKey": "tool_name"}));
    assert_eq!(
        (&given["native"]["tool_name"], &given["canonical"]["native"]),
        (&json!("Bash"), &Value::Null)
    );
    assert_eq!(given.as_object().unwrap().len(), 2);
    let native =
        r#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Write", "tool_input": {}}"#;
    let ran = finish(
        machine.command(&["route", "test", "ask", "--host", "claude", "--event", "-", "-v"]),
        native.as_bytes(),
    );
    assert!(ran.stdout.contains("\"toolName\":{\"value\":\"Write\""), "{}", ran.stdout);
    for (native, why) in
        [("[]", "it is no JSON object"), (r#"{"hook_event_name": "Stop"}"#, "'Stop' is none of tool/before")]
    {
        let ran = finish(
            machine.command(&["route", "test", "ask", "--host", "claude", "--event", "-"]),
            native.as_bytes(),
        );
        assert_eq!(
            (ran.code, ran.stderr),
            (1, format!("error: no event of Claude Code for this route: {why}\n"))
        );
    }
    let ran = machine.run(&["route", "test", "ask", "--host", "gemini"]);
    assert_eq!(ran.code, 8);
    assert!(ran.stderr.contains("it is not run for 'gemini', but for claude, codex"), "{}", ran.stderr);
}

#[test]
fn a_route_that_fails_says_how_and_what_is_told_then() {
    let machine = Machine::new();
    let broken = "#!/bin/sh\necho '{\"outcome\": \"allow\"}'\n";
    machine.put_route(
        "tool/before/open",
        "#!/bin/sh\necho half\necho oops >&2\nexit 3\n",
        Some("hosts = [\"claude\"]\n"),
    );
    machine.put_route(
        "tool/before/closed",
        broken,
        Some("hosts = [\"claude\"]\nfail = \"closed\"\ntools = [\"Write\"]\n"),
    );
    let ran = machine.run(&["route", "test", "open"]);
    assert_eq!(ran.code, 1);
    let words = "\n  failed: it ended with exit code 3: oops\n  printed half\n  stderr | oops\n  the host is told nothing and goes by its own rules\n";
    assert!(ran.stdout.ends_with(words), "{}", ran.stdout);
    assert_eq!(ran.stderr, "note: it is new and not run yet: herdbook route trust tool/before/open\n");
    for (program, words) in [
        (
            "#!/no/such/shell\n",
            "it could not be started: the program that its first line names is not there\n",
        ),
        ("exit 0\n", "it could not be started: its first line must be one such as #!/bin/sh\n"),
        ("#!/bin/sh\nexit 1\n", "it ended with exit code 1; where it has nothing to say it must be 0\n"),
    ] {
        machine.put_route("tool/before/odd", program, None);
        let ran = machine.run(&["route", "test", "odd", "--host", "claude"]);
        assert!(ran.stdout.contains(words), "{program}: {}", ran.stdout);
    }
    let ran = machine.run(&["route", "test", "closed", "--json"]);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &shown["runs"]), (1, &json!(true)), "the made-up call is of its tool: {shown}");
    assert!(shown["failure"].as_str().unwrap().contains("answered allow, which it may not"), "{shown}");
    let told = shown["stdout"].as_str().unwrap();
    assert!(
        told.contains("\"permissionDecision\":\"deny\"") && told.contains("route tool/before/closed"),
        "{told}"
    );
}

#[test]
fn trust_given_and_taken_back_counts_for_the_very_next_call() {
    if !by_human("trust_given_and_taken_back_counts_for_the_very_next_call") {
        return;
    }
    let machine = Machine::new();
    let _daemon = TestDaemon::start_with(machine.command(&["daemon"]));
    let script = "#!/bin/sh\necho '{\"outcome\": \"deny\", \"reason\": \"go on\"}'\n";
    machine.put_route("stop/on", script, Some("hosts = [\"claude\"]\n"));
    let native = r#"{"hook_event_name": "Stop", "session_id": "s", "cwd": "/", "stop_hook_active": false}"#;
    let said = || finish(machine.command(&["hook", "claude"]), native.as_bytes()).stdout;
    for _ in 0..2 {
        machine.done(&["route", "trust", "on", "--yes"]);
        assert_eq!(said(), r#"{"decision":"block","reason":"go on"}"#);
        machine.done(&["route", "trust", "--revoke", "on"]);
        assert_eq!(said(), "");
    }
}

#[test]
fn the_daemon_tells_when_routes_ran_and_how_they_failed() {
    if !by_human("the_daemon_tells_when_routes_ran_and_how_they_failed") {
        return;
    }
    let machine = Machine::new();
    machine.put_route("stop/broken", "#!/bin/sh\nexit 3\n", Some("hosts = [\"claude\"]\n"));
    machine.done(&["route", "trust", "broken", "--yes"]);
    let _daemon = TestDaemon::start_with(machine.command(&["daemon"]));
    assert_eq!(machine.listed()["routes"][0]["counted"]["runs"], 0);
    let native = r#"{"hook_event_name": "Stop", "session_id": "s", "cwd": "/", "stop_hook_active": false}"#;
    // A hook does not wait for a daemon that is slow to begin with, and nobody is asked about what is spooled.
    let was_run = |_| {
        let ran = finish(machine.command(&["hook", "claude"]), native.as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
        machine.listed()["routes"][0]["counted"]["runs"] == 1
    };
    assert!((0..100).any(was_run));
    let counted = &machine.listed()["routes"][0]["counted"];
    assert_eq!(counted["failed"], 1, "{counted}");
    let ran = machine.done(&["route", "ls"]);
    assert!(
        ran.stdout.contains("stop/broken: failed when it ran last: it ended with exit code 3; where it has nothing to say it must be 0\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains(", 1 of 1 failed\n"), "{}", ran.stdout);
    assert!(
        machine.findings().contains(&("routes".into(), "failing-route".into())),
        "{:?}",
        machine.findings()
    );
}
