//! What transcripts may move, and what they may not: one test a rule.

use herdbook_events::{Told, WaitKind};

use crate::Herd;

const BASH: &str = r#""tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t1""#;

fn ended(kind: WaitKind) -> Told {
    Told::TurnEnded { kind, message: String::new() }
}

fn answered(tool: &str) -> Told {
    Told::Answered { tool: tool.into(), failed: true }
}

/// A session in a turn since a second.
fn working() -> Herd {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.wait(1_000);
    herd
}

fn observations(herd: &Herd) -> usize {
    herd.journal.iter().filter(|record| record.kind == "observation").count()
}

#[test]
fn a_record_older_than_the_last_hook_says_nothing() {
    let mut herd = working();
    let now = herd.now.wall_ms;
    herd.told("1", true, Some(now - 1_001), ended(WaitKind::Interrupted));
    assert_eq!(herd.state("claude-1"), "working");
    herd.told("1", false, Some(now - 999), ended(WaitKind::Interrupted));
    assert_eq!(herd.state("claude-1"), "stuck/interrupted");
    // The prompt that followed came first: its hook is younger than the mark.
    herd.claude("1", "UserPromptSubmit", r#""prompt":"y""#);
    herd.told("1", true, Some(now - 1), ended(WaitKind::Interrupted));
    assert_eq!(herd.state("claude-1"), "working");
    assert_eq!(observations(&herd), 1, "what moved nothing is not recorded");
}

#[test]
fn a_record_without_a_time_counts_where_it_was_seen_to_be_written() {
    let mut herd = working();
    herd.told("1", false, None, ended(WaitKind::Interrupted));
    assert_eq!(herd.state("claude-1"), "working");
    herd.told("1", true, None, ended(WaitKind::Interrupted));
    assert_eq!(herd.state("claude-1"), "stuck/interrupted");
}

#[test]
fn a_clock_that_was_set_back_blinds_nobody() {
    let mut herd = working();
    herd.now.wall_ms -= 3_600_000;
    herd.told("1", true, Some(herd.now.wall_ms), ended(WaitKind::Interrupted));
    assert_eq!(herd.state("claude-1"), "stuck/interrupted");
}

#[test]
fn only_the_answer_of_the_call_that_waits_ends_its_wait() {
    let mut herd = working();
    herd.claude("1", "PreToolUse", BASH);
    herd.claude("1", "PermissionRequest", BASH);
    herd.wait(3_000);
    let at = Some(herd.now.wall_ms);
    herd.told("1", true, at, answered("t2"));
    herd.told("1", true, at, ended(WaitKind::TurnEnd));
    assert_eq!((herd.state("claude-1").as_str(), observations(&herd)), ("stuck/permission", 0));
    herd.told("1", true, at, answered("t1"));
    assert_eq!(herd.state("claude-1"), "working");
    herd.told("1", true, at, ended(WaitKind::Interrupted));
    assert_eq!(herd.state("claude-1"), "stuck/interrupted");
    // Who interrupts sits there: one call, for the permission.
    herd.wait(60_000);
    assert_eq!(herd.calls.len(), 1);
    assert_eq!(herd.restarted().state("claude-1"), "stuck/interrupted");
}

#[test]
fn a_hook_that_started_before_the_mark_and_comes_after_it_moves_nothing() {
    let mut herd = working();
    herd.claude("1", "PreToolUse", BASH);
    let before = herd.now.wall_ms;
    herd.wait(500);
    herd.told("1", true, Some(herd.now.wall_ms), ended(WaitKind::Interrupted));
    let late = |herd: &mut Herd, event: &str, started_at_ms: u64| {
        herd.late("1", event, BASH, started_at_ms);
        herd.state("claude-1")
    };
    assert_eq!(late(&mut herd, "PermissionRequest", before), "stuck/interrupted");
    assert_eq!(late(&mut herd, "PreToolUse", before), "stuck/interrupted");
    // A prompt after the mark is one, also where the clock was set back.
    herd.now.wall_ms -= 60_000;
    let now = herd.now.wall_ms;
    assert_eq!(late(&mut herd, "UserPromptSubmit", now), "working");
}

#[test]
fn the_files_of_those_that_wait_or_work_are_named() {
    let mut herd = Herd::new();
    let origin = || herdbook_events::Origin {
        vars: vec![("HOME".into(), "/h".into())],
        ..herdbook_events::Origin::default()
    };
    let hook = |herd: &mut Herd, event: &str, more: &str| {
        let path = "/h/.claude/projects/-app/1.jsonl";
        let body =
            format!(r#"{{"session_id":"1","transcript_path":"{path}","hook_event_name":"{event}",{more}}}"#);
        herd.hook("claude", &body, origin());
    };
    let files = |herd: &Herd| {
        let files = herd.engine.transcripts().into_iter();
        files.map(|file| (file.path.display().to_string(), file.of_child)).collect::<Vec<_>>()
    };
    hook(&mut herd, "SessionStart", r#""source":"startup""#);
    assert_eq!(files(&herd), []);
    hook(&mut herd, "UserPromptSubmit", r#""prompt":"x""#);
    let own = ("/h/.claude/projects/-app/1.jsonl".to_owned(), false);
    assert_eq!(files(&herd), std::slice::from_ref(&own));
    hook(&mut herd, "PreToolUse", &format!(r#"{BASH},"agent_id":"a7""#));
    hook(&mut herd, "PermissionRequest", &format!(r#"{BASH},"agent_id":"a7""#));
    let child = ("/h/.claude/projects/-app/1/subagents/agent-a7.jsonl".to_owned(), true);
    assert_eq!(files(&herd), [child, own]);
    herd.wait(3_000);
    herd.told("1", true, None, answered("t1"));
    assert_eq!(herd.state("claude-1"), "working");
    hook(&mut herd, "SessionEnd", r#""reason":"exit""#);
    assert_eq!(files(&herd), []);
}

#[test]
fn a_turn_that_ended_twice_ended_once() {
    for transcript_first in [true, false] {
        let mut herd = working();
        let at = Some(herd.now.wall_ms);
        if transcript_first {
            herd.told("1", true, at, ended(WaitKind::TurnEnd));
        }
        herd.claude("1", "Stop", "");
        herd.told("1", true, at, ended(WaitKind::TurnEnd));
        herd.wait(10_000);
        assert_eq!((herd.state("claude-1").as_str(), herd.calls.len()), ("stuck/turn_end", 1));
        let stuck = herd.take_published().iter().filter(|event| event.starts_with("stuck ")).count();
        assert_eq!(stuck, 1);
    }
}

#[test]
fn work_in_the_background_outlives_the_turn_in_either_order() {
    for transcript_first in [true, false] {
        let mut herd = working();
        let (begun, at) = (herd.now.wall_ms, Some(herd.now.wall_ms + 100));
        herd.wait(100);
        if transcript_first {
            herd.told("1", true, at, ended(WaitKind::TurnEnd));
        }
        let tasks = r#""background_tasks":[{"id":"b1","type":"shell","status":"running"}]"#;
        herd.late("1", "Stop", tasks, begun);
        herd.told("1", true, at, ended(WaitKind::TurnEnd));
        assert_eq!(herd.state("claude-1"), "working");
    }
}

#[test]
fn nobody_is_raised_from_the_dead_or_called_while_headless() {
    let mut herd = working();
    herd.claude("1", "SessionEnd", "");
    for told in [
        Told::Opened { cwd: None, attended: Some(true) },
        Told::TurnStarted,
        ended(WaitKind::Error),
        answered("t1"),
    ] {
        herd.told("1", true, Some(herd.now.wall_ms), told);
        assert_eq!(herd.state("claude-1"), "ended");
    }
    herd.told("9", true, None, Told::Opened { cwd: None, attended: Some(false) });
    herd.told("9", true, None, Told::TurnStarted);
    assert_eq!(herd.state("claude-9"), "working");
    herd.told("9", true, None, ended(WaitKind::TurnEnd));
    assert_eq!((herd.state("claude-9").as_str(), herd.queue().len()), ("registered", 0));
}
