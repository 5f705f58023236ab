//! What the engine remembers of what each host sent.

use herdbook_engine::received::Seen;
use herdbook_engine::{HookDelivery, Input};
use herdbook_events::{Family, Origin};

use crate::{Herd, START_MS};

#[test]
fn events_are_counted_by_host_and_name_and_come_back_after_a_restart() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.wait(3_000);
    herd.claude("1", "Stop", "");
    herd.wait(3_000);
    herd.claude("1", "Stop", r#""stop_hook_active":false"#);
    herd.claude("1", "Dreamed", r#""dream":1"#);
    herd.hook("claude", "{\"session_id\":\"1\",", Origin::default());
    herd.hook(
        "cursor",
        r#"{"conversation_id":"c","hook_event_name":"stop","cursor_version":"1.7.2"}"#,
        Origin::default(),
    );
    let received = herd.engine.received();
    let claude = &received["claude"];
    assert_eq!(claude.all, Seen { count: 5, first_ms: START_MS, last_ms: START_MS + 6_000 });
    let stop = &claude.events["Stop"];
    assert_eq!(stop.family, Some(Family::Stop));
    assert_eq!(stop.seen, Seen { count: 2, first_ms: START_MS + 3_000, last_ms: START_MS + 6_000 });
    assert_eq!(claude.unknown_events.keys().collect::<Vec<_>>(), ["Dreamed"]);
    let (field, seen) = claude.unknown_fields.first_key_value().unwrap();
    assert_eq!((field.as_str(), seen.event.as_str(), seen.seen.count), ("dream", "Dreamed", 1));
    assert_eq!(claude.unreadable.count, 1);
    assert_eq!(received["cursor"].versions.keys().collect::<Vec<_>>(), ["1.7.2"]);
    assert_eq!(herd.restarted().engine.received(), received);
}

#[test]
fn what_payloads_lack_of_what_the_host_promises_is_counted_by_event_and_version() {
    let mut herd = Herd::new();
    let stop = r#""session_id":"1","transcript_path":"/t","cwd":"/","hook_event_name":"Stop""#;
    herd.hook("claude", &format!(r#"{{{stop},"stop_hook_active":false}}"#), Origin::default());
    assert_eq!(
        (herd.engine.received()["claude"].faulty.count, herd.engine.received()["claude"].faults.len()),
        (0, 0)
    );
    for version in ["2.0.0", "2.0.0", "2.1.0"] {
        herd.wait(3_000);
        let body = format!(r#"{{{stop},"stop_hook_active":"no","cli_version":"{version}"}}"#);
        herd.hook("claude", &body, Origin::default());
    }
    herd.wait(3_000);
    herd.hook("claude", r#"{"session_id":"1","hook_event_name":"Dreamed"}"#, Origin::default());
    let received = herd.engine.received();
    let claude = &received["claude"];
    assert_eq!((claude.faulty.count, claude.faulty.last_ms), (3, START_MS + 9_000));
    let told: Vec<_> = claude
        .faults
        .iter()
        .map(|(one, seen)| (one.event, one.fault.to_string(), one.version.clone().unwrap(), seen.count))
        .collect();
    let wrong = || ("Stop", "'stop_hook_active' is no boolean".to_owned());
    assert_eq!(told, [(wrong().0, wrong().1, "2.0.0".into(), 2), (wrong().0, wrong().1, "2.1.0".into(), 1)]);
    for version in 0..100 {
        let body = format!(r#"{{{stop},"stop_hook_active":1,"cli_version":"{version}\u001b[2J"}}"#);
        herd.hook("claude", &body, Origin::default());
    }
    let received = herd.engine.received();
    assert_eq!((received["claude"].faulty.count, received["claude"].faults.len()), (103, 64));
    let versions = received["claude"].faults.keys().filter_map(|fault| fault.version.as_deref());
    assert!(versions.into_iter().all(|version| !version.chars().any(char::is_control)));
    assert_eq!(herd.restarted().engine.received(), received);
}

#[test]
fn a_repeat_by_another_registration_is_counted_apart() {
    let mut herd = Herd::new();
    for _ in 0..2 {
        herd.claude("1", "UserPromptSubmit", r#""prompt":"y""#);
    }
    let received = herd.engine.received();
    assert_eq!(received["claude"].repeats["UserPromptSubmit"].count, 1);
    assert_eq!(received["claude"].events["UserPromptSubmit"].seen.count, 2);
    assert_eq!(herd.restarted().engine.received(), received);
}

#[test]
fn what_is_kept_of_foreign_names_is_bounded_and_clean() {
    let mut herd = Herd::new();
    for number in 0..200 {
        let long = format!("e{number:03}-{}", "x".repeat(10_000));
        herd.claude("1", &long, &format!(r#""field{number}\u001b[2J":1"#));
        herd.hook(&format!("host{number}"), "{}", Origin::default());
    }
    let received = herd.engine.received();
    // Claude, and as many hosts as are told apart without a table.
    assert_eq!(received.len(), 33);
    let claude = &received["claude"];
    assert_eq!((claude.all.count, claude.unknown_events.len(), claude.unknown_fields.len()), (200, 64, 64));
    let names = claude.unknown_events.keys().chain(claude.unknown_fields.keys());
    for name in names {
        assert!(name.len() <= 66 && !name.chars().any(char::is_control), "{name:?}");
    }
}

#[test]
fn a_known_host_and_a_new_version_always_have_a_place() {
    let mut herd = Herd::new();
    for number in 0..100 {
        herd.hook(&format!("host{number}"), "{}", Origin::default());
    }
    for number in 0..100 {
        herd.wait(3_000);
        let body = format!(
            r#"{{"conversation_id":"c","hook_event_name":"stop","cursor_version":"{}.0","n":{number}}}"#,
            300 - number
        );
        herd.hook("cursor", &body, Origin::default());
    }
    let received = herd.engine.received();
    let versions: Vec<_> = received["cursor"].versions.keys().cloned().collect();
    assert_eq!((received.len(), versions.len()), (33, 64));
    assert_eq!((versions[0].as_str(), versions[63].as_str()), ("201.0", "264.0"), "the last ones are kept");
    assert_eq!(herd.restarted().engine.received(), received);
}

#[test]
fn a_secret_in_a_name_given_beside_the_payload_is_marked_before_it_is_counted() {
    let mut herd = Herd::new();
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";
    herd.input(Input::Hook(HookDelivery {
        host: "claude".into(),
        native_event: Some(secret.into()),
        delivery: 1 << 100,
        stamp_ms: None,
        started_at_ms: None,
        origin: Origin::default(),
        body: br#"{"session_id":"1"}"#.to_vec(),
        cut: false,
        spooled: false,
        earlier_boot: false,
    }));
    let received = herd.engine.received();
    assert!(!format!("{received:?}").contains(&secret[4..]), "{received:?}");
    assert_eq!(herd.restarted().engine.received(), received);
}
