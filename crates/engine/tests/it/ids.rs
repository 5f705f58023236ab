//! Hosts whose requests have ids, and whose subagents have sessions of their own.

use herdbook_events::Origin;

use crate::Herd;

fn opencode(herd: &mut Herd, event: &str, properties: &str) {
    herd.wait(400);
    let body =
        format!(r#"{{"hook_event_name":"{event}","properties":{{{properties}}},"directory":"/srv/demo"}}"#);
    herd.hook("opencode", &body, Origin::default());
}

fn copilot(herd: &mut Herd, event: &str, session: &str, more: &str) {
    herd.wait(400);
    let body = format!(r#"{{"hook_event_name":"{event}","session_id":"{session}","cwd":"/srv/demo"{more}}}"#);
    herd.hook("copilot", &body, Origin::default());
}

#[test]
fn an_answer_ends_the_request_it_names_and_no_other() {
    let mut herd = Herd::new();
    opencode(&mut herd, "session.status", r#""sessionID":"r","status":{"type":"busy"}"#);
    let asked = |id: &str| {
        format!(r#""id":"{id}","sessionID":"r","permission":"bash","metadata":{{"command":"make {id}"}}"#)
    };
    opencode(&mut herd, "permission.asked", &asked("p1"));
    opencode(&mut herd, "permission.asked", &asked("p2"));
    assert_eq!(herd.engine.queue(herd.now)[0].message, "Tool: bash | Command: make p1");
    assert_eq!(herd.engine.sessions()[0].pending, 2);
    // The older name of the same event, for the same request.
    opencode(&mut herd, "permission.updated", r#""id":"p2","sessionID":"r","type":"bash","title":"make p2""#);
    assert_eq!(herd.engine.sessions()[0].pending, 2);
    opencode(&mut herd, "permission.replied", r#""requestID":"p1","sessionID":"r","reply":"reject""#);
    assert_eq!(herd.state("opencode-r"), "stuck/permission");
    opencode(&mut herd, "permission.replied", r#""permissionID":"p2","sessionID":"r","response":"once""#);
    assert_eq!(herd.state("opencode-r"), "working");
    let question = r#""id":"q1","sessionID":"r","questions":[{"question":"Red?"},{"question":"Blue?"}]"#;
    opencode(&mut herd, "question.asked", question);
    assert_eq!(herd.engine.queue(herd.now)[0].message, "Question: Red? / Blue?");
    opencode(&mut herd, "question.rejected", r#""requestID":"q1","sessionID":"r""#);
    assert_eq!(herd.state("opencode-r"), "working");
}

#[test]
fn an_abort_stays_an_interruption_when_the_session_goes_idle() {
    let mut herd = Herd::new();
    opencode(&mut herd, "session.status", r#""sessionID":"r","status":{"type":"busy"}"#);
    opencode(
        &mut herd,
        "session.error",
        r#""sessionID":"r","error":{"name":"MessageAbortedError","data":{}}"#,
    );
    opencode(&mut herd, "session.idle", r#""sessionID":"r""#);
    herd.wait(5_000);
    assert_eq!((herd.state("opencode-r").as_str(), herd.calls.len()), ("stuck/interrupted", 0));
    opencode(&mut herd, "session.status", r#""sessionID":"r","status":{"type":"busy"}"#);
    let error = r#""sessionID":"r","error":{"name":"ProviderAuthError","data":{"message":"no key"}}"#;
    opencode(&mut herd, "session.error", error);
    opencode(&mut herd, "session.idle", r#""sessionID":"r""#);
    assert_eq!(herd.state("opencode-r"), "stuck/error");
    assert_eq!(herd.engine.queue(herd.now)[0].message, "ProviderAuthError: no key");
}

#[test]
fn a_child_that_was_taken_for_a_session_is_over_once_its_parent_is_named() {
    let mut herd = Herd::new();
    opencode(&mut herd, "session.status", r#""sessionID":"r","status":{"type":"busy"}"#);
    opencode(&mut herd, "session.status", r#""sessionID":"kid","status":{"type":"busy"}"#);
    opencode(&mut herd, "session.idle", r#""sessionID":"kid""#);
    assert_eq!(herd.queue(), ["opencode-kid"]);
    opencode(&mut herd, "session.updated", &named("kid", "r"));
    assert_eq!((herd.queue().len(), herd.state("opencode-kid").as_str()), (0, "absent"));
    let published = herd.take_published();
    assert_eq!(published[published.len() - 2..], ["unstuck opencode-kid", "ended opencode-kid"]);
    // A child of the child waits for the root, too; so it does after a restart.
    opencode(&mut herd, "session.created", &named("grandkid", "kid"));
    let mut herd = herd.restarted();
    opencode(&mut herd, "permission.asked", r#""id":"p","sessionID":"grandkid","permission":"bash""#);
    assert_eq!(
        (herd.queue(), herd.state("opencode-r").as_str()),
        (vec!["opencode-r".to_owned()], "stuck/permission")
    );
    opencode(&mut herd, "session.idle", r#""sessionID":"grandkid""#);
    assert_eq!(herd.state("opencode-r"), "working");
    assert_eq!(herd.engine.sessions()[0].children, 1);
}

fn named(id: &str, parent: &str) -> String {
    format!(r#""sessionID":"{id}","info":{{"id":"{id}","parentID":"{parent}"}}"#)
}

#[test]
fn a_child_that_speaks_after_its_session_ended_is_no_session_of_its_own() {
    let mut herd = Herd::new();
    opencode(&mut herd, "session.status", r#""sessionID":"r","status":{"type":"busy"}"#);
    opencode(&mut herd, "session.created", &named("kid", "r"));
    opencode(&mut herd, "session.deleted", r#""sessionID":"r","info":{"id":"r"}"#);
    opencode(&mut herd, "tool.execute.after", r#""sessionID":"kid","tool":"bash","callID":"c""#);
    opencode(&mut herd, "session.idle", r#""sessionID":"kid""#);
    assert_eq!((herd.queue().len(), herd.state("opencode-kid").as_str()), (0, "absent"));
    // The session is taken up again, and so is its child.
    opencode(&mut herd, "chat.message", r#""sessionID":"r""#);
    opencode(&mut herd, "chat.message", r#""sessionID":"kid""#);
    assert_eq!(
        (herd.state("opencode-kid").as_str(), herd.state("opencode-r").as_str()),
        ("absent", "working")
    );
    assert_eq!(herd.engine.sessions()[0].children, 1);
}

#[test]
fn a_grandchild_that_is_named_before_its_parent_belongs_to_the_root() {
    let mut herd = Herd::new();
    opencode(&mut herd, "session.status", r#""sessionID":"r","status":{"type":"busy"}"#);
    opencode(&mut herd, "session.created", &named("grandkid", "kid"));
    opencode(&mut herd, "session.updated", &named("kid", "r"));
    opencode(&mut herd, "permission.asked", r#""id":"p","sessionID":"grandkid","permission":"bash""#);
    assert_eq!(herd.queue(), ["opencode-r"]);
    assert_eq!(herd.state("opencode-kid"), "absent");
}

#[test]
fn a_child_that_is_over_asks_no_more_though_its_parent_was_over_first() {
    let mut herd = Herd::new();
    opencode(&mut herd, "session.status", r#""sessionID":"r","status":{"type":"busy"}"#);
    opencode(&mut herd, "session.created", &named("kid", "r"));
    opencode(&mut herd, "permission.asked", r#""id":"p","sessionID":"kid","permission":"bash""#);
    opencode(&mut herd, "session.idle", r#""sessionID":"r""#);
    assert_eq!(herd.state("opencode-r"), "stuck/permission");
    let aborted = r#""sessionID":"kid","error":{"name":"MessageAbortedError"}"#;
    opencode(&mut herd, "session.error", aborted);
    assert_eq!(herd.state("opencode-r"), "stuck/turn_end");
}

#[test]
fn a_second_prompt_of_copilot_is_a_wait_of_its_own() {
    let mut herd = Herd::new();
    let call = |command: &str| format!(r#","tool_name":"Bash","tool_input":{{"command":"{command}"}}"#);
    let shown = |command: &str| {
        format!(r#","notification_type":"permission_prompt","message":"Run command: {command}""#)
    };
    copilot(&mut herd, "UserPromptSubmit", "s", r#","prompt":"x""#);
    copilot(&mut herd, "PreToolUse", "s", &call("make"));
    copilot(&mut herd, "PreToolUse", "s", &call("ls"));
    copilot(&mut herd, "Notification", "s", &shown("make"));
    herd.wait(5_000);
    // The first one is answered, and the second is shown before the first call is over.
    copilot(&mut herd, "Notification", "s", &shown("ls"));
    copilot(&mut herd, "Notification", "s", &shown("ls"));
    copilot(&mut herd, "PostToolUse", "s", &call("make"));
    assert_eq!(herd.state("copilot-s"), "stuck/permission");
    assert_eq!(herd.engine.queue(herd.now)[0].message, "Run command: ls");
    copilot(&mut herd, "PostToolUse", "s", &call("ls"));
    assert_eq!(herd.state("copilot-s"), "working");
}

#[test]
fn copilots_prompt_is_answered_by_the_call_it_quotes() {
    let mut herd = Herd::new();
    let call = |command: &str| format!(r#","tool_name":"Bash","tool_input":{{"command":"{command}"}}"#);
    copilot(&mut herd, "UserPromptSubmit", "s", r#","prompt":"x""#);
    copilot(&mut herd, "PreToolUse", "s", &call("make"));
    copilot(&mut herd, "PreToolUse", "s", &call("ls"));
    let shown = r#","notification_type":"permission_prompt","message":"Run command: make""#;
    copilot(&mut herd, "Notification", "s", shown);
    copilot(&mut herd, "PostToolUse", "s", &call("ls"));
    assert_eq!(herd.state("copilot-s"), "stuck/permission");
    copilot(&mut herd, "PostToolUse", "s", &call("make"));
    assert_eq!(herd.state("copilot-s"), "working");
    // A failed model call ends the turn without a stop.
    copilot(
        &mut herd,
        "ErrorOccurred",
        "s",
        r#","error":{"message":"400"},"error_context":"model_call","recoverable":true"#,
    );
    assert_eq!(herd.state("copilot-s"), "stuck/error");
}

#[test]
fn a_subagent_of_copilot_is_no_session_and_its_permission_waits_at_the_root() {
    let mut herd = Herd::new();
    let inside = r#","agent_id":"a","agent_type":"general-purpose","parent_agent_id":"s""#;
    let call = format!(r#"{inside},"tool_name":"Bash","tool_input":{{"command":"make"}}"#);
    copilot(&mut herd, "UserPromptSubmit", "s", r#","prompt":"x""#);
    copilot(&mut herd, "PreToolUse", "s", r#","tool_name":"Agent","tool_input":{}"#);
    copilot(&mut herd, "UserPromptSubmit", "a", &format!(r#"{inside},"prompt":"look""#));
    assert_eq!((herd.state("copilot-a").as_str(), herd.engine.sessions()[0].children), ("absent", 1));
    copilot(&mut herd, "PreToolUse", "a", &call);
    copilot(
        &mut herd,
        "Notification",
        "s",
        r#","notification_type":"permission_prompt","message":"Run command: make""#,
    );
    assert_eq!(herd.state("copilot-s"), "stuck/permission");
    copilot(&mut herd, "PostToolUse", "a", &call);
    assert_eq!(herd.state("copilot-s"), "working");
    copilot(&mut herd, "Stop", "a", inside);
    copilot(&mut herd, "SubagentStop", "s", inside);
    assert_eq!((herd.state("copilot-s").as_str(), herd.engine.sessions()[0].children), ("working", 0));
    copilot(&mut herd, "Stop", "s", "");
    assert_eq!(herd.state("copilot-s"), "stuck/turn_end");
}
