//! Kills, stops and a full disk: what was acknowledged is there, once, in order.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use herdbook_api::ClientError;
use herdbook_engine::record::RecordView;
use herdbook_engine::{Config, Engine, Now};
use herdbook_wire::client::deliver;
use herdbook_wire::clock::Start;
use herdbook_wire::paths::SocketPlace;
use herdbook_wire::{Answer, Delivery, spool};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::child::{DaemonChild, Settings};
use crate::support::{Scratch, claude, journal, stuck, wait_until};

/// The nth hook call of a writer's session, made now: prompts and turn ends in turn.
fn call(writer: u64, n: u64) -> Delivery {
    let now = Start::now();
    let delivery = now.delivery_id(((u128::from(writer) << 64) | u128::from(n)) << 10);
    let session = format!("w{writer}");
    let event = match n % 2 {
        0 => claude(delivery, &session, "UserPromptSubmit", json!({ "prompt": format!("n {n}") })),
        _ => claude(delivery, &session, "Stop", json!({ "last_assistant_message": format!("n {n}") })),
    };
    Delivery { stamp_ms: now.stamp_ms(), started_at_ms: now.unix_ms, ..event }
}

/// What `herdbook-hook` does with a call: the socket, and without an answer in time the spool.
fn hook(state: &Path, delivery: &Delivery) {
    let place = SocketPlace { path: state.join("sock"), guarded: true };
    let deadline = Instant::now() + Duration::from_millis(50);
    match deliver(delivery, std::slice::from_ref(&place), deadline) {
        Ok(Answer::Done) => {}
        _ => spool::write(&state.join("spool"), delivery).unwrap(),
    }
}

/// Delivery numbers of each writer's session as they stand in the journal.
fn hooks_in_journal(state: &Path) -> HashMap<u64, Vec<u64>> {
    let mut found: HashMap<u64, Vec<u64>> = HashMap::new();
    for line in journal(state).into_iter().filter(|line| line.kind == "hook") {
        let payload: Value = serde_json::from_str(&line.payload).unwrap();
        let delivery = u128::from_str_radix(payload["delivery"].as_str().unwrap(), 16).unwrap();
        // The upper bits are the microseconds of the start.
        found.entry((delivery >> 64) as u64 & 0xff).or_default().push(delivery as u64);
    }
    found
}

/// The numbers in the messages of each posted session.
fn posts_in_journal(state: &Path) -> HashMap<String, Vec<u64>> {
    let mut found: HashMap<String, Vec<u64>> = HashMap::new();
    for line in journal(state).into_iter().filter(|line| line.kind == "normalized") {
        let payload: Value = serde_json::from_str(&line.payload).unwrap();
        let session = payload["event"]["sessionId"].as_str().unwrap().to_owned();
        let number = payload["event"]["message"].as_str().unwrap().parse().unwrap();
        found.entry(session).or_default().push(number);
    }
    found
}

/// Sets a flag when it goes, also by a failed assertion: else the writers would go on for ever.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The queue as a fold of the journal by itself: session, time and message of each entry.
fn folded_queue(state: &Path) -> Vec<(String, u64, String)> {
    let mut engine = Engine::new(Config::default());
    let mut wall_ms = 0;
    for line in journal(state) {
        let view = RecordView { id: &line.id, ts_ms: line.ts_ms, kind: &line.kind, payload: &line.payload };
        engine.replay(&view).unwrap();
        wall_ms = line.ts_ms;
    }
    let queue = engine.queue(Now { wall_ms, mono_ms: 1 }).into_iter();
    queue.map(|entry| (entry.session.as_str().to_owned(), entry.stuck_at_ms, entry.message)).collect()
}

#[test]
fn slow_fifty_kills_under_eight_writers_lose_nothing_that_was_acknowledged() {
    const KILLS: u64 = 50;
    /// Calls of each writer in each round: some reach the daemon, some meet its end, some find nobody.
    const CALLS: u64 = 20;
    let scratch = Scratch::new();
    let state = scratch.state();
    let done = AtomicBool::new(false);
    let calls: [AtomicU64; 4] = Default::default();
    let allowed = AtomicU64::new(0);
    let acknowledged: Mutex<HashMap<String, Vec<u64>>> = Mutex::default();
    let mut daemon = DaemonChild::start(&state);
    std::thread::scope(|scope| {
        let _end = SetAtEnd(&done);
        for writer in 0..4u64 {
            let (state, done, calls, allowed) = (&state, &done, &calls, &allowed);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let n = calls[writer as usize].load(Ordering::Relaxed);
                    if n == allowed.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                        continue;
                    }
                    hook(state, &call(writer, n));
                    calls[writer as usize].store(n + 1, Ordering::Relaxed);
                }
            });
        }
        for writer in 0..4u64 {
            let (client, done, acknowledged) = (daemon.client(), &done, &acknowledged);
            scope.spawn(move || {
                let session = format!("posted-{writer}");
                for n in 1.. {
                    let mut event = stuck(&session, 1_767_225_600_000 + n);
                    event["message"] = json!(n.to_string());
                    if client.post_normalized(&event.to_string()).is_ok() {
                        acknowledged.lock().unwrap().entry(session.clone()).or_default().push(n);
                    }
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        let made = || calls.iter().map(|calls| calls.load(Ordering::Relaxed)).sum::<u64>();
        for round in 0..KILLS {
            allowed.fetch_add(CALLS, Ordering::Relaxed);
            // A different moment of the load each time.
            let until = round * CALLS * 4 + 1 + (round * 7) % (CALLS * 4 - 10);
            wait_until("load", || made() >= until);
            daemon.kill();
            daemon = DaemonChild::start(&state);
        }
    });
    wait_until("an empty spool", || daemon.client().status().is_ok_and(|status| status.spool_count == 0));
    let shown: Vec<_> = daemon
        .client()
        .queue()
        .unwrap()
        .into_iter()
        .map(|item| (item.session_id, item.stuck_at, item.last_message))
        .collect();
    assert!(daemon.end(Signal::TERM).success());

    let hooks = hooks_in_journal(&state);
    for (writer, calls) in calls.iter().enumerate() {
        let expected: Vec<u64> = (0..calls.load(Ordering::Relaxed)).collect();
        assert!(!expected.is_empty());
        assert_eq!(hooks[&(writer as u64)], expected, "hook calls of writer {writer}");
    }
    let posts = posts_in_journal(&state);
    for (session, acknowledged) in acknowledged.into_inner().unwrap() {
        let found = &posts[&session];
        assert!(found.is_sorted_by(|a, b| a < b), "{session} has a repeat or is out of order: {found:?}");
        let missing: Vec<u64> = acknowledged.into_iter().filter(|n| !found.contains(n)).collect();
        assert_eq!(missing, [0u64; 0], "acknowledged and lost, {session}");
    }
    assert_eq!(shown, folded_queue(&state), "the queue is the fold of the journal");
}

#[test]
fn slow_a_thousand_calls_with_the_daemon_down_slow_and_stopped() {
    const CALLS: u64 = 250;
    let scratch = Scratch::new();
    let state = scratch.state();
    let made = AtomicU64::new(0);
    let mut daemon = Some(DaemonChild::start(&state));
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (state, made) = (&state, &made);
            scope.spawn(move || {
                for n in 0..CALLS {
                    hook(state, &call(writer, n));
                    made.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut round = 0;
        loop {
            // Each state lasts for some calls: serving, stopped in the middle of frames, serving, down.
            round += 1;
            let until = (made.load(Ordering::Relaxed) + 20).min(4 * CALLS);
            match (round % 4, &daemon) {
                (1, Some(daemon)) => daemon.signal(Signal::STOP),
                (2, Some(daemon)) => daemon.signal(Signal::CONT),
                (3, Some(_)) => drop(daemon.take().map(|daemon| daemon.end(Signal::TERM))),
                _ => daemon = Some(daemon.take().unwrap_or_else(|| DaemonChild::start(&state))),
            }
            wait_until("calls", || made.load(Ordering::Relaxed) >= until);
            if until == 4 * CALLS {
                break;
            }
        }
    });
    if let Some(daemon) = &daemon {
        daemon.signal(Signal::CONT);
    }
    let daemon = daemon.unwrap_or_else(|| DaemonChild::start(&state));
    wait_until("an empty spool", || daemon.client().status().is_ok_and(|status| status.spool_count == 0));
    assert!(daemon.end(Signal::TERM).success());
    let hooks = hooks_in_journal(&state);
    for writer in 0..4 {
        assert_eq!(hooks[&writer], (0..CALLS).collect::<Vec<_>>(), "writer {writer}");
    }
}

#[test]
fn a_full_disk_is_told_and_nothing_is_lost_by_it() {
    let scratch = Scratch::new();
    let state = scratch.state();
    let daemon =
        DaemonChild::start_with(&state, Settings { file_bytes: Some(16 << 10), ..Settings::default() });
    let client = daemon.client();
    let mut posted = 0;
    let refused = loop {
        let mut event = stuck(&format!("s{posted}"), 1_767_225_600_000 + posted);
        event["message"] = json!("x".repeat(2_000));
        match client.post_normalized(&event.to_string()) {
            Ok(_) => posted += 1,
            Err(error) => break error,
        }
        assert!(posted < 100, "16 KiB are never full");
    };
    assert!(matches!(refused, ClientError::Refused { status: 503, .. }), "{refused:?}");
    assert!(refused.to_string().starts_with("the journal cannot be written: "), "{refused}");
    let status = client.status().unwrap();
    assert!(status.journal.error.is_some() && status.journal.pending_bytes > 0, "{status:?}");
    assert!(status.warnings.iter().any(|warning| warning.contains("journal cannot be written")));
    for n in 0..3 {
        hook(&state, &call(9, n));
    }
    assert!(spool::count(&state.join("spool")).unwrap() > 0, "hooks use the spool meanwhile");
    daemon.lift_limit();
    wait_until("room", || client.status().unwrap().journal.error.is_none());
    wait_until("an empty spool", || client.status().unwrap().spool_count == 0);
    assert!(daemon.end(Signal::TERM).success());
    assert_eq!(hooks_in_journal(&state)[&9], [0, 1, 2]);
    let sessions: Vec<Value> = journal(&state)
        .into_iter()
        .filter(|line| line.kind == "normalized")
        .map(|line| serde_json::from_str::<Value>(&line.payload).unwrap()["event"]["sessionId"].clone())
        .collect();
    // The one that was refused waited in memory and is written too: it was not promised, but it is not lost either.
    assert_eq!(sessions, (0..=posted).map(|at| json!(format!("s{at}"))).collect::<Vec<_>>());
}
