//! Session logs at their bounds: long appends, kills, and logs that are replaced under who reads them.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use herdbook_api::{NewEvent, Producer};
use herdbook_log::{Durability, NewRecord, Options, Sessions};
use serde_json::json;

use crate::child::DaemonChild;
use crate::events::{example, producer, renamed};
use crate::support::{LONG, Scratch, wait_until};

#[test]
fn long_appends_wait_for_their_turn_and_short_ones_do_not() {
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    tea.append(None, false, &example()[..1]).unwrap();
    let address = format!("Host: 127.0.0.1:{}", daemon.port());
    let head = |more: &str| {
        format!(
            "POST /v1/sessions/tea/events HTTP/1.1\r\n{address}\r\nContent-Type: application/json\r\n{more}\r\n\r\n"
        )
    };
    let connect = || {
        let stream = UnixStream::connect(&daemon.socket).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    };
    // Two that are as long as may be, and do not come.
    let mut halves = Vec::new();
    for _ in 0..2 {
        let mut stream = connect();
        stream.write_all(head("Content-Length: 8388608\r\nExpect: 100-continue").as_bytes()).unwrap();
        // It is said when the body is read: then there is room for it.
        let mut go_on = [0; 25];
        stream.read_exact(&mut go_on).unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
        halves.push(stream);
    }
    let event = json!({ "type": "session.renamed", "payload": { "title": "x".repeat(100_000) } });
    let body = json!({ "events": [event] }).to_string();
    let mut third = connect();
    let length = format!("Content-Length: {}\r\nConnection: close", body.len());
    third.write_all((head(&length) + &body).as_bytes()).unwrap();
    for at in 0..5 {
        assert_eq!(tea.append(None, false, &[renamed("short")]).unwrap().last_seq, 2 + at);
    }
    drop(halves);
    let mut answer = String::new();
    third.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"last_seq\":7"), "{answer}");
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

#[test]
fn more_sessions_are_written_at_once_than_may_be_open() {
    let daemon = Scratch::new().start();
    // Without an id of its own it is not sent again: each answer is the first one.
    let started = NewEvent { id: None, ..example().remove(0) };
    std::thread::scope(|scope| {
        for writer in 0..16 {
            let (client, started) = (daemon.client().with_timeout(LONG), &started);
            scope.spawn(move || {
                for session in 0..12 {
                    let session = Producer::new(client.clone(), &format!("{writer}-{session}"));
                    assert_eq!(
                        session.append(None, false, std::slice::from_ref(started)).unwrap().last_seq,
                        1
                    );
                }
            });
        }
    });
}

#[test]
fn of_a_long_line_a_reader_that_does_not_read_is_sent_a_little() {
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    tea.append(None, false, &example()[..1]).unwrap();
    tea.append(None, false, &[renamed(&"x".repeat(2_000_000))]).unwrap();
    let readers: Vec<UnixStream> = (0..64)
        .map(|_| {
            let mut stream = UnixStream::connect(&daemon.socket).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            stream.write_all(b"GET /v1/sessions/tea/events HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut head = [0; 12];
            stream.read_exact(&mut head).unwrap();
            assert_eq!(&head, b"HTTP/1.1 200");
            stream
        })
        .collect();
    // Had the line been sent whole, into memory, they would be done and have left their places.
    let refused = daemon.get("/v1/sessions/tea/events?limit=1");
    assert_eq!(refused.both(), (503, r#"{"error":"too many read session logs at once; try again"}"#));
    // Who reads on is told all of it.
    let mut first = readers.into_iter().next().unwrap();
    let mut end = Vec::new();
    while !end.ends_with(b"0\r\n\r\n") {
        let mut bytes = [0; 65536];
        let count = first.read(&mut bytes).unwrap();
        assert_ne!(count, 0);
        end.extend_from_slice(&bytes[..count]);
    }
    assert!(end.len() > 2_000_000);
    wait_until("a place", || daemon.get("/v1/sessions/tea/events?limit=1").status == 200);
}
