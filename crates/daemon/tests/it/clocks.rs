//! The laptop sleeps, and the clock is set: nobody is aged, called again or moved by it (case F-092).

use std::sync::atomic::{AtomicI64, Ordering};

use herdbook_engine::Now;
use herdbook_wire::clock::Start;
use herdbook_wire::{Answer, Delivery};
use serde_json::json;

use crate::support::{Daemon, Scratch, claude, stop_call, wait_until};

const DAY_MS: i64 = 86_400_000;

/// By so much the wall clock is ahead of the real one; the monotonic one is not.
static AHEAD_MS: AtomicI64 = AtomicI64::new(0);

fn stepped() -> Now {
    let now = herdbook_daemon::now();
    Now { wall_ms: now.wall_ms.saturating_add_signed(AHEAD_MS.load(Ordering::Relaxed)), ..now }
}

/// A hook that runs now, by all clocks.
fn now(call: Delivery) -> Delivery {
    let now = Start::now();
    let started_at_ms = now.unix_ms.saturating_add_signed(AHEAD_MS.load(Ordering::Relaxed));
    Delivery { stamp_ms: now.stamp_ms(), started_at_ms, ..call }
}

/// Queue, and the state of each session with the time since when it is in it.
fn picture(daemon: &Daemon) -> (Vec<String>, Vec<(String, String, u64)>) {
    let sessions = daemon.client().sessions().unwrap().into_iter();
    let states = sessions.map(|session| (session.session_id, session.state, session.since_at));
    (daemon.queue(), states.collect())
}

#[test]
fn neither_sleep_nor_a_clock_that_is_set_moves_anybody() {
    let scratch = Scratch::new();
    let start =
        || scratch.try_start_with(|config| (config.clock, config.grace_ms) = (stepped, Some(300))).unwrap();
    let daemon = start();
    let announced = |daemon: &Daemon| daemon.client().status().unwrap().announced;
    assert_eq!(daemon.frame(&now(stop_call(1, "first"))), Answer::Done);
    let works = claude(2, "works", "UserPromptSubmit", json!({ "prompt": "go" }));
    assert_eq!(daemon.frame(&now(works)), Answer::Done);
    assert_eq!(daemon.frame(&now(stop_call(3, "second"))), Answer::Done);
    let before = picture(&daemon);
    assert_eq!(before.0, ["claude-first", "claude-second"]);

    // Three days go by in which the machine sleeps: the monotonic clock stands still.
    AHEAD_MS.store(3 * DAY_MS, Ordering::Relaxed);
    assert_eq!(picture(&daemon), before, "nothing is a day old, and nothing has worked for three");
    wait_until("the calls", || announced(&daemon) == 2);
    let third = now(stop_call(4, "third"));
    assert_eq!(daemon.frame(&third), Answer::Done);
    let since_at = daemon.client().session("claude-third").unwrap().since_at;
    assert!(since_at.abs_diff(third.started_at_ms) < 60_000, "people read the wall clock");

    // Then the clock is set back by four.
    AHEAD_MS.store(-DAY_MS, Ordering::Relaxed);
    let fourth = now(stop_call(5, "fourth"));
    assert_eq!(daemon.frame(&fourth), Answer::Done);
    let queue = ["claude-first", "claude-second", "claude-third", "claude-fourth"];
    assert_eq!(daemon.queue(), queue, "who comes later stands behind, whatever the clock says");
    wait_until("the calls of the others", || announced(&daemon) == 4);
    let after = picture(&daemon);
    let again = |key: &str| after.1.iter().find(|(known, ..)| known == key).cloned();
    assert!(before.1.iter().all(|known| again(&known.0).as_ref() == Some(known)), "{before:?} {after:?}");
    // An answer counts, though it is days older than the question.
    let prompt = claude(6, "third", "UserPromptSubmit", json!({ "prompt": "more" }));
    assert_eq!(daemon.frame(&now(prompt)), Answer::Done);
    assert_eq!(daemon.client().session("claude-third").unwrap().state, "working");
    let last = picture(&daemon);
    daemon.stop();

    let daemon = start();
    assert_eq!(picture(&daemon), last, "a start with a clock behind the journal's changes nothing either");
    assert_eq!(announced(&daemon), 0);
}
