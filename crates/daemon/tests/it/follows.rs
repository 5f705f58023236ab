//! Session logs over HTTP: who reads and follows them.

use std::fs;

use herdbook_api::{ClientError, Producer, ProducerError};
use serde_json::Value;

use crate::events::{delta, example, producer, renamed, segment};
use crate::support::{Scratch, wait_until};

#[test]
fn ephemeral_events_reach_live_readers_between_the_lines_and_are_not_kept() {
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    let unknown = tea.ephemeral(&[delta("x")]).unwrap_err();
    assert!(
        matches!(unknown, ProducerError::Client(ClientError::Refused { status: 404, .. })),
        "{unknown:?}"
    );
    let events = example();
    tea.append(None, false, &events[..3]).unwrap();
    let mut follow = tea.follow(2).unwrap();
    assert_eq!(follow.next().unwrap().unwrap().event, "model.request-started");
    assert_eq!(tea.ephemeral(&[delta("a"), delta("b")]).unwrap().shown, 2);
    tea.append(None, false, &events[3..5]).unwrap();
    tea.ephemeral(&[delta("c")]).unwrap();
    let mut told = Vec::new();
    for event in follow.take(5) {
        let event = event.unwrap();
        let data: Value = serde_json::from_str(&event.data).unwrap();
        if event.id.is_empty() {
            let mut names: Vec<&String> = data.as_object().unwrap().keys().collect();
            names.sort();
            assert_eq!(names, ["id", "payload", "sessionId", "ts", "type"]);
            told.push(data["payload"]["text"].as_str().unwrap().to_owned());
        } else {
            assert_eq!(event.id, format!("{}-{}", data["seq"], data["id"].as_str().unwrap()));
            told.push(event.event);
        }
    }
    assert_eq!(told, ["a", "b", "model.thinking-block-completed", "model.text-block-completed", "c"]);
    assert!(!fs::read_to_string(segment(&daemon.state, "tea")).unwrap().contains("text-delta"));
    let wrong =
        daemon.post("/v1/sessions/tea/ephemeral", r#"{"events":[{"type":"tool.started","payload":{}}]}"#);
    assert_eq!(wrong.status, 400);
}

#[test]
fn a_reader_goes_on_where_it_was_and_learns_that_the_log_lost_its_end() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let tea = producer(&daemon, "tea");
    let events = example();
    tea.append(None, false, &events[..5]).unwrap();
    let ids: Vec<String> = tea.follow(0).unwrap().take(5).map(|event| event.unwrap().id).collect();
    let rest: Vec<String> =
        tea.follow_from(&ids[2]).unwrap().take(2).map(|event| event.unwrap().id).collect();
    assert_eq!(rest, ids[3..]);
    // Without a place it tells what comes.
    let mut live = daemon.client();
    live = live.with_timeout(crate::support::LONG);
    let mut live = Producer::new(live, "tea").follow_from("").unwrap();
    let (sender, first) = std::sync::mpsc::channel();
    let waits = std::thread::spawn(move || sender.send(live.next().unwrap().unwrap().event));
    while first.try_recv().is_err() {
        tea.append(None, false, &[renamed("again")]).unwrap();
    }
    waits.join().unwrap().unwrap();
    daemon.stop();
    // A power cut takes the end of the log and what said that it was synced; then the log grows again.
    let file = segment(&scratch.state(), "tea");
    let text = fs::read_to_string(&file).unwrap();
    let kept: usize = text.split_inclusive('\n').take(4).map(str::len).sum();
    fs::File::options().write(true).open(&file).unwrap().set_len(kept as u64).unwrap();
    let _ = fs::remove_file(file.with_extension("idx"));
    let daemon = scratch.start();
    let tea = producer(&daemon, "tea");
    assert_eq!(tea.append(None, false, &[renamed("new")]).unwrap().last_seq, 5);
    let told: Vec<String> =
        tea.follow_from(&ids[4]).unwrap().take(6).map(|event| event.unwrap().event).collect();
    assert_eq!(
        (told[0].as_str(), told[1].as_str(), told[5].as_str()),
        ("reset", "session.started", "session.renamed")
    );
    assert_eq!(tea.follow_from("nonsense").unwrap().next().unwrap().unwrap().event, "reset");
}

#[test]
fn lines_are_told_as_they_are_written() {
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    tea.append(None, false, &example()[..1]).unwrap();
    let mut follow = tea.follow(1).unwrap();
    let begun = std::time::Instant::now();
    for at in 0..20 {
        let appended = tea.append(None, false, &[renamed(&at.to_string())]).unwrap();
        let told = follow.next().unwrap().unwrap();
        assert!(told.id.starts_with(&format!("{}-", appended.last_seq)), "{told:?}");
    }
    // A reader that only looked each second would take twice as long.
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn a_reader_notices_that_another_file_is_in_the_place_of_the_one_it_read() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    producer(&daemon, "tea").append(None, false, &example()[..2]).unwrap();
    daemon.stop();
    let daemon = scratch.start();
    let tea = producer(&daemon, "tea");
    let mut follow = tea.follow(0).unwrap();
    assert_eq!(follow.next().unwrap().unwrap().event, "session.started");
    assert_eq!(follow.next().unwrap().unwrap().event, "user.message-created");
    let file = segment(&daemon.state, "tea");
    let copy = file.with_extension("copy");
    fs::copy(&file, &copy).unwrap();
    fs::rename(&copy, &file).unwrap();
    for title in ["x", "y"] {
        tea.append(None, false, &[renamed(title)]).unwrap();
        assert_eq!(follow.next().unwrap().unwrap().event, "session.renamed");
    }
}

#[test]
fn synced_lines_alone_are_told_to_who_asks_for_them() {
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    let written = tea.append(None, false, &example()[..1]).unwrap();
    assert_eq!(written.ack, "synced", "a barrier");
    let (seq, ack) = {
        let appended = tea.append(None, false, &[renamed("x")]).unwrap();
        (appended.last_seq, appended.ack)
    };
    assert_eq!((seq, ack.as_str()), (2, "written"));
    assert_eq!(tea.append(None, true, &[renamed("y")]).unwrap().ack, "synced");
    assert_eq!(tea.synced(3).unwrap().synced_seq, 3);
    assert!(matches!(tea.synced(4), Err(ProducerError::WrongSeq { last_seq: 3 })));
    tea.append(None, false, &[renamed("z")]).unwrap();
    // Nobody asks for a sync; it comes by itself.
    let lines = || daemon.get("/v1/sessions/tea/events?durable=1").body.matches("\"seq\":").count();
    wait_until("a sync", || lines() == 4);
    assert_eq!(daemon.get("/v1/sessions/tea/events?durable=2").status, 400);
}

#[test]
fn a_reader_that_does_not_read_holds_nobody_up() {
    use std::io::{BufRead, BufReader, Read, Write};
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    tea.append(None, false, &example()[..3]).unwrap();
    let mut slow = std::os::unix::net::UnixStream::connect(&daemon.socket).unwrap();
    let head = "GET /v1/sessions/tea/events?after=0 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n";
    slow.write_all(head.as_bytes()).unwrap();
    let mut slow = BufReader::new(slow);
    let mut line = String::new();
    slow.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    // More than the memory and the socket hold: 6 MB of lines, and 2 MB of what may be lost.
    let long = "x".repeat(100_000);
    for at in 0..60 {
        tea.append(None, false, &[renamed(&format!("{at} {long}"))]).unwrap();
        if at % 3 == 0 {
            tea.ephemeral(&[delta(&long)]).unwrap();
        }
    }
    let (mut told, mut shown, mut retries) = (0, 0, 0);
    while told < 63 {
        line.clear();
        assert_ne!(slow.read_line(&mut line).unwrap(), 0, "the stream ended after {told}");
        if let Some(id) = line.strip_prefix("id: ") {
            told += 1;
            assert!(id.starts_with(&format!("{told}-")), "{id}");
        }
        shown += usize::from(line.starts_with("event: model.text-delta"));
        retries += usize::from(line == "retry: 2000\n");
    }
    assert!(shown < 20, "what is only shown is dropped first");
    assert_eq!(retries, 1);
    daemon.stop();
    // The stream ends with the daemon.
    let mut rest = [0; 4096];
    while slow.read(&mut rest).is_ok_and(|count| count > 0) {}
}

#[test]
fn streams_end_with_the_daemon() {
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    tea.append(None, false, &example()[..1]).unwrap();
    let mut follow = tea.follow(0).unwrap();
    assert_eq!(follow.next().unwrap().unwrap().event, "session.started");
    let took = daemon.stop();
    assert!(took < std::time::Duration::from_secs(5), "{took:?}");
    assert!(follow.next().is_none_or(|event| event.is_err()));
}

#[test]
fn a_damaged_log_takes_nothing_and_is_read_around() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let events = example();
    for key in ["tea", "milk"] {
        producer(&daemon, key).append(None, true, &events[..6]).unwrap();
    }
    daemon.stop();
    let file = segment(&scratch.state(), "tea");
    let mut bytes = fs::read(&file).unwrap();
    let whole = bytes.clone();
    let third = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    bytes[third + 200] ^= 1;
    fs::File::create(&file).and_then(|mut file| std::io::Write::write_all(&mut file, &bytes)).unwrap();
    let daemon = scratch.start();
    let tea = producer(&daemon, "tea").with_patience(std::time::Duration::ZERO);
    let refused = tea.append(None, false, &[renamed("x")]).unwrap_err();
    let words = refused.to_string();
    assert!(
        matches!(refused, ProducerError::Client(ClientError::Refused { status: 409, .. })),
        "{refused:?}"
    );
    assert!(
        words.starts_with("the log of session 'tea' is damaged: 0000000001.jsonl line 3 (seq 3): "),
        "{words}"
    );
    let mut lines = tea.events(0).unwrap();
    assert!(lines.next().unwrap().is_ok() && lines.next().unwrap().is_ok());
    match lines.next() {
        Some(Err(ProducerError::Damaged(damaged))) => {
            assert_eq!((damaged.corrupt.from_seq, damaged.corrupt.to_seq), (3, 3));
        }
        other => panic!("{other:?}"),
    }
    assert!(lines.next().is_none(), "whoever folds must not go on");
    let all = daemon.get("/v1/sessions/tea/events").body;
    let named: Vec<bool> = all
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| line.starts_with("{\"corrupt\""))
        .collect();
    assert_eq!(named, [false, false, true, false, false, false], "{all}");
    let told: Vec<String> = tea.follow(1).unwrap().take(3).map(|event| event.unwrap().event).collect();
    assert_eq!(told[..2], ["user.message-created", "damaged"]);
    let warnings = daemon.client().status().unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.contains("session 'tea' is damaged")), "{warnings:?}");
    assert_eq!(producer(&daemon, "milk").append(Some(6), false, &[renamed("x")]).unwrap().last_seq, 7);
    assert_eq!(fs::read(&file).unwrap(), bytes, "nothing was touched");
    // Once it is mended it is written again.
    let mended = file.with_extension("mended");
    fs::File::create(&mended).and_then(|mut file| std::io::Write::write_all(&mut file, &whole)).unwrap();
    fs::rename(&mended, &file).unwrap();
    assert_eq!(daemon.client().status().unwrap().log_troubles, []);
    assert_eq!(tea.append(Some(6), false, &[renamed("x")]).unwrap().last_seq, 7);
}

/// Cuts a segment behind so many lines; what its index says stays.
fn cut(file: &std::path::Path, lines: usize) {
    let text = fs::read_to_string(file).unwrap();
    let kept: usize = text.split_inclusive('\n').take(lines).map(str::len).sum();
    fs::File::options().write(true).open(file).unwrap().set_len(kept as u64).unwrap();
}

#[test]
fn a_synced_end_that_is_lost_is_named_to_who_reads() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    producer(&daemon, "tea").append(None, true, &example()[..6]).unwrap();
    daemon.stop();
    cut(&segment(&scratch.state(), "tea"), 4);
    let daemon = scratch.start();
    let tea = producer(&daemon, "tea");
    let words =
        "the log is damaged: 0000000001.jsonl line 5 (seq 5): the records up to seq 6 were kept and are lost";
    let lost = serde_json::json!({ "corrupt": { "from_seq": 5, "to_seq": 6 }, "error": words });
    // Also to who begins at the end, or in what is lost.
    for (after, lines) in [(0, 5), (3, 2), (4, 1), (5, 1)] {
        let body = daemon.get(&format!("/v1/sessions/tea/events?after={after}")).body;
        let told: Vec<&str> = body.lines().filter(|line| line.starts_with('{')).collect();
        assert_eq!(told.len(), lines, "{after}: {body}");
        assert_eq!(serde_json::from_str::<Value>(told[lines - 1]).unwrap(), lost, "{after}");
    }
    match tea.events(0).unwrap().last() {
        Some(Err(ProducerError::Damaged(damaged))) => assert_eq!(damaged.error, words),
        other => panic!("{other:?}"),
    }
    for told in [tea.follow(3).unwrap().nth(1), tea.follow_from("").unwrap().next()] {
        let told = told.unwrap().unwrap();
        assert_eq!(told.event, "damaged");
        assert_eq!(serde_json::from_str::<Value>(&told.data).unwrap(), lost);
    }
    // Who stops before the end is told nothing of it.
    let some = daemon.get("/v1/sessions/tea/events?after=0&limit=4").body;
    assert!(!some.contains("corrupt"), "{some}");
}

#[test]
fn a_place_that_the_log_does_not_have_begins_it_anew() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let tea = producer(&daemon, "tea");
    tea.append(None, true, &example()[..3]).unwrap();
    for after in [4, 77, 1 << 53, u64::MAX] {
        let told: Vec<String> =
            tea.follow(after).unwrap().take(4).map(|event| event.unwrap().event).collect();
        assert_eq!(told[..2], ["reset", "session.started"], "{after}");
        assert_eq!(told[3], "model.request-started", "{after}");
    }
    // Its last line is a place, also once the log is closed and after a restart.
    let mut follow = tea.follow(3).unwrap();
    tea.append(None, false, &[renamed("x")]).unwrap();
    let told = follow.next().unwrap().unwrap();
    assert_eq!(told.event, "session.renamed");
    drop(follow);
    daemon.stop();
    let daemon = scratch.start();
    let tea = producer(&daemon, "tea");
    let mut places = [tea.follow(4).unwrap(), tea.follow_from(&told.id).unwrap()];
    // The log is deleted, and begins anew under the same key: whoever stood in the old one is told.
    fs::remove_dir_all(herdbook_log::Sessions::new(&scratch.state()).folder("tea")).unwrap();
    tea.append(None, false, &example()[..1]).unwrap();
    for follow in &mut places {
        let told: Vec<String> = follow.take(2).map(|event| event.unwrap().event).collect();
        assert_eq!(told, ["reset", "session.started"]);
    }
}

#[test]
fn lines_that_end_with_the_daemon_do_not_look_like_all() {
    use std::io::{Read, Write};
    let daemon = Scratch::new().start();
    let tea = producer(&daemon, "tea");
    tea.append(None, false, &example()[..1]).unwrap();
    let long = "x".repeat(500_000);
    for at in 0..20 {
        tea.append(None, false, &[renamed(&format!("{at} {long}"))]).unwrap();
    }
    let mut stream = std::os::unix::net::UnixStream::connect(&daemon.socket).unwrap();
    stream.write_all(b"GET /v1/sessions/tea/events HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    daemon.stop.stop();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() < 10_000_000 && !rest.ends_with(b"0\r\n\r\n"), "{}", rest.len());
}
