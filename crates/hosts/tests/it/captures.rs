//! Everything that was captured from real hosts projects as the tables say.

use std::collections::{BTreeMap, BTreeSet};

use herdbook_events::{CanonicalEvent, Family};
use herdbook_hosts::{Decode, HOSTS, Projected, canonical_text, project, read, table};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

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

/// Projects what was captured. The line that is written without making an event is what the event serializes as.
fn projected(host: &str, name: Option<&str>, native: &RawValue) -> CanonicalEvent {
    let body = native.get().as_bytes();
    let event = match project(host, name, body) {
        Projected::Event(event) => *event,
        Projected::Unreadable(salvage) => panic!("{}: {}", salvage.error, native.get()),
    };
    let mut line = String::from("before ");
    read(host, name, body).unwrap().write_line(&mut line);
    assert_eq!(line.strip_prefix("before "), Some(serde_json::to_string(&event).unwrap().as_str()));
    event
}

/// The keys of a native object as a person would look them up: what its host wraps is spread out, the last wrapper last,
/// and what it spells in two ways stands under both.
fn keys(event: &CanonicalEvent, native: &Value) -> Map<String, Value> {
    let table = table(&event.host).unwrap();
    let members = native.as_object().unwrap();
    let wrapped: Vec<&Map<String, Value>> =
        table.layout.wrappers.iter().filter_map(|wrapper| members.get(*wrapper)?.as_object()).collect();
    let mut keys = if wrapped.is_empty() { members.clone() } else { Map::new() };
    for members in wrapped {
        keys.extend(members.clone());
    }
    for common in table.common {
        keys.extend(members.get(common.name).map(|value| (common.name.to_owned(), value.clone())));
    }
    for (one, other) in table.layout.spellings {
        for (from, to) in [(one, other), (other, one)] {
            if let Some(value) = members.get(*from) {
                keys.entry(*to).or_insert_with(|| value.clone());
            }
        }
    }
    keys
}

/// Checks each payload field back to the native value under the native key, and that nothing the table maps was left
/// out. Returns the number of fields.
fn check_payload(event: &CanonicalEvent, native: &Value) -> usize {
    let table = table(&event.host).unwrap();
    let contract = table.event(event.native_event.as_deref().unwrap()).unwrap();
    assert_eq!(event.event, contract.family);
    assert_eq!(event.idempotency_key.is_some(), contract.family.is_some());
    let keys = keys(event, native);
    let mut expected = Vec::new();
    for field in contract.family.map_or(&[][..], Family::fields) {
        let Some(mapping) = contract.mapping(*field) else { continue };
        let Some(value) = keys.get(mapping.key) else { continue };
        let value = match mapping.decode {
            Decode::None => value.clone(),
            Decode::JsonString => match serde_json::from_str::<Value>(value.as_str().unwrap()) {
                Ok(parsed) => parsed,
                Err(_) => value.clone(),
            },
            Decode::PositiveCount => Value::Bool(value.as_f64().unwrap() > 0.0),
        };
        expected.push((*field, value));
    }
    let mut found = Vec::new();
    for (field, present) in event.payload.iter() {
        let value: Value = serde_json::from_str(present.value.get()).unwrap();
        let mapping = contract.mapping(field).unwrap();
        let spellings = [Some(mapping.key), table.layout.respelled(mapping.key)];
        assert!(spellings.contains(&Some(present.native_key)), "{} {}", present.native_key, mapping.key);
        if table.layout.wrappers.is_empty() {
            assert!(
                native.get(present.native_key).is_some(),
                "{} is not there: {native}",
                present.native_key
            );
        }
        found.push((field, value));
    }
    assert_eq!(found, expected, "{native}");
    found.len()
}

#[test]
fn all_captured_envelopes_project_as_the_tables_say() {
    let Some(shared) = folder("all_captured_envelopes_project_as_the_tables_say") else { return };
    let (mut envelopes, mut fields, mut keys, mut equal_keys) = (0, 0, 0, 0);
    for line in lines(shared.join("captures"), &["claude", "codex", "cursor"]) {
        let captured: Captured = serde_json::from_str(&line).unwrap();
        let event = projected(&captured.host, None, captured.native);
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
struct Told<'a> {
    #[serde(default)]
    argv: Vec<String>,
    tag: Option<String>,
    #[serde(borrow)]
    native: Option<&'a RawValue>,
}

/// Envelopes, those of a family, and their fields, by host, as a person can count them in the recordings.
const COUNTED: &[(&str, usize, usize, usize)] = &[
    ("claude", 551, 410, 2403),
    ("codex", 331, 326, 2188),
    ("cursor", 28, 28, 182),
    ("gemini", 76, 30, 137),
    ("copilot", 36, 31, 113),
    ("opencode", 105, 23, 60),
];

#[test]
fn every_envelope_of_every_host_projects_field_by_field() {
    let Some(shared) = folder("every_envelope_of_every_host_projects_field_by_field") else { return };
    let mut counted = Vec::new();
    for table in HOSTS {
        let mut families: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let (mut envelopes, mut mapped, mut fields) = (0, 0, 0);
        let lines = ["captures", "captures/real"].map(|name| lines(shared.join(name), &[table.host]));
        for line in lines.iter().flatten() {
            let told: Told = serde_json::from_str(line).unwrap();
            let Some(native) = told.native else { continue };
            let name = told.argv.iter().find_map(|argument| argument.strip_prefix("event:"));
            let event = projected(table.host, name, native);
            assert_eq!(event.host, table.host);
            assert!(event.session.is_some(), "{line}");
            let value: Value = serde_json::from_str(native.get()).unwrap();
            assert_eq!(serde_json::from_str::<Value>(event.native.get()).unwrap(), value);
            assert_eq!(serde_json::from_str::<Value>(&canonical_text(&event.native)).unwrap(), value);
            envelopes += 1;
            if told.tag.is_some_and(|tag| tag.ends_with("-notify")) {
                assert_eq!((event.event, event.native_event.as_deref()), (None, Some("agent-turn-complete")));
                continue;
            }
            let found = check_payload(&event, &value);
            let family = event.event.map_or("(none)", Family::as_str);
            let (events, sum) = families.entry(family).or_default();
            *events += 1;
            *sum += found;
            mapped += usize::from(event.event.is_some());
            fields += found;
        }
        println!("{}: {envelopes} envelopes, {mapped} of a family, {fields} fields", table.host);
        for (family, (events, fields)) in families {
            println!("    {family}: {events} envelopes, {fields} fields");
        }
        if envelopes > 0 {
            counted.push((table.host, envelopes, mapped, fields));
        }
    }
    assert_eq!(counted, COUNTED);
}

#[test]
fn recorded_calls_of_real_clients_have_no_news_and_no_faults() {
    let Some(shared) = folder("recorded_calls_of_real_clients_have_no_news_and_no_faults") else { return };
    let mut faults = BTreeSet::new();
    for table in HOSTS {
        let mut calls = 0;
        for line in lines(shared.join("captures/real"), &[table.host]) {
            let told: Told = serde_json::from_str(&line).unwrap();
            let Some(native) = told.native else { continue };
            let name = told.argv.iter().find_map(|argument| argument.strip_prefix("event:"));
            let Projected::Event(event) = project(table.host, name, native.get().as_bytes()) else {
                panic!("{line}")
            };
            assert_eq!(herdbook_hosts::news(&event).fields, [] as [&str; 0], "{}: {line}", table.host);
            for fault in herdbook_hosts::faults(&event) {
                faults.insert(format!("{} {}: {fault}", table.host, event.native_event.as_deref().unwrap()));
            }
            calls += 1;
        }
        println!("{}: {calls} calls", table.host);
    }
    // OpenCode was recorded by another plugin. Ours tells the folder with each event, and a prompt apart.
    faults.retain(|fault| !fault.starts_with("opencode") || !fault.ends_with(": 'directory' is missing"));
    assert_eq!(faults.into_iter().collect::<Vec<_>>(), ["opencode chat.message: 'prompt' is missing"]);
}
