//! Producers under kills: what was acknowledged is in the log, at its place, once.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use herdbook_api::{NewEvent, Producer};
use herdbook_events::UlidGenerator;
use herdbook_log::{Reader, Sessions};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::child::DaemonChild;
use crate::support::{LONG, Scratch, wait_until};

/// So many write, two to a session.
const WRITERS: u64 = 8;
/// Appends that are acknowledged between two kills, of all writers together, at least.
const BETWEEN: u64 = 12;

/// Where each event of a session was said to stand, by its id.
type Acknowledged = Mutex<HashMap<String, Vec<(u64, String)>>>;

/// Appends until it is told to end, one or three events at a time, each told apart by its title.
fn write(
    producer: &Producer,
    writer: u64,
    done: &AtomicBool,
    count: &AtomicU64,
    acknowledged: &Acknowledged,
) {
    let mut ids = UlidGenerator::new(writer, None);
    let started = json!({
        "title": "t", "projectHash": "p", "workingDirectory": "/w", "gitBranch": null, "model": "m", "auxModel": "a",
        "khaelorVersion": "1",
    });
    // Both writers of a session begin it: with the same event.
    let first = NewEvent::new("session.started", &started).unwrap().with_id("01KDVDNA7T0000000000000001");
    let mut batch = vec![first];
    for n in 0u64.. {
        let appended = producer.append(None, n % 16 == 3, &batch).unwrap();
        let told = appended.events.iter().map(|event| (event.seq, event.id.clone()));
        acknowledged.lock().unwrap().entry(producer.key().to_owned()).or_default().extend(told);
        count.fetch_add(1, Ordering::Relaxed);
        if done.load(Ordering::Relaxed) {
            return;
        }
        let size = if n % 4 == 0 { 3 } else { 1 };
        let event = |at: u64| {
            let payload = json!({ "title": format!("{writer} {:06}", 3 * n + at) });
            let id = ids.generate(1_767_225_600_000 + n);
            NewEvent::new("session.renamed", &payload).unwrap().with_id(id.to_string())
        };
        batch = (0..size).map(event).collect();
    }
}

/// Sets a flag when it goes, also by a failed assertion: else the writers would go on for ever.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a test is told to be thorough")]
fn slow_kills_under_eight_producers_lose_nothing_and_repeat_nothing() {
    let kills = if std::env::var_os("HERDBOOK_TEST_SLOW").is_some() { 200 } else { 10 };
    let scratch = Scratch::new();
    let state = scratch.state();
    let (done, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let acknowledged = Acknowledged::default();
    let mut daemon = DaemonChild::start(&state);
    let client = daemon.client();
    std::thread::scope(|scope| {
        let _end = SetAtEnd(&done);
        for writer in 0..WRITERS {
            let producer = Producer::new(client.clone(), &format!("s{}", writer / 2)).with_patience(3 * LONG);
            let (done, count, acknowledged) = (&done, &count, &acknowledged);
            scope.spawn(move || write(&producer, writer, done, count, acknowledged));
        }
        for round in 0..kills {
            // A different moment of the load each time.
            let until = count.load(Ordering::Relaxed) + BETWEEN + round % 7;
            wait_until("appends", || count.load(Ordering::Relaxed) >= until);
            daemon.kill();
            daemon = DaemonChild::start(&state);
        }
    });
    assert!(daemon.end(Signal::TERM).success());
    let acknowledged = acknowledged.into_inner().unwrap();
    assert_eq!(acknowledged.len() as u64, WRITERS / 2);
    for (key, told) in acknowledged {
        let lines: Vec<_> = Reader::open(&Sessions::new(&state).folder(&key)).map(Result::unwrap).collect();
        let seqs: Vec<u64> = lines.iter().map(|line| line.seq).collect();
        assert_eq!(seqs, (1..=lines.len() as u64).collect::<Vec<_>>(), "{key}: no hole");
        for (seq, id) in told {
            assert_eq!(lines[seq as usize - 1].id, id, "{key}: seq {seq} was acknowledged");
        }
        let mut ids: Vec<&str> = lines.iter().map(|line| line.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), lines.len(), "{key}: nothing stands twice");
        let mut titles: HashMap<String, Vec<String>> = HashMap::new();
        for line in lines.iter().filter(|line| line.kind == "session.renamed") {
            let payload: Value = serde_json::from_str(&line.payload).unwrap();
            let title = payload["title"].as_str().unwrap();
            titles.entry(title[..1].to_owned()).or_default().push(title.to_owned());
        }
        assert_eq!(titles.len(), 2, "{key}");
        assert!(
            titles.values().all(|titles| titles.is_sorted()),
            "{key}: each writer's events are in its order"
        );
    }
}

#[test]
fn an_append_without_ids_is_sent_once() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let producer = Producer::new(daemon.client(), "s");
    daemon.stop();
    let event = NewEvent::new("session.renamed", &json!({ "title": "x" })).unwrap();
    let begun = std::time::Instant::now();
    let patient = producer.clone().with_patience(3 * LONG);
    assert!(patient.append(None, false, std::slice::from_ref(&event)).is_err());
    assert!(begun.elapsed() < LONG, "without an id it is not tried again, however patient one is");
    let begun = std::time::Instant::now();
    let impatient = producer.with_patience(Duration::from_millis(100));
    assert!(impatient.append(None, false, &[event.with_id("01KDVDNA7T0000000000000001")]).is_err());
    assert!(begun.elapsed() >= Duration::from_millis(60), "with an id it is tried again for a while");
}
