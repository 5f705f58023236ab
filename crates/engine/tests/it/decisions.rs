//! What was decided about a hook call ends what that call opened, and nothing else.

use herdbook_engine::{Decided, DecidedBy, Doing, End, Input, RouteRun};
use herdbook_events::{Process, SessionKey};
use serde_json::Value;

use crate::Herd;

const BASH: &str = r#""tool_name":"Bash","tool_input":{"command":"make"}"#;
const SESSION: &str = "claude-1";

pub fn human() -> DecidedBy {
    let process = Some(Process { pid: 77, start: Some(5) });
    DecidedBy::Human { how: "cli".into(), process, refused: None }
}

pub fn route() -> DecidedBy {
    let run = |route: &str, outcome| RouteRun {
        route: route.into(),
        trusted: "00".into(),
        outcome,
        reason: None,
        error: None,
        took_ms: 3,
    };
    DecidedBy::Routes(vec![run("tool/before/x", Some("deny")), run("tool/before/y", Some("continue"))])
}

/// A session of Claude Code that asks for leave to use Bash. The request is the third hook call.
fn asking() -> Herd {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("1", "PreToolUse", &format!(r#"{BASH},"tool_use_id":"t1""#));
    herd.wait(100);
    herd.claude("1", "PermissionRequest", BASH);
    assert_eq!(herd.state(SESSION), "stuck/permission");
    herd.wait(2_000);
    herd.take_published();
    herd
}

fn record(herd: &Herd) -> Value {
    let record = herd.journal.iter().rfind(|record| record.kind == "decision").unwrap();
    serde_json::from_str(record.payload.get()).unwrap()
}

/// The last evidence of the session: source and words.
fn evidence(herd: &Herd) -> (String, String) {
    let view = herd.engine.session(&SessionKey::posted(SESSION).unwrap()).unwrap();
    view.evidence.last().map(|last| (last.source.clone(), last.fact.clone())).unwrap()
}

fn passed(herd: &Herd) -> Vec<String> {
    let why = herd.engine.why(herd.now, &SessionKey::posted(SESSION).unwrap()).unwrap();
    why.ruled_out.into_iter().filter(|note| note.source == "decision").map(|note| note.reason).collect()
}

#[test]
fn what_the_human_allows_or_denies_is_answered() {
    for (outcome, words) in [("allow", "the human allowed it by cli"), ("deny", "the human denied it by cli")]
    {
        let mut herd = asking();
        herd.decide(3, SESSION, outcome, human());
        assert_eq!(herd.state(SESSION), "working");
        assert_eq!(herd.take_published(), ["unstuck claude-1"]);
        assert_eq!(herd.withdrawn, [SESSION], "he was called, and need not come any more");
        assert_eq!(evidence(&herd), ("decision".into(), words.into()));
        let hook = herd.journal.iter().filter(|record| record.kind == "hook").nth(2).unwrap();
        let record = record(&herd);
        assert_eq!(record["hookId"], hook.id);
        assert_eq!(record["human"], serde_json::json!({"how": "cli", "pid": 77, "start": 5}));
        let spans = herd.engine.spans(herd.now, 0).spans;
        let wait = spans.iter().find(|span| matches!(span.doing, Doing::Waiting(_))).unwrap();
        assert_eq!(wait.end, Some(End::Answered), "to answer is not to settle");
    }
}

#[test]
fn a_routes_answer_names_the_routes_that_gave_it() {
    let mut herd = asking();
    herd.decide(3, SESSION, "deny", route());
    assert_eq!(herd.state(SESSION), "working");
    assert_eq!(evidence(&herd).1, "route tool/before/x answered deny");
}

#[test]
fn what_the_host_takes_for_the_answer_counts_not_what_was_answered() {
    let told = |outcome, given| {
        let mut herd = asking();
        herd.input(Input::Decided(Decided {
            delivery: 3,
            host: "claude".into(),
            native_event: "PermissionRequest".into(),
            session: SessionKey::posted(SESSION),
            by: route(),
            outcome,
            given,
            reason: None,
            told: Some("{}".into()),
            left_out: Vec::new(),
            took_ms: 1,
        }));
        (herd.state(SESSION), record(&herd)["given"].as_str().map(str::to_owned))
    };
    assert_eq!(told("ask", "deny"), ("working".into(), Some("deny".into())), "nobody is asked there");
    // A reason or a context may be told without it.
    assert_eq!(told("deny", "continue"), ("stuck/permission".into(), Some("continue".into())));
}

#[test]
fn to_ask_to_pass_through_and_what_nobody_was_told_change_nothing() {
    for outcome in ["ask", "continue"] {
        let mut herd = asking();
        herd.decide(3, SESSION, outcome, route());
        assert_eq!(herd.state(SESSION), "stuck/permission", "{outcome}");
    }
    let mut herd = asking();
    let refused = Some("an agent is among its ancestors".to_owned());
    herd.input(Input::Decided(Decided {
        delivery: 3,
        host: "claude".into(),
        native_event: "PermissionRequest".into(),
        session: SessionKey::posted(SESSION),
        by: DecidedBy::Human { how: "cli".into(), process: None, refused },
        outcome: "allow",
        given: "allow",
        reason: None,
        told: None,
        left_out: Vec::new(),
        took_ms: 0,
    }));
    assert_eq!(herd.state(SESSION), "stuck/permission");
    assert_eq!(record(&herd)["human"]["refused"], "an agent is among its ancestors");
}

#[test]
fn one_for_a_wait_that_is_over_changes_nothing() {
    let mut herd = asking();
    herd.claude("1", "PostToolUse", &format!(r#"{BASH},"tool_use_id":"t1","tool_response":1"#));
    herd.claude("1", "Stop", "");
    assert_eq!(herd.state(SESSION), "stuck/turn_end");
    herd.decide(3, SESSION, "allow", human());
    assert_eq!(herd.state(SESSION), "stuck/turn_end");
    assert_eq!(passed(&herd), ["nothing that it is about is open"]);
    // Nor is it for the next request.
    herd.claude("1", "PermissionRequest", r#""tool_name":"Write","tool_input":{}"#);
    herd.decide(3, SESSION, "deny", human());
    assert_eq!(herd.state(SESSION), "stuck/permission");
}

#[test]
fn main_agent_and_subagent_are_answered_one_by_one() {
    let mut herd = asking();
    herd.claude("1", "PermissionRequest", r#""tool_name":"Write","tool_input":{"a":1},"agent_id":"s1""#);
    let waits = herd.engine.waits();
    assert_eq!(waits.len(), 2);
    assert_eq!((waits[0].agent.as_deref(), waits[0].tool.as_deref()), (None, Some("Bash")));
    assert_eq!((waits[1].agent.as_deref(), waits[1].tool.as_deref()), (Some("s1"), Some("Write")));
    assert_eq!(herd.engine.wait_of(3).unwrap(), waits[0]);
    assert_eq!(herd.engine.wait_of(4).unwrap(), waits[1]);
    herd.take_published();
    herd.decide(4, SESSION, "allow", human());
    assert_eq!(herd.engine.waits(), waits[..1]);
    assert!(herd.engine.is_open(&waits[0].session, &waits[0].id));
    assert!(!herd.engine.is_open(&waits[1].session, &waits[1].id));
    assert_eq!(herd.take_published(), [""; 0], "it still waits");
    herd.decide(3, SESSION, "deny", human());
    assert_eq!(herd.state(SESSION), "working");
    assert_eq!(herd.take_published(), ["unstuck claude-1"]);
}

#[test]
fn a_question_that_its_call_and_its_request_ask_is_answered_by_a_decision_about_either() {
    let ask = r#""tool_name":"AskUserQuestion","tool_input":{"questions":[]}"#;
    for delivery in [2, 3] {
        let mut herd = Herd::new();
        herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
        herd.claude("1", "PreToolUse", &format!(r#"{ask},"tool_use_id":"t1""#));
        herd.claude("1", "PermissionRequest", ask);
        assert_eq!(herd.state(SESSION), "stuck/question");
        herd.decide(delivery, SESSION, "deny", route());
        assert_eq!(herd.state(SESSION), "working", "{delivery}");
    }
}

#[test]
fn a_yes_answers_no_question_and_no_plan() {
    for (tool, state) in [("AskUserQuestion", "stuck/question"), ("ExitPlanMode", "stuck/plan")] {
        let ask = format!(r#""tool_name":"{tool}","tool_input":{{}}"#);
        let mut herd = Herd::new();
        herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
        herd.claude("1", "PreToolUse", &format!(r#"{ask},"tool_use_id":"t1""#));
        herd.claude("1", "PermissionRequest", &ask);
        for delivery in [2, 3] {
            herd.decide(delivery, SESSION, "allow", route());
            assert_eq!(herd.state(SESSION), state, "its dialog stays");
        }
        // Another input beside the yes may have answered it: then the tool is over at once.
        herd.claude("1", "PostToolUse", &format!(r#"{ask},"tool_use_id":"t1","tool_response":1"#));
        assert_eq!(herd.state(SESSION), "working");
    }
}

#[test]
fn a_call_that_was_denied_before_it_ran_is_over() {
    let agent = r#""tool_name":"Agent","tool_input":{"prompt":"x"},"tool_use_id":"t1""#;
    for (outcome, state) in [("deny", "stuck/turn_end"), ("allow", "working")] {
        let mut herd = Herd::new();
        herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
        herd.claude("1", "PreToolUse", agent);
        herd.decide(2, SESSION, outcome, route());
        assert_eq!(herd.state(SESSION), "working");
        // While it is open, an older build's Stop is its subagent's (case F-045).
        herd.claude("1", "Stop", "");
        assert_eq!(herd.state(SESSION), state, "{outcome}");
    }
}

#[test]
fn a_stop_that_was_denied_goes_on() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("1", "Stop", "");
    herd.claude("1", "Stop", r#""stop_hook_active":true"#);
    herd.decide(3, SESSION, "deny", route());
    assert_eq!(herd.state(SESSION), "working");
    // To allow a stop answers nothing.
    herd.wait(3_000);
    herd.claude("1", "Stop", r#""stop_hook_active":true"#);
    herd.decide(4, SESSION, "allow", route());
    assert_eq!(herd.state(SESSION), "stuck/turn_end");
}

#[test]
fn a_prompt_that_was_denied_begins_no_turn() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    assert_eq!(herd.state(SESSION), "working");
    herd.decide(1, SESSION, "deny", route());
    assert_eq!(herd.state(SESSION), "registered");
    herd.claude("1", "UserPromptSubmit", r#""prompt":"y""#);
    herd.claude("1", "PreToolUse", &format!(r#"{BASH},"tool_use_id":"t1""#));
    assert_eq!(herd.state(SESSION), "working");
}

#[test]
fn secrets_are_marked_in_what_was_said_and_why() {
    let mut herd = asking();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let says = |text: &str| format!("{text} {secret}");
    let run = RouteRun {
        route: "permission/request/x".into(),
        trusted: "00".into(),
        outcome: Some("deny"),
        reason: Some(says("r")),
        error: Some(says("e")),
        took_ms: 1,
    };
    herd.input(Input::Decided(Decided {
        delivery: 3,
        host: "claude".into(),
        native_event: "PermissionRequest".into(),
        session: SessionKey::posted(SESSION),
        by: DecidedBy::Routes(vec![run]),
        outcome: "deny",
        given: "deny",
        reason: Some(says("why")),
        told: Some(format!(r#"{{"reason":"{secret}","n":1.0}}"#)),
        left_out: vec![says("context")],
        took_ms: 1,
    }));
    let record = record(&herd).to_string();
    assert!(!record.contains(&secret), "{record}");
    assert_eq!(record.matches("[redacted:").count(), 5, "{record}");
    assert!(record.contains(r#"\"n\":1.0"#), "{record}");
}

#[test]
fn a_restart_reads_decisions_again() {
    let mut herd = asking();
    herd.decide(3, SESSION, "allow", human());
    let again = herd.restarted();
    assert_eq!(again.state(SESSION), "working");
    assert_eq!(evidence(&again), evidence(&herd));
    assert_eq!(again.engine.wait_of(3), None);
}
