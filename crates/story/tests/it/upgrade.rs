//! Lines of a version that never was, read as lines of today's.

use herdbook_story::line::LINE_VERSION;
use herdbook_story::{
    Changed, Checker, History, Line, Options, Templates, UPGRADES, Unreadable, Upgrade, upgrade,
};
use serde_json::{Value, json};

use crate::shared::OWN_EXAMPLE;
use crate::writer::value;

/// Version 0 called the human's message `user.said`, and its text `words`.
fn from_zero(event_type: &str, payload: &str) -> Changed {
    if event_type != "user.said" {
        return Ok((event_type.to_owned(), payload.to_owned()));
    }
    let mut payload = value(payload);
    let members = payload.as_object_mut().unwrap();
    let Some(words) = members.remove("words") else {
        return Err(Unreadable { member: "payload.words".to_owned(), message: "is missing".to_owned() });
    };
    members.insert("text".to_owned(), words);
    Ok(("user.message-created".to_owned(), payload.to_string()))
}

const STEPS: [Upgrade; 1] = [Upgrade { from: 0, change: from_zero }];

/// A line as version 0 would have written it.
fn as_zero(line: &str) -> String {
    let mut line = value(line);
    line["v"] = json!(0);
    if line["type"] == "user.message-created" {
        line["type"] = json!("user.said");
        let members = line["payload"].as_object_mut().unwrap();
        let words = members.remove("text").unwrap();
        members.insert("words".to_owned(), words);
    }
    line.to_string()
}

#[test]
fn a_log_of_mixed_versions_is_read_as_one_of_today() {
    let (mut checker, mut history, mut today) = (
        Checker::new(Options::native()),
        History::new(Templates::default()),
        History::new(Templates::default()),
    );
    for (at, line) in OWN_EXAMPLE.lines().enumerate() {
        today.apply(&Line::read(line).unwrap()).unwrap();
        // The version is of a line, not of a file.
        let old = if at % 2 == 0 || line.contains("user.message-created") {
            as_zero(line)
        } else {
            line.to_owned()
        };
        let line = upgrade(&old, &STEPS).unwrap();
        assert_eq!(checker.push(&line), [], "{line}");
        history.apply(&Line::read(&line).unwrap()).unwrap();
    }
    assert!(OWN_EXAMPLE.contains("user.message-created"));
    assert_eq!(history.messages(), today.messages());
}

#[test]
fn only_type_version_and_payload_change() {
    let old = r#"{"v":0,"id":"01KDVDNBEW0000000000000060","mood":[1,{"a":2.50}],"type":"user.said","payload":{"mentions":[],"words":"hi"},"crc":"00000000"}"#;
    let new = r#"{"v":1,"id":"01KDVDNBEW0000000000000060","mood":[1,{"a":2.50}],"type":"user.message-created","payload":{"mentions":[],"text":"hi"},"crc":"00000000"}"#;
    assert_eq!(upgrade(old, &STEPS).unwrap(), new);
    assert_eq!(upgrade(new, &STEPS).unwrap(), new, "today's lines stay as they are");
}

#[test]
fn steps_follow_one_another_and_what_no_step_reads_stays() {
    let twice = |event_type: &str, _: &str| -> Changed { Ok((format!("{event_type}+"), "{}".to_owned())) };
    let steps = [Upgrade { from: 3, change: twice }, Upgrade { from: 4, change: twice }];
    let line =
        |version: u64, event_type: &str| format!(r#"{{"v":{version},"type":"{event_type}","payload":{{}}}}"#);
    for (from, expected) in [(2, line(2, "t")), (3, line(5, "t++")), (4, line(5, "t+")), (5, line(5, "t"))] {
        assert_eq!(upgrade(&line(from, "t"), &steps).unwrap(), expected);
    }
    let lost = r#"{"v":0,"type":"user.said","payload":{}}"#;
    assert_eq!(upgrade(lost, &STEPS).unwrap_err().to_string(), "payload.words is missing");
    assert!(upgrade("[", &STEPS).is_err());
}

#[test]
fn a_version_that_no_step_reads_is_named_and_not_guessed() {
    assert!(UPGRADES.is_empty(), "no version came before {LINE_VERSION}");
    let mut line: Value = value(OWN_EXAMPLE.lines().next().unwrap());
    for version in [0, 2, u64::MAX] {
        line["v"] = json!(version);
        let text = line.to_string();
        let rules: Vec<_> =
            Checker::new(Options::native()).push(&text).iter().map(|f| f.rule.as_str()).collect();
        assert_eq!(rules, ["E1"]);
        let error = History::new(Templates::default()).apply(&Line::read(&text).unwrap()).unwrap_err();
        assert_eq!(error.reason, format!("v is {version}, this build reads 1"));
    }
}
