//! JSON Schema and TypeScript made of the catalog.

use std::fmt::Write;

use crate::catalog::check::Lists;
use crate::catalog::envelope::{Durable, Ephemeral};
use crate::catalog::list::{Class, EventType};
use crate::catalog::shape::{Field, Kind, Shaped};

/// Returns the JSON Schema (draft 2020-12) of a line of a log and of an event that is only live. Members that the catalog
/// does not have are allowed, since they are kept.
pub fn json_schema(lists: Lists) -> String {
    let mut out = String::from(
        r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Session events",
  "description": "Made of the event catalog; do not edit.",
  "oneOf": [{"$ref": "#/$defs/Durable"}, {"$ref": "#/$defs/Ephemeral"}],
  "$defs": {
"##,
    );
    for (name, fields) in objects() {
        let required: Vec<String> =
            fields.iter().filter(|field| !field.optional).map(|field| format!("{:?}", field.name)).collect();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            out,
            "    \"{name}\": {{\"type\": \"object\", \"required\": [{}], \"properties\": {{",
            required.join(", ")
        );
        let members: Vec<String> = fields
            .iter()
            .map(|field| format!("      \"{}\": {}", field.name, schema_of(name, field, lists)))
            .collect();
        out.push_str(&members.join(",\n"));
        out.push_str("\n    }");
        if let Some(class) = class_of(name) {
            let payloads: Vec<String> = types_of(class)
                .iter()
                .map(|event_type| {
                    format!(
                        "      {{\"properties\": {{\"type\": {{\"const\": \"{}\"}}, \"payload\": {{\"$ref\": \"#/$defs/{}\"}}}}}}",
                        event_type.as_str(),
                        payload_name(*event_type)
                    )
                })
                .collect();
            let _ = write!(out, ", \"oneOf\": [\n{}\n    ]", payloads.join(",\n"));
        }
        out.push_str("},\n");
    }
    out.truncate(out.trim_end_matches(",\n").len());
    out.push_str("\n  }\n}\n");
    out
}

/// Returns the TypeScript types. Names of tools are any text, since other harnesses have their own.
pub fn typescript() -> String {
    let mut out = String::from(
        "// Made of the event catalog; do not edit.\n\nimport type { Json } from \"./events.js\";\n\n\
         /** The version of a line. */\nexport const EVENT_SCHEMA_VERSION = 1;\n",
    );
    for (name, words) in lists() {
        let open = if name == "ToolName" { " | (string & {})" } else { "" };
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let _ = write!(out, "\nexport type {name} = {}{open};\n", words.join(" | "));
    }
    for (name, fields) in objects().into_iter().filter(|(name, _)| class_of(name).is_none()) {
        let _ = write!(out, "\nexport interface {name} {{\n");
        for field in fields {
            let _ = writeln!(out, "  {};", member(field));
        }
        out.push_str("}\n");
    }
    for (class, fields) in [(Class::Durable, Durable::KIND), (Class::Ephemeral, Ephemeral::KIND)] {
        let name = if class == Class::Durable { "Durable" } else { "Ephemeral" };
        let _ = write!(out, "\nexport interface {name}Payloads {{\n");
        for event_type in types_of(class) {
            let _ = writeln!(out, "  \"{}\": {};", event_type.as_str(), payload_name(*event_type));
        }
        let _ = write!(
            out,
            "}}\n\nexport type {name}EventType = keyof {name}Payloads;\n\n/** An event with its envelope. */\nexport interface {name}<T extends {name}EventType> {{\n"
        );
        let Kind::Object { fields, .. } = fields else { continue };
        for field in fields {
            let line = match field.name {
                "v" => "v: typeof EVENT_SCHEMA_VERSION".to_owned(),
                "type" => "type: T".to_owned(),
                "payload" => format!("payload: {name}Payloads[T]"),
                _ => member(field),
            };
            let _ = writeln!(out, "  {line};");
        }
        let _ = write!(
            out,
            "}}\n\nexport type {name}Event = {{ [T in {name}EventType]: {name}<T> }}[{name}EventType];\n\n/** What a producer hands over. */\nexport type {name}EventInput = {{ [T in {name}EventType]: {{ type: T; payload: {name}Payloads[T] }} }}[{name}EventType];\n"
        );
        let constant = name.to_uppercase();
        let _ = write!(out, "\nexport const {constant}_EVENT_TYPES: readonly {name}EventType[] = [\n");
        for event_type in types_of(class) {
            let _ = writeln!(out, "  \"{}\",", event_type.as_str());
        }
        out.push_str("];\n");
    }
    out
}

fn types_of(class: Class) -> &'static [EventType] {
    match class {
        Class::Durable => EventType::DURABLE,
        Class::Ephemeral => EventType::EPHEMERAL,
    }
}

/// The class of an envelope; nothing for other objects.
fn class_of(name: &str) -> Option<Class> {
    match name {
        "Durable" => Some(Class::Durable),
        "Ephemeral" => Some(Class::Ephemeral),
        _ => None,
    }
}

fn payload_name(event_type: EventType) -> &'static str {
    match event_type.kind() {
        Kind::Object { name, .. } => name,
        _ => "",
    }
}

/// The shapes of both envelopes and all payloads.
fn roots() -> impl Iterator<Item = Kind> {
    let payloads = EventType::DURABLE.iter().chain(EventType::EPHEMERAL).map(|event_type| event_type.kind());
    payloads.chain([Durable::KIND, Ephemeral::KIND])
}

/// Every object once, those that others consist of first.
fn objects() -> Vec<(&'static str, &'static [Field])> {
    let mut found = Vec::new();
    roots().for_each(|kind| {
        visit(&kind, &mut |kind| match kind {
            Kind::Object { name, fields } if !found.contains(&(*name, *fields)) => {
                found.push((*name, *fields))
            }
            _ => {}
        });
    });
    found
}

/// Every list of words once.
fn lists() -> Vec<(&'static str, &'static [&'static str])> {
    let mut found = Vec::new();
    roots().for_each(|kind| {
        visit(&kind, &mut |kind| match kind {
            Kind::Word { name, words } if !found.contains(&(*name, *words)) => found.push((*name, *words)),
            _ => {}
        });
    });
    found
}

/// Looks at what a shape consists of, then at the shape.
fn visit(kind: &Kind, look: &mut impl FnMut(&Kind)) {
    match kind {
        Kind::List { items, .. } => visit(items, look),
        Kind::Object { fields, .. } => fields.iter().for_each(|field| visit(&field.kind, look)),
        _ => {}
    }
    look(kind);
}

fn schema_of(object: &str, field: &Field, lists: Lists) -> String {
    match (object, field.name) {
        ("Durable", "v") => return "{\"const\": 1}".to_owned(),
        ("Durable" | "Ephemeral", "id") => {
            return "{\"type\": \"string\", \"pattern\": \"^[0-7][0-9A-HJKMNP-TV-Z]{25}$\"}".to_owned();
        }
        _ => {}
    }
    let schema = schema(&field.kind, lists);
    if field.nullable { format!("{{\"anyOf\": [{schema}, {{\"type\": \"null\"}}]}}") } else { schema }
}

fn schema(kind: &Kind, lists: Lists) -> String {
    match kind {
        Kind::Text => "{\"type\": \"string\"}".to_owned(),
        Kind::Integer { minimum: None } => "{\"type\": \"integer\"}".to_owned(),
        Kind::Integer { minimum: Some(minimum) } => {
            format!("{{\"type\": \"integer\", \"minimum\": {minimum}}}")
        }
        Kind::Number => "{\"type\": \"number\"}".to_owned(),
        Kind::Boolean => "{\"type\": \"boolean\"}".to_owned(),
        Kind::Json => "true".to_owned(),
        Kind::Word { name: "ToolName", .. } if lists == Lists::OpenTools => {
            "{\"type\": \"string\"}".to_owned()
        }
        Kind::Word { words, .. } => format!("{{\"enum\": {words:?}}}"),
        Kind::Choice(numbers) => format!("{{\"enum\": {numbers:?}}}"),
        Kind::List { items, at_least } => {
            let at_least = if *at_least > 0 { format!(", \"minItems\": {at_least}") } else { String::new() };
            format!("{{\"type\": \"array\", \"items\": {}{at_least}}}", schema(items, lists))
        }
        Kind::Object { name, .. } => format!("{{\"$ref\": \"#/$defs/{name}\"}}"),
    }
}

fn member(field: &Field) -> String {
    let optional = if field.optional { "?" } else { "" };
    let nullable = if field.nullable { " | null" } else { "" };
    format!("{}{optional}: {}{nullable}", field.name, type_of(&field.kind))
}

fn type_of(kind: &Kind) -> String {
    match kind {
        Kind::Text => "string".to_owned(),
        Kind::Integer { .. } | Kind::Number => "number".to_owned(),
        Kind::Boolean => "boolean".to_owned(),
        Kind::Json => "Json".to_owned(),
        Kind::Word { name, .. } | Kind::Object { name, .. } => (*name).to_owned(),
        Kind::Choice(numbers) => numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | "),
        Kind::List { items, at_least: 0 } => format!("readonly {}[]", type_of(items)),
        Kind::List { items, .. } => format!("readonly [{0}, ...{0}[]]", type_of(items)),
    }
}
