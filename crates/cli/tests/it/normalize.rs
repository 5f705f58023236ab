//! `herdbook normalize`.

use crate::support::TestEnv;

/// Runs one payload of a host through `normalize` and returns the line, with the key replaced by its length.
fn normalized(host: &str, more: &[&str], payload: &str) -> String {
    let env = TestEnv::new();
    let words = [&["normalize", "--host", host], more].concat();
    let ran = env.run_with(&words, payload.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    let line = ran.stdout.strip_suffix('\n').unwrap().to_owned();
    match line.split_once("\"idempotencyKey\":\"") {
        Some((before, after)) => {
            let (key, after) = after.split_once('"').unwrap();
            assert!(key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{key}");
            format!("{before}\"idempotencyKey\":\"<{} hex>\"{after}", key.len())
        }
        None => line,
    }
}

#[test]
fn a_tool_call_of_claude_is_one_canonical_line_with_its_numbers_as_sent() {
    let payload = r#"{"session_id": "s-1", "cwd": "/home/dev/shop", "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "ls", "n": 1.0}, "tool_use_id": "t-1", "extra": null}"#
        .replace("\n        ", " ");
    assert_eq!(
        normalized("claude", &[], &payload),
        concat!(
            r#"{"event":"tool/before","host":"claude","nativeEvent":"PreToolUse","idempotencyKey":"<64 hex>","#,
            r#""payload":{"sessionId":{"value":"s-1","nativeKey":"session_id"},"#,
            r#""cwd":{"value":"/home/dev/shop","nativeKey":"cwd"},"toolName":{"value":"Bash","nativeKey":"tool_name"},"#,
            r#""toolInput":{"value":{"command":"ls","n":1.0},"nativeKey":"tool_input"},"#,
            r#""toolUseId":{"value":"t-1","nativeKey":"tool_use_id"}},"#,
            r#""native":{"session_id":"s-1","cwd":"/home/dev/shop","hook_event_name":"PreToolUse","tool_name":"Bash","#,
            r#""tool_input":{"command":"ls","n":1.0},"tool_use_id":"t-1","extra":null}}"#
        )
    );
}

#[test]
fn an_event_outside_the_families_has_neither_family_nor_key() {
    let line =
        normalized("claude", &[], r#"{"session_id":"s-1","hook_event_name":"Notification","message":"m"}"#);
    assert!(
        line.starts_with(r#"{"event":null,"host":"claude","nativeEvent":"Notification","payload":{"#),
        "{line}"
    );
}

#[test]
fn the_event_can_be_named_beside_a_payload_that_does_not_name_it() {
    let line =
        normalized("cursor", &["--event", "stop"], r#"{"conversation_id":"c-1","status":"completed"}"#);
    assert!(line.starts_with(r#"{"event":"stop","host":"cursor","nativeEvent":"stop","#), "{line}");
}

#[test]
fn the_alias_is_the_same_command() {
    let env = TestEnv::new();
    let payload = br#"{"session_id":"s-1","hook_event_name":"Stop"}"#;
    let lines = ["normalize", "project"].map(|word| env.run_with(&[word, "--host", "codex"], payload).stdout);
    assert_eq!(lines[0], lines[1]);
    assert!(lines[0].starts_with(r#"{"event":"stop","host":"codex""#), "{}", lines[0]);
}

#[test]
fn a_bad_line_is_named_and_the_others_go_on() {
    let env = TestEnv::new();
    let input = b"{\"hook_event_name\": \"Stop\"\n\n[1]\n{\"session_id\":\"s-1\",\"hook_event_name\":\"Stop\"}\n\xff\xfe\n";
    let ran = env.run_with(&["normalize", "--host", "claude"], input);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    for (line, number) in lines.iter().zip([1, 3, 5]) {
        assert!(line.starts_with(&format!("error: line {number}: ")), "{}", ran.stderr);
    }
    assert_eq!(lines[3], "error: 3 of 4 lines could not be read as an event");
    assert!(lines[4].starts_with("hint: "), "{}", ran.stderr);
}

#[test]
fn an_unknown_host_is_warned_about_once() {
    let env = TestEnv::new();
    let ran = env.run_with(&["normalize", "--host", "acme"], b"{\"a\":1}\n{\"a\":2}\n");
    assert_eq!(ran.code, 0);
    assert_eq!(ran.stderr.matches("warning: host 'acme' is not known").count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stdout.lines().count(), 2);
    assert!(
        ran.stdout
            .starts_with(r#"{"event":null,"host":"acme","nativeEvent":null,"payload":{},"native":{"a":1}}"#)
    );
}

#[test]
fn what_a_payload_lacks_is_named_beside_its_event_on_demand() {
    let env = TestEnv::new();
    let payload = br#"{"conversation_id":"c","hook_event_name":"stop","cursor_version":"3.18.25","workspace_roots":[],"user_email":null,"status":1}"#;
    let ran = env.run_with(&["normalize", "--host", "cursor", "--check"], payload);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.starts_with(r#"{"event":"stop","host":"cursor","#), "{}", ran.stdout);
    let words = "warning: line 1: 'stop' of cursor 3.18.25: 'status' is no string, 'loop_count' is missing\n";
    assert_eq!(ran.stderr, words);
    let silent = env.run_with(&["normalize", "--host", "cursor"], payload);
    assert_eq!(silent.stderr, "");
}
