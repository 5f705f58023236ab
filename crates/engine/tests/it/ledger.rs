//! The ledger: what counts as a wait and as work, how long, and how it ended.

use herdbook_engine::book::KeptSpan;
use herdbook_engine::{Doing, HookDelivery, HumanAct, Input};
use herdbook_events::{Origin, Process, SessionKey};

use crate::{Herd, START_MS};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;

/// What a session did, one word and the seconds each; what goes on ends in `+`.
fn book(herd: &Herd, session: &str) -> Vec<String> {
    let own = |span: &KeptSpan| &*span.session == session;
    herd.engine.spans(herd.now, 0).spans.into_iter().filter(own).map(words).collect()
}

fn words(span: KeptSpan) -> String {
    let doing = match span.doing {
        Doing::Working => "works",
        Doing::Waiting(kind) => kind.as_str(),
    };
    let end = match span.end {
        Some(end) => format!(" {}", format!("{end:?}").to_lowercase()),
        None => "+".into(),
    };
    format!("{doing} {}{end}", span.lasted_ms / SECOND)
}

fn bash(id: &str) -> String {
    format!(r#""tool_name":"Bash","tool_input":{{"command":"make {id}"}},"tool_use_id":"{id}""#)
}

fn ask(herd: &mut Herd, session: &str, id: &str) {
    herd.claude(session, "PreToolUse", &bash(id));
    herd.claude(session, "PermissionRequest", &bash(id));
}

fn key(session: &str) -> SessionKey {
    SessionKey::posted(session).unwrap()
}

#[test]
fn three_permissions_a_turn_end_and_an_end_are_counted_as_they_were() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    for (id, answer_s) in [("a", 10), ("b", 20), ("c", 90)] {
        herd.wait(5 * SECOND);
        ask(&mut herd, "1", id);
        herd.wait(answer_s * SECOND);
        herd.claude("1", "PostToolUse", &bash(id));
    }
    herd.wait(5 * SECOND);
    herd.claude("1", "Stop", "");
    herd.wait(5 * MINUTE);
    herd.claude("1", "UserPromptSubmit", r#""prompt":"y""#);
    herd.wait(30 * SECOND);
    ask(&mut herd, "1", "d");
    herd.wait(40 * SECOND);
    herd.claude("1", "SessionEnd", "");
    let told = [
        "works 5 answered",
        "permission 10 answered",
        "works 5 answered",
        "permission 20 answered",
        "works 5 answered",
        "permission 90 answered",
        "works 5 answered",
        "turn_end 300 answered",
        "works 30 answered",
        "permission 40 ended",
    ];
    assert_eq!(book(&herd, "claude-1"), told);
    assert_eq!(book(&herd.restarted(), "claude-1"), told);
    let first = &herd.engine.spans(herd.now, 0).spans[1];
    assert_eq!((&*first.host, &*first.cwd), ("claude", "/srv/demo"));
    assert_eq!((first.from_ms, first.to_ms), (START_MS + 5_000, START_MS + 15_000));
    // What ended before is left out; what ended since counts in full.
    let since = herd.engine.spans(herd.now, START_MS + 440 * SECOND).spans;
    assert_eq!(
        since.into_iter().map(words).collect::<Vec<_>>(),
        ["turn_end 300 answered", "works 30 answered", "permission 40 ended"]
    );
}

#[test]
fn siblings_are_one_wait_and_a_subagents_wait_is_its_sessions() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("1", "PreToolUse", &bash("a"));
    herd.claude("1", "PreToolUse", &bash("b"));
    herd.claude("1", "PermissionRequest", &bash("a"));
    herd.claude("1", "PermissionRequest", &bash("b"));
    herd.wait(10 * SECOND);
    herd.claude("1", "PostToolUse", &bash("a"));
    herd.wait(10 * SECOND);
    herd.claude("1", "PostToolUse", &bash("b"));
    assert_eq!(book(&herd, "claude-1"), ["permission 20 answered", "works 0+"]);

    herd.claude("1", "SubagentStart", r#""agent_id":"k""#);
    let of_child = format!(r#"{},"agent_id":"k""#, bash("c"));
    herd.claude("1", "PreToolUse", &of_child);
    herd.claude("1", "PermissionRequest", &of_child);
    herd.wait(7 * SECOND);
    herd.claude("1", "PostToolUse", &of_child);
    assert_eq!(book(&herd, "claude-1")[1..], ["permission 7 answered", "works 0+"]);
}

#[test]
fn what_is_over_within_the_grace_period_was_no_wait() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    ask(&mut herd, "1", "a");
    herd.wait(1_500);
    herd.claude("1", "PostToolUse", &bash("a"));
    assert_eq!(book(&herd, "claude-1"), ["works 0+"]);
    ask(&mut herd, "1", "b");
    herd.wait(1_501);
    herd.claude("1", "PostToolUse", &bash("b"));
    assert_eq!(book(&herd, "claude-1"), ["permission 1 answered", "works 0+"]);
}

#[test]
fn settled_aged_out_and_begun_anew_are_told_apart_from_answers() {
    let mut herd = Herd::new();
    for session in ["1", "2", "3"] {
        herd.claude(session, "Stop", "");
    }
    herd.wait(MINUTE);
    herd.act(HumanAct::Settle(key("claude-1")));
    herd.claude("2", "SessionStart", r#""source":"startup""#);
    assert_eq!(book(&herd, "claude-1"), ["turn_end 60 settled"]);
    assert_eq!(book(&herd, "claude-2"), ["turn_end 60 ended"]);
    // A session of another kind of terminal has nothing to look at: a day later nobody can tell.
    herd.hook(
        "claude",
        r#"{"session_id":"4","cwd":"/srv/demo","hook_event_name":"Stop"}"#,
        Origin::default(),
    );
    herd.wait(2 * 86_400 * SECOND);
    assert_eq!(book(&herd, "claude-4"), ["turn_end 86400 stale"]);
    // It speaks again and waits again, from now on.
    herd.hook(
        "claude",
        r#"{"session_id":"4","cwd":"/srv/demo","hook_event_name":"Stop"}"#,
        Origin::default(),
    );
    herd.wait(MINUTE);
    assert_eq!(book(&herd, "claude-4"), ["turn_end 86400 stale", "turn_end 60+"]);
    // A pane is there to be looked at.
    assert_eq!(book(&herd, "claude-3"), ["turn_end 172920+"]);
}

#[test]
fn a_posted_session_behind_a_hook_fed_one_is_counted_once_and_a_headless_one_never() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.stuck("1", 1, "m");
    herd.claude("1", "Stop", "");
    let headless =
        r#"{"session_id":"2","cwd":"/srv/demo","hook_event_name":"UserPromptSubmit","prompt":"x"}"#;
    let origin = Origin { tty: herdbook_events::origin::Terminal::None, ..Origin::default() };
    herd.hook("claude", headless, origin);
    herd.wait(MINUTE);
    let all: Vec<String> = herd.engine.spans(herd.now, 0).spans.into_iter().map(words).collect();
    assert_eq!(all, ["turn_end 60+"]);
}

#[test]
fn time_without_a_daemon_is_no_work_and_an_answer_given_meanwhile_counts_when_it_was_given() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("2", "Stop", "");
    herd.wait(10 * SECOND);
    // The last word before the daemon is killed, a minute later.
    herd.claude("3", "Stop", "");
    herd.wait(MINUTE);
    let mut after = herd.restarted();
    let answered_ms = after.now.wall_ms + 30 * SECOND;
    after.now.wall_ms += 10 * MINUTE;
    after.input(Input::Daemon { what: "start", version: "0".into(), boot: None });
    assert_eq!(book(&after, "claude-1"), ["works 10 unseen", "works 0+"]);
    assert_eq!(book(&after, "claude-2"), ["turn_end 670+"]);
    let body = r#"{"session_id":"2","cwd":"/srv/demo","hook_event_name":"UserPromptSubmit","prompt":"y"}"#;
    after.input(Input::Hook(HookDelivery {
        host: "claude".into(),
        native_event: None,
        delivery: 99,
        stamp_ms: Some(4),
        started_at_ms: Some(answered_ms),
        origin: Origin::default(),
        body: body.into(),
        cut: false,
        spooled: true,
        earlier_boot: false,
    }));
    assert_eq!(book(&after, "claude-2"), ["turn_end 100 answered", "works 570+"]);
}

#[test]
fn work_that_falls_silent_counts_up_to_its_last_word_and_sleep_not_at_all() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.wait(MINUTE);
    herd.claude("1", "PreToolUse", &bash("a"));
    // What its subagent does is a sign of life, too.
    herd.wait(MINUTE);
    herd.claude("1", "SubagentStart", r#""agent_id":"k""#);
    herd.wait(3 * 60 * MINUTE);
    assert_eq!(book(&herd, "claude-1"), ["works 120 stale"]);
    herd.claude("1", "Stop", "");
    herd.wait(MINUTE);
    // The machine sleeps for a night.
    herd.now.wall_ms += 8 * 60 * MINUTE;
    herd.claude("1", "UserPromptSubmit", r#""prompt":"y""#);
    assert_eq!(book(&herd, "claude-1"), ["works 120 stale", "turn_end 60 answered", "works 0+"]);
}

#[test]
fn an_agent_that_dies_ends_its_wait() {
    let mut herd = Herd::new();
    let process = Process { pid: 77, start: Some(5) };
    let body = r#"{"session_id":"1","cwd":"/srv/demo","hook_event_name":"Stop"}"#;
    for _ in 0..2 {
        herd.hook("claude", body, Origin { ancestors: vec![process], ..Origin::default() });
        herd.wait(10 * SECOND);
    }
    herd.input(Input::Process { process, machine: None, alive: false });
    assert_eq!(book(&herd, "claude-1"), ["turn_end 20 ended"]);
}
