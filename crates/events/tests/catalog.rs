//! The catalog held against the shared one, field by field.

#![cfg(test)]

use std::path::PathBuf;

use herdbook_events::catalog::{
    Class, Durable, Ephemeral, Event, EventType, Field, Kind, Lists, Members, Shaped, author, faults,
};
use serde_json::Value;
use serde_json::value::RawValue;

/// Reads a file of the shared catalog, or says that the test of that name is skipped.
fn shared(test: &str, name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "a test finds its reference data by the environment")]
    let named = std::env::var_os("HERDBOOK_SHARED").map(PathBuf::from);
    let folder = named.unwrap_or(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")));
    let text = std::fs::read_to_string(folder.join("catalog").join(name)).ok();
    if text.is_none() {
        println!("skipped: {test}: no shared catalog");
    }
    text
}

/// Prints fields one a line, as both sides can be put: name, marks, shape.
fn print_ours(fields: &[Field], indent: usize, out: &mut String) {
    for field in fields.iter().filter(|field| !field.ours) {
        let optional = if field.optional { " optional" } else { "" };
        let nullable = if field.nullable { " nullable" } else { "" };
        out.push_str(&format!("{:indent$}{}{optional}{nullable} ", "", field.name));
        print_kind(&field.kind, indent, out);
    }
}

fn print_kind(kind: &Kind, indent: usize, out: &mut String) {
    match kind {
        Kind::Text => out.push_str("string\n"),
        Kind::Integer { minimum } => out.push_str(&format!("integer {minimum:?}\n")),
        Kind::Number => out.push_str("number\n"),
        Kind::Boolean => out.push_str("boolean\n"),
        Kind::Json => out.push_str("json\n"),
        Kind::Word { words, .. } => out.push_str(&format!("string {words:?}\n")),
        Kind::Choice(numbers) => out.push_str(&format!("integer {numbers:?}\n")),
        Kind::List { items, at_least } => {
            out.push_str(&format!("array {at_least} of "));
            print_kind(items, indent, out);
        }
        Kind::Object { fields, .. } => {
            out.push_str("object\n");
            print_ours(fields, indent + 2, out);
        }
    }
}

fn print_theirs(fields: &Value, types: &Value, indent: usize, out: &mut String) {
    for field in fields.as_array().unwrap() {
        let optional = if field["optional"] == true { " optional" } else { "" };
        let nullable = if field["nullable"] == true { " nullable" } else { "" };
        out.push_str(&format!("{:indent$}{}{optional}{nullable} ", "", field["name"].as_str().unwrap()));
        print_their_kind(field, types, indent, out);
    }
}

fn print_their_kind(shape: &Value, types: &Value, indent: usize, out: &mut String) {
    let words = |list: &Value| {
        let words: Vec<&str> = list.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        format!("string {words:?}\n")
    };
    match shape["type"].as_str().unwrap() {
        "ref" => {
            let named = &types[shape["ref"].as_str().unwrap()];
            if named["kind"] == "enum" {
                out.push_str(&words(&named["values"]));
            } else {
                out.push_str("object\n");
                print_theirs(&named["fields"], types, indent + 2, out);
            }
        }
        "string" if shape["enum"].is_array() => out.push_str(&words(&shape["enum"])),
        "integer" if shape["enum"].is_array() => {
            let numbers: Vec<u64> =
                shape["enum"].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect();
            out.push_str(&format!("integer {numbers:?}\n"));
        }
        "integer" => out.push_str(&format!("integer {:?}\n", shape["minimum"].as_i64())),
        "array" => {
            out.push_str(&format!("array {} of ", shape["minItems"].as_u64().unwrap_or(0)));
            print_their_kind(&shape["items"], types, indent, out);
        }
        "object" => {
            out.push_str("object\n");
            print_theirs(&shape["fields"], types, indent + 2, out);
        }
        plain => out.push_str(&format!("{plain}\n")),
    }
}

#[test]
fn every_type_and_field_is_as_in_the_shared_catalog() {
    let Some(text) = shared("every_type_and_field_is_as_in_the_shared_catalog", "catalog.json") else {
        return;
    };
    let catalog: Value = serde_json::from_str(&text).unwrap();
    let types = &catalog["sharedTypes"];
    let events = catalog["events"].as_array().unwrap();
    let all: Vec<EventType> = EventType::DURABLE.iter().chain(EventType::EPHEMERAL).copied().collect();
    let names: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(all.iter().map(|one| one.as_str()).collect::<Vec<_>>(), names, "names and order");
    for (ours, theirs) in all.iter().zip(events) {
        let class = if ours.class() == Class::Durable { "durable" } else { "ephemeral" };
        assert_eq!(class, theirs["class"], "{}", ours.as_str());
        let (mut left, mut right) = (String::new(), String::new());
        print_ours(ours.fields(), 0, &mut left);
        print_theirs(&theirs["payload"], types, 0, &mut right);
        assert_eq!(left, right, "{}", ours.as_str());
    }
}

#[test]
fn both_envelopes_are_as_in_the_shared_catalog() {
    let Some(text) = shared("both_envelopes_are_as_in_the_shared_catalog", "catalog.json") else { return };
    let catalog: Value = serde_json::from_str(&text).unwrap();
    for (ours, name) in [(Durable::KIND, "durable"), (Ephemeral::KIND, "ephemeral")] {
        let Kind::Object { fields, .. } = ours else { panic!("an envelope is an object") };
        let (mut left, mut right) = (String::new(), String::new());
        print_ours(fields, 0, &mut left);
        let mut theirs = catalog["envelopes"][name]["fields"].clone();
        for field in theirs.as_array_mut().unwrap() {
            if field["name"] == "payload" {
                // Its shape is chosen by the type.
                field["type"] = "json".into();
            }
        }
        print_theirs(&theirs, &Value::Null, 0, &mut right);
        assert_eq!(left, right, "{name}");
    }
}

#[test]
fn every_line_of_the_shared_example_reads_and_prints_the_same() {
    let test = "every_line_of_the_shared_example_reads_and_prints_the_same";
    let Some(text) = shared(test, "example.jsonl") else { return };
    let mut seen = std::collections::BTreeSet::new();
    for line in text.lines() {
        let durable: Durable = serde_json::from_str(line).unwrap();
        let event_type = EventType::parse(&durable.event_type).unwrap();
        let payload = &durable.payload.0;
        assert_eq!(faults(&event_type.kind(), payload, Lists::Reference), [], "{line}");
        let event = Event::read(event_type, payload).unwrap();
        let sorted = |text: &str| serde_json::from_str::<Value>(text).unwrap().to_string();
        assert_eq!(sorted(event.payload().unwrap().get()), sorted(payload.get()), "{line}");
        seen.insert(event_type);
    }
    assert_eq!(seen.len(), 40);
}

fn found(event_type: EventType, payload: &str, lists: Lists) -> Vec<String> {
    let payload = RawValue::from_string(payload.to_owned()).unwrap();
    faults(&event_type.kind(), &payload, lists).iter().map(ToString::to_string).collect()
}

#[test]
fn a_difference_is_named_with_its_field() {
    let wrong = r#"{"toolUseId":7,"durationMs":-1,"ui":{"kind":"paint","summary":"x","exitCode":null},"mood":"good"}"#;
    assert_eq!(
        found(EventType::ToolCompleted, wrong, Lists::Reference),
        [
            "toolUseId must be a string",
            "modelText is missing",
            "durationMs must be at least 0",
            "ui.kind is 'paint', must be one of read, search, edit, exec, process",
            "ui.exitCode must be a whole number of at most 63 bits",
            "mood is not in the catalog; it is kept",
        ]
    );
    let null_branch = r#"{"title":"t","projectHash":"h","workingDirectory":"/w","gitBranch":null,"model":"m","auxModel":"a","khaelorVersion":"1"}"#;
    assert_eq!(found(EventType::SessionStarted, null_branch, Lists::Reference), [""; 0]);
    let attempt = r#"{"attempt":3,"detectedChecks":["a",1],"withheldCandidateSeq":0}"#;
    assert_eq!(
        found(EventType::TaskVerificationRequested, attempt, Lists::Reference),
        [
            "attempt must be one of [1, 2]",
            "detectedChecks[1] must be a string",
            "withheldCandidateSeq must be at least 1"
        ]
    );
    let nothing = r#"{"toolUseIds":[],"placeholder":"-","tokensReclaimedEstimate":1}"#;
    assert_eq!(
        found(EventType::ContextPruned, nothing, Lists::Reference),
        ["toolUseIds must have at least 1 item"]
    );
}

#[test]
fn tools_of_other_harnesses_are_words_too() {
    let other = r#"{"toolUseId":"t","toolName":"apply_patch"}"#;
    assert_eq!(found(EventType::ToolStarted, other, Lists::OpenTools), [""; 0]);
    assert_eq!(found(EventType::ToolStarted, other, Lists::Reference).len(), 1);
    let payload = RawValue::from_string(other.to_owned()).unwrap();
    let event = Event::read(EventType::ToolStarted, &payload).unwrap();
    assert_eq!(event.payload().unwrap().get(), other, "an unknown word is kept");
}

#[test]
fn members_keep_order_text_and_repeats() {
    let members = Members::read(r#"{"b":1.50,"a":{"y":1,"x":2},"b":1E5,"\u0063":[ ]}"#).unwrap();
    let all: Vec<_> = members.iter().map(|(key, value)| format!("{key}={}", value.get())).collect();
    assert_eq!(all, ["b=1.50", r#"a={"y":1,"x":2}"#, "b=1E5", "c=[ ]"]);
    assert_eq!(members.get("b").unwrap().get(), "1E5");
    assert_eq!(members.repeated().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn the_committed_schema_and_types_are_those_of_the_catalog() {
    let hint = "is out of date: run `just generate`";
    assert!(
        author::json_schema(Lists::OpenTools)
            == include_str!("../../../docs/reference/session-events.schema.json"),
        "docs/reference/session-events.schema.json {hint}"
    );
    assert!(
        author::typescript() == include_str!("../../../clients/ts/src/session-events.ts"),
        "clients/ts/src/session-events.ts {hint}"
    );
    let schema: Value = serde_json::from_str(&author::json_schema(Lists::Reference)).unwrap();
    let tool = &schema["$defs"]["ToolCompleted"];
    assert_eq!(tool["required"], serde_json::json!(["toolUseId", "modelText", "durationMs", "ui"]));
    assert_eq!(tool["properties"]["ui"], serde_json::json!({"$ref": "#/$defs/ToolUi"}));
    assert_eq!(schema["$defs"]["Durable"]["oneOf"].as_array().unwrap().len(), 40);
    assert_eq!(schema["$defs"]["ToolStarted"]["properties"]["toolName"]["enum"][0], "read");
}
