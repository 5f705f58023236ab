//! Made-up payloads of hosts' events, to try a route with: what the tables promise, with values that could be real.

use herdbook_events::{Family, Field, FieldKind};
use serde_json::{Map, Value, json};

use crate::detail::{Key, Shape};
use crate::table::{Decode, HostTable, Mapping, NativeEvent};

/// The tool that runs commands, by host.
const SHELLS: &[(&str, &str)] = &[
    ("cursor", "Shell"),
    ("gemini", "run_shell_command"),
    ("copilot", "bash"),
    ("opencode", "bash"),
    ("droid", "Execute"),
];
/// The same at the others.
const SHELL: &str = "Bash";

/// Where a plugin's hook gives two arguments, these keys are in the second one, as our plugin forwards them.
const IN_OUTPUT: &[&str] = &["args", "metadata", "prompt", "title"];

/// What our plugin leaves out, since it may be long.
const LEFT_OUT: &[&str] = &["output", "parts"];

/// Makes the payload of an event, as the host would write it to a hook's stdin: the keys that it promises and those that
/// are read. Calls of tools are of `tool`, or of the one that runs commands.
pub fn sample(table: &HostTable, event: &NativeEvent, tool: Option<&str>) -> Value {
    let tool = tool.unwrap_or_else(|| shell(table.host));
    let mut payload = Map::new();
    if !event.told
        && let Some(name) = table.identity.event.first()
    {
        payload.insert((*name).to_owned(), json!(event.name));
    }
    let detail = table.detail(event);
    let own = detail.into_iter().flat_map(|detail| detail.keys()).map(|key| (key, false));
    for (key, is_common) in table.common.iter().map(|key| (key, true)).chain(own) {
        let mapping = event.mappings().find(|mapping| mapping.key == key.name);
        let is_wanted = key.required || mapping.is_some_and(|mapping| is_usual(table, event, mapping));
        if is_wanted && !payload.contains_key(key.name) {
            let value = mapping.map_or_else(|| plain(key), |mapping| decoded(mapping, tool));
            put(table, &mut payload, key.name, is_common, value);
        }
    }
    Value::Object(payload)
}

fn shell(host: &str) -> &'static str {
    SHELLS.iter().find(|(known, _)| *known == host).map_or(SHELL, |(_, tool)| tool)
}

/// Whether a field that may be absent is usually there: a subagent is named where something is about one.
fn is_usual(table: &HostTable, event: &NativeEvent, mapping: &Mapping) -> bool {
    let is_about_agents =
        matches!(event.family, Some(Family::AgentStart | Family::AgentStop | Family::AgentIdle));
    match mapping.field {
        _ if !table.layout.wrappers.is_empty() && LEFT_OUT.contains(&mapping.key) => false,
        Field::AgentId | Field::AgentType | Field::AgentTranscriptPath => is_about_agents,
        _ => true,
    }
}

/// Puts a member where the host has it: in a wrapper, if it has any.
fn put(table: &HostTable, payload: &mut Map<String, Value>, key: &str, is_common: bool, value: Value) {
    let wrappers = table.layout.wrappers;
    let is_hook = payload.get(table.identity.event.first().copied().unwrap_or_default());
    let is_hook = is_hook.and_then(Value::as_str).is_some_and(|name| {
        // Its own hooks, beside the events of its bus.
        table.event(name).is_some_and(|event| event.can_block)
            || name.contains("compacting")
            || name.contains("after")
    });
    let wrapper = match wrappers {
        [bus, input, output] if !is_common => Some(if !is_hook {
            bus
        } else if IN_OUTPUT.contains(&key) {
            output
        } else {
            input
        }),
        _ => None,
    };
    let inside = match wrapper {
        None => payload,
        Some(wrapper) => match payload.entry(*wrapper).or_insert_with(|| json!({})) {
            Value::Object(inside) => inside,
            _ => return,
        },
    };
    inside.insert(key.to_owned(), value);
}

fn plain(key: &Key) -> Value {
    match key.shape {
        Shape::Any | Shape::Object => json!({}),
        Shape::Boolean => json!(false),
        Shape::Number => json!(1),
        Shape::Objects | Shape::Texts => json!([]),
        Shape::Text => json!("sample"),
    }
}

/// The value of a field as the host writes it.
fn decoded(mapping: &Mapping, tool: &str) -> Value {
    let value = value(mapping.field, tool);
    match mapping.decode {
        Decode::None => value,
        Decode::JsonString => json!(value.to_string()),
        Decode::PositiveCount => json!(0),
    }
}

fn value(field: Field, tool: &str) -> Value {
    match field {
        Field::ToolName => json!(tool),
        Field::ToolInput => json!({"command": "git status", "description": "Show what was changed"}),
        Field::ToolResponse => json!({"output": "nothing to commit"}),
        Field::Cwd => json!("/home/dev/project"),
        Field::WorkspaceRoots => json!(["/home/dev/project"]),
        Field::FilePath => json!("/home/dev/project/README.md"),
        Field::TranscriptPath | Field::AgentTranscriptPath => json!("/home/dev/transcript.jsonl"),
        Field::Prompt => json!("Say what was changed."),
        Field::LastAssistantMessage => json!("Nothing was changed."),
        Field::PermissionMode => json!("default"),
        Field::Error => json!("exit code 1"),
        field => match field.kind() {
            FieldKind::Boolean => json!(false),
            FieldKind::Json => json!({}),
            FieldKind::StringArray => json!([]),
            FieldKind::NullableString | FieldKind::String => json!("sample"),
            FieldKind::Trigger => json!("manual"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HOSTS, Projected, faults, installable, project};

    #[test]
    fn every_sample_is_the_event_that_it_is_a_sample_of() {
        for table in HOSTS {
            for event in table.events.iter().filter(|event| event.family.is_some()) {
                let name = format!("{} {}", table.host, event.name);
                let native = sample(table, event, None).to_string();
                let Projected::Event(projected) = project(table.host, Some(event.name), native.as_bytes())
                else {
                    panic!("{name}: {native}");
                };
                assert_eq!(projected.native_event.as_deref(), Some(event.name), "{name}: {native}");
                assert_eq!(projected.event, event.family, "{name}: {native}");
                assert!(faults(&projected).is_empty(), "{name}: {:?}: {native}", faults(&projected));
                for mapping in event.mappings().filter(|mapping| is_usual(table, event, mapping)) {
                    let read = projected.payload.get(mapping.field);
                    assert!(read.is_some(), "{name}: no {}: {native}", mapping.field.as_str());
                }
            }
        }
    }

    #[test]
    fn a_call_is_of_the_tool_that_was_asked_for() {
        let before = |host: &str| {
            let table = crate::table(host).unwrap();
            table
                .events
                .iter()
                .find(|event| event.family == Some(Family::ToolBefore))
                .map(|event| (table, event))
        };
        let tool = |host: &str, tool| {
            let (table, event) = before(host).unwrap();
            let native = sample(table, event, tool).to_string();
            let Projected::Event(projected) = project(host, Some(event.name), native.as_bytes()) else {
                panic!()
            };
            projected.payload.text(Field::ToolName).unwrap()
        };
        assert_eq!(tool("claude", Some("Write")), "Write");
        let shells: Vec<String> = installable().map(|table| tool(table.host, None)).collect();
        assert_eq!(shells, ["Bash", "Bash", "Shell", "run_shell_command", "bash", "bash", "Execute"]);
    }
}
