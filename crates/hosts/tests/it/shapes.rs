//! Payload shapes that hosts really send, and bytes that nobody should.

use std::fmt::Write;

use herdbook_events::{CanonicalEvent, Family, Field};
use herdbook_hosts::{MAX_DEPTH, Projected, Salvage, cwd, project, read};

fn event(host: &str, body: impl AsRef<[u8]>) -> CanonicalEvent {
    match project(host, None, body.as_ref()) {
        Projected::Event(event) => *event,
        Projected::Unreadable(salvage) => panic!("{}: {}", salvage.error, salvage.text),
    }
}

fn unreadable(host: &str, body: impl AsRef<[u8]>) -> Salvage {
    match project(host, Some("Given"), body.as_ref()) {
        Projected::Event(event) => panic!("an event: {}", event.native),
        Projected::Unreadable(salvage) => salvage,
    }
}

/// Prints the payload, one field a line.
fn payload(event: &CanonicalEvent) -> String {
    event.payload.iter().fold(String::new(), |mut text, (field, present)| {
        writeln!(text, "{} = {} {}", field.as_str(), present.native_key, present.value).unwrap();
        text
    })
}

#[test]
fn a_tool_use_of_each_host_reads_alike() {
    let claude = event(
        "claude",
        r#"{"session_id":"s-1","cwd":"/home/dev","prompt_id":"p-1","hook_event_name":"PreToolUse","tool_input":{"n":12345678901234567890},"tool_name":"Bash","model":"m"}"#,
    );
    assert_eq!(
        payload(&claude),
        "sessionId = session_id \"s-1\"\ncwd = cwd \"/home/dev\"\ntoolName = tool_name \"Bash\"\n\
         toolInput = tool_input {\"n\":12345678901234567890}\n"
    );
    assert_eq!((claude.session.as_deref(), claude.lineage.turn.as_deref()), (Some("s-1"), Some("p-1")));
    let cursor = event(
        "cursor",
        r#"{"conversation_id":"c-1","session_id":"s-9","generation_id":"g-1","transcript_path":null,"hook_event_name":"postToolUse","tool_output":"{\"ok\" : [ 1.0 ]}","tool_use_id":"a\nb","model":""}"#,
    );
    assert_eq!(
        payload(&cursor),
        "sessionId = conversation_id \"c-1\"\ntranscriptPath = transcript_path null\nmodel = model \"\"\n\
         toolUseId = tool_use_id \"a\\nb\"\ntoolResponse = tool_output {\"ok\":[1.0]}\n"
    );
    assert_eq!((cursor.session.as_deref(), cursor.lineage.turn.as_deref()), (Some("c-1"), Some("g-1")));
}

#[test]
fn copilots_two_spellings_and_opencodes_wrappers_read_the_same_fields() {
    let pascal = event(
        "copilot",
        r#"{"hook_event_name":"PostToolUse","session_id":"s-1","timestamp":"t","cwd":"/srv","tool_name":"Bash","tool_input":{},"tool_result":{"result_type":"success"}}"#,
    );
    assert_eq!(
        payload(&pascal),
        "sessionId = session_id \"s-1\"\ncwd = cwd \"/srv\"\ntoolName = tool_name \"Bash\"\ntoolInput = tool_input {}\n\
         toolResponse = tool_result {\"result_type\":\"success\"}\n"
    );
    // As 1.0.102 sends it under either name: it names itself, in camelCase.
    let shown = event(
        "copilot",
        r#"{"sessionId":"s-1","timestamp":1,"cwd":"/srv","message":"Run command: ls","hook_event_name":"Notification","notification_type":"permission_prompt"}"#,
    );
    assert_eq!(
        (shown.session.as_deref(), shown.native_event.as_deref()),
        (Some("s-1"), Some("Notification"))
    );
    let inside = event(
        "copilot",
        r#"{"hook_event_name":"Stop","session_id":"a-1","agent_id":"a-1","parent_agent_id":"s-1"}"#,
    );
    assert_eq!(
        (inside.lineage.agent.as_deref(), inside.lineage.parent.as_deref()),
        (Some("a-1"), Some("s-1"))
    );
    let wrapped = event(
        "opencode",
        r#"{"hook_event_name":"tool.execute.after","input":{"tool":"bash","sessionID":"s","callID":"c","args":{"n":1}},"output":{"title":"t","output":"text"},"directory":"/srv"}"#,
    );
    let flat = event(
        "opencode",
        r#"{"hook_event_name":"tool.execute.after","directory":"/srv","tool":"bash","sessionID":"s","callID":"c","args":{"n":1},"title":"t","output":"text"}"#,
    );
    let expected = "sessionId = sessionID \"s\"\ncwd = directory \"/srv\"\ntoolName = tool \"bash\"\ntoolInput = args {\"n\":1}\n\
                    toolUseId = callID \"c\"\ntoolResponse = output \"text\"\n";
    assert_eq!(payload(&wrapped), expected);
    assert_eq!(payload(&flat), expected);
    // A bare bus event: its own `type` is its name, not the permission's.
    let bus = event(
        "opencode",
        r#"{"type":"permission.updated","properties":{"id":"p","type":"bash","sessionID":"s","metadata":{}}}"#,
    );
    assert_eq!(bus.native_event.as_deref(), Some("permission.updated"));
    assert_eq!(
        payload(&bus),
        "sessionId = sessionID \"s\"\ntoolName = type \"bash\"\ntoolInput = metadata {}\n"
    );
    let old =
        event("opencode", r#"{"type":"session.created","properties":{"info":{"id":"s","parentID":null}}}"#);
    assert_eq!((old.session.as_deref(), payload(&old).as_str()), (Some("s"), ""));
}

#[test]
fn known_keys_come_out() {
    // Each key was computed with Node: JSON.stringify of {event, native: JSON.parse(text), target}, SHA-256.
    let known = [
        (
            "claude",
            r#"{ "session_id": "s-1", "hook_event_name": "Stop", "9": 1.0, "session_id": "s-2" }"#,
            "31d547609164c28aef0305b98394099ee193c1c90c1427590bcd3b03ba22ad03",
        ),
        (
            "codex",
            r#"{"session_id":"s-1","transcript_path":null,"hook_event_name":"PreToolUse","tool_name":"shell","tool_input":{"command":["ls","/tmp/é"],"timeout":1e4}}"#,
            "4ec12031290f2a07ef1c7c263996b8561ae43d4bd70900f53d3c17e9ca32d8b6",
        ),
        (
            "cursor",
            r#"{"conversation_id":"c-1","hook_event_name":"postToolUse","cursor_version":"3.9.0","tool_output":"{\"text\":\"cut \ud83d\"}","duration":0.1250}"#,
            "601297f325e31334760f9a61deabcb8395395019bacba66d7eb35012e6aa472f",
        ),
    ];
    for (host, native, key) in known {
        assert_eq!(event(host, native).idempotency_key.as_deref(), Some(key), "{host}");
    }
}

#[test]
fn byte_order_marks_go_and_those_inside_strings_stay() {
    let plain = r#"{"conversation_id":"c-1","hook_event_name":"stop","note":"a\ufeffb"}"#
        .replace("\\ufeff", "\u{feff}");
    for marks in ["", "\u{feff}", "\u{feff}\u{feff}", "\u{feff}\n\u{feff}"] {
        let event = event("cursor", format!("{marks}{plain}"));
        assert_eq!(event.native.get(), plain);
        assert_eq!(event.event, Some(Family::Stop));
    }
}

#[test]
fn lone_surrogates_are_kept_and_read_with_a_replacement() {
    let body = r#"{"session_id":"s-1","hook_event_name":"Stop","last_assistant_message":"x \udc00\ud83d y"}"#;
    let event = event("claude", body);
    assert_eq!(event.native.get(), body);
    assert_eq!(event.payload.text(Field::LastAssistantMessage).as_deref(), Some("x \u{fffd}\u{fffd} y"));
    let cut = r#"{"conversation_id":"c","hook_event_name":"postToolUse","tool_output":"{\"text\":\"cut \ud83c\"}"}"#;
    let response = self::event("cursor", cut).payload.get(Field::ToolResponse).unwrap().value.to_string();
    assert_eq!(response, r#"{"text":"cut \ud83c"}"#);
}

#[test]
fn a_response_may_have_any_shape_or_none() {
    for response in [r#"{"stdout":"clean"}"#, r#""clean\n""#, "[1]", "null", "0", "true"] {
        let body = format!(
            r#"{{"session_id":"s","hook_event_name":"PostToolUse","tool_input":null,"tool_use_id":null,"tool_response":{response}}}"#
        );
        let event = event("claude", body);
        assert_eq!(event.event, Some(Family::ToolAfter));
        assert_eq!(event.payload.get(Field::ToolResponse).unwrap().value.get(), response);
        assert_eq!(event.payload.get(Field::ToolInput).unwrap().value.get(), "null");
        assert!(event.payload.get(Field::ToolUseId).is_none());
    }
    assert!(event("claude", r#"{"hook_event_name":"PostToolUse"}"#).payload.iter().next().is_none());
}

#[test]
fn ill_shaped_values_are_left_out() {
    let one = |host: &str, name: &str, member: &str| {
        payload(&event(host, format!(r#"{{"hook_event_name":"{name}",{member}}}"#)))
    };
    assert_eq!(one("claude", "Stop", r#""stop_hook_active":1"#), "");
    assert_eq!(one("claude", "Stop", r#""stop_hook_active":true"#), "reentry = stop_hook_active true\n");
    assert_eq!(
        one("claude", "Stop", r#""last_assistant_message":null"#),
        "lastAssistantMessage = last_assistant_message null\n"
    );
    assert_eq!(one("claude", "Stop", r#""cwd":null"#), "");
    assert_eq!(one("claude", "Stop", r#""cwd":"""#), "cwd = cwd \"\"\n");
    assert_eq!(one("claude", "PreCompact", r#""trigger":"other""#), "");
    assert_eq!(one("claude", "PreCompact", r#""trigger":"\u0061uto""#), "trigger = trigger \"\\u0061uto\"\n");
    assert_eq!(one("claude", "Stop", r#""\u0063wd":"/x""#), "cwd = cwd \"/x\"\n");
    assert_eq!(one("claude", "Stop", r#""cwd":"/x","cwd":"/y""#), "cwd = cwd \"/y\"\n");
    assert_eq!(one("claude", "Stop", r#""cwd":"/x","cwd":7"#), "");
    for (count, reentry) in [("1", "true"), ("0", "false"), ("0.5", "true"), ("-1", "false"), ("-0", "false")]
    {
        assert_eq!(
            one("cursor", "stop", &format!(r#""loop_count":{count}"#)),
            format!("reentry = loop_count {reentry}\n")
        );
    }
    for count in ["\"1\"", "null", "true", "1e400"] {
        assert_eq!(one("cursor", "stop", &format!(r#""loop_count":{count}"#)), "", "{count}");
    }
    assert_eq!(one("cursor", "postToolUse", r#""tool_output":{"a":1}"#), "");
    assert_eq!(
        one("cursor", "postToolUse", r#""tool_output":"plain""#),
        "toolResponse = tool_output \"plain\"\n"
    );
    assert_eq!(one("cursor", "postToolUse", r#""tool_output":"""#), "toolResponse = tool_output \"\"\n");
    assert_eq!(one("cursor", "workspaceOpen", r#""workspace_roots":["/a",1]"#), "");
    assert_eq!(
        one("cursor", "workspaceOpen", r#""workspace_roots":[]"#),
        "workspaceRoots = workspace_roots []\n"
    );
}

#[test]
fn what_carries_a_cursor_version_is_cursors() {
    let body = |name: &str| {
        format!(
            r#"{{"conversation_id":"c-1","session_id":"s-1","cursor_version":"3.9.0","hook_event_name":"{name}"}}"#
        )
    };
    for (name, family) in [
        ("SessionStart", Family::SessionStart),
        ("UserPromptSubmit", Family::PromptSubmit),
        ("beforeSubmitPrompt", Family::PromptSubmit),
        ("Stop", Family::Stop),
        ("stop", Family::Stop),
    ] {
        let event = event("claude", body(name));
        assert_eq!((event.host.as_str(), event.event), ("cursor", Some(family)));
        assert_eq!(event.native_event.as_deref(), Some(name));
        assert_eq!(event.session.as_deref(), Some("c-1"));
        assert_eq!(event.payload.get(Field::SessionId).unwrap().native_key, "conversation_id");
    }
    let claude = r#"{"session_id":"s-1","hook_event_name":"UserPromptSubmit"}"#;
    assert_eq!(event("claude", claude).host, "claude");
}

#[test]
fn null_and_empty_identities_are_absent() {
    let cursor = r#"{"conversation_id":"","session_id":"s-1","cursor_version":"3","hook_event_name":"stop"}"#;
    assert_eq!(event("cursor", cursor).session.as_deref(), Some("s-1"));
    let nobody = r#"{"hook_event_name":"Stop","session_id":null,"conversation_id":null}"#;
    assert_eq!(event("claude", nobody).session, None);
}

#[test]
fn the_working_directory_may_be_a_workspace_root() {
    let told = |members: &str| {
        cwd(&event("cursor", format!(r#"{{"cursor_version":"3","hook_event_name":"stop",{members}}}"#)))
    };
    assert_eq!(told(r#""cwd":"/a","workspace_roots":["/b"]"#).as_deref(), Some("/a"));
    assert_eq!(told(r#""cwd":"","workspace_roots":["/b","/c"]"#).as_deref(), Some("/b"));
    for none in
        [r#""workspace_roots":[]"#, r#""workspace_roots":null,"cwd":null"#, r#""workspace_roots":[7]"#]
    {
        assert_eq!(told(none), None);
    }
    assert_eq!(cwd(&event("claude", r#"{"workspace_roots":["/b"]}"#)), None);
}

#[test]
fn codex_notify_is_an_event_outside_the_families() {
    let body = r#"{"type":"agent-turn-complete","thread-id":"s-1","turn-id":"t-9","cwd":"/home/dev","last-assistant-message":"Done."}"#;
    let event = event("codex", body);
    assert_eq!((event.event, event.native_event.as_deref()), (None, Some("agent-turn-complete")));
    assert_eq!((event.session.as_deref(), event.lineage.turn.as_deref()), (Some("s-1"), Some("t-9")));
    assert_eq!((event.idempotency_key, event.payload.iter().count()), (None, 0));
}

#[test]
fn unknown_hosts_and_events_are_kept_whole() {
    let body = r#"{"session_id":"s-1","hook_event_name":"PreToolUse","tool_name":"Bash"}"#;
    let foreign = event("somebody", body);
    assert_eq!((foreign.event, foreign.session.as_deref()), (None, Some("s-1")));
    assert_eq!((foreign.native_event.as_deref(), foreign.native.get()), (Some("PreToolUse"), body));
    assert_eq!((foreign.idempotency_key, foreign.payload.iter().count()), (None, 0));
    let new = event("claude", r#"{"session_id":"s-1","hook_event_name":"Tomorrow"}"#);
    assert_eq!((new.event, new.native_event.as_deref()), (None, Some("Tomorrow")));
    let notification =
        event("claude", r#"{"session_id":"s-1","hook_event_name":"Notification","message":"m"}"#);
    assert_eq!((notification.event, notification.idempotency_key), (None, None));
}

#[test]
fn the_argument_names_the_event_where_the_payload_does_not() {
    let named = |body: &str| match project("claude", Some("Stop"), body.as_bytes()) {
        Projected::Event(event) => (event.event, event.native_event),
        Projected::Unreadable(salvage) => panic!("{}", salvage.error),
    };
    assert_eq!(named("{}"), (Some(Family::Stop), Some("Stop".into())));
    assert_eq!(
        named(r#"{"hook_event_name":"SessionEnd"}"#),
        (Some(Family::SessionEnd), Some("SessionEnd".into()))
    );
}

#[test]
fn whole_strings_before_a_break_are_salvaged() {
    let cut = unreadable(
        "codex",
        "{\"session_id\":\"s-1\",\"cwd\":\"/home/dev\",\"hook_event_name\":\"Stop\",\"last_assistant_message\":\"done: \u{e6}}",
    );
    assert_eq!(cut.error, "line 1 column 89: the string that begins here is not closed");
    assert_eq!((cut.session.as_deref(), cut.native_event.as_deref()), (Some("s-1"), Some("Stop")));
    assert_eq!(cut.cwd.as_deref(), Some("/home/dev"));
    let half = unreadable("codex", r#"{"hook_event_name":"Stop","session_id":"5e55a001-00"#);
    assert_eq!((half.session, half.native_event.as_deref()), (None, Some("Stop")));
    let cursors = unreadable("claude", r#"{"cursor_version":"3","conversation_id":"c-1","prompt":"x"#);
    assert_eq!((cursors.host.as_str(), cursors.session.as_deref()), ("cursor", Some("c-1")));
    // The name that came as the argument is whole whatever became of the body.
    assert_eq!(cursors.native_event.as_deref(), Some("Given"));
    let nested = unreadable("claude", r#"{"a":{"session_id":"inner"},"session_id":7,"b":}"#);
    assert_eq!(nested.session, None);
}

#[test]
fn what_is_not_utf_8_is_unreadable_from_there_on() {
    let salvage =
        unreadable("claude", b"{\"session_id\":\"s-1\",\"prompt\":\"\xff\",\"hook_event_name\":\"Stop\"}");
    assert_eq!(salvage.error, "byte 31 and what follows is not UTF-8");
    assert_eq!((salvage.session.as_deref(), salvage.native_event.as_deref()), (Some("s-1"), Some("Given")));
    assert_eq!(salvage.text, "{\"session_id\":\"s-1\",\"prompt\":\"\u{fffd}\",\"hook_event_name\":\"Stop\"}");
    let behind = unreadable("claude", b"{\"session_id\":\"s-1\"}\xff");
    assert_eq!(behind.session.as_deref(), Some("s-1"));
}

#[test]
fn other_values_and_noise_are_unreadable() {
    for scalar in ["", " ", "null", "7", "\"x\"", "[{}]", "{} {}", "\u{feff}", "{", "\\", "\0"] {
        let salvage = unreadable("claude", scalar);
        assert_eq!((salvage.session, salvage.text.as_str()), (None, scalar), "{scalar:?}");
    }
    assert_eq!(unreadable("claude", "[1]").error, "the value is not an object");
    for (open, times) in [("{", 100_000), ("[", 100_000), ("{\"a\":", 100_000), ("\\", 1_000)] {
        assert_eq!(unreadable("codex", open.repeat(times)).session, None);
    }
    let nested =
        |depth: usize| format!(r#"{{"session_id":"s","a":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert_eq!(event("claude", nested(MAX_DEPTH - 1)).session.as_deref(), Some("s"));
    assert_eq!(unreadable("claude", nested(MAX_DEPTH)).session.as_deref(), Some("s"));
    assert_eq!(unreadable("claude", nested(100_000)).session.as_deref(), Some("s"));
}

/// Every prefix of a real shape, and every single byte changed, gives an answer and no panic.
#[test]
fn any_cut_and_any_changed_byte_gives_an_answer() {
    let whole = r#"{"session_id":"s-1","hook_event_name":"PostToolUse","tool_input":{"a":[1.5e3,-0,"é\ud83d\n"]},"tool_response":"{\"b\":1}","0":null,"cursor_version":"\\"}"#
        .as_bytes();
    for end in 0..whole.len() {
        let salvage = unreadable("cursor", &whole[..end]);
        assert_eq!(salvage.session.is_some(), end >= r#"{"session_id":"s-1""#.len(), "{end}");
    }
    for at in 0..whole.len() {
        for byte in [0, b'"', b'\\', b'{', b'}', b',', b'9', 0x80, 0xFF] {
            let mut changed = whole.to_vec();
            changed[at] = byte;
            if let Projected::Event(event) = project("cursor", None, &changed) {
                assert!(serde_json::from_str::<&serde_json::value::RawValue>(event.native.get()).is_ok());
                let mut line = String::new();
                read("cursor", None, &changed).unwrap().write_line(&mut line);
                assert_eq!(serde_json::to_string(&event).unwrap(), line);
            }
        }
    }
}
