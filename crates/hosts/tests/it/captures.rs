//! Everything that was captured from real hosts projects as the tables say.

use herdbook_events::{CanonicalEvent, Family};
use herdbook_hosts::{Decode, Projected, canonical_text, project, table};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::shared::{folder, lines};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Captured<'a> {
    host: String,
    native_event: String,
    family: Option<String>,
    idempotency_key: Option<String>,
    #[serde(borrow)]
    native: &'a RawValue,
}

fn projected(host: &str, native: &RawValue) -> CanonicalEvent {
    match project(host, None, native.get().as_bytes()) {
        Projected::Event(event) => *event,
        Projected::Unreadable(salvage) => panic!("{}: {}", salvage.error, native.get()),
    }
}

/// Checks each payload field back to the native value, and that nothing the table maps was left out. Returns the
/// number of fields.
fn check_payload(event: &CanonicalEvent, native: &Value) -> usize {
    let contract = table(&event.host).unwrap().event(event.native_event.as_deref().unwrap()).unwrap();
    assert_eq!(event.event, contract.family);
    let mut expected = Vec::new();
    for field in contract.family.map_or(&[][..], Family::fields) {
        let Some(mapping) = contract.mapping(*field) else { continue };
        let Some(value) = native.get(mapping.key) else { continue };
        let value = match mapping.decode {
            Decode::None => value.clone(),
            Decode::JsonString => match serde_json::from_str::<Value>(value.as_str().unwrap()) {
                Ok(parsed) => parsed,
                Err(_) => value.clone(),
            },
            Decode::PositiveCount => Value::Bool(value.as_f64().unwrap() > 0.0),
        };
        expected.push((*field, mapping.key, value));
    }
    let found: Vec<_> = event
        .payload
        .iter()
        .map(|(field, present)| {
            (field, present.native_key, serde_json::from_str::<Value>(present.value.get()).unwrap())
        })
        .collect();
    assert_eq!(found, expected, "{native}");
    found.len()
}

#[test]
fn all_captured_envelopes_project_as_the_tables_say() {
    let Some(shared) = folder("all_captured_envelopes_project_as_the_tables_say") else { return };
    let (mut envelopes, mut fields, mut keys, mut equal_keys) = (0, 0, 0, 0);
    for line in lines(shared.join("captures"), &["claude", "codex", "cursor"]) {
        let captured: Captured = serde_json::from_str(&line).unwrap();
        let event = projected(&captured.host, captured.native);
        assert_eq!(event.host, captured.host);
        assert_eq!(event.native_event.as_deref(), Some(captured.native_event.as_str()));
        assert_eq!(event.event.map(Family::as_str), captured.family.as_deref());
        let native: Value = serde_json::from_str(captured.native.get()).unwrap();
        fields += check_payload(&event, &native);
        let kept: Value = serde_json::from_str(event.native.get()).unwrap();
        assert_eq!(kept, native);
        let identity = &table(&captured.host).unwrap().identity;
        assert_eq!(event.session.as_deref(), native[identity.session[0]].as_str());
        assert_eq!(event.lineage.turn.as_deref(), native[identity.turn[0]].as_str());
        assert_eq!(event.lineage.agent.as_deref(), native[identity.agent[0]].as_str());
        envelopes += 1;
        if let Some(key) = captured.idempotency_key {
            keys += 1;
            assert_eq!(event.idempotency_key.as_deref(), Some(key.as_str()), "{line}");
            equal_keys += 1;
        }
    }
    println!("{envelopes} envelopes, {fields} fields, {equal_keys} of {keys} recorded keys equal");
    assert_eq!((envelopes, keys, equal_keys), (105, 53, 53));
    assert!(fields > 500, "{fields}");
}

#[derive(Deserialize)]
struct Seen<'a> {
    tag: Option<String>,
    #[serde(borrow)]
    native: Option<&'a RawValue>,
}

#[test]
fn all_hook_calls_of_real_clients_project() {
    let Some(shared) = folder("all_hook_calls_of_real_clients_project") else { return };
    let (mut calls, mut with_family, mut notified) = (0, 0, 0);
    for line in lines(shared.join("captures/real"), &["claude", "codex"]) {
        let seen: Seen = serde_json::from_str(&line).unwrap();
        let (Some(tag), Some(native)) = (seen.tag, seen.native) else { continue };
        let host = tag.trim_end_matches("-notify");
        let event = projected(host, native);
        assert_eq!(event.host, host);
        assert!(event.session.is_some(), "{line}");
        calls += 1;
        if tag == "codex-notify" {
            assert_eq!((event.event, event.native_event.as_deref()), (None, Some("agent-turn-complete")));
            assert!(event.lineage.turn.is_some());
            notified += 1;
            continue;
        }
        let value: Value = serde_json::from_str(native.get()).unwrap();
        assert!(check_payload(&event, &value) > 0 || event.event.is_none());
        assert_eq!(event.idempotency_key.is_some(), event.event.is_some());
        with_family += usize::from(event.event.is_some());
        // Text without repeats, index keys and odd numbers is its own canonical text.
        let kept = canonical_text(&event.native);
        assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), value);
    }
    println!("{calls} hook calls, {with_family} with a family, {notified} by notify");
    assert!(calls >= 800 && notified >= 1, "{calls} {notified}");
}

#[test]
fn all_hook_calls_of_gemini_project_and_have_no_news() {
    let Some(shared) = folder("all_hook_calls_of_gemini_project_and_have_no_news") else { return };
    let table = table("gemini").unwrap();
    let (mut calls, mut fields) = (0, 0);
    for line in lines(shared.join("captures/real"), &["gemini"]) {
        let seen: Seen = serde_json::from_str(&line).unwrap();
        let Some(native) = seen.native else { continue };
        let event = projected("gemini", native);
        let value: Value = serde_json::from_str(native.get()).unwrap();
        fields += check_payload(&event, &value);
        assert_eq!(event.session.as_deref(), value["session_id"].as_str());
        assert_eq!(event.idempotency_key.is_some(), event.event.is_some());
        for key in value.as_object().unwrap().keys() {
            assert!(table.common.iter().chain(table.keys).any(|known| known == key), "{key} is news: {line}");
        }
        calls += 1;
    }
    println!("{calls} hook calls, {fields} fields");
    assert_eq!((calls, fields), (76, 137));
}
