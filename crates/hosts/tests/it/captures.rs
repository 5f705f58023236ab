//! Everything that was captured from real hosts projects as the tables say.

use std::path::Path;

use herdbook_events::{CanonicalEvent, Family, Field};
use herdbook_hosts::{Decode, Projected, canonical_text, project, table};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::shared::{folder, lines, read_json};

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
fn all_hook_calls_of_gemini_project() {
    let Some(shared) = folder("all_hook_calls_of_gemini_project") else { return };
    let (mut calls, mut fields) = (0, 0);
    for line in lines(shared.join("captures/real"), &["gemini"]) {
        let seen: Seen = serde_json::from_str(&line).unwrap();
        let Some(native) = seen.native else { continue };
        let event = projected("gemini", native);
        let value: Value = serde_json::from_str(native.get()).unwrap();
        fields += check_payload(&event, &value);
        assert_eq!(event.session.as_deref(), value["session_id"].as_str());
        assert_eq!(event.idempotency_key.is_some(), event.event.is_some());
        calls += 1;
    }
    println!("{calls} hook calls, {fields} fields");
    assert_eq!((calls, fields), (76, 137));
}

#[derive(Deserialize)]
struct Told<'a> {
    #[serde(default)]
    argv: Vec<String>,
    #[serde(borrow)]
    native: Option<&'a RawValue>,
}

/// Calls `each` with every recorded call of a host: the event, and its native object.
fn each_call(shared: &Path, host: &str, mut each: impl FnMut(CanonicalEvent, Value)) {
    for line in lines(shared.join("captures/real"), &[host]) {
        let told: Told = serde_json::from_str(&line).unwrap();
        let Some(native) = told.native else { continue };
        let name = told.argv.iter().find_map(|argument| argument.strip_prefix("event:"));
        let Projected::Event(event) = project(host, name, native.get().as_bytes()) else { panic!("{line}") };
        assert_eq!(event.host, host);
        assert_eq!(
            serde_json::from_str::<Value>(event.native.get()).unwrap(),
            serde_json::from_str::<Value>(native.get()).unwrap()
        );
        each(*event, serde_json::from_str(native.get()).unwrap());
    }
}

/// Checks each payload field against the value under its key, and that nothing the table maps was left out.
fn fields(event: &CanonicalEvent, keys: &Value, spelled: impl Fn(&str) -> String) -> usize {
    let contract = table(&event.host).unwrap().event(event.native_event.as_deref().unwrap()).unwrap();
    assert_eq!(event.event, contract.family);
    assert_eq!(event.idempotency_key.is_some(), contract.family.is_some());
    let expected: Vec<(Field, String, Value)> = contract
        .family
        .map_or(&[][..], Family::fields)
        .iter()
        .filter_map(|field| Some((*field, contract.mapping(*field)?.key)))
        .filter_map(|(field, key)| Some((field, spelled(key), keys.get(key)?.clone())))
        .collect();
    let value = |text: &RawValue| serde_json::from_str::<Value>(text.get()).unwrap();
    let found: Vec<_> = event
        .payload
        .iter()
        .map(|(field, present)| (field, present.native_key.to_owned(), value(&present.value)))
        .collect();
    assert_eq!(found, expected, "{}", event.native);
    found.len()
}

#[test]
fn all_hook_calls_of_copilot_project_from_camel_case_too() {
    let Some(shared) = folder("all_hook_calls_of_copilot_project_from_camel_case_too") else { return };
    let contract = read_json(shared.join("hosts/copilot.json"));
    let camel = |key: &str| contract["spellings"]["keys"][key].as_str().unwrap_or(key).to_owned();
    let (mut calls, mut mapped) = (0, 0);
    each_call(&shared, "copilot", |event, native| {
        let keys = contract["spellings"]["keys"].as_object().unwrap();
        let mut snake = native.as_object().unwrap().clone();
        snake.extend(keys.keys().filter_map(|key| Some((key.clone(), native.get(camel(key))?.clone()))));
        assert_eq!(event.session.as_deref(), native["sessionId"].as_str());
        calls += 1;
        mapped += fields(&event, &Value::Object(snake), camel);
    });
    assert_eq!((calls, mapped), (36, 113));
}

#[test]
fn all_events_of_opencode_project_through_the_plugins_wrappers() {
    let Some(shared) = folder("all_events_of_opencode_project_through_the_plugins_wrappers") else { return };
    let (mut calls, mut mapped) = (0, 0);
    each_call(&shared, "opencode", |event, native| {
        // The reference's envelope: the event's properties, or the first and then the second argument, spread.
        let mut flat = Map::new();
        for wrapper in ["properties", "input", "output"] {
            flat.extend(native[wrapper].as_object().cloned().unwrap_or_default());
        }
        flat.extend(native.get("directory").map(|directory| ("directory".to_owned(), directory.clone())));
        assert_eq!(event.session.as_deref(), flat["sessionID"].as_str(), "{native}");
        assert_eq!(event.native_event.as_deref(), native["hook_event_name"].as_str());
        calls += 1;
        mapped += fields(&event, &Value::Object(flat), str::to_owned);
    });
    assert_eq!((calls, mapped), (105, 60));
}

#[test]
fn recorded_calls_of_real_clients_have_no_news() {
    let Some(shared) = folder("recorded_calls_of_real_clients_have_no_news") else { return };
    for table in herdbook_hosts::HOSTS {
        let mut calls = 0;
        for line in lines(shared.join("captures/real"), &[table.host]) {
            let told: Told = serde_json::from_str(&line).unwrap();
            let Some(native) = told.native else { continue };
            let name = told.argv.iter().find_map(|argument| argument.strip_prefix("event:"));
            let Projected::Event(event) = project(table.host, name, native.get().as_bytes()) else {
                panic!("{line}")
            };
            assert_eq!(herdbook_hosts::news(&event).fields, [] as [&str; 0], "{}: {line}", table.host);
            calls += 1;
        }
        println!("{}: {calls} calls", table.host);
    }
}
