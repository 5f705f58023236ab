//! Hook rules that the recorded cases do not reach: one test a rule. The recorded ones run in `conformance`.

use herdbook_engine::Input;
use herdbook_engine::view::State;
use herdbook_events::Origin;

use crate::Herd;

const BASH: &str = r#""tool_name":"Bash","tool_input":{"command":"make"}"#;

/// A session that asks for permission; its tool use is `t1`.
fn asking() -> Herd {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.wait(1_000);
    herd.claude("1", "PreToolUse", &format!(r#"{BASH},"tool_use_id":"t1""#));
    herd.wait(10);
    herd.claude("1", "PermissionRequest", BASH);
    herd
}

#[test]
fn a_permission_names_the_tool_and_command() {
    let herd = asking();
    assert_eq!(herd.state("claude-1"), "stuck/permission");
    assert_eq!(herd.engine.queue(herd.now)[0].message, "Tool: Bash | Command: make");
}

#[test]
fn a_sibling_of_the_same_batch_answers_nothing() {
    let mut herd = asking();
    herd.wait(50);
    herd.claude("1", "PreToolUse", r#""tool_name":"Read","tool_input":{"file_path":"a"},"tool_use_id":"t2""#);
    herd.wait(400);
    herd.claude(
        "1",
        "PostToolUse",
        r#""tool_name":"Read","tool_input":{"file_path":"a"},"tool_use_id":"t2""#,
    );
    assert_eq!(herd.state("claude-1"), "stuck/permission");
    herd.wait(9_000);
    herd.claude("1", "PostToolUse", &format!(r#"{BASH},"tool_use_id":"t1""#));
    assert_eq!(herd.state("claude-1"), "working");
}

#[test]
fn two_requests_at_once_are_two_waits_and_one_entry() {
    let mut herd = asking();
    let make = r#""tool_name":"Bash","tool_input":{"command":"make test"}"#;
    herd.claude("1", "PreToolUse", &format!(r#"{make},"tool_use_id":"t2""#));
    herd.claude("1", "PermissionRequest", make);
    let view = herd.engine.sessions().remove(0);
    assert_eq!((view.pending, herd.queue().len()), (2, 1));
    herd.wait(3_000);
    herd.claude("1", "PostToolUse", &format!(r#"{BASH},"tool_use_id":"t1""#));
    assert_eq!(herd.state("claude-1"), "stuck/permission");
    herd.claude("1", "PostToolUse", &format!(r#"{make},"tool_use_id":"t2""#));
    assert_eq!(herd.state("claude-1"), "working");
}

#[test]
fn a_subagents_request_waits_beside_the_main_agents_turn_end() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("1", "SubagentStart", r#""agent_id":"ag""#);
    herd.wait(1_000);
    herd.claude("1", "PreToolUse", &format!(r#"{BASH},"tool_use_id":"t1","agent_id":"ag""#));
    herd.claude("1", "PermissionRequest", &format!(r#"{BASH},"agent_id":"ag""#));
    assert_eq!(herd.state("claude-1"), "stuck/permission");
    // The main agent goes on: that answers nothing for the subagent.
    herd.wait(2_000);
    herd.claude("1", "PreToolUse", r#""tool_name":"Read","tool_input":{},"tool_use_id":"t9""#);
    assert_eq!(herd.state("claude-1"), "stuck/permission");
    herd.claude("1", "PostToolUse", &format!(r#"{BASH},"tool_use_id":"t1","agent_id":"ag""#));
    assert_eq!(herd.state("claude-1"), "working");
}

#[test]
fn the_same_delivery_is_dropped_for_good() {
    let mut herd = Herd::new();
    let body = r#"{"session_id":"1","hook_event_name":"Stop"}"#;
    herd.deliver("claude", body, Origin::default(), 77);
    herd.wait(3_600_000);
    let before = herd.journal.len();
    herd.deliver("claude", body, Origin::default(), 77);
    assert_eq!(herd.journal.len(), before);
    let mut after = herd.restarted();
    after.deliver("claude", body, Origin::default(), 77);
    assert!(after.journal.is_empty(), "also after a restart");
}

#[test]
fn a_repeat_by_another_registration_is_kept_but_counts_for_nothing() {
    let mut herd = Herd::new();
    for _ in 0..2 {
        herd.claude("1", "UserPromptSubmit", r#""prompt":"y""#);
    }
    assert_eq!(herd.engine.sessions()[0].turns, 1);
    let hooks: Vec<&str> = herd
        .journal
        .iter()
        .filter(|record| record.kind == "hook")
        .map(|record| record.payload.get())
        .collect();
    assert!(!hooks[0].contains("repeatOf") && hooks[1].contains("repeatOf"));
    herd.wait(5_000);
    herd.claude("1", "UserPromptSubmit", r#""prompt":"y""#);
    assert_eq!(herd.engine.sessions()[0].turns, 2, "the human may say it again");
}

#[test]
fn a_headless_run_is_listed_and_never_queued() {
    let mut herd = Herd::new();
    let origin =
        Origin { vars: vec![("CLAUDE_CODE_SESSION_ATTENDED".into(), "0".into())], ..Origin::default() };
    for event in ["UserPromptSubmit", "PermissionRequest", "Stop"] {
        herd.hook(
            "claude",
            &format!(r#"{{"session_id":"1","hook_event_name":"{event}",{BASH}}}"#),
            origin.clone(),
        );
        assert!(herd.queue().is_empty());
    }
    assert_eq!(herd.state("claude-1"), "registered");
}

#[test]
fn a_process_that_is_gone_ends_its_session_also_after_a_restart() {
    let mut herd = Herd::new();
    let ancestors = vec![herdbook_events::Process { pid: 4711, start: Some(9) }];
    herd.hook(
        "claude",
        r#"{"session_id":"1","hook_event_name":"Stop"}"#,
        Origin { ancestors, ..Origin::default() },
    );
    let later = herdbook_events::Process { pid: 4711, start: Some(10) };
    herd.input(Input::Process { process: later, machine: None, alive: false });
    assert_eq!(herd.queue(), ["claude-1"], "another process had that pid");
    herd.input(Input::Process {
        process: herdbook_events::Process { pid: 4711, start: Some(9) },
        machine: None,
        alive: false,
    });
    assert_eq!(herd.state("claude-1"), "ended");
    assert_eq!(herd.restarted().state("claude-1"), "ended");
}

#[test]
fn broken_input_of_any_kind_is_kept_and_moves_nothing() {
    let mut herd = Herd::new();
    for body in ["", "null", "[1", r#"{"session_id":"1","hook_event_name":"Stop","x":"#, "\u{0}\u{1}", "12"] {
        herd.hook("claude", body, Origin::default());
    }
    assert!(herd.engine.sessions().is_empty());
    assert_eq!(herd.journal.iter().filter(|record| record.kind == "unreadable").count(), 6);
    assert!(herd.journal.iter().any(|record| record.payload.get().contains(r#""salvaged":true"#)));
}

#[test]
fn an_unknown_host_is_kept() {
    let mut herd = Herd::new();
    herd.hook("walrus", r#"{"session_id":"1","hook_event_name":"Stop"}"#, Origin::default());
    assert!(herd.queue().is_empty());
    assert_eq!(herd.journal.len(), 1);
}

#[test]
fn evidence_names_the_journal_record() {
    let herd = asking();
    let view = herd.engine.sessions().remove(0);
    let last = view.evidence.last().unwrap();
    assert_eq!((last.source.as_str(), last.fact.as_str()), ("hook", "PermissionRequest (Bash)"));
    assert!(herd.journal.iter().any(|record| record.id == last.id && record.kind == "hook"));
}

#[test]
fn transitions_are_recorded_with_their_causes_in_one_batch() {
    let herd = asking();
    let place = herd.journal.iter().rposition(|record| record.kind == "hook").unwrap();
    let (cause, transition) = (&herd.journal[place], &herd.journal[place + 1]);
    assert_eq!(transition.kind, "transition");
    assert!(transition.payload.get().contains(&format!(r#""causes":["{}"]"#, cause.id)));
    assert!(transition.payload.get().contains(r#""kind":"permission""#));
}

#[test]
fn equal_pids_of_two_machines_are_two_processes() {
    let mut herd = Herd::new();
    for (id, machine) in [("1", None), ("2", Some("laptop")), ("3", Some("buildbox"))] {
        let ancestors = vec![herdbook_events::Process { pid: 4711, start: Some(9) }];
        let machine = machine.map(str::to_owned);
        let body = format!(r#"{{"session_id":"{id}","hook_event_name":"Stop"}}"#);
        herd.hook("claude", &body, Origin { ancestors, machine, ..Origin::default() });
    }
    let gone = |machine: Option<&str>| Input::Process {
        process: herdbook_events::Process { pid: 4711, start: Some(9) },
        machine: machine.map(str::to_owned),
        alive: false,
    };
    herd.input(gone(Some("elsewhere")));
    assert_eq!(herd.queue(), ["claude-1", "claude-2", "claude-3"]);
    herd.input(gone(Some("laptop")));
    assert_eq!(herd.queue(), ["claude-1", "claude-3"]);
    herd.input(gone(None));
    assert_eq!(herd.queue(), ["claude-3"]);
    assert_eq!(herd.restarted().queue(), ["claude-3"]);
    let first = herd.engine.queue(herd.now).remove(0);
    assert_eq!(first.machine.as_deref(), Some("buildbox"));
}

/// A frame of anybody with our uid may carry any stamp.
#[test]
fn a_stamp_at_the_end_of_time_is_a_stamp_like_others() {
    let mut herd = Herd::new();
    let call = r#""tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t1""#;
    for event in ["UserPromptSubmit", "PreToolUse", "PermissionRequest", "PreToolUse", "PostToolUse"] {
        herd.stamped("1", event, call, u64::MAX);
    }
    assert_eq!(herd.engine.sessions()[0].state, State::Working);
}
