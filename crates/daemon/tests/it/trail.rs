//! The routes of the Trail Boss reference: bodies to the letter.

use serde_json::json;

use crate::support::{Scratch, stuck};

const T: u64 = 1_735_689_600_000;

#[test]
fn the_references_curl_works_as_printed() {
    let daemon = Scratch::new().start();
    let body = "{\n    \"type\": \"stuck\",\n    \"sessionId\": \"claude-42-abc123\",\n    \"paneId\": \"%446\",\n    \"cwd\": \"/home/coding/project\",\n    \"transcriptPath\": \"/home/coding/.claude/sessions/abc123/transcript.jsonl\",\n    \"reason\": \"stopped\",\n    \"message\": \"The user has not responded. Waiting for input.\",\n    \"timestamp\": 1735689600000\n  }";
    let posted = daemon.post("/event/normalized", body);
    assert_eq!(posted.both(), (200, r#"{"ok":true}"#));
    assert_eq!(posted.header("content-type"), Some("application/json"));
    let queue = daemon.get("/queue");
    let id = queue.json()["items"][0]["id"].as_str().unwrap().to_owned();
    assert!(!id.is_empty());
    assert_eq!(
        queue.body,
        format!(
            r#"{{"items":[{{"id":"{id}","session_id":"claude-42-abc123","pane_id":"%446","cwd":"/home/coding/project","reason":"stopped","last_message":"The user has not responded. Waiting for input.","stuck_at":1735689600000,"skip_cooldown_until":null}}],"count":1}}"#
        )
    );
    assert_eq!(daemon.get("/status").body, r#"{"status":"ok","stuckCount":1}"#);
    assert_eq!(daemon.get("/next").body, r#"{"paneId":"%446","sessionId":"claude-42-abc123","reason":null}"#);
}

#[test]
fn an_empty_queue_answers_in_the_references_words() {
    let daemon = Scratch::new().start();
    assert_eq!(daemon.get("/queue").body, r#"{"items":[],"count":0}"#);
    assert_eq!(daemon.get("/status").body, r#"{"status":"ok","stuckCount":0}"#);
    assert_eq!(daemon.get("/next").body, r#"{"paneId":null,"reason":"queue empty"}"#);
    let skipped = daemon.request("POST", "/skip", &[], None);
    assert_eq!(skipped.both(), (200, r#"{"paneId":null,"reason":"queue empty"}"#));
}

#[test]
fn each_validation_rule_is_answered_with_its_text() {
    let daemon = Scratch::new().start();
    let with = |field: &str, value: serde_json::Value| {
        let mut event = stuck("s", T);
        match value.is_null() {
            true => event.as_object_mut().unwrap().remove(field),
            false => event.as_object_mut().unwrap().insert(field.into(), value),
        };
        event.to_string()
    };
    let cases = [
        (with("sessionId", json!(null)), "missing required field 'sessionId'"),
        (with("paneId", json!(null)), "missing required field 'paneId'"),
        (with("cwd", json!(null)), "missing required field 'cwd'"),
        (with("transcriptPath", json!(null)), "missing required field 'transcriptPath'"),
        (with("reason", json!(null)), "missing required field 'reason'"),
        (with("message", json!(null)), "missing required field 'message'"),
        (with("timestamp", json!(null)), "missing required field 'timestamp'"),
        (with("type", json!(null)), "missing required field 'type'"),
        (with("type", json!("paused")), "unknown type 'paused'"),
        (with("type", json!("stuckk")), "unknown type 'stuckk'"),
        (with("reason", json!("blocked")), "field 'reason' must be 'stopped' or 'permission', got 'blocked'"),
        (with("sessionId", json!("")), "field 'sessionId' must not be empty"),
        (with("paneId", json!("")), "field 'paneId' must not be empty"),
        (with("sessionId", json!("x".repeat(1025))), "field 'sessionId' must be at most 1024 bytes"),
        (
            with("timestamp", json!(-1)),
            "field 'timestamp' must be a number greater than 0 (Unix milliseconds)",
        ),
        (with("timestamp", json!("2024-01-01")), "field 'timestamp' must be a number"),
        ("[]".into(), "expected a JSON object"),
        ("{".into(), "malformed JSON at line 1 column 1"),
    ];
    for (body, words) in cases {
        let answer = daemon.post("/event/normalized", &body);
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.json(), json!({ "error": format!("Invalid event: {words}") }), "{body}");
    }
    assert_eq!(daemon.queue(), [] as [&str; 0]);
}

#[test]
fn extra_members_and_fractional_times_are_accepted() {
    let daemon = Scratch::new().start();
    let mut event = stuck("s", T);
    event["timestamp"] = json!(1_735_689_600_000.9);
    event["note"] = json!({ "nested": [1, 2] });
    assert_eq!(daemon.post_event(&event).status, 200);
    assert_eq!(daemon.get("/queue").json()["items"][0]["stuck_at"], json!(T));
}

#[test]
fn repeats_and_events_out_of_order_are_answered_with_200() {
    let daemon = Scratch::new().start();
    let event = |kind: &str| json!({ "type": kind, "sessionId": "a", "timestamp": T });
    let registered = json!({
        "type": "registered", "sessionId": "a", "paneId": "%1", "cwd": "", "transcriptPath": "", "timestamp": T,
    });
    for unknown in ["unstuck", "ended"] {
        assert_eq!(daemon.post_event(&event(unknown)).both(), (200, r#"{"ok":true}"#));
    }
    assert_eq!(daemon.queue(), [] as [&str; 0]);
    daemon.post_event(&stuck("a", T + 1));
    daemon.post_event(&stuck("b", T + 2));
    assert_eq!(daemon.queue(), ["a", "b"]);
    let mut again = stuck("a", T + 3);
    again["message"] = json!("again");
    daemon.post_event(&again);
    assert_eq!(daemon.queue(), ["b", "a"], "a repeat moves it by its time");
    assert_eq!(daemon.get("/queue").json()["items"][1]["last_message"], "again");
    for _ in 0..2 {
        assert_eq!(daemon.post_event(&event("ended")).status, 200);
    }
    assert_eq!(daemon.queue(), ["b"]);
    daemon.post_event(&stuck("a", T + 4));
    assert_eq!(daemon.queue(), ["b"], "stuck after ended is ignored");
    daemon.post_event(&registered);
    daemon.post_event(&stuck("a", T + 5));
    assert_eq!(daemon.queue(), ["b", "a"]);
    for _ in 0..2 {
        assert_eq!(daemon.post_event(&event("unstuck")).status, 200);
    }
    assert_eq!(daemon.queue(), ["b"]);
}

#[test]
fn skip_moves_the_head_out_of_the_answers_for_a_while() {
    let daemon = Scratch::new().start();
    daemon.post_event(&stuck("a", T));
    daemon.post_event(&stuck("b", T + 1));
    let skipped = daemon.request("POST", "/skip", &[], None);
    assert_eq!(skipped.body, r#"{"paneId":"%3","sessionId":"b","reason":null}"#);
    assert_eq!(daemon.queue(), ["b"]);
    assert_eq!(daemon.get("/status").body, r#"{"status":"ok","stuckCount":1}"#);
    let skipped = daemon.request("POST", "/skip", &[], None);
    assert_eq!(skipped.body, r#"{"paneId":null,"reason":"queue empty"}"#);
    let all = daemon.get("/v1/queue").json();
    assert_eq!(all["count"], 2);
    assert_eq!(all["items"][0]["session_id"], "a");
    assert_eq!(all["items"][0]["stuck_at"], T, "skip never changes the time");
    assert!(all["items"][0]["skip_cooldown_until"].as_u64().unwrap() > T);
    // A repeated stuck keeps the cooldown.
    daemon.post_event(&stuck("a", T + 9));
    assert_eq!(daemon.queue(), [] as [&str; 0]);
    // unstuck drops it.
    daemon.post_event(&json!({ "type": "unstuck", "sessionId": "a", "timestamp": T + 10 }));
    daemon.post_event(&stuck("a", T + 11));
    assert_eq!(daemon.queue(), ["a"]);
}

#[test]
fn a_raw_hook_payload_with_its_pane_is_queued() {
    let daemon = Scratch::new().start();
    let payload = r#"{"session_id":"abc","transcript_path":"","cwd":"/home/dev/app","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"Shall I go on?"}"#;
    let json = ("Content-Type", "application/json");
    let missing = daemon.request("POST", "/event", &[json], Some(payload));
    assert_eq!(missing.both(), (400, r#"{"error":"missing header 'X-Tmux-Pane'"}"#));
    let answer = daemon.request("POST", "/event", &[json, ("X-Tmux-Pane", "%7")], Some(payload));
    assert_eq!(answer.both(), (200, r#"{"ok":true}"#));
    assert_eq!(daemon.get("/next").body, r#"{"paneId":"%7","sessionId":"claude-abc","reason":null}"#);
    for garbage in ["", "{\"session_id\":", "\u{0}\u{1}"] {
        let answer = daemon.request("POST", "/event", &[json, ("X-Tmux-Pane", "%7")], Some(garbage));
        assert_eq!(answer.both(), (200, r#"{"ok":true}"#), "{garbage:?}");
    }
}

#[test]
fn ids_from_outside_may_be_anything_up_to_a_kibibyte() {
    let daemon = Scratch::new().start();
    let ids = [
        "../../../srv/evil",
        "/etc/x",
        ".",
        "..",
        "a\u{0}b",
        "a\nb",
        "%2e%2e",
        "\u{202e}gnp",
        "é",
        "e\u{301}",
    ];
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(daemon.post_event(&stuck(id, T + at as u64)).status, 200, "{id:?}");
    }
    assert_eq!(daemon.queue(), ids);
    for id in ids {
        assert_eq!(daemon.client().session(id).unwrap().session_id, id);
    }
}

#[test]
fn unknown_routes_and_methods_are_refused_as_json() {
    let daemon = Scratch::new().start();
    assert_eq!(daemon.get("/nowhere").both(), (404, r#"{"error":"no such route"}"#));
    let wrong = r#"{"error":"this route does not take that method"}"#;
    for path in ["/event/normalized", "/event", "/skip"] {
        assert_eq!(daemon.get(path).both(), (405, wrong), "{path}");
    }
    assert_eq!(daemon.request("POST", "/queue", &[], None).both(), (405, wrong));
    let options = daemon.request("OPTIONS", "/event/normalized", &[], None);
    assert_eq!(options.status, 405);
    assert_eq!(options.header("access-control-allow-origin"), None);
}

#[test]
fn a_body_over_the_limit_is_refused() {
    let daemon = Scratch::new().start();
    let mut event = stuck("s", T);
    event["message"] = json!("x".repeat(1 << 20));
    let answer = daemon.post_event(&event);
    assert_eq!(answer.both(), (413, r#"{"error":"the body has more than 1048576 bytes"}"#));
    assert_eq!(daemon.queue(), [] as [&str; 0]);
}
