//! The TypeScript package: what must not compile does not, and it makes of all that was captured what our own code makes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use herdbook_events::catalog::{self, Class, EventType, Lists};
use herdbook_events::{Family, NormalizedEvent};
use herdbook_hosts::{Decision, HOSTS, Projected, canonical_text, faults, project};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::shared::{folder, lines};

/// The package's folder.
fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/ts")
}

#[expect(clippy::disallowed_methods, reason = "the test asks the compiler of another language")]
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(package());
    command
}

/// Returns the package's own compiler, or says that the test of that name is skipped: `npm ci` in its folder fetches it.
fn compiler(test: &str) -> Option<PathBuf> {
    let found = Some(package().join("node_modules/.bin/tsc")).filter(|tsc| tsc.is_file());
    if found.is_none() {
        println!("skipped: {test}: no TypeScript (npm ci --prefix clients/ts)");
    }
    found
}

#[test]
fn what_must_not_compile_does_not() {
    let Some(tsc) = compiler("what_must_not_compile_does_not") else { return };
    let source = std::fs::read_to_string(package().join("test/refused.ts")).unwrap();
    let wanted: BTreeSet<(String, String)> = source
        .lines()
        .zip(1..)
        .filter_map(|(line, number)| {
            let (_, code) = line.rsplit_once(" // TS")?;
            Some((format!("test/refused.ts({number}"), format!("TS{code}")))
        })
        .collect();
    let output = command(&tsc).args(["-p", "test"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let found: BTreeSet<(String, String)> = said
        .lines()
        .filter_map(|line| {
            let (place, error) = line.split_once(": error ")?;
            Some((place.split(',').next()?.to_owned(), error.split(':').next()?.to_owned()))
        })
        .collect();
    assert_eq!(found, wanted, "{said}");
    println!("{} lines do not compile, each for its reason", wanted.len());
    assert!(wanted.len() >= 20);
}

/// Builds the package into a scratch folder and asks it.
fn ask(tsc: &Path, questions: &[String]) -> Vec<Value> {
    let scratch = tempfile::tempdir().unwrap();
    // The folder has no package.json, so what lies in it has to say itself that it is a module.
    let mut manifest = std::fs::File::create(scratch.path().join("package.json")).unwrap();
    manifest.write_all(br#"{"type":"module"}"#).unwrap();
    let built = command(tsc).args(["-p", "tsconfig.json", "--outDir"]).arg(scratch.path()).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stdout));
    let mut node = command(Path::new("node"))
        .args([
            Path::new("test/oracle.mjs"),
            scratch.path(),
            Path::new("../../docs/reference/events.schema.json"),
            Path::new("../../docs/reference/session-events.schema.json"),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = node.stdin.take().unwrap();
    // It reads to the end before it answers.
    for question in questions {
        writeln!(stdin, "{question}").unwrap();
    }
    drop(stdin);
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[derive(Deserialize)]
struct Call<'a> {
    host: Option<String>,
    #[serde(default)]
    argv: Vec<String>,
    #[serde(borrow)]
    native: Option<&'a RawValue>,
}

/// Payloads of hosts that were never recorded, by their documents.
const DOCUMENTED: &[(&str, &str)] = &[
    ("amp", r#"{"hook_event_name":"agent.end","session_id":"T-1","status":"done"}"#),
    (
        "amp",
        r#"{"hook_event_name":"tool.call","session_id":"T-1","tool_name":"Bash","tool_input":null,"tool_use_id":"u"}"#,
    ),
    (
        "droid",
        r#"{"session_id":"d","transcript_path":"/t","cwd":"/","permission_mode":"off","hook_event_name":"Stop","stop_hook_active":true}"#,
    ),
    (
        "cursor",
        r#"{"conversation_id":"c","hook_event_name":"STOP","cursor_version":"1","workspace_roots":[],"user_email":null,"status":"completed","loop_count":2}"#,
    ),
    (
        "cursor",
        r#"{"conversation_id":"c","hook_event_name":"postToolUse","tool_output":"{\"1\":1.0,\"0\":[]}","tool_input":{"b":1,"2":2}}"#,
    ),
    // Claude's hooks, run by Cursor.
    (
        "claude",
        r#"{"conversation_id":"c","hook_event_name":"PreToolUse","cursor_version":"1","tool_name":"Shell","tool_input":{}}"#,
    ),
    (
        "opencode",
        r#"{"hook_event_name":"permission.updated","properties":{"sessionID":"s","type":"bash","metadata":{"a":1}},"directory":"/"}"#,
    ),
    (
        "claude",
        r#"{"session_id":"a\ud83d","hook_event_name":"PreCompact","trigger":"never","cwd":null,"agent_id":""}"#,
    ),
];

#[test]
fn the_package_makes_of_all_captures_what_our_code_makes() {
    let test = "the_package_makes_of_all_captures_what_our_code_makes";
    let (Some(shared), Some(tsc)) = (folder(test), compiler(test)) else { return };
    let (mut questions, mut ours) = (Vec::new(), Vec::new());
    let mut add = |host: &str, told: Option<&str>, native: &RawValue| {
        let Projected::Event(event) = project(host, told, native.get().as_bytes()) else {
            panic!("{native}")
        };
        let Some(family) = event.event.map(Family::as_str) else { return };
        // Written by hand: a JSON value of our own would change its numbers.
        let told = told.map_or(String::new(), |name| format!(r#","nativeEvent":"{name}""#));
        let head = format!(r#"{{"do":"project","family":"{family}","host":"{host}"{told},"native":"#);
        questions.push(format!("{head}{}}}", event.native));
        let line = serde_json::value::to_raw_value(&event).unwrap();
        let faults: Vec<String> = faults(&event).iter().map(ToString::to_string).collect();
        ours.push((host.to_owned(), canonical_text(&line), faults.join(", ")));
    };
    for (host, native) in DOCUMENTED {
        add(host, None, &RawValue::from_string((*native).to_owned()).unwrap());
    }
    for table in HOSTS {
        for name in ["captures", "captures/real"] {
            for line in lines(shared.join(name), &[table.host]) {
                let call: Call = serde_json::from_str(&line).unwrap();
                let Some(native) = call.native else { continue };
                let told = call.argv.iter().find_map(|argument| argument.strip_prefix("event:"));
                add(call.host.as_deref().unwrap_or(table.host), told, native);
            }
        }
    }
    let answers = ask(&tsc, &questions);
    assert_eq!(answers.len(), ours.len());
    let (mut equal, mut told) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new());
    for ((host, line, faults), answer) in ours.iter().zip(&answers) {
        assert_eq!(answer["line"].as_str().unwrap(), line);
        // The schema takes the line, and neither a third member of a field nor a field of nobody's.
        assert_eq!(answer["schema"], json!([true, false, false]), "{line}");
        // What a route reads is the event alone, and what was sent beside it.
        assert_eq!(answer["route"], json!([true, false]), "{line}");
        *equal.entry(host).or_default() += 1;
        let fault = answer["fault"].as_str().unwrap_or_default();
        assert!(
            fault.is_empty() == faults.is_empty() && fault.ends_with(faults),
            "{fault} | {faults} | {line}"
        );
        if !fault.is_empty() {
            *told.entry(fault).or_default() += 1;
        }
    }
    println!("equal: {equal:?}");
    for (fault, count) in told {
        println!("{count} × {fault}");
    }
    assert!(ours.len() > 850, "{}", ours.len());
}

#[test]
fn payloads_that_are_not_as_promised_are_refused_with_the_key() {
    let Some(tsc) = compiler("payloads_that_are_not_as_promised_are_refused_with_the_key") else { return };
    let refuse = |family: &str, host: &str, native: Value| {
        json!({"do": "refuse", "family": family, "host": host, "native": native}).to_string()
    };
    let stop = |name: &str| json!({"session_id": "s", "transcript_path": "/t", "cwd": "/", "hook_event_name": name, "stop_hook_active": false});
    let mut wrong = stop("Stop");
    wrong["stop_hook_active"] = "no".into();
    wrong.as_object_mut().unwrap().remove("cwd");
    let answers = ask(
        &tsc,
        &[
            refuse("stop", "claude", stop("Stop")),
            refuse("stop", "claude", stop("SessionEnd")),
            refuse("stop", "nobody", stop("Stop")),
            refuse("file/change", "codex", json!({})),
            refuse("stop", "claude", wrong),
        ],
    );
    assert_eq!(
        answers,
        [
            Value::Null,
            "'SessionEnd' of claude is no event of the family stop".into(),
            "host 'nobody' is not known".into(),
            "codex has no event of the family file/change: name it as nativeEvent".into(),
            "'Stop' of claude is not as it promises: 'cwd' is missing, 'stop_hook_active' is no boolean"
                .into(),
        ]
    );
}

#[test]
fn the_guards_and_the_schema_take_what_the_daemon_takes() {
    let Some(tsc) = compiler("the_guards_and_the_schema_take_what_the_daemon_takes") else { return };
    let whole = json!({"type": "stuck", "sessionId": "s", "paneId": "%1", "cwd": "", "transcriptPath": "", "reason": "stopped",
                       "message": "", "timestamp": 1});
    let mut events = vec![json!([]), json!({}), json!({"type": 1})];
    for kind in ["stuck", "unstuck", "registered", "ended", "paused"] {
        let mut event = whole.clone();
        event["type"] = kind.into();
        for name in whole.as_object().unwrap().keys() {
            for value in [Value::Null, "".into(), "permission".into(), 0.into(), (0.5).into(), json!([])] {
                let mut changed = event.clone();
                changed[name] = value;
                events.push(changed);
            }
            let mut lacking = event.clone();
            lacking.as_object_mut().unwrap().remove(name);
            events.push(lacking);
        }
        events.push(event);
    }
    for id in ["x".repeat(1_024), "x".repeat(1_025)] {
        events.push(json!({"type": "ended", "sessionId": id, "timestamp": 1}));
    }
    let questions: Vec<String> =
        events.iter().map(|event| json!({"do": "normalized", "event": event}).to_string()).collect();
    let answers = ask(&tsc, &questions);
    let mut taken = 0;
    for (event, answer) in events.iter().zip(answers) {
        let is_valid = NormalizedEvent::parse(event.to_string().as_bytes()).is_ok();
        assert_eq!(answer, json!(is_valid), "{event}");
        taken += usize::from(is_valid);
    }
    println!("{} events, {taken} of them valid", events.len());
    assert!(taken > 20 && taken < events.len() / 2 + 50);
}

#[test]
fn the_guards_count_the_bytes_of_a_session_id() {
    let Some(tsc) = compiler("the_guards_count_the_bytes_of_a_session_id") else { return };
    let event = |id: &str| format!(r#"{{"type":"ended","sessionId":"{id}","timestamp":1}}"#);
    let mut events = Vec::new();
    // One to four bytes each, and half a pair, which becomes a character of three.
    for (letter, most) in [("x", 1_024), ("é", 512), ("€", 341), ("😀", 256), ("\\ud83d", 341)] {
        events.push((event(&letter.repeat(most)), true));
        events.push((event(&letter.repeat(most + 1)), false));
    }
    let questions: Vec<String> =
        events.iter().map(|(event, _)| format!(r#"{{"do":"guard","event":{event}}}"#)).collect();
    for ((event, is_valid), answer) in events.iter().zip(ask(&tsc, &questions)) {
        assert_eq!(NormalizedEvent::parse(event.as_bytes()).is_ok(), *is_valid, "{event}");
        assert_eq!(answer, json!(is_valid), "{event}");
    }
}

#[test]
fn the_schema_takes_the_answers_of_routes_that_are_read() {
    let Some(tsc) = compiler("the_schema_takes_the_answers_of_routes_that_are_read") else { return };
    let answers = [
        json!({}),
        json!({"outcome": "deny", "reason": "no", "context": "c", "updatedInput": {"a": [1]}}),
        json!({"outcome": "continue", "reason": null, "updatedInput": null}),
        json!({"outcome": "block"}),
        json!({"outcome": null}),
        json!({"reason": 3}),
        json!({"context": ["c"]}),
        json!({"message": "no"}),
        json!([]),
        json!("deny"),
    ];
    let questions: Vec<String> =
        answers.iter().map(|answer| json!({"do": "answer", "answer": answer}).to_string()).collect();
    for (answer, taken) in answers.iter().zip(ask(&tsc, &questions)) {
        assert_eq!(taken, json!(Decision::read(answer.to_string().as_bytes()).is_ok()), "{answer}");
    }
}

#[test]
fn the_schema_of_session_events_takes_the_lines_that_the_catalog_takes() {
    let Some(tsc) = compiler("the_schema_of_session_events_takes_the_lines_that_the_catalog_takes") else {
        return;
    };
    let example = include_str!("../../../story/tests/it/example.jsonl");
    let mut lines: Vec<Value> = example.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for mut line in lines.clone() {
        // A member less, one of another type, and a type that is not kept.
        let payload = line["payload"].as_object().unwrap().clone();
        for name in payload.keys() {
            let mut lacking = line.clone();
            lacking["payload"].as_object_mut().unwrap().remove(name);
            lines.push(lacking);
            line["payload"] = payload.clone().into();
            line["payload"][name] = json!([[]]);
            lines.push(line.clone());
        }
        line["payload"] = payload.into();
        line["type"] = "model.text-delta".into();
        lines.push(line);
    }
    let questions: Vec<String> =
        lines.iter().map(|line| json!({"do": "line", "line": line}).to_string()).collect();
    let mut taken = 0;
    for (line, answer) in lines.iter().zip(ask(&tsc, &questions)) {
        assert_eq!(answer, json!(is_line(line)), "{line}");
        taken += usize::from(answer == json!(true));
    }
    println!("{} lines, {taken} of them taken", lines.len());
    assert!(taken >= example.lines().count() && taken < lines.len() / 2);
}

/// What the catalog says of a line whose envelope is right.
fn is_line(line: &Value) -> bool {
    let Some(event_type) = line["type"].as_str().and_then(EventType::parse) else { return false };
    let payload = RawValue::from_string(line["payload"].to_string()).unwrap();
    event_type.class() == Class::Durable
        && catalog::faults(&event_type.kind(), &payload, Lists::OpenTools).is_empty()
}
