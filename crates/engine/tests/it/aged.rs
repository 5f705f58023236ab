//! Old records without their texts: the fold is the same, and what is shown stays.

use herdbook_engine::record::Record;
use herdbook_engine::{HookDelivery, Input, Shown, aged};
use herdbook_events::{Origin, Told};

use herdbook_redact::Redactor;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Herd;

/// The journal with every record aged, but for those of what is shown.
pub fn age(herd: &Herd, shown: &Shown) -> Vec<Record> {
    let redactor = Redactor::new(&[3; 32]);
    let one = |record: &Record| {
        let mut record = record.clone();
        if let Some(payload) = aged(&redactor, record.kind, record.payload.get(), shown) {
            record.payload = RawValue::from_string(payload).unwrap();
        }
        // Again changes nothing more.
        assert_eq!(aged(&redactor, record.kind, record.payload.get(), shown), None, "{record:?}");
        record
    };
    herd.journal.iter().map(one).collect()
}

/// What a live engine shows now.
pub fn shown(herd: &Herd) -> Shown {
    herd.engine.shown()
}

fn natives(journal: &[Record]) -> Vec<Value> {
    let hooks = journal.iter().filter(|record| record.kind == "hook");
    hooks
        .map(|record| serde_json::from_str::<Value>(record.payload.get()).unwrap()["native"].clone())
        .collect()
}

#[test]
fn texts_give_way_to_marks_and_the_skeleton_stays() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"write the secret plan","n":1.50"#);
    let tool = r#""tool_name":"Bash","tool_input":{"command":"make plan","timeout":5},"tool_use_id":"t1""#;
    herd.claude("1", "PreToolUse", tool);
    herd.claude("1", "PermissionRequest", tool);
    herd.claude(
        "1",
        "UserPromptSubmit",
        r#""prompt":"<task-notification>\n a long story of a task that is over""#,
    );
    herd.claude("1", "Stop", r#""last_assistant_message":"The plan is written.""#);
    let before = natives(&herd.journal);
    let journal = age(&herd, &Shown::default());
    let after = natives(&journal);
    assert_eq!(after[0]["prompt"].as_str().unwrap().len(), "[redacted:aged:00000000]".len());
    for (key, value) in [("session_id", "1"), ("hook_event_name", "UserPromptSubmit"), ("cwd", "/srv/demo")] {
        assert_eq!(after[0][key], value);
    }
    assert!(journal[0].payload.get().contains(r#""n":1.50"#));
    // The request is about the same command as the call, and not any more about which.
    let command = |native: &Value| native["tool_input"]["command"].as_str().unwrap().to_owned();
    assert!(command(&after[1]) == command(&after[2]) && command(&after[1]).starts_with("[redacted:aged:"));
    assert_eq!(
        (&after[1]["tool_name"], &after[1]["tool_use_id"]),
        (&before[1]["tool_name"], &before[1]["tool_use_id"])
    );
    // Whose prompt it is its start tells.
    assert!(after[3]["prompt"].as_str().unwrap().starts_with("<task-notification>\n a l[redacted:aged:"));
    let text: String = journal.iter().map(|record| record.payload.get()).collect();
    for word in ["secret plan", "make plan", "long story", "is written"] {
        assert!(!text.contains(word), "{word}");
    }
    // What is shown keeps its texts.
    let kept = age(&herd, &shown(&herd));
    assert_eq!(natives(&kept), before);
}

#[test]
fn posted_and_unreadable_records_lose_their_texts_too() {
    let mut herd = Herd::new();
    herd.post(r#"{"type":"stuck","sessionId":"p","paneId":"%1","cwd":"","transcriptPath":"","reason":"stopped","message":"the plan","timestamp":5,"more":"of the plan"}"#);
    herd.input(Input::Hook(HookDelivery {
        host: "claude".into(),
        native_event: None,
        delivery: 77,
        stamp_ms: None,
        started_at_ms: None,
        origin: Origin::default(),
        body: br#"{"session_id":"1","prompt":"the plan"#.to_vec(),
        cut: false,
        spooled: false,
        earlier_boot: false,
    }));
    let text = |journal: &[Record]| journal.iter().map(|record| record.payload.get()).collect::<String>();
    assert_eq!(text(&herd.journal).matches("the plan").count(), 5, "{}", text(&herd.journal));
    let journal = age(&herd, &Shown::default());
    assert_eq!(text(&journal).matches("the plan").count(), 0, "{}", text(&journal));
    assert_eq!(text(&age(&herd, &shown(&herd))).matches("the plan").count(), 4);
}

#[test]
fn what_a_session_shows_of_a_child_in_a_session_of_its_own_stays() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.told("2", false, None, Told::ChildOf { parent: "1".into() });
    let tool = r#""tool_name":"Bash","tool_input":{"command":"make"}"#;
    herd.claude("2", "PermissionRequest", tool);
    let message =
        |herd: &Herd| herd.engine.sessions().into_iter().map(|view| view.message).collect::<Vec<_>>();
    assert_eq!(message(&herd), ["Tool: Bash | Command: make"]);
    assert_eq!(message(&herd.folded(age(&herd, &shown(&herd)))), ["Tool: Bash | Command: make"]);
}
