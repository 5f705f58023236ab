//! Session logs over HTTP: producers append, readers read and follow.

use herdbook_api::{NewEvent, Producer};
use serde_json::{Value, json};

use crate::support::{Daemon, Scratch};

/// The reference's example log, as a producer would send it: events refer to the ids of others.
fn example() -> Vec<NewEvent> {
    let text = include_str!("../../../story/tests/it/example.jsonl");
    text.lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let event = NewEvent::new(line["type"].as_str().unwrap(), &line["payload"]).unwrap();
            event.with_id(line["id"].as_str().unwrap())
        })
        .collect()
}

fn producer(daemon: &Daemon, key: &str) -> Producer {
    Producer::new(daemon.client(), key)
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
