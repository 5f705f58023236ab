//! The human's verbs, and when the human is called.

use herdbook_engine::{Focus, HumanAct, Input, TmuxFacts};
use herdbook_events::SessionKey;

use crate::Herd;

fn key(text: &str) -> SessionKey {
    SessionKey::posted(text).unwrap()
}

fn three() -> Herd {
    let mut herd = Herd::new();
    for (id, at) in [("a", 1_000), ("b", 2_000), ("c", 3_000)] {
        herd.stuck(id, at, "m");
    }
    herd
}

#[test]
fn skip_moves_the_head_behind_the_others_for_thirty_seconds() {
    let mut herd = three();
    herd.act(HumanAct::Skip(None));
    assert_eq!(herd.queue(), ["b", "c", "a"]);
    let skipped = &herd.engine.queue(herd.now)[2];
    assert_eq!(skipped.stuck_at_ms, 1_000, "skip never changes stuck_at");
    assert_eq!(skipped.skip_cooldown_until_ms, Some(herd.now.wall_ms + 30_000));
    herd.wait(29_999);
    assert_eq!(herd.queue(), ["b", "c", "a"]);
    herd.wait(1);
    assert_eq!(herd.queue(), ["a", "b", "c"]);
}

#[test]
fn the_cooldown_belongs_to_the_entry() {
    let mut herd = three();
    herd.act(HumanAct::Skip(None));
    herd.stuck("a", 500, "again");
    assert_eq!(herd.queue(), ["b", "c", "a"], "a repeated stuck keeps it");
    herd.tell("unstuck", "a");
    herd.stuck("a", 500, "new");
    assert_eq!(herd.queue(), ["a", "b", "c"], "unstuck drops it");
}

#[test]
fn skip_of_an_empty_queue_writes_nothing() {
    let mut herd = Herd::new();
    herd.act(HumanAct::Skip(None));
    assert!(herd.journal.is_empty());
}

#[test]
fn pin_keeps_an_entry_at_the_front_and_snooze_keeps_it_away() {
    let mut herd = three();
    herd.act(HumanAct::Pin(key("c"), true));
    assert_eq!(herd.queue(), ["c", "a", "b"]);
    herd.act(HumanAct::Pin(key("c"), false));
    herd.act(HumanAct::Snooze(key("a"), 600_000));
    assert_eq!(herd.queue(), ["b", "c", "a"]);
    herd.wait(600_000);
    assert_eq!(herd.queue(), ["a", "b", "c"]);
}

#[test]
fn settled_means_not_waiting_until_something_new_happens() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("1", "Stop", "");
    herd.take_published();
    herd.act(HumanAct::Settle(key("claude-1")));
    assert_eq!(herd.take_published(), ["unstuck claude-1"]);
    herd.wait(60_000);
    herd.claude(
        "1",
        "Notification",
        r#""notification_type":"idle_prompt","message":"waiting for your input""#,
    );
    assert!(herd.queue().is_empty(), "a reminder is not news");
    herd.claude("1", "UserPromptSubmit", r#""prompt":"y""#);
    herd.claude("1", "Stop", r#""stop_hook_active":false"#);
    assert_eq!(herd.queue(), ["claude-1"]);
}

#[test]
fn verbs_survive_a_restart() {
    let mut herd = three();
    herd.act(HumanAct::Skip(None));
    herd.act(HumanAct::Pin(key("c"), true));
    assert_eq!(herd.restarted().queue(), herd.queue());
}

#[test]
fn a_wait_is_called_once_after_the_grace_period() {
    let mut herd = three();
    assert!(herd.calls.is_empty());
    herd.wait(1_799);
    assert!(herd.calls.is_empty());
    herd.wait(1);
    assert_eq!(herd.calls, [["a", "b", "c"]], "grouped into one call");
    herd.wait(3_600_000);
    assert_eq!(herd.calls.len(), 1);
    herd.tell("unstuck", "b");
    assert_eq!(herd.withdrawn, ["b"]);
}

#[test]
fn a_wait_that_is_over_within_the_grace_period_leaves_no_trace() {
    let mut herd = Herd::new();
    herd.stuck("a", 1_000, "m");
    herd.wait(1_000);
    herd.tell("unstuck", "a");
    herd.wait(10_000);
    assert!(herd.calls.is_empty() && herd.withdrawn.is_empty());
    assert_eq!(herd.engine.session(&key("a")).unwrap().waits, 0);
    herd.stuck("a", 2_000, "m");
    herd.wait(5_000);
    herd.tell("unstuck", "a");
    assert_eq!(herd.engine.session(&key("a")).unwrap().waits, 1);
}

#[test]
fn nobody_is_called_to_the_pane_he_looks_at() {
    let mut herd = Herd::new();
    herd.input(Input::Tmux(TmuxFacts {
        focus: Some(Focus { pane: "%1".into(), client_active_ms_ago: 500 }),
        ..TmuxFacts::default()
    }));
    herd.claude("1", "Stop", "");
    herd.wait(5_000);
    assert_eq!((herd.queue().len(), herd.calls.len()), (1, 0));
}

#[test]
fn waits_from_before_a_restart_are_not_called_again() {
    let mut herd = three();
    herd.wait(5_000);
    let mut after = herd.restarted();
    after.input(Input::Daemon { what: "start", version: "0".into(), boot: None });
    after.wait(60_000);
    assert_eq!((after.queue().len(), after.calls.len()), (3, 0));
}

#[test]
fn the_engine_rests_when_a_wait_is_over_before_its_call() {
    let mut herd = three();
    herd.wait(1_600);
    for id in ["a", "b", "c"] {
        herd.tell("unstuck", id);
    }
    herd.wait(1_000);
    let due = herd.engine.next_deadline_ms();
    assert!(due.is_none_or(|due| due > herd.now.mono_ms + 60_000), "nothing is due soon: {due:?}");
}

#[test]
fn a_settled_permission_does_not_hide_the_next_turn_end() {
    let bash = r#""tool_name":"Bash","tool_input":{"command":"make"}"#;
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("1", "PreToolUse", &format!(r#"{bash},"tool_use_id":"t1""#));
    herd.claude("1", "PermissionRequest", bash);
    herd.act(HumanAct::Settle(key("claude-1")));
    herd.wait(5_000);
    herd.claude("1", "PostToolUse", &format!(r#"{bash},"tool_use_id":"t1""#));
    assert_eq!(herd.state("claude-1"), "working");
    herd.claude("1", "Stop", "");
    assert_eq!(herd.queue(), ["claude-1"]);
}

#[test]
fn a_stale_wait_comes_back_with_a_stuck_when_its_session_speaks() {
    let mut herd = Herd::new();
    herd.hook("claude", r#"{"session_id":"1","hook_event_name":"Stop"}"#, herdbook_events::Origin::default());
    herd.wait(25 * 3_600_000);
    assert_eq!(herd.state("claude-1"), "unknown");
    herd.take_published();
    herd.hook(
        "claude",
        r#"{"session_id":"1","hook_event_name":"Notification","notification_type":"idle_prompt"}"#,
        herdbook_events::Origin::default(),
    );
    assert_eq!(herd.take_published(), ["stuck claude-1"]);
    herd.wait(25 * 3_600_000);
    assert_eq!(herd.take_published(), ["unstuck claude-1"], "and it ages again");
}
