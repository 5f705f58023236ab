//! The attention stream.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

use herdbook_api::SseEvent;
use serde_json::{Value, json};

use crate::support::{Scratch, stop_call, stuck};

const T: u64 = 1_735_689_600_000;

fn told(event: &SseEvent) -> (String, String) {
    let data: Value = serde_json::from_str(&event.data).unwrap();
    assert_eq!(data["type"], event.event.as_str());
    (event.event.clone(), data["sessionId"].as_str().unwrap().to_owned())
}

#[test]
fn transitions_are_told_with_exact_fields_and_in_order() {
    let daemon = Scratch::new().start();
    let mut stream = daemon.client().attention(None).unwrap();
    daemon.post_event(&stuck("a", T));
    daemon.post_event(&json!({ "type": "ended", "sessionId": "a", "timestamp": T + 5 }));
    daemon.frame(&stop_call(1, "one"));
    let mut seen = Vec::new();
    while seen.last().is_none_or(|event| told(event) != ("stuck".into(), "claude-one".into())) {
        seen.push(stream.next().unwrap().unwrap());
    }
    let of_a: Vec<String> = seen.iter().map(told).filter(|(_, id)| id == "a").map(|(kind, _)| kind).collect();
    assert_eq!(of_a.last().map(String::as_str), Some("ended"));
    let at = of_a.iter().position(|kind| kind == "ended").unwrap();
    assert_eq!(of_a[at - 1], "unstuck", "ended of a stuck session says unstuck first: {of_a:?}");
    let stuck_data: Value =
        serde_json::from_str(&seen.iter().find(|e| e.event == "stuck").unwrap().data).unwrap();
    let mut names: Vec<&String> = stuck_data.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(
        names,
        ["cwd", "message", "paneId", "reason", "sessionId", "timestamp", "transcriptPath", "type"]
    );
}

#[test]
fn a_reader_resumes_where_it_was_also_after_a_restart() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let mut stream = daemon.client().attention(Some("0")).unwrap();
    for at in 0..5u64 {
        daemon.post_event(&stuck(&format!("s{at}"), T + at));
    }
    let mut ids = Vec::new();
    while ids.len() < 3 {
        let event = stream.next().unwrap().unwrap();
        if event.event == "stuck" {
            ids.push((told(&event).1, event.id));
        }
    }
    assert_eq!(ids[2].0, "s2");
    drop(stream);
    let rest = |daemon: &crate::support::Daemon| -> Vec<String> {
        let stream = daemon.client().attention(Some(&ids[2].1)).unwrap();
        let stuck = stream.map(Result::unwrap).filter(|event| event.event == "stuck");
        stuck.take(2).map(|event| told(&event).1).collect()
    };
    assert_eq!(rest(&daemon), ["s3", "s4"]);
    daemon.stop();
    let daemon = scratch.start();
    assert_eq!(rest(&daemon), ["s3", "s4"], "out of the journal");
    let all = daemon.client().attention(Some("0")).unwrap();
    let stuck = all.map(Result::unwrap).filter(|event| event.event == "stuck");
    assert_eq!(stuck.take(5).map(|event| told(&event).1).collect::<Vec<_>>(), ["s0", "s1", "s2", "s3", "s4"]);
}

#[test]
fn an_id_that_is_not_ours_is_answered_with_reset_and_then_what_comes() {
    let daemon = Scratch::new().start();
    daemon.post_event(&stuck("old", T));
    for id in ["999-01ARZ3NDEKTSV4RRFFQ69G5FAV", "1-01ARZ3NDEKTSV4RRFFQ69G5FAV", "nonsense"] {
        let mut stream = daemon.client().attention(Some(id)).unwrap();
        assert_eq!(stream.next().unwrap().unwrap().event, "reset", "{id}");
        daemon.post_event(&stuck(&format!("new {id}"), T + 1));
        let event = stream.find(|event| event.as_ref().unwrap().event == "stuck").unwrap().unwrap();
        assert_eq!(told(&event).1, format!("new {id}"));
    }
}

#[test]
fn a_reader_that_does_not_read_holds_nobody_up() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let mut slow = UnixStream::connect(&daemon.socket).unwrap();
    slow.write_all(b"GET /v1/attention HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 0\r\n\r\n").unwrap();
    let mut slow = BufReader::new(slow);
    let mut line = String::new();
    slow.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    // More than the memory and the socket hold: 6 MB of transitions.
    let count = 60u64;
    for at in 0..count {
        let mut event = stuck(&format!("s{at}"), T + at);
        event["message"] = json!("x".repeat(100_000));
        assert!(daemon.client().post_normalized(&event.to_string()).unwrap().ok);
    }
    let mut text = String::new();
    let mut seen = 0;
    while seen < count {
        text.clear();
        assert_ne!(slow.read_line(&mut text).unwrap(), 0, "the stream ended after {seen}");
        if text.starts_with("event: stuck") {
            seen += 1;
        }
    }
    let mut rest = [0; 1];
    daemon.stop();
    // The stream ends with the daemon.
    while slow.read(&mut rest).is_ok_and(|count| count > 0) {}
}
