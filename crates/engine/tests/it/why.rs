//! What a person may ask about a state: what was ruled out, what would change it, and what cannot be looked at.

use herdbook_engine::view::{FromSource, WhyView};
use herdbook_engine::{HookDelivery, HumanAct, Input};
use herdbook_events::{Origin, Process, SessionKey, Shows, Told, WaitKind};

use crate::Herd;
use crate::screen::look;

const BASH: &str = r#""tool_name":"Bash","tool_input":{"command":"make"}"#;

fn why(herd: &Herd, key: &str) -> WhyView {
    herd.engine.why(herd.now, &SessionKey::posted(key).unwrap()).unwrap()
}

/// What was ruled out, as "source fact: reason", with how often where that was more than once.
fn ruled_out(herd: &Herd) -> Vec<String> {
    let words = |passed: &herdbook_engine::view::RuledOut| {
        let times = if passed.times > 1 { format!(" x{}", passed.times) } else { String::new() };
        format!("{} {}: {}{times}", passed.source, passed.fact, passed.reason)
    };
    why(herd, "claude-1").ruled_out.iter().map(words).collect()
}

fn said(list: &[FromSource]) -> Vec<String> {
    list.iter().map(|said| format!("{}: {}", said.source, said.words)).collect()
}

/// A session that asks for permission for `make`.
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
fn a_sibling_and_a_reminder_do_not_answer_a_permission() {
    let mut herd = asking();
    herd.wait(50);
    let read = r#""tool_name":"Read","tool_input":{"file_path":"a"},"tool_use_id":"t2""#;
    herd.claude("1", "PreToolUse", read);
    herd.wait(400);
    herd.claude("1", "PostToolUse", read);
    herd.wait(6_000);
    herd.claude("1", "Notification", r#""notification_type":"permission_prompt","message":"m""#);
    assert_eq!(
        ruled_out(&herd),
        [
            "hook PreToolUse (Read): a call of the same batch: it began within 250 ms of the request",
            "hook PostToolUse (Read): another call than this one is asked about",
            "hook Notification (permission_prompt): a reminder comes late: its host's requests tell when it asks",
        ]
    );
    let evidence: Vec<String> = why(&herd, "claude-1").session.evidence.into_iter().map(|e| e.fact).collect();
    assert_eq!(evidence, ["UserPromptSubmit", "PreToolUse (Bash)", "PermissionRequest (Bash)"]);
    herd.wait(1_000);
    // An answer makes all that history of another state.
    herd.claude("1", "PostToolUse", &format!(r#"{BASH},"tool_use_id":"t1""#));
    assert_eq!((herd.state("claude-1"), ruled_out(&herd)), ("working".into(), vec![]));
}

#[test]
fn repeats_of_a_turn_end_are_one_note_with_their_number_and_the_last_id() {
    let mut herd = Herd::new();
    herd.claude("1", "Stop", "");
    for turn in 1..=13 {
        herd.wait(3_000);
        herd.claude("1", "Stop", &format!(r#""n":{turn}"#));
    }
    assert_eq!(ruled_out(&herd), ["hook Stop: it says once more what is known x13"]);
    let last = herd.journal.iter().rfind(|record| record.kind == "hook").unwrap();
    assert_eq!(why(&herd, "claude-1").ruled_out[0].id.as_ref(), Some(&last.id));
    // The same call by another registration comes at once and is told as such.
    herd.claude("1", "Stop", r#""n":13"#);
    assert_eq!(ruled_out(&herd)[1], "hook Stop: the same call by another registration of the hook");
}

#[test]
fn each_reason_for_which_a_hook_does_not_count_is_told() {
    let reason = |herd: &Herd| why(herd, "claude-1").ruled_out.pop().unwrap().reason;
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    let begun = herd.now.wall_ms - 5;
    herd.claude("1", "SubagentStart", r#""agent_id":"a""#);
    herd.claude("1", "SubagentStop", r#""agent_id":"a""#);
    assert_eq!(reason(&herd), "it is a subagent's, not the session's own");
    herd.claude("1", "SessionStart", r#""source":"compact""#);
    assert_eq!(reason(&herd), "its turn goes on");
    herd.claude("1", "Notification", r#""notification_type":"idle_prompt","message":"m""#);
    assert_eq!(reason(&herd), "a reminder so soon after a sign of work is about an older turn");
    herd.wait(1_000);
    herd.claude("1", "Stop", "");
    herd.wait(5_000);
    herd.claude("1", "Notification", r#""notification_type":"idle_prompt","message":"m""#);
    assert_eq!(reason(&herd), "it says once more what is known");
    herd.claude("1", "PostToolUse", &format!(r#"{BASH},"tool_use_id":"t9""#));
    assert_eq!(reason(&herd), "the turn is over, and this is late");
    herd.act(HumanAct::Settle(SessionKey::posted("claude-1").unwrap()));
    herd.claude("1", "Stop", r#""again":1"#);
    assert_eq!(reason(&herd), "you settled it, and this is nothing new");
    herd.claude("1", "SessionEnd", "");
    herd.claude("1", "Stop", r#""again":2"#);
    assert_eq!(reason(&herd), "the session is over");
    // A hook without a stamp that began before the line of the transcript that moved the session.
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.wait(100);
    let interrupted = Told::TurnEnded { kind: WaitKind::Interrupted, message: String::new() };
    herd.told("1", true, Some(herd.now.wall_ms), interrupted);
    herd.late("1", "PreToolUse", BASH, begun);
    assert_eq!(reason(&herd), "it began before what last moved the session");
    herd.input(Input::Hook(HookDelivery {
        host: "claude".into(),
        native_event: None,
        delivery: 77,
        stamp_ms: None,
        started_at_ms: None,
        origin: Origin::default(),
        body: br#"{"session_id":"1","hook_event_name":"Stop","cwd":"/srv"#.to_vec(),
        cut: false,
        spooled: false,
        earlier_boot: false,
    }));
    assert_eq!(reason(&herd), "it could not be read");
}

#[test]
fn what_is_not_in_the_journal_has_no_id_and_ends_with_the_run() {
    let mut herd = asking();
    look(&mut herd, "1", Shows::Busy, 0);
    herd.wait(500);
    let old = Some(herd.now.wall_ms - 60_000);
    herd.told("1", true, old, Told::TurnEnded { kind: WaitKind::TurnEnd, message: String::new() });
    assert_eq!(
        ruled_out(&herd),
        [
            "pane pane %1 shows work: its dialog was not seen yet: it may still be drawn",
            "transcript turn over: it is older than what last moved the session",
        ]
    );
    assert!(why(&herd, "claude-1").ruled_out.iter().all(|passed| passed.id.is_none()));
    assert_eq!(ruled_out(&herd.restarted()), [] as [&str; 0]);
    // A line that only agrees is no news of either kind.
    herd.told("1", true, old, Told::TurnStarted);
    assert_eq!(ruled_out(&herd).len(), 2);
}

#[test]
fn a_sleep_of_the_machine_is_no_time_in_the_past_either() {
    let mut herd = Herd::new();
    let prompt = r#"{"session_id":"1","cwd":"/srv/demo","hook_event_name":"UserPromptSubmit","prompt":"x"}"#;
    herd.hook("claude", prompt, Origin::default());
    let begun = herd.now.wall_ms;
    // The lid is closed for nine hours, and the turn goes on a minute after it is opened.
    herd.now.wall_ms += 9 * 3_600_000;
    herd.wait(60_000);
    herd.claude("1", "PreToolUse", BASH);
    assert_eq!(herd.past(begun + 3_600_000).state("claude-1"), "working");
    // Where nothing followed, the time that a restart would count has passed.
    herd.journal.pop();
    assert_eq!(herd.past(begun + 3_600_000).state("claude-1"), "unknown");
}

#[test]
fn what_would_change_a_state_follows_from_its_waits_and_its_sources() {
    let mut herd = Herd::new();
    let claude = |herd: &mut Herd, event: &str, more: &str| {
        let path = "/home/dev/.claude/projects/-app/1.jsonl";
        let body = format!(
            r#"{{"session_id":"1","cwd":"/srv/demo","transcript_path":"{path}","hook_event_name":"{event}"{more}}}"#
        );
        let vars = vec![
            ("TMUX_PANE".into(), "%1".into()),
            ("TMUX".into(), "/tmp/t/default,42,0".into()),
            ("HOME".into(), "/home/dev".into()),
        ];
        let ancestors = vec![Process { pid: 4242, start: Some(7) }];
        herd.hook("claude", &body, Origin { vars, ancestors, ..Origin::default() });
    };
    claude(&mut herd, "UserPromptSubmit", r#","prompt":"x""#);
    let working = why(&herd, "claude-1");
    assert_eq!(
        said(&working.would_change),
        [
            "hook: a question, the turn's end",
            "transcript: the turn's end, an error, or an interruption (Esc)",
            "pane: a quiet prompt, or a dialog",
        ]
    );
    assert_eq!(said(&working.not_looked_at), ["process: only one hook named process 4242"]);
    claude(&mut herd, "PreToolUse", &format!(r#",{BASH},"tool_use_id":"t1""#));
    claude(&mut herd, "PermissionRequest", &format!(",{BASH}"));
    let asks = why(&herd, "claude-1");
    assert_eq!(
        said(&asks.would_change),
        [
            "hook: the end of that Bash call, another call, a prompt, the turn's end",
            "transcript: that call's result, or an interruption (Esc, No)",
            "pane: work, or a quiet prompt (Esc, No)",
            "process: the end of process 4242",
            "you: `herdbook settle`",
        ]
    );
    assert_eq!(said(&asks.not_looked_at), [] as [&str; 0]);
    claude(&mut herd, "Stop", "");
    let rests = why(&herd, "claude-1");
    assert_eq!(
        said(&rests.would_change),
        [
            "hook: a prompt, a call, a question",
            "transcript: the start of a turn",
            "process: the end of process 4242",
            "you: `herdbook settle`",
        ]
    );
    assert_eq!(said(&rests.not_looked_at), ["pane: not looked at while it rests"]);
    claude(&mut herd, "SessionEnd", "");
    let over = why(&herd, "claude-1");
    assert_eq!(said(&over.would_change), ["hook: a start, a prompt of yours"]);
    assert_eq!(said(&over.not_looked_at), [] as [&str; 0]);
}

#[test]
fn sources_that_cannot_be_looked_at_are_named_with_the_reason() {
    let mut herd = Herd::new();
    let cursor = r#"{"session_id":"1","conversation_id":"1","hook_event_name":"beforeSubmitPrompt"}"#;
    herd.hook("cursor", cursor, Origin::default());
    herd.stuck("p", 1, "m");
    let far = Origin { machine: Some("build-7".into()), ..Origin::default() };
    herd.hook("claude", r#"{"session_id":"far","cwd":"/srv","hook_event_name":"Stop"}"#, far);
    assert_eq!(
        said(&why(&herd, "cursor-1").not_looked_at),
        [
            "transcript: the transcripts of cursor are not understood",
            "pane: its pane is not known",
            "process: its process is not known",
        ]
    );
    let posted = ["posted: unstuck, ended, or another stuck", "you: `herdbook settle`"];
    assert_eq!(said(&why(&herd, "p").would_change), posted);
    let each = |words: &str| ["transcript", "pane", "process"].map(|source| format!("{source}: {words}"));
    assert_eq!(said(&why(&herd, "p").not_looked_at), each("its producer alone tells of it"));
    assert_eq!(said(&why(&herd, "claude-far").not_looked_at), each("it runs on build-7"));
}

#[test]
fn what_would_change_a_state_holds_in_odd_states_too() {
    // Only its pane tells of it: anything but a dialog ends it, also after it was settled.
    let mut herd = Herd::new();
    herd.wait(1_000);
    look(&mut herd, "9", Shows::Dialog { kind: WaitKind::Dialog, sure: true }, 1_000);
    let key = herd.queue().pop().unwrap();
    let of_pane = ["hook: any word of a session in its pane", "pane: no dialog, the end of its agent"];
    assert_eq!(said(&why(&herd, &key).would_change)[..2], of_pane);
    herd.act(HumanAct::Settle(SessionKey::posted(&key).unwrap()));
    look(&mut herd, "9", Shows::Dialog { kind: WaitKind::Dialog, sure: true }, 2_000);
    assert_eq!(herd.state(&key), "registered");
    assert_eq!(said(&why(&herd, &key).would_change), of_pane);
    look(&mut herd, "9", Shows::Ready { kind: WaitKind::TurnEnd }, 0);
    assert_eq!(herd.state(&key), "absent");
    // A wait that left the queue for age is back with any word.
    let mut herd = Herd::new();
    let stop = |event: &str| format!(r#"{{"session_id":"1","cwd":"/srv","hook_event_name":"{event}"}}"#);
    herd.hook("claude", &stop("Stop"), Origin::default());
    herd.wait(24 * 3_600_000 + 1);
    assert_eq!(herd.state("claude-1"), "unknown");
    assert_eq!(said(&why(&herd, "claude-1").would_change)[0], "hook: any word of it");
    herd.hook("claude", &stop("SubagentStop"), Origin::default());
    assert_eq!(herd.state("claude-1"), "stuck/turn_end");
    // Where no human sits nobody is asked.
    let mut herd = Herd::new();
    let vars = vec![("CLAUDE_CODE_SESSION_ATTENDED".into(), "0".into())];
    let start = r#"{"session_id":"1","cwd":"/srv","hook_event_name":"SessionStart","source":"startup"}"#;
    herd.hook("claude", start, Origin { vars, ..Origin::default() });
    assert_eq!(said(&why(&herd, "claude-1").would_change), ["hook: a prompt, a call"]);
}

#[test]
fn the_evidence_begins_with_the_last_prompt() {
    let mut herd = Herd::new();
    for prompt in ["x", "y"] {
        herd.claude("1", "UserPromptSubmit", &format!(r#""prompt":"{prompt}""#));
        herd.wait(1_000);
        herd.claude("1", "PermissionRequest", r#""tool_name":"Bash","tool_input":{"command":"make"}"#);
        herd.wait(8 * 60_000);
    }
    let facts: Vec<String> = herd.engine.sessions()[0].evidence.iter().map(|one| one.fact.clone()).collect();
    assert_eq!(facts, ["UserPromptSubmit", "PermissionRequest (Bash)"]);
}
