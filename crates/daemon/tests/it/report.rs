//! What programs report of themselves, as JSON and as the bytes of a terminal.

use serde_json::{Value, json};

use crate::support::{Scratch, claude, stop_call};

const BYTES: (&str, &str) = ("Content-Type", "application/octet-stream");

fn state(daemon: &crate::support::Daemon, session: &str) -> Value {
    let session = session.replace('%', "%25").replace(':', "%3A");
    let session = daemon.get(&format!("/v1/sessions/{session}")).json();
    json!([session["host"], session["state"], session["kind"], session["message"]])
}

#[test]
fn a_script_that_reports_is_in_the_queue_and_in_the_journal() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let body = r#"{"state":"blocked","kind":"permission","app":"deploy","msg":"Deploy to eu?","pane":"%7"}"#;
    let posted = daemon.post("/v1/status", body);
    assert_eq!(posted.both(), (200, r#"{"ok":true,"reports":1,"passed_over":0}"#));
    assert_eq!(daemon.queue(), ["status-pane:%7"]);
    let asks = json!(["deploy", "stuck", "permission", "Deploy to eu?"]);
    assert_eq!(state(&daemon, "status-pane:%7"), asks);
    let why = daemon.get("/v1/sessions/status-pane%3A%257/why").json();
    assert_eq!(why["evidence"][0]["source"], "status");
    assert_eq!(why["evidence"][0]["fact"], "deploy says blocked (permission)");
    daemon.stop();
    let daemon = scratch.start();
    assert_eq!(state(&daemon, "status-pane:%7"), asks, "after a restart");
    daemon.post("/v1/status", r#"{"state":"clear","pane":"%7"}"#);
    assert_eq!(daemon.queue(), [] as [&str; 0]);
}

#[test]
fn the_bytes_of_a_terminal_are_read_in_their_order() {
    let daemon = Scratch::new().start();
    let bytes = "\x1b[1mhi\x1b]7501;state=working:app=build\x07\x1b]7501;?\x07\x1b]7501;state=odd\x07\
                 \x1b]7501;state=done:app=build:msg=QnVpbHQ=\x1b\\ and \x1b]7501;state=idle";
    let pane = ("X-Tmux-Pane", "%7");
    let posted = daemon.request("POST", "/v1/status", &[BYTES, pane], Some(bytes));
    assert_eq!(posted.both(), (200, r#"{"ok":true,"reports":2,"passed_over":1}"#));
    assert_eq!(state(&daemon, "status-pane:%7"), json!(["build", "stuck", "turn_end", "Built"]));
    let by_query =
        daemon.request("POST", "/v1/status?tty=/dev/pts/3", &[BYTES], Some("\x1b]7501;state=done\x07"));
    assert_eq!(by_query.status, 200);
    assert_eq!(daemon.queue(), ["status-pane:%7", "status-tty:/dev/pts/3"]);
}

#[test]
fn a_hook_fed_session_in_the_pane_is_the_one_that_is_meant() {
    let daemon = Scratch::new().start();
    let mut call = claude(1, "s1", "UserPromptSubmit", json!({ "prompt": "x" }));
    call.origin.vars = vec![("TMUX_PANE".into(), "%7".into()), ("TMUX".into(), "/tmp/t/default,42,0".into())];
    daemon.frame(&call);
    for body in [
        r#"{"state":"working","app":"claude-code","pane":"%7"}"#,
        r#"{"state":"blocked","app":"claude-code","msg":"dialog open","pane":"%7","socket":"/tmp/t/default"}"#,
    ] {
        assert_eq!(daemon.post("/v1/status", body).status, 200);
    }
    assert_eq!(state(&daemon, "claude-s1"), json!(["claude", "stuck", "dialog", "dialog open"]));
    let other = r#"{"state":"working","app":"claude-code","pane":"%7","socket":"/tmp/u/default"}"#;
    daemon.post("/v1/status", other);
    assert_eq!(state(&daemon, "claude-s1")[1], "stuck", "a pane of another server");
    daemon.post("/v1/status", r#"{"state":"working","app":"claude-code","pane":"%7"}"#);
    assert_eq!(state(&daemon, "claude-s1")[1], "working");
    daemon.frame(&stop_call(2, "s1"));
    assert_eq!(state(&daemon, "claude-s1"), json!(["claude", "stuck", "turn_end", "Done."]));
}

#[test]
fn a_process_that_reports_is_missed_when_it_is_gone() {
    let daemon = Scratch::new().start();
    #[expect(clippy::disallowed_methods, reason = "a process to be killed")]
    let mut program = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let key = format!("status-pid:{}", program.id());
    daemon.post("/v1/status", &json!({ "state": "blocked", "pid": program.id() }).to_string());
    assert_eq!(daemon.queue(), [key.as_str()]);
    program.kill().unwrap();
    program.wait().unwrap();
    crate::support::wait_until("the end of the program", || daemon.queue().is_empty());
    assert_eq!(state(&daemon, &key)[1], "ended");
}

#[test]
fn what_is_wrong_is_named_and_changes_nothing() {
    let daemon = Scratch::new().start();
    let field = |field: &str, words: &str| format!("invalid status: field '{field}' must be {words}");
    for (body, words) in [
        (
            r#"{"state":"paused","pane":"%1"}"#,
            field("state", "one of idle, working, done, blocked, error, clear"),
        ),
        (r#"{"state":"idle"}"#, field("pane", "there, or 'pid', or 'tty'")),
        (r#"{"state":"idle","pid":"x"}"#, field("pid", "a process id")),
        ("{", "invalid status: EOF while parsing an object at line 1 column 1".to_owned()),
        ("[]", "invalid status: invalid type: sequence, expected a map at line 1 column 0".to_owned()),
    ] {
        let answer = daemon.post("/v1/status", body);
        assert_eq!((answer.status, answer.json()), (400, json!({ "error": words })), "{body}");
    }
    let nowhere = daemon.request("POST", "/v1/status", &[BYTES], Some("\x1b]7501;state=done\x07"));
    assert_eq!(nowhere.status, 400);
    let query = daemon.request("POST", "/v1/status?pid=x", &[BYTES], Some(""));
    let words = "invalid query: pid: invalid digit found in string";
    assert_eq!((query.status, query.json()), (400, json!({ "error": words })));
    let page = ("Origin", "https://evil.example");
    let refused = daemon.request("POST", "/v1/status", &[BYTES, page], Some("x"));
    assert_eq!(refused.status, 403);
    let form = ("Content-Type", "text/plain");
    assert_eq!(daemon.request("POST", "/v1/status", &[form], Some("x")).status, 415);
    assert_eq!(daemon.request("POST", "/v1/queue/skip", &[BYTES], Some("x")).status, 415);
    assert_eq!(daemon.get("/v1/sessions").json()["count"], 0);
    assert_eq!(daemon.get("/v1/status").status, 200, "the daemon's own");
}
