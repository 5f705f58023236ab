//! JSON Schema of canonical events, one definition a family, and of the four normalized events.

use herdbook_events::{Family, FieldKind};
use serde_json::{Map, Value, json};

use super::lines::json_lines;
use crate::HOSTS;

/// Returns the JSON Schema (draft 2020-12). A payload field is exactly `{value, nativeKey}`, and a family has no fields
/// but its own; a normalized event may have extra members, as the daemon accepts them.
pub fn json_schema() -> String {
    let mut definitions = Map::new();
    for family in Family::ALL {
        definitions.insert(family.as_str().to_owned(), canonical(*family));
    }
    definitions.insert("outside".to_owned(), outside());
    definitions.insert("lineage".to_owned(), lineage());
    definitions.insert(
        "canonicalEvent".to_owned(),
        one_of(Family::ALL.iter().map(|family| family.as_str()).chain(["outside"])),
    );
    for (name, event) in normalized() {
        definitions.insert(name.to_owned(), event);
    }
    definitions.insert("normalizedEvent".to_owned(), one_of(normalized().into_iter().map(|(name, _)| name)));
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Herdbook events",
        "description": "Made by `herdbook schema --lang json-schema`; do not edit.",
        "oneOf": [reference("canonicalEvent"), reference("normalizedEvent")],
        "$defs": definitions,
    });
    let mut text = json_lines(&schema, 5);
    text.push('\n');
    text
}

/// A reference to a definition; a slash in its name is escaped as JSON Pointer wants it.
fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{}", name.replace('/', "~1"))})
}

fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> Value {
    json!({"oneOf": names.map(reference).collect::<Vec<_>>()})
}

fn kind(kind: FieldKind) -> Value {
    match kind {
        FieldKind::Boolean => json!({"type": "boolean"}),
        FieldKind::Json => json!(true),
        FieldKind::NullableString => json!({"type": ["string", "null"]}),
        FieldKind::String => json!({"type": "string"}),
        FieldKind::StringArray => json!({"type": "array", "items": {"type": "string"}}),
        FieldKind::Trigger => json!({"enum": ["manual", "auto"]}),
    }
}

fn canonical(family: Family) -> Value {
    let field = |value: Value| {
        json!({
            "type": "object",
            "properties": {"value": value, "nativeKey": {"type": "string"}},
            "required": ["value", "nativeKey"],
            "additionalProperties": false,
        })
    };
    let fields: Map<String, Value> =
        family.fields().iter().map(|name| (name.as_str().to_owned(), field(kind(name.kind())))).collect();
    let hosts = HOSTS.iter().filter(|table| table.events.iter().any(|event| event.family == Some(family)));
    json!({
        "type": "object",
        "properties": {
            "event": {"const": family.as_str()},
            "host": {"enum": hosts.map(|table| table.host).collect::<Vec<_>>()},
            "nativeEvent": {"type": "string"},
            "idempotencyKey": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "payload": {"type": "object", "properties": fields, "additionalProperties": false},
            "native": {"type": "object"},
            "lineage": reference("lineage"),
        },
        "required": ["event", "host", "nativeEvent", "idempotencyKey", "payload", "native"],
        "additionalProperties": false,
    })
}

/// A native event outside the families, or one of a host that is not known.
fn outside() -> Value {
    json!({
        "type": "object",
        "properties": {
            "event": {"type": "null"},
            "host": {"type": "string"},
            "nativeEvent": {"type": ["string", "null"]},
            "payload": {"type": "object", "additionalProperties": false},
            "native": {"type": "object"},
            "lineage": reference("lineage"),
        },
        "required": ["event", "host", "nativeEvent", "payload", "native"],
        "additionalProperties": false,
    })
}

fn lineage() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {"turn": text, "agent": text, "parent": text},
        "additionalProperties": false,
    })
}

fn normalized() -> [(&'static str, Value); 4] {
    let event = |kind: &str, members: &[(&str, Value)]| {
        let filled = json!({"type": "string", "minLength": 1});
        let mut properties = Map::new();
        properties.insert("type".to_owned(), json!({"const": kind}));
        properties.insert("sessionId".to_owned(), filled);
        properties.insert("timestamp".to_owned(), json!({"type": "number", "exclusiveMinimum": 0}));
        properties.extend(members.iter().map(|(name, shape)| ((*name).to_owned(), shape.clone())));
        let required: Vec<&String> = properties.keys().collect();
        json!({"type": "object", "required": required, "properties": properties})
    };
    let place = [
        ("paneId", json!({"type": "string", "minLength": 1})),
        ("cwd", json!({"type": "string"})),
        ("transcriptPath", json!({"type": "string"})),
    ];
    let reason =
        [("reason", json!({"enum": ["stopped", "permission"]})), ("message", json!({"type": "string"}))];
    let stuck: Vec<(&str, Value)> = place.iter().chain(&reason).cloned().collect();
    [
        ("stuck", event("stuck", &stuck)),
        ("unstuck", event("unstuck", &[])),
        ("registered", event("registered", &place)),
        ("ended", event("ended", &[])),
    ]
}
