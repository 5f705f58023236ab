//! Session logs at their bounds: long appends, kills, and logs that are replaced under who reads them.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use herdbook_api::Producer;
use herdbook_log::{Durability, NewRecord, Options, Sessions};
use serde_json::json;

use crate::child::DaemonChild;
use crate::events::{example, producer, renamed};
use crate::support::{LONG, Scratch, exchange, request_text};

#[test]
fn long_appends_wait_for_their_turn_and_short_ones_do_not() {
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    tea.append(None, false, &example()[..1]).unwrap();
    let title = "x".repeat(100_000);
    let body =
        json!({ "events": [{ "type": "session.renamed", "payload": { "title": title } }] }).to_string();
    let text = |headers: &[(&str, &str)]| {
        let headers = [&[("Content-Type", "application/json")], headers].concat();
        let text = request_text("POST", "/v1/sessions/tea/events", &headers, Some(&body));
        text.replace("@PORT@", &daemon.port().to_string())
    };
    let expects = text(&[("Expect", "100-continue")]);
    let (begun, rest) = expects.split_at(expects.len() - 10);
    let mut halves = Vec::new();
    for _ in 0..4 {
        let mut stream = UnixStream::connect(&daemon.socket).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(begun.as_bytes()).unwrap();
        // It is said when the body is read: then the append has its place.
        let mut go_on = [0; 25];
        stream.read_exact(&mut go_on).unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
        halves.push(stream);
    }
    let mut fifth = UnixStream::connect(&daemon.socket).unwrap();
    fifth.set_read_timeout(Some(LONG)).unwrap();
    fifth.write_all(text(&[]).as_bytes()).unwrap();
    for at in 0..5 {
        assert_eq!(tea.append(None, false, &[renamed("short")]).unwrap().last_seq, 2 + at);
    }
    let first = exchange(&mut halves.remove(0), rest.as_bytes());
    assert_eq!(first.status, 200, "{}", first.body);
    let mut answer = Vec::new();
    fifth.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
    for mut half in halves {
        assert_eq!(exchange(&mut half, rest.as_bytes()).status, 200);
    }
    assert_eq!(tea.append(None, false, &[renamed("last")]).unwrap().last_seq, 12);
}

#[test]
fn what_a_killed_daemon_had_not_synced_is_synced_before_it_is_told_as_such() {
    let scratch = Scratch::new();
    let state = scratch.state();
    let mut daemon = DaemonChild::start(&state);
    let tea = Producer::new(daemon.client(), "tea");
    tea.append(None, false, &example()[..2]).unwrap();
    daemon.kill();
    // This daemon did not write it, so it cannot say: it opens it, which syncs what is there.
    let daemon = scratch.start();
    assert_eq!(daemon.get("/v1/sessions/tea/events?durable=1").body.matches("\"seq\":").count(), 2);
    let lock = Sessions::new(&state).folder("tea").join("LOCK");
    assert!(
        fs::read_to_string(lock).unwrap().contains(&format!("pid {}\n", std::process::id())),
        "it was opened"
    );
}

#[test]
fn who_follows_a_log_that_is_deleted_learns_that_another_one_began() {
    let scratch = Scratch::new();
    let state = scratch.state();
    let sessions = Sessions::new(&state);
    // Another program wrote it.
    let (mut log, _) = sessions.open("tea", Options::of_session(1)).unwrap();
    let (sender, answer) = std::sync::mpsc::channel();
    let record = |number: u64| NewRecord {
        id: format!("01KDVDNA7T{number:016}"),
        ts_ms: 1_767_225_600_000,
        kind: "note".to_owned(),
        payload: "{}".to_owned(),
    };
    log.append((1..=3).map(record).collect(), Durability::Synced, move |done| drop(sender.send(done)));
    answer.recv().unwrap().unwrap();
    log.close();
    drop(log);
    let daemon = scratch.start();
    let tea = producer(&daemon, "tea");
    let mut follow = tea.follow(0).unwrap();
    for _ in 0..3 {
        assert_eq!(follow.next().unwrap().unwrap().event, "note");
    }
    fs::rename(sessions.folder("tea"), state.join("deleted")).unwrap();
    assert_eq!(tea.append(None, false, &example()[..1]).unwrap().last_seq, 1);
    assert_eq!(follow.next().unwrap().unwrap().event, "reset");
    let first = follow.next().unwrap().unwrap();
    assert!(first.id.starts_with("1-") && first.event == "session.started", "{first:?}");
}
