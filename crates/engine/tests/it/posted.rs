//! The reference's idempotency and out-of-order rules for posted events, and overview section 4 on order.

use crate::{Herd, START_MS};

#[test]
fn stuck_of_a_session_never_seen_registers_and_queues_it() {
    let mut herd = Herd::new();
    herd.stuck("a", 5_000, "m");
    assert_eq!(herd.queue(), ["a"]);
    assert_eq!(herd.take_published(), ["registered a", "stuck a"]);
}

#[test]
fn the_timestamp_orders_and_ties_go_by_arrival() {
    let mut herd = Herd::new();
    for (id, at) in [("b", 2_000), ("c", 3_000), ("a", 1_000), ("d", 2_000)] {
        herd.stuck(id, at, "m");
    }
    assert_eq!(herd.queue(), ["a", "b", "d", "c"]);
}

#[test]
fn a_repeat_moves_the_entry_and_brings_its_new_message() {
    let mut herd = Herd::new();
    herd.stuck("a", 1_000, "old");
    herd.stuck("b", 2_000, "m");
    herd.stuck("a", 3_000, "new");
    assert_eq!(herd.queue(), ["b", "a"]);
    let entry = &herd.engine.queue(herd.now)[1];
    assert_eq!((entry.message.as_str(), entry.stuck_at_ms), ("new", 3_000));
}

#[test]
fn unstuck_and_ended_of_unknown_sessions_are_ignored() {
    let mut herd = Herd::new();
    herd.tell("unstuck", "a");
    herd.tell("ended", "a");
    assert_eq!(herd.state("a"), "absent");
    assert!(herd.take_published().is_empty());
    // Both were acknowledged, so both are in the journal.
    assert_eq!(herd.journal.len(), 2);
}

#[test]
fn unstuck_may_repeat() {
    let mut herd = Herd::new();
    herd.stuck("a", 1_000, "m");
    herd.tell("unstuck", "a");
    herd.take_published();
    herd.tell("unstuck", "a");
    assert!(herd.take_published().is_empty());
    assert_eq!((herd.queue().len(), herd.state("a")), (0, "working".into()));
}

#[test]
fn ended_of_a_stuck_session_publishes_unstuck_first_and_is_terminal() {
    let mut herd = Herd::new();
    herd.stuck("a", 1_000, "m");
    herd.take_published();
    herd.tell("ended", "a");
    assert_eq!(herd.take_published(), ["unstuck a", "ended a"]);
    herd.tell("ended", "a");
    herd.stuck("a", 2_000, "m");
    assert!(herd.take_published().is_empty());
    assert!(herd.queue().is_empty());
    herd.tell("registered", "a");
    herd.stuck("a", 3_000, "m");
    assert_eq!(herd.queue(), ["a"]);
}

#[test]
fn ended_ids_are_remembered_over_a_restart() {
    let mut herd = Herd::new();
    herd.stuck("a", 1_000, "m");
    herd.tell("ended", "a");
    let mut after = herd.restarted();
    after.stuck("a", 2_000, "m");
    assert!(after.queue().is_empty());
}

#[test]
fn registered_again_brings_new_metadata_and_keeps_the_wait() {
    let mut herd = Herd::new();
    herd.stuck("a", 1_000, "m");
    herd.tell("registered", "a");
    assert_eq!(herd.queue(), ["a"]);
    assert_eq!(herd.engine.queue(herd.now)[0].cwd, "/srv/a");
}

#[test]
fn two_posted_sessions_on_one_pane_stay_two() {
    let mut herd = Herd::new();
    for id in ["a", "b"] {
        herd.post(&format!(
            r#"{{"type":"stuck","sessionId":"{id}","paneId":"%3","cwd":"","transcriptPath":"","reason":"permission","message":"m","timestamp":9}}"#
        ));
    }
    assert_eq!(herd.queue(), ["a", "b"]);
    assert_eq!(herd.state("a"), "stuck/permission");
}

#[test]
fn a_posted_session_on_the_pane_of_a_hooked_one_is_shown_as_that_one() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.post(
        r#"{"type":"stuck","sessionId":"tmux-%1-9","paneId":"%1","cwd":"","transcriptPath":"","reason":"stopped","message":"quiet","timestamp":9}"#,
    );
    assert!(herd.queue().is_empty(), "the hooks say it works");
    herd.claude("1", "Stop", "");
    assert_eq!(herd.queue(), ["claude-1"]);
    let linked = herd.engine.sessions()[0].linked.clone().unwrap();
    assert_eq!(linked.as_str(), "tmux-%1-9");
    // When the hooked one is over, the posted one speaks for itself again.
    herd.claude("1", "SessionEnd", "");
    assert_eq!(herd.queue(), ["tmux-%1-9"]);
}

#[test]
fn published_events_carry_exactly_the_references_members() {
    let mut herd = Herd::new();
    herd.claude("1", "Stop", r#""transcript_path":"/home/dev/t.jsonl","last_assistant_message":"done""#);
    let lines: Vec<String> =
        herd.published.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    assert_eq!(
        lines,
        [
            format!(
                r#"{{"type":"registered","sessionId":"claude-1","paneId":"%1","cwd":"/srv/demo","transcriptPath":"/home/dev/t.jsonl","timestamp":{START_MS}}}"#
            ),
            format!(
                r#"{{"type":"stuck","sessionId":"claude-1","paneId":"%1","cwd":"/srv/demo","transcriptPath":"/home/dev/t.jsonl","reason":"stopped","message":"done","timestamp":{START_MS}}}"#
            ),
        ]
    );
}

#[test]
fn a_posted_session_behind_a_hooked_one_is_not_called_out() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.stuck("1", 9, "quiet");
    herd.wait(5_000);
    assert!(herd.calls.is_empty(), "{:?}", herd.calls);
}

#[test]
fn a_secret_in_a_posted_event_is_marked_wherever_it_goes() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let mut herd = Herd::new();
    herd.stuck("a", 1_000, &format!("run with GITHUB_TOKEN={token}"));
    let kept: Vec<&str> = herd.journal.iter().map(|record| record.payload.get()).collect();
    assert!(kept.iter().all(|payload| !payload.contains(&token)), "{kept:?}");
    assert!(herd.engine.queue(herd.now)[0].message.contains("[redacted:"));
    assert!(herd.published.iter().all(|event| !serde_json::to_string(event).unwrap().contains(&token)));
}

#[test]
fn the_stream_says_so_when_a_posted_wait_starts_or_stops_to_stand_behind_a_hooked_session() {
    let mut herd = Herd::new();
    herd.stuck("1", 9, "quiet");
    assert_eq!(herd.take_published(), ["registered 1", "stuck 1"]);
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    assert_eq!(herd.take_published(), ["registered claude-1", "unstuck 1"]);
    herd.claude("1", "SessionEnd", "");
    assert_eq!(herd.take_published(), ["ended claude-1", "stuck 1"]);
    herd.tell("ended", "1");
    assert_eq!(herd.take_published(), ["unstuck 1", "ended 1"]);
}

#[test]
fn a_session_adopted_from_a_post_speaks_for_the_others_on_its_pane() {
    let mut herd = Herd::new();
    herd.tell("registered", "claude-1");
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.stuck("1", 9, "quiet");
    herd.claude("1", "Stop", "");
    assert_eq!(herd.queue(), ["claude-1"]);
}
