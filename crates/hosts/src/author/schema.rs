//! JSON Schema of canonical events, one definition a family, and of the four normalized events.

use herdbook_events::ids::MAX_SESSION_ID_BYTES;
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
        definitions.insert(payload_name(*family), payload(*family));
    }
    definitions.insert("outside".to_owned(), outside());
    definitions.insert("lineage".to_owned(), lineage());
    definitions.insert(
        "canonicalEvent".to_owned(),
        one_of(Family::ALL.iter().map(|family| family.as_str()).chain(["outside"])),
    );
    definitions.insert("routeInput".to_owned(), route_input());
    definitions.insert("routeAnswer".to_owned(), route_answer());
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
    json!({"$ref": format!("#/$defs/{}", name.replace('/', "~1").replace(' ', "%20"))})
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

/// A line of `herdbook normalize`: the event and, in one object with it, what the host sent.
fn canonical(family: Family) -> Value {
    let mut line = event(family);
    if let (Value::Object(properties), Value::Array(required)) =
        (line["properties"].take(), line["required"].take())
    {
        let native = [("native".to_owned(), json!({"type": "object"}))];
        line["properties"] = properties.into_iter().chain(native).collect();
        line["required"] = required.into_iter().chain([json!("native")]).collect();
    }
    line
}

/// An event alone.
fn event(family: Family) -> Value {
    let hosts = HOSTS.iter().filter(|table| table.routed(family).next().is_some());
    json!({
        "type": "object",
        "properties": {
            "event": {"const": family.as_str()},
            "host": {"enum": hosts.map(|table| table.host).collect::<Vec<_>>()},
            "nativeEvent": {"type": "string"},
            "idempotencyKey": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "payload": reference(&payload_name(family)),
            "lineage": reference("lineage"),
        },
        "required": ["event", "host", "nativeEvent", "idempotencyKey", "payload"],
        "additionalProperties": false,
    })
}

fn payload_name(family: Family) -> String {
    format!("payload of {}", family.as_str())
}

fn payload(family: Family) -> Value {
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
    json!({"type": "object", "properties": fields, "additionalProperties": false})
}

/// What a route reads: the event alone, and beside it what the host sent.
fn route_input() -> Value {
    json!({
        "type": "object",
        "properties": {
            "canonical": {"oneOf": Family::ALL.iter().map(|family| event(*family)).collect::<Vec<_>>()},
            "native": {"type": "object"},
        },
        "required": ["canonical", "native"],
        "additionalProperties": false,
    })
}

/// What a route prints, where it prints anything.
fn route_answer() -> Value {
    let text = json!({"type": ["string", "null"]});
    json!({
        "type": "object",
        "properties": {
            "outcome": {"enum": ["continue", "allow", "ask", "deny"]},
            "reason": text,
            "context": text,
            "updatedInput": true,
        },
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
        let mut properties = Map::new();
        properties.insert("type".to_owned(), json!({"const": kind}));
        // JSON Schema counts characters; the daemon takes so many bytes of UTF-8.
        let id = json!({"type": "string", "minLength": 1, "maxLength": MAX_SESSION_ID_BYTES});
        properties.insert("sessionId".to_owned(), id);
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
