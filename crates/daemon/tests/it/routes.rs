//! Routes see hook calls, and what they answer reaches the host in its own form.

use std::fs;
use std::path::Path;
use std::process::Command;

use herdbook_daemon::routes::{distrust, input};
use herdbook_events::Family;
use herdbook_hosts::{Projected, project};
use herdbook_wire::{Answer, frame};
use serde_json::{Value, json};

use crate::route_bench::{Home, ask, call, printed, told, tool_call};
use crate::support::{send_frame, stop_call, wait_until};

#[test]
fn each_host_is_told_in_its_own_form() {
    let home = Home::new();
    let script = "input=$(cat)\ncase $input in\n*say-deny*) echo '{\"outcome\":\"deny\",\"reason\":\"why\"}';;\n\
                  *say-ask*) echo '{\"outcome\":\"ask\",\"reason\":\"why\"}';;\n\
                  *say-allow*) echo '{\"outcome\":\"allow\",\"reason\":\"why\"}';;\n\
                  *say-context*) echo '{\"context\":\"note\"}';;\nesac";
    let hosts = "hosts = ['claude', 'copilot']\nmay = ['deny', 'ask', 'context', 'allow']";
    home.route("tool/before/says", script, hosts);
    home.route("tool/before/says-less", script, "hosts = ['codex', 'gemini']");
    let daemon = home.start();
    let specific = |members: Value| {
        let mut all = json!({ "hookEventName": "PreToolUse" });
        all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        json!({ "hookSpecificOutput": all })
    };
    let permission = |word: &str| json!({ "permissionDecision": word, "permissionDecisionReason": "why" });
    for (host, command, expected) in [
        ("claude", "say-deny", Some(specific(permission("deny")))),
        ("claude", "say-ask", Some(specific(permission("ask")))),
        ("claude", "say-allow", Some(specific(permission("allow")))),
        ("claude", "say-context", Some(specific(json!({ "additionalContext": "note" })))),
        ("claude", "ls", None),
        ("codex", "say-deny", Some(specific(permission("deny")))),
        // To Codex `ask` is an error, after which the call runs.
        ("codex", "say-ask", Some(specific(permission("deny")))),
        ("codex", "say-context", Some(specific(json!({ "additionalContext": "note" })))),
        ("codex", "ls", None),
        ("gemini", "say-deny", Some(json!({ "decision": "deny", "reason": "why" }))),
        ("gemini", "say-context", None),
        ("gemini", "ls", None),
        ("copilot", "say-deny", Some(permission("deny"))),
        ("copilot", "say-ask", Some(permission("ask"))),
        ("copilot", "say-allow", Some(permission("allow"))),
        ("copilot", "say-context", Some(json!({ "additionalContext": "note" }))),
        ("copilot", "ls", None),
    ] {
        let answer = told(&daemon, || tool_call(host, command));
        match expected {
            Some(expected) => assert_eq!(printed(&answer), expected, "{host} {command}"),
            None => assert_eq!(answer, Answer::Done, "{host} {command}"),
        }
    }
}

#[test]
fn where_a_host_knows_the_exit_code_alone_the_hook_is_told_to_refuse_by_it() {
    let home = Home::new();
    home.route("task/complete/tests-first", "echo '{\"outcome\":\"deny\",\"reason\":\"run the tests\"}'", "");
    let daemon = home.start();
    let body = json!({
        "session_id": "s1", "cwd": "/home/dev/app", "hook_event_name": "TaskCompleted", "task_id": "1",
        "task_subject": "x",
    });
    let answer = told(&daemon, || call("claude", None, &body));
    assert_eq!(answer, Answer::Refusal(b"run the tests".to_vec()));
}

#[test]
fn several_routes_answer_as_one_and_the_journal_names_each() {
    let home = Home::new();
    home.write(
        "tool/before/a",
        "echo '{\"outcome\":\"ask\",\"reason\":\"from a\",\"context\":\"note a\"}'",
        "",
    );
    home.write("tool/before/b", "echo '{\"outcome\":\"deny\",\"reason\":\"from b\"}'", "");
    home.write("tool/before/c", "echo '{\"context\":\"note c\"}'", "");
    home.write("tool/before/d", "exit 3", "");
    home.write("tool/before/other-tool", "touch @/ran", "tools = ['Write']");
    home.write("tool/after/other-event", "touch @/ran", "");
    home.route("tool/before/other-host", "touch @/ran", "hosts = ['codex']");
    let daemon = home.start();
    let answer = told(&daemon, || tool_call("claude", "ls"));
    let expected = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "from b",
        "additionalContext": "note a\nnote c",
    }});
    assert_eq!(printed(&answer), expected);
    assert!(!home.at("ran").exists());
    let decisions = home.decisions();
    let [decision] = &decisions[..] else { panic!("{decisions:?}") };
    assert_eq!(
        (&decision["host"], &decision["nativeEvent"], &decision["session"], &decision["outcome"]),
        (&json!("claude"), &json!("PreToolUse"), &json!("claude-s1"), &json!("deny"))
    );
    assert_eq!(serde_json::from_str::<Value>(decision["told"].as_str().unwrap()).unwrap(), expected);
    assert!(decision["tookMs"].as_u64().unwrap() < 4_000);
    let runs = decision["routes"].as_array().unwrap();
    let ran = |at: usize, name: &str| runs[at][name].clone();
    let names: Vec<_> = (0..4).map(|at| ran(at, "route")).collect();
    assert_eq!(names, ["tool/before/a", "tool/before/b", "tool/before/c", "tool/before/d"]);
    assert_eq!((ran(1, "outcome"), ran(1, "reason")), (json!("deny"), json!("from b")));
    assert_eq!(
        (ran(3, "outcome"), ran(3, "error")),
        (Value::Null, json!("ended with exit code 3; where it has nothing to say it must be 0"))
    );
    assert_eq!(ran(0, "trusted").as_str().unwrap().len(), 64);
    let journal = home.scratch.journal();
    let seq = |kind: &str| journal.iter().find(|line| line.kind == kind).unwrap().seq;
    assert!(seq("hook") < seq("decision"), "the event is kept before anybody is asked");
}

#[test]
fn what_no_route_is_for_is_answered_as_ever() {
    let home = Home::new();
    let done = frame::encode_answer(&Answer::Done).unwrap();
    let untrusted = home.write("tool/before/untrusted", "touch @/ran", "");
    let daemon = home.start();
    assert_eq!(ask(&daemon, || tool_call("claude", "ls")), [Answer::Done]);
    fs::remove_file(&untrusted).unwrap();
    fs::remove_file(untrusted.with_extension("toml")).unwrap();
    home.route("tool/before/x", "touch @/ran", "tools = ['Write']");
    assert_eq!(daemon.client().routes().unwrap().items[0].state, "active");
    assert_eq!(ask(&daemon, || tool_call("claude", "ls")), [Answer::Done]);
    assert_eq!(ask(&daemon, || stop_call(901, "one")), [Answer::Done]);
    assert_eq!(ask(&daemon, || tool_call("nobody", "ls")), [Answer::Done]);
    assert_eq!(done, b"\0HBA\x01\0\0\0\0\0\0\0");
    let mut unreadable = tool_call("claude", "ls");
    unreadable.body = b"{\"session_id\":".to_vec();
    assert_eq!(ask(&daemon, || unreadable.clone()), [Answer::Done]);
    assert!(!home.at("ran").exists());
    assert_eq!(home.decisions(), [] as [Value; 0]);
}

#[test]
fn a_repeat_of_a_known_call_and_what_comes_over_http_or_the_spool_asks_nobody() {
    let home = Home::new();
    home.route("tool/before/x", "echo ran >> @/ran", "");
    let daemon = home.start();
    let mut known = tool_call("claude", "ls");
    told(&daemon, || tool_call("claude", "ls"));
    let runs = || fs::read_to_string(home.at("ran")).unwrap().lines().count();
    assert_eq!(runs(), 1);
    known.delivery = 1 << 90;
    herdbook_wire::spool::write(&home.scratch.state().join("spool"), &known).unwrap();
    wait_until("the spooled call", || daemon.client().status().unwrap().spool_count == 0);
    assert_eq!(send_frame(&daemon.socket, &frame::encode(&known)), Some(Answer::Done));
    let body = String::from_utf8(known.body).unwrap();
    assert_eq!(daemon.post("/v1/hooks/claude", &body).status, 200);
    assert_eq!(runs(), 1);
}

#[test]
fn a_route_is_not_run_before_it_is_trusted_nor_after_it_changed() {
    let home = Home::new();
    let path = home.write("tool/before/x", "echo one >> @/ran", "");
    let daemon = home.start();
    let state = || daemon.client().routes().unwrap().items[0].state.clone();
    assert_eq!(ask(&daemon, || tool_call("claude", "ls")), [Answer::Done]);
    assert_eq!(state(), "new");
    home.trust();
    assert_eq!(state(), "active");
    told(&daemon, || tool_call("claude", "ls"));
    home.write("tool/before/x", "echo two >> @/ran", "");
    // The daemon has not looked yet, or it has: the call comes through either way, and nobody is asked.
    let answers = ask(&daemon, || tool_call("claude", "ls"));
    assert_eq!(answers.last(), Some(&Answer::Done));
    assert_eq!(state(), "changed");
    let warnings = daemon.client().status().unwrap().warnings;
    assert_eq!(
        warnings,
        [
            "route tool/before/x was changed and is not run until you trust it again: look at it, then herdbook route trust \
          tool/before/x"
        ]
    );
    home.trust();
    assert_eq!(state(), "active");
    told(&daemon, || tool_call("claude", "ls"));
    assert_eq!(fs::read_to_string(home.at("ran")).unwrap(), "one\ntwo\n");
    assert!(distrust(&home.scratch.state(), "tool/before/x").unwrap());
    let answers = ask(&daemon, || tool_call("claude", "ls"));
    assert_eq!(answers.last(), Some(&Answer::Done));
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o722)).unwrap();
    home_trusts_nothing(&daemon.client().routes().unwrap());
    assert_eq!(fs::read_to_string(home.at("ran")).unwrap(), "one\ntwo\n");
}

fn home_trusts_nothing(routes: &herdbook_api::routes::Routes) {
    assert_eq!(routes.items, []);
    assert!(routes.refused[0].why.starts_with("can be written by others (mode 0722): "), "{routes:?}");
}

#[test]
fn runs_are_counted() {
    let home = Home::new();
    home.route(
        "tool/before/x",
        "cat > @/seen; pwd > @/folder; env > @/env\necho '{\"outcome\":\"deny\"}'",
        "",
    );
    let daemon = home.start();
    for _ in 0..3 {
        told(&daemon, || tool_call("claude", "ls"));
    }
    let routes = daemon.client().routes().unwrap();
    let [route] = &routes.items[..] else { panic!("{routes:?}") };
    assert_eq!(
        (route.id.as_str(), route.state.as_str(), route.runs, route.failed),
        ("tool/before/x", "active", 3, 0)
    );
    assert_eq!(route.outcomes.get("deny"), Some(&3));
    assert!(route.p50_us <= route.p99_us && route.p99_us <= route.most_us && route.p50_us > Some(0));
    assert!(route.last_run_at.is_some() && route.last_failed_at.is_none());
    let metrics = daemon.get("/metrics").body;
    for line in [
        "herdbook_route_runs_total{route=\"tool/before/x\",outcome=\"deny\"} 3",
        "herdbook_routes{state=\"active\"} 1",
        "herdbook_decisions_unnoted_total 0",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    let seen: Value = serde_json::from_str(&fs::read_to_string(home.at("seen")).unwrap()).unwrap();
    assert_eq!(seen["canonical"]["event"], "tool/before");
    assert_eq!(
        seen["canonical"]["payload"]["toolName"],
        json!({ "value": "Bash", "nativeKey": "tool_name" })
    );
    assert_eq!(seen["native"]["tool_input"]["command"], "ls");
    let folder = fs::read_to_string(home.at("folder")).unwrap();
    assert_eq!(
        Path::new(folder.trim_end()),
        home.config().join("routes/tool/before").canonicalize().unwrap()
    );
    let env = fs::read_to_string(home.at("env")).unwrap();
    let names = env.lines().filter_map(|line| line.split('=').next());
    assert!(
        names.clone().all(|name| ["HOME", "PATH", "PWD", "SHLVL", "OLDPWD", "_"].contains(&name)),
        "{env}"
    );
}

/// What the function of the TypeScript package makes of a payload.
#[expect(clippy::disallowed_methods, reason = "the test asks another language")]
fn by_the_package(built: &Path, family: &str, host: &str, native: &str) -> Value {
    let script = "const [built, family, host, native] = process.argv.slice(1);\
                  const { createEventRouteInput } = await import(`${built}/index.js`);\
                  const input = createEventRouteInput(family, JSON.parse(native), { host, validate: false });\
                  console.log(JSON.stringify(input));";
    let output = Command::new("node")
        .args(["--input-type=module", "-e", script])
        .arg(built)
        .args([family, host, native])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test asks the compiler of another language")]
fn a_route_is_given_what_the_typescript_package_makes() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/ts");
    let tsc = package.join("node_modules/.bin/tsc");
    if !tsc.is_file() {
        println!(
            "skipped: a_route_is_given_what_the_typescript_package_makes: no TypeScript (npm ci --prefix clients/ts)"
        );
        return;
    }
    let built = tempfile::tempdir().unwrap();
    fs::copy(package.join("package.json"), built.path().join("package.json")).unwrap();
    let made = Command::new(&tsc)
        .current_dir(&package)
        .args(["-p", "tsconfig.json", "--outDir"])
        .arg(built.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
    for (family, host, native) in [
        (
            Family::ToolBefore,
            "claude",
            r#"{"session_id":"s1","transcript_path":"/t","cwd":"/home/dev/app","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","n":1},"tool_use_id":"t1","prompt_id":"p1","agent_id":"a1"}"#,
        ),
        (
            Family::ToolBefore,
            "codex",
            r#"{"session_id":"s1","turn_id":"u1","cwd":"/x","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#,
        ),
        (
            Family::Stop,
            "gemini",
            r#"{"session_id":"s1","hook_event_name":"AfterAgent","prompt":"x","prompt_response":"y","stop_hook_active":false}"#,
        ),
        (
            Family::PromptSubmit,
            "copilot",
            r#"{"hook_event_name":"UserPromptSubmit","session_id":"s1","prompt":"x"}"#,
        ),
    ] {
        let Projected::Event(event) = project(host, None, native.as_bytes()) else { panic!("{native}") };
        let given: Value = serde_json::from_slice(&input(&event, family)).unwrap();
        assert_eq!(given, by_the_package(built.path(), family.as_str(), host, native), "{host}");
    }
}
