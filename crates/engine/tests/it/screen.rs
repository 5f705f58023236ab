//! What panes show: the weakest source, which tells what no hook can (real cases, F-015, F-084).

use herdbook_engine::Input;
use herdbook_events::observation::PaneRef;
use herdbook_events::pane::DRAWN_MS;
use herdbook_events::{PaneSeen, Shows, WaitKind};

use crate::Herd;

const BASH: &str = r#""tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t1""#;
const READY: Shows = Shows::Ready { kind: WaitKind::TurnEnd };
const ESC: Shows = Shows::Ready { kind: WaitKind::Interrupted };
const TRUST: Shows = Shows::Dialog { kind: WaitKind::Dialog, sure: true };
const ASKS: Shows = Shows::Dialog { kind: WaitKind::Permission, sure: true };

/// A look at the pane of session `id`, which has said so for `for_ms`.
pub fn look(herd: &mut Herd, id: &str, shows: Shows, for_ms: u64) {
    look_at(herd, id, shows, for_ms, DRAWN_MS);
}

fn look_at(herd: &mut Herd, id: &str, shows: Shows, for_ms: u64, drawn_ms: u64) {
    let pane = PaneRef { socket: "/tmp/t/default".into(), server_pid: Some(42), pane: format!("%{id}") };
    let message = "Do you want to proceed?".to_owned();
    herd.input(Input::Pane(PaneSeen { pane, host: "claude".into(), shows, for_ms, drawn_ms, message }));
}

impl Herd {
    /// What the pane of session `1` told of it.
    fn shown(&self) -> Vec<String> {
        let sessions = self.engine.sessions();
        sessions[0].evidence.iter().filter(|one| one.source == "pane").map(|one| one.fact.clone()).collect()
    }
}

/// A session that waits for a permission.
fn asking() -> Herd {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("1", "PreToolUse", BASH);
    herd.claude("1", "PermissionRequest", BASH);
    assert_eq!(herd.state("claude-1"), "stuck/permission");
    herd
}

#[test]
fn an_approved_tool_that_runs_ends_the_wait() {
    let mut herd = asking();
    herd.wait(900);
    look(&mut herd, "1", Shows::Busy, 0);
    assert_eq!(herd.state("claude-1"), "stuck/permission", "the dialog may not be drawn yet");
    herd.wait(100);
    look(&mut herd, "1", Shows::Busy, 0);
    assert_eq!((herd.state("claude-1").as_str(), herd.queue().len()), ("working", 0));
    assert_eq!(herd.journal.iter().filter(|record| record.kind == "observation").count(), 1);
    look(&mut herd, "1", Shows::Busy, 2_000);
    assert_eq!(herd.journal.iter().filter(|record| record.kind == "observation").count(), 1, "no news");
    assert_eq!(herd.restarted().state("claude-1"), "working");
}

#[test]
fn only_panes_near_a_decision_are_watched() {
    let mut herd = Herd::new();
    herd.claude("1", "SessionStart", r#""source":"startup""#);
    herd.wait(10_000);
    assert!(herd.engine.watched_panes(herd.now).is_empty(), "whoever started it sits there");
    let mut herd = asking();
    let watched = |herd: &Herd| {
        let panes = herd.engine.watched_panes(herd.now).into_iter();
        panes.map(|watched| (watched.pane.pane, watched.waits, watched.found)).collect::<Vec<_>>()
    };
    assert_eq!(watched(&herd), [("%1".to_owned(), true, false)], "was it answered?");
    herd.claude("1", "PostToolUse", BASH);
    herd.wait(2_000);
    assert_eq!(watched(&herd), [], "its hooks tell what it does");
    herd.wait(1_000);
    assert_eq!(watched(&herd), [("%1".to_owned(), false, false)], "was it interrupted?");
    herd.claude("1", "Stop", "");
    herd.wait(60_000);
    assert_eq!(watched(&herd), [], "its human is called, and its hooks will tell of the next turn");
    let seen = |shows| PaneSeen {
        pane: PaneRef { socket: "/tmp/t/default".into(), server_pid: Some(42), pane: "%9".into() },
        host: "claude".into(),
        shows,
        for_ms: 2_000,
        drawn_ms: DRAWN_MS,
        message: String::new(),
    };
    herd.input(Input::Pane(seen(TRUST)));
    assert_eq!(watched(&herd), [("%9".to_owned(), true, true)]);
    herd.input(Input::Pane(seen(Shows::Gone)));
    assert_eq!(watched(&herd), []);
}

#[test]
fn work_on_the_screen_right_after_a_turn_is_that_of_its_hooks() {
    let mut herd = asking();
    herd.claude("1", "PostToolUse", BASH);
    herd.claude("1", "Stop", "");
    herd.wait(4_000);
    look(&mut herd, "1", Shows::Busy, 4_000);
    assert_eq!(herd.state("claude-1"), "stuck/turn_end");
    herd.wait(10_000);
    look(&mut herd, "1", Shows::Busy, 14_000);
    assert_eq!(herd.state("claude-1"), "stuck/turn_end", "it began before the turn was over");
    look(&mut herd, "1", Shows::Busy, 5_000);
    assert_eq!(herd.state("claude-1"), "working", "another turn, whose prompt no hook told");
}

#[test]
fn a_refusal_that_no_hook_tells_ends_the_turn_and_calls_nobody() {
    let mut herd = asking();
    herd.wait(10_000);
    let called = herd.calls.len();
    look(&mut herd, "1", ESC, 9_500);
    assert_eq!(herd.state("claude-1"), "stuck/permission", "the first sample is as old as the request");
    look(&mut herd, "1", ESC, 2_000);
    assert_eq!(herd.state("claude-1"), "stuck/interrupted");
    herd.wait(10_000);
    assert_eq!((herd.calls.len(), herd.queue().len()), (called, 1), "whoever pressed the key knows");
    assert_eq!(herd.restarted().state("claude-1"), "stuck/interrupted");
}

#[test]
fn a_turn_whose_end_no_hook_told_is_over_when_its_pane_is_quiet() {
    let mut herd = Herd::new();
    herd.claude("1", "SessionStart", r#""source":"startup""#);
    herd.wait(10_000);
    look(&mut herd, "1", READY, 5_000);
    assert_eq!(herd.state("claude-1"), "registered", "no turn yet");
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.wait(1_000);
    look(&mut herd, "1", READY, 6_000);
    assert_eq!(herd.state("claude-1"), "working", "the screen has not moved since before the prompt");
    herd.wait(5_000);
    look(&mut herd, "1", READY, 2_000);
    assert_eq!(herd.state("claude-1"), "stuck/turn_end");
    herd.claude("1", "Stop", "");
    assert_eq!((herd.state("claude-1").as_str(), herd.queue().len()), ("stuck/turn_end", 1));
}

#[test]
fn background_work_is_not_ended_by_a_quiet_pane() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("1", "Stop", r#""background_tasks":[{"id":"b1","status":"running"}]"#);
    herd.wait(60_000);
    look(&mut herd, "1", READY, 30_000);
    assert_eq!(herd.state("claude-1"), "working");
}

#[test]
fn a_request_that_the_pane_showed_first_is_one_wait() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("1", "PreToolUse", BASH);
    herd.wait(3_000);
    look(&mut herd, "1", ASKS, 2_500);
    assert_eq!(herd.state("claude-1"), "stuck/permission");
    herd.wait(3_000);
    herd.claude("1", "PermissionRequest", BASH);
    assert_eq!(herd.queue().len(), 1);
    herd.wait(5_000);
    assert_eq!(herd.calls.len(), 1, "one call for one question");
    herd.claude("1", "PostToolUse", BASH);
    assert_eq!((herd.state("claude-1").as_str(), herd.queue().len()), ("working", 0));
}

#[test]
fn the_end_of_a_tool_answers_what_only_the_pane_showed() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("1", "PreToolUse", BASH);
    herd.wait(3_000);
    look(&mut herd, "1", ASKS, 2_500);
    herd.wait(3_000);
    herd.claude("1", "PostToolUse", BASH);
    assert_eq!(herd.state("claude-1"), "working");
}

#[test]
fn an_agent_that_no_hook_told_of_is_listed_under_its_pane_until_one_does() {
    let mut herd = Herd::new();
    look(&mut herd, "1", READY, 5_000);
    assert_eq!(herd.engine.sessions().len(), 0, "a quiet pane is no session");
    look(&mut herd, "1", TRUST, 2_500);
    assert_eq!(herd.queue(), ["claude-pane:%1"]);
    assert_eq!(herd.state("claude-pane:%1"), "stuck/dialog");
    herd.take_published();
    assert_eq!(herd.restarted().queue(), ["claude-pane:%1"]);
    herd.claude("1", "SessionStart", r#""source":"startup""#);
    assert_eq!((herd.queue().len(), herd.state("claude-1").as_str()), (0, "registered"));
    assert_eq!(
        herd.take_published(),
        ["registered claude-1", "unstuck claude-pane:%1", "ended claude-pane:%1"]
    );
    assert_eq!(herd.engine.sessions().len(), 1);
}

#[test]
fn a_dialog_before_any_hook_leaves_with_its_pane_or_its_answer() {
    for over in [Shows::Gone, READY, Shows::Busy] {
        let mut herd = Herd::new();
        look(&mut herd, "1", TRUST, 2_500);
        look(&mut herd, "2", TRUST, 2_500);
        look(&mut herd, "1", over, 0);
        assert_eq!(herd.queue(), ["claude-pane:%2"], "{over:?}");
        look(&mut herd, "1", TRUST, 2_500);
        assert_eq!(herd.queue(), ["claude-pane:%2", "claude-pane:%1"], "it may ask again");
    }
}

#[test]
fn a_settled_question_is_not_opened_again_by_its_screen() {
    let mut herd = asking();
    herd.wait(5_000);
    herd.act(herdbook_engine::HumanAct::Settle(herdbook_events::SessionKey::posted("claude-1").unwrap()));
    look(&mut herd, "1", ASKS, 2_500);
    assert_eq!(herd.queue().len(), 0);
}

#[test]
fn what_looks_like_a_dialog_opens_nothing_over_a_turn_that_is_over() {
    let mut herd = asking();
    herd.claude("1", "PostToolUse", BASH);
    herd.claude("1", "Stop", "");
    herd.wait(60_000);
    look(&mut herd, "1", Shows::Dialog { kind: WaitKind::Dialog, sure: false }, 20_000);
    assert_eq!(herd.state("claude-1"), "stuck/turn_end");
    look(&mut herd, "1", ASKS, 20_000);
    assert_eq!(herd.state("claude-1"), "stuck/permission", "a known one is news");
}

#[test]
fn a_pane_with_two_sessions_or_another_host_tells_nothing() {
    let mut herd = asking();
    herd.wait(5_000);
    let pane = PaneRef { socket: "/tmp/t/default".into(), server_pid: Some(42), pane: "%1".into() };
    let seen = PaneSeen {
        pane: pane.clone(),
        host: "codex".into(),
        shows: Shows::Busy,
        for_ms: 0,
        drawn_ms: DRAWN_MS,
        message: String::new(),
    };
    herd.input(Input::Pane(seen.clone()));
    herd.input(Input::Pane(PaneSeen {
        pane: PaneRef { socket: "/tmp/other".into(), ..pane },
        host: "claude".into(),
        ..seen
    }));
    assert_eq!(herd.state("claude-1"), "stuck/permission");
    herd.stuck("1", 5, "posted on the same pane");
    look(&mut herd, "1", Shows::Busy, 0);
    assert_eq!(herd.state("claude-1"), "working", "the posted one is hidden behind it");
}

/// A client that draws its dialog when all hooks of the request are over.
const LATE_MS: u64 = 2_500;

fn look_late(herd: &mut Herd, shows: Shows, for_ms: u64) {
    look_at(herd, "1", shows, for_ms, LATE_MS);
}

#[test]
fn work_before_a_dialog_that_is_drawn_late_is_no_answer() {
    let mut herd = asking();
    herd.wait(2_000);
    look_late(&mut herd, Shows::Busy, 1_500);
    assert_eq!(herd.state("claude-1"), "stuck/permission", "its hooks run");
    herd.wait(300);
    look_late(&mut herd, ASKS, 0);
    assert_eq!(herd.shown(), ["pane %1 shows a dialog (permission)"]);
    look_late(&mut herd, ASKS, 250);
    assert_eq!(herd.shown().len(), 1, "no news");
    herd = herd.restarted();
    herd.wait(50);
    look_late(&mut herd, Shows::Busy, 0);
    assert_eq!(herd.state("claude-1"), "working", "it was seen, also before the restart: this is the answer");
}

#[test]
fn a_request_that_hooks_hold_back_leaves_the_queue_and_comes_back_with_its_dialog() {
    let mut herd = asking();
    herd.wait(LATE_MS);
    look_late(&mut herd, Shows::Busy, 2_000);
    assert_eq!(
        (herd.state("claude-1").as_str(), herd.queue().len()),
        ("working", 0),
        "nobody can answer yet"
    );
    herd.wait(3_500);
    let called = herd.calls.len();
    look_late(&mut herd, ASKS, 0);
    assert_eq!(herd.state("claude-1"), "stuck/permission", "one look is enough");
    herd.wait(10_000);
    assert_eq!((herd.calls.len(), herd.queue().len()), (called + 1, 1), "now there is something to answer");
    assert_eq!(herd.restarted().state("claude-1"), "stuck/permission");
    look_late(&mut herd, Shows::Busy, 0);
    assert_eq!(herd.state("claude-1"), "working");
}

#[test]
fn an_approval_too_quick_for_any_look_is_told_by_the_end_of_its_tool() {
    let mut herd = asking();
    herd.wait(700);
    look(&mut herd, "1", Shows::Busy, 0);
    assert_eq!(herd.state("claude-1"), "stuck/permission");
    herd.claude("1", "PostToolUse", BASH);
    assert_eq!((herd.state("claude-1").as_str(), herd.queue().len()), ("working", 0));
    look(&mut herd, "1", ASKS, 0);
    assert_eq!(herd.state("claude-1"), "working", "one look opens nothing that no request told of");
}

#[test]
fn the_dialog_of_the_request_before_is_none_of_the_next_one() {
    let mut herd = asking();
    herd.wait(5_000);
    look(&mut herd, "1", ASKS, 0);
    herd.claude("1", "PostToolUse", BASH);
    let next = BASH.replace("t1", "t2");
    herd.claude("1", "PreToolUse", &next);
    herd.claude("1", "PermissionRequest", &next);
    herd.wait(400);
    look(&mut herd, "1", ASKS, 2_000);
    look(&mut herd, "1", Shows::Busy, 0);
    assert_eq!(herd.state("claude-1"), "stuck/permission", "both looks may be older than the request");
    herd.wait(600);
    look(&mut herd, "1", Shows::Busy, 0);
    assert_eq!(herd.state("claude-1"), "working");
}

#[test]
fn a_screen_that_may_change_at_any_moment_is_looked_at_often() {
    let mut herd = asking();
    let soon = |herd: &Herd| {
        let panes = herd.engine.watched_panes(herd.now);
        panes.iter().map(|watched| watched.soon).collect::<Vec<_>>()
    };
    assert_eq!(soon(&herd), [true]);
    herd.wait(10_000);
    assert_eq!(soon(&herd), [false], "its human takes his time");
    look(&mut herd, "1", Shows::Busy, 0);
    assert_eq!(soon(&herd), [true], "only its pane says so");
    herd.wait(2_000);
    herd.claude("1", "PreToolUse", &BASH.replace("t1", "t2"));
    assert!(soon(&herd).is_empty(), "its hooks say so, too");
}
