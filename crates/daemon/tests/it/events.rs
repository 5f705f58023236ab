//! Session logs over HTTP: what producers append, and what is refused.

use std::fs;
use std::path::Path;

use herdbook_api::{ClientError, NewEvent, Producer, ProducerError};
use herdbook_log::{OpenError, Options, Sessions};
use serde_json::{Value, json};

use crate::child::{DaemonChild, Settings};
use crate::support::{Daemon, Scratch, stop_call};

/// The reference's example log, as a producer would send it: events refer to the ids of others.
pub fn example() -> Vec<NewEvent> {
    let text = include_str!("../../../story/tests/it/example.jsonl");
    text.lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let event = NewEvent::new(line["type"].as_str().unwrap(), &line["payload"]).unwrap();
            event.with_id(line["id"].as_str().unwrap())
        })
        .collect()
}

/// `session.renamed`, which may stand anywhere.
pub fn renamed(title: &str) -> NewEvent {
    NewEvent::new("session.renamed", &json!({ "title": title })).unwrap()
}

pub fn seqs(producer: &Producer) -> Vec<u64> {
    let lines = producer.events(0).unwrap();
    lines
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["seq"].as_u64().unwrap())
        .collect()
}

/// The only segment of a session's log.
pub fn segment(state: &Path, key: &str) -> std::path::PathBuf {
    Sessions::new(state).folder(key).join("0000000001.jsonl")
}

pub fn producer(daemon: &Daemon, key: &str) -> Producer {
    Producer::new(daemon.client(), key)
}

pub fn delta(text: &str) -> herdbook_api::events::ShownEvent {
    let payload = json!({ "requestId": "r1", "blockIndex": 0, "text": text });
    herdbook_api::events::ShownEvent {
        event_type: "model.text-delta".into(),
        payload: serde_json::value::to_raw_value(&payload).unwrap(),
    }
}

#[test]
fn a_whole_session_is_appended_and_read_back() {
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea timer/1");
    let events = example();
    let first = tea.append(Some(0), false, &events[..1]).unwrap();
    assert_eq!((first.last_seq, first.events[0].seq, first.ack.as_str()), (1, 1, "synced"));
    for (at, event) in events.iter().enumerate().skip(1) {
        let appended = tea.append(Some(at as u64), false, std::slice::from_ref(event)).unwrap();
        assert_eq!((appended.last_seq, appended.warnings.len()), (at as u64 + 1, 0), "{}", event.event_type);
        assert!(appended.events[0].payload.is_none(), "{}", event.event_type);
    }
    let lines: Vec<Value> =
        tea.events(0).unwrap().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(lines.len(), events.len());
    for (at, (line, event)) in lines.iter().zip(&events).enumerate() {
        assert_eq!((&line["seq"], &line["sessionId"]), (&json!(at + 1), &json!("tea timer/1")));
        assert_eq!(line["id"], event.id.as_deref().unwrap());
        assert_eq!(line["type"], event.event_type.as_str());
        assert_eq!(line["payload"], serde_json::from_str::<Value>(event.payload.get()).unwrap());
    }
    let some = daemon.get("/v1/sessions/tea%20timer%2F1/events?after=3&limit=2");
    let seqs: Vec<u64> = some
        .body
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["seq"].as_u64())
        .collect();
    assert_eq!((some.status, seqs), (200, vec![4, 5]));
}

#[test]
fn an_append_sent_again_is_told_its_places() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let tea = producer(&daemon, "tea");
    let events = example();
    tea.append(Some(0), false, &events[..5]).unwrap();
    // Whole: whatever it expects.
    for expected in [None, Some(0), Some(5), Some(77)] {
        let again = tea.append(expected, false, &events[..5]).unwrap();
        let told: Vec<(u64, bool)> = again.events.iter().map(|event| (event.seq, event.duplicate)).collect();
        assert_eq!(told, [(1, true), (2, true), (3, true), (4, true), (5, true)], "{expected:?}");
        assert_eq!(again.last_seq, 5);
    }
    // A part of it is there already, also after a restart.
    daemon.stop();
    let daemon = scratch.start();
    let tea = producer(&daemon, "tea");
    let more = tea.append(Some(3), false, &events[3..7]).unwrap();
    let told: Vec<(u64, bool)> = more.events.iter().map(|event| (event.seq, event.duplicate)).collect();
    assert_eq!(told, [(4, true), (5, true), (6, false), (7, false)]);
    assert_eq!(tea.events(0).unwrap().count(), 7);
}

#[test]
fn a_wrong_place_and_a_taken_id_are_named() {
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    let events = example();
    assert!(matches!(tea.append(Some(3), false, &events[..1]), Err(ProducerError::WrongSeq { last_seq: 0 })));
    tea.append(Some(0), false, &events[..3]).unwrap();
    let body =
        json!({ "expected": 1, "events": [{ "type": "session.renamed", "payload": { "title": "x" } }] });
    let refused = daemon.post("/v1/sessions/tea/events", &body.to_string());
    let words = "the log ends at seq 3; read what is there and append after it";
    assert_eq!((refused.status, refused.json()), (409, json!({ "error": words, "last_seq": 3 })));
    let other = renamed("x").with_id(events[1].id.as_deref().unwrap());
    match tea.append(None, false, &[other]) {
        Err(ProducerError::OtherContent { id, seq }) => {
            assert_eq!((Some(id.as_str()), seq), (events[1].id.as_deref(), 2));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(seqs(&tea), [1, 2, 3]);
}

#[test]
fn what_the_log_gives_is_refused_by_name() {
    let daemon = Scratch::new().start();
    for (event, error) in [
        (json!({ "seq": 1 }), "events[0].seq is given by the log; leave it out"),
        (json!({ "v": 1 }), "events[0].v is given by the log; leave it out"),
        (json!({ "ts": 1 }), "events[0].ts is given by the log; leave it out"),
        (json!({ "sessionId": "s" }), "events[0].sessionId is given by the log; leave it out"),
        (json!({ "extra": 1 }), "events[0].extra is not known here; there are id, type, payload"),
    ] {
        let reply = daemon.post("/v1/sessions/tea/events", &json!({ "events": [event] }).to_string());
        assert_eq!((reply.status, reply.json()), (400, json!({ "error": error })));
    }
    let big = format!(r#"{{"events":[{{"type":"a","payload":{{"a":"{}"}}}}]}}"#, "x".repeat(8 << 20));
    assert_eq!(daemon.post("/v1/sessions/tea/events", &big).status, 413);
    let long = format!("/v1/sessions/{}/events", "k".repeat(1025));
    assert_eq!(
        daemon.post(&long, "{}").json(),
        json!({ "error": "a session's key must have 1 to 1024 bytes" })
    );
    assert_eq!(daemon.get("/v1/sessions/tea/events").status, 404);
}

#[test]
fn a_session_that_hooks_feed_takes_no_events() {
    let daemon = Scratch::new().start();
    daemon.frame(&stop_call(1, "one"));
    let claude = producer(&daemon, "claude-one");
    let refused = claude.append(None, false, &example()[..1]).unwrap_err();
    assert!(
        matches!(refused, ProducerError::Client(ClientError::Refused { status: 403, .. })),
        "{refused:?}"
    );
    assert!(refused.to_string().starts_with("session 'claude-one' is fed by its host's hooks"), "{refused}");
    let shown = claude.ephemeral(&[delta("x")]).unwrap_err();
    assert!(matches!(shown, ProducerError::Client(ClientError::Refused { status: 403, .. })), "{shown:?}");
    assert!(!Sessions::new(&daemon.state).has("claude-one"));
}

#[test]
fn an_event_that_breaks_a_rule_changes_nothing() {
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    let events = example();
    let broken = |result: Result<_, ProducerError>| match result {
        Err(ProducerError::Breaks { breaks, .. }) => {
            (breaks[0].index, breaks[0].rule.clone(), breaks[0].field.clone())
        }
        Err(other) => panic!("{other:?}"),
        Ok::<herdbook_api::events::Appended, _>(taken) => panic!("{taken:?}"),
    };
    // A log begins with its start; a refused first append leaves no log.
    assert_eq!(broken(tea.append(None, false, &[renamed("x")])), (0, "S1".into(), "type".into()));
    assert!(!Sessions::new(&daemon.state).has("tea"));
    tea.append(Some(0), false, &events[..2]).unwrap();
    // The second of two is wrong: neither is taken, also not for the rules.
    let unknown = NewEvent::new("tool.guessed", &json!({})).unwrap();
    assert_eq!(
        broken(tea.append(None, false, &[events[2].clone(), unknown])),
        (1, "E7".into(), "type".into())
    );
    let shape = NewEvent::new("session.renamed", &json!({ "title": 7 })).unwrap();
    assert_eq!(broken(tea.append(None, false, &[shape])), (0, "E8".into(), "title".into()));
    let again =
        NewEvent::new("session.started", &serde_json::from_str::<Value>(events[0].payload.get()).unwrap());
    assert_eq!(broken(tea.append(None, false, &[again.unwrap()])), (0, "S1".into(), "type".into()));
    assert_eq!(seqs(&tea), [1, 2]);
    for event in &events[2..] {
        tea.append(None, false, std::slice::from_ref(event)).unwrap();
    }
    assert_eq!(seqs(&tea).len(), events.len());
    let extra = NewEvent::new("session.renamed", &json!({ "title": "x", "colour": "red" })).unwrap();
    let taken = tea.append(None, false, &[extra]).unwrap();
    assert_eq!((taken.warnings[0].rule.as_str(), taken.warnings[0].field.as_str()), ("E8", "colour"));
}

#[test]
fn secrets_are_marked_and_the_producer_is_told_what_is_kept() {
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    tea.append(None, false, &example()[..1]).unwrap();
    let secret = renamed("key AKIAIOSFODNN7EXAMPLE");
    let kept = tea.append(None, false, std::slice::from_ref(&secret)).unwrap();
    let payload = kept.events[0].payload.as_ref().unwrap().get().to_owned();
    assert!(payload.starts_with(r#"{"title":"key [redacted:"#), "{payload}");
    let line = tea.events(1).unwrap().next().unwrap().unwrap();
    assert!(line.contains(&payload) && !line.contains("AKIA"), "{line}");
    // Sent again it is the same event.
    let id = kept.events[0].id.as_str();
    assert!(tea.append(None, false, &[secret.with_id(id)]).unwrap().events[0].duplicate);
}

#[test]
fn the_policy_of_the_settings_says_when_an_append_is_answered() {
    for (policy, acks) in [("always", ["synced", "synced"]), ("os", ["written", "written"])] {
        let scratch = Scratch::new();
        let folder = scratch.dir.path().to_owned();
        let file = fs::File::create(folder.join("config.toml")).unwrap();
        std::io::Write::write_all(&mut &file, format!("[sessions]\npolicy = \"{policy}\"\n").as_bytes())
            .unwrap();
        let daemon = scratch.try_start_with(|config| config.config_dir = Some(folder)).unwrap();
        let tea = producer(&daemon, "tea");
        let first = tea.append(None, false, &example()[..1]).unwrap().ack;
        let second = tea.append(None, false, &[renamed("x")]).unwrap().ack;
        assert_eq!([first.as_str(), second.as_str()], acks, "{policy}");
        assert_eq!(tea.append(None, true, &[renamed("y")]).unwrap().ack, "synced", "{policy}");
    }
}

#[test]
fn a_log_has_one_writer() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let tea = producer(&daemon, "tea").with_patience(std::time::Duration::ZERO);
    tea.append(None, false, &example()[..1]).unwrap();
    assert!(scratch.try_start().is_err(), "a second daemon");
    tea.append(None, false, &[renamed("x")]).unwrap();
    let sessions = Sessions::new(&scratch.state());
    let other = sessions.open("tea", Options::of_session(1));
    assert!(matches!(other, Err(OpenError::Locked { .. })), "another program");
    // And the other way round: what another program has open waits for it.
    let (log, _) = sessions.open("milk", Options::of_session(1)).unwrap();
    let milk = producer(&daemon, "milk").with_patience(std::time::Duration::ZERO);
    let refused = milk.append(None, false, &example()[..1]).unwrap_err();
    assert!(
        matches!(refused, ProducerError::Client(ClientError::Refused { status: 503, .. })),
        "{refused:?}"
    );
    let words = format!("process {} works on the log of session 'milk' ", std::process::id());
    assert!(refused.to_string().starts_with(&words), "{refused}");
    drop(log);
    milk.append(None, false, &example()[..1]).unwrap();
    daemon.stop();
    assert!(sessions.open("tea", Options::of_session(1)).is_ok(), "a stop closes it");
}

#[test]
fn a_full_disk_is_told_and_waited_for() {
    let scratch = Scratch::new();
    let state = scratch.state();
    let daemon =
        DaemonChild::start_with(&state, Settings { file_bytes: Some(32 << 10), ..Settings::default() });
    let tea = Producer::new(daemon.client(), "tea").with_patience(std::time::Duration::ZERO);
    let mut ids = herdbook_events::UlidGenerator::new(5, None);
    let mut event =
        |at: u64| renamed(&format!("{at} {}", "x".repeat(3_000))).with_id(ids.generate(at).to_string());
    tea.append(None, false, &example()[..1]).unwrap();
    let mut taken = 1;
    let (last, refused) = loop {
        let event = event(taken);
        match tea.append(None, false, std::slice::from_ref(&event)) {
            Ok(appended) => taken = appended.last_seq,
            Err(error) => break (event, error),
        }
        assert!(taken < 50, "32 KiB are never full");
    };
    assert!(
        matches!(refused, ProducerError::Client(ClientError::Refused { status: 503, .. })),
        "{refused:?}"
    );
    assert!(refused.to_string().ends_with("send the same again, with the same ids"), "{refused}");
    let refused = tea.append(None, false, &[event(99)]).unwrap_err().to_string();
    assert!(refused.starts_with("the log of session 'tea' cannot be written: "), "{refused}");
    let warnings = daemon.client().status().unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.starts_with("the log of session 'tea': ")), "{warnings:?}");
    daemon.lift_limit();
    let again = Producer::new(daemon.client(), "tea").append(None, true, &[last]).unwrap();
    assert_eq!((again.last_seq, again.events[0].seq), (taken + 1, taken + 1));
    assert_eq!(seqs(&tea), (1..=taken + 1).collect::<Vec<_>>());
}

#[test]
fn more_sessions_than_are_open_at_once_are_written_in_turn() {
    let daemon = Scratch::new().start();
    let sessions = Sessions::new(&daemon.state);
    let keys: Vec<String> = (0..70).map(|at| format!("s{at}")).collect();
    for round in 1..=2 {
        for key in &keys {
            let event = if round == 1 { example().remove(0) } else { renamed("x") };
            assert_eq!(producer(&daemon, key).append(None, false, &[event]).unwrap().last_seq, round);
        }
    }
    let open = keys.iter().filter(|key| sessions.open(key, Options::of_session(1)).is_err()).count();
    assert!((1..=64).contains(&open), "{open} are open");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what the manual shows is run as a user would")]
fn the_example_writes_a_log_with_curl() {
    if std::process::Command::new("curl").arg("--version").output().is_err() {
        println!("skipped: the_example_writes_a_log_with_curl: no curl");
        return;
    }
    let daemon = Scratch::new().start();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/producer/note.sh");
    let mut command = std::process::Command::new("sh");
    let ran = command.arg(script).arg("note").env("HERDBOOK_SOCKET", &daemon.socket).output().unwrap();
    let (said, wrong) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}{wrong}");
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("{\"v\":1,")).collect();
    assert_eq!(
        lines,
        fs::read_to_string(segment(&daemon.state, "note")).unwrap().lines().collect::<Vec<_>>()
    );
    assert_eq!(lines.len(), 2);
}
