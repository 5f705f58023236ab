//! The tables in code say what the shared files say.

use std::collections::BTreeMap;

use herdbook_events::{Family, Field, FieldKind};
use herdbook_hosts::{Decode, HOSTS, Install, NativeEvent, table};
use serde_json::{Value, json};

use crate::shared::{contract_of, folder, read_json};

fn kind_name(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Boolean => "boolean",
        FieldKind::Json => "json",
        FieldKind::NullableString => "nullable-string",
        FieldKind::String => "string",
        FieldKind::StringArray => "string-array",
        FieldKind::Trigger => "trigger",
    }
}

fn decode_name(decode: Decode) -> &'static str {
    match decode {
        Decode::None => "none",
        Decode::JsonString => "json-string",
        Decode::PositiveCount => "positive-count",
    }
}

#[test]
fn families_fields_and_kinds_equal_the_shared_list() {
    let Some(shared) = folder("families_fields_and_kinds_equal_the_shared_list") else { return };
    let list = read_json(shared.join("hosts/families.json"));
    let ours: Vec<Value> = Family::ALL
        .iter()
        .map(|family| {
            let fields: Vec<&str> = family.fields().iter().map(|field| field.as_str()).collect();
            json!({"family": family.as_str(), "fields": fields})
        })
        .collect();
    let theirs: Vec<Value> = list["families"]
        .as_array()
        .unwrap()
        .iter()
        .map(|family| json!({"family": family["family"], "fields": family["fields"]}))
        .collect();
    assert_eq!(ours, theirs);
    let kinds: BTreeMap<&str, &str> =
        Field::ALL.iter().map(|field| (field.as_str(), kind_name(field.kind()))).collect();
    assert_eq!(json!(kinds), list["fieldKinds"]);
}

#[test]
fn tables_equal_the_shared_contracts() {
    let Some(shared) = folder("tables_equal_the_shared_contracts") else { return };
    let mut compared = 0;
    for table in HOSTS {
        let contract = contract_of(&shared, table.host);
        let events = contract["events"].as_array().unwrap();
        assert_eq!(
            table.events.iter().map(|event| event.name).collect::<Vec<_>>(),
            events.iter().map(|event| event["native"].as_str().unwrap()).collect::<Vec<_>>(),
            "{}",
            table.host
        );
        for (ours, theirs) in table.events.iter().zip(events) {
            let name = format!("{} {}", table.host, ours.name);
            let payload: BTreeMap<&str, Value> = ours
                .mappings()
                .map(|mapping| {
                    let decode = decode_name(mapping.decode);
                    (mapping.field.as_str(), json!({"nativeKey": mapping.key, "decode": decode}))
                })
                .collect();
            assert_eq!(payload.len(), ours.mappings().count(), "{name}: a field is mapped twice");
            assert_eq!(json!(payload), theirs["payload"], "{name}");
            assert_eq!(json!(ours.family.map(Family::as_str)), theirs["family"], "{name}");
            assert_eq!(ours.outside.is_some(), theirs["familyReason"].is_string(), "{name}");
            assert_eq!(json!(ours.can_block), theirs["canBlock"], "{name}");
            let limit_ms = theirs["timeout"].as_f64().map(|seconds| seconds * 1000.0);
            assert_eq!(ours.limit_ms.map(f64::from), limit_ms, "{name}");
            compared += 1;
        }
        assert_eq!(
            table.limit_ms.map(|limit_ms| limit_ms / 1000),
            contract["timeouts"]["defaultSeconds"].as_u64().map(|seconds| u32::try_from(seconds).unwrap())
        );
    }
    println!("{compared} native events equal");
    assert_eq!(compared, 33 + 12 + 21 + 5 + 11 + 9 + 13 + 26);
}

#[test]
fn identity_keys_equal_the_shared_contracts() {
    let Some(shared) = folder("identity_keys_equal_the_shared_contracts") else { return };
    for table in HOSTS {
        let contract = contract_of(&shared, table.host);
        // The contract says the key first, then words about it; null where the host has none.
        let key =
            |name: &str| contract["identity"][name].as_str().map(|said| said.split(' ').next().unwrap());
        if table.host == "amp" {
            // Named as the plugin sees them; the bridge flattens them, and leaves the turn's id out.
            assert_eq!((key("session"), key("toolCall")), (Some("thread.id"), Some("toolUseID")));
            assert_eq!(table.identity.session, ["session_id"]);
            assert_eq!(table.identity.tool_use, ["tool_use_id"]);
            assert_eq!((table.identity.turn, table.identity.agent), (&[][..], &[][..]));
            continue;
        }
        assert_eq!(table.identity.session.first().copied(), key("session"), "{}", table.host);
        assert_eq!(table.identity.turn.first().copied(), key("turn"), "{}", table.host);
        assert_eq!(table.identity.tool_use.first().copied(), key("toolCall"), "{}", table.host);
        match table.host {
            // A subagent there is a session of its own.
            "opencode" => assert!(table.identity.agent.is_empty()),
            // Newer versions also give it an id.
            "copilot" => assert_eq!(table.identity.agent, ["agent_id", key("subagent").unwrap()]),
            host => assert_eq!(table.identity.agent.first().copied(), key("subagent"), "{host}"),
        }
    }
    assert_eq!(table("cursor").unwrap().identity.parent, ["parent_conversation_id"]);
}

#[test]
fn the_install_column_equals_the_shared_one() {
    let Some(shared) = folder("the_install_column_equals_the_shared_one") else { return };
    let install = read_json(shared.join("hosts/install.json"));
    for table in HOSTS {
        let theirs = &install[table.host];
        // A plugin bounds itself.
        if theirs["plugin"] != true {
            assert_eq!(json!(table.entry_ms / 1000), theirs["timeoutSeconds"], "{}", table.host);
        }
        for event in table.events {
            let listed = |list: &Value| list.as_array().unwrap().iter().any(|name| *name == event.name);
            let expected =
                (listed(&theirs["yes"]), listed(&theirs["route"]), theirs["no"][event.name].is_string());
            let ours = match event.install {
                Install::Always => (true, false, false),
                Install::OnRoute => (false, true, false),
                Install::Never(_) => (false, false, true),
            };
            // The real clients: Gemini draws the command of that hook on the human's screen when it quits, and OpenCode calls
            // that one nowhere.
            let found_out = [("gemini", "SessionEnd"), ("opencode", "permission.ask")];
            if found_out.contains(&(table.host, event.name)) {
                assert_eq!((ours, expected.2), ((false, false, true), false));
                continue;
            }
            assert_eq!(ours, expected, "{} {}", table.host, event.name);
        }
    }
}

#[test]
fn claude_names_that_cursor_imports_equal_the_shared_contract() {
    let Some(shared) = folder("claude_names_that_cursor_imports_equal_the_shared_contract") else { return };
    let contract = read_json(shared.join("hosts/cursor.json"));
    let ours: BTreeMap<&str, &str> = table("cursor").unwrap().aliases.iter().copied().collect();
    assert_eq!(json!(ours), contract["config"]["thirdPartyImport"]["events"]);
}

#[test]
fn names_and_keys_that_copilot_spells_in_two_ways_equal_the_shared_contract() {
    let Some(shared) = folder("names_and_keys_that_copilot_spells_in_two_ways_equal_the_shared_contract")
    else {
        return;
    };
    let spellings = &read_json(shared.join("hosts/copilot.json"))["spellings"];
    let copilot = table("copilot").unwrap();
    for (name, camel) in spellings["eventNames"].as_object().unwrap() {
        assert_eq!(copilot.event(camel.as_str().unwrap()).unwrap().name, name);
    }
    let mut read = 0;
    for mapping in copilot.events.iter().flat_map(NativeEvent::mappings) {
        let Some(camel) = spellings["keys"][mapping.key].as_str().filter(|camel| *camel != mapping.key)
        else {
            continue;
        };
        assert_eq!(copilot.layout.respelled(mapping.key), Some(camel));
        assert_eq!(copilot.layout.respelled(camel), Some(mapping.key));
        read += 1;
    }
    assert_eq!(read, 20);
}

/// The hosts of the reference; others fill its fields, and add none.
const SEED_HOSTS: [&str; 4] = ["claude", "codex", "cursor", "amp"];

/// Returns the hosts of the reference that report a field in a family, or that support the family where no field is given.
fn reporting(family: Family, field: Option<Field>) -> Vec<&'static str> {
    let reports = |event: &NativeEvent| {
        event.family == Some(family) && field.is_none_or(|field| event.mapping(field).is_some())
    };
    let seeds = HOSTS.iter().filter(|table| SEED_HOSTS.contains(&table.host));
    seeds.filter(|table| table.events.iter().any(reports)).map(|table| table.host).collect()
}

#[test]
fn every_field_is_reported_by_two_hosts_or_by_the_only_one() {
    for family in Family::ALL {
        let supporting = reporting(*family, None);
        for field in family.fields() {
            let count = reporting(*family, Some(*field)).len();
            let wanted = supporting.len().min(2);
            assert!(count >= wanted && count > 0, "{} {}: {count}", family.as_str(), field.as_str());
        }
    }
}

#[test]
fn the_same_hosts_report_each_field_as_in_the_shared_list() {
    let Some(shared) = folder("the_same_hosts_report_each_field_as_in_the_shared_list") else { return };
    let list = read_json(shared.join("hosts/families.json"));
    assert_eq!(json!(SEED_HOSTS), list["seedHosts"]);
    for (family, entry) in Family::ALL.iter().zip(list["families"].as_array().unwrap()) {
        assert_eq!(json!(reporting(*family, None)), entry["seedHosts"], "{}", family.as_str());
        for field in family.fields() {
            let theirs = &entry["reportedBy"][field.as_str()];
            let ours = json!(reporting(*family, Some(*field)));
            assert_eq!(ours, *theirs, "{} {}", family.as_str(), field.as_str());
        }
    }
}

#[test]
fn the_same_events_make_up_each_family_as_in_the_shared_list() {
    let Some(shared) = folder("the_same_events_make_up_each_family_as_in_the_shared_list") else { return };
    let list = read_json(shared.join("hosts/families.json"));
    for (family, entry) in Family::ALL.iter().zip(list["families"].as_array().unwrap()) {
        for table in HOSTS {
            let events = table.events.iter().filter(|event| event.family == Some(*family));
            let ours: Vec<&str> = events.map(|event| event.name).collect();
            let theirs: Vec<String> =
                serde_json::from_value(entry["native"][table.host].clone()).unwrap_or_default();
            assert_eq!(ours, theirs, "{} {}", table.host, family.as_str());
        }
    }
}

#[test]
fn no_event_maps_a_field_its_family_does_not_have() {
    for table in HOSTS {
        for event in table.events {
            let fields = event.family.map_or(&[][..], Family::fields);
            for mapping in event.mappings() {
                assert!(fields.contains(&mapping.field), "{} {} {mapping:?}", table.host, event.name);
            }
            assert_ne!(event.family.is_some(), event.outside.is_some(), "{} {}", table.host, event.name);
        }
    }
}

#[test]
fn names_are_found_as_each_host_spells_them() {
    let family = |host: &str, name: &str| table(host).unwrap().event(name).and_then(|event| event.family);
    assert_eq!(family("claude", "Stop"), Some(Family::Stop));
    assert_eq!(family("claude", "stop"), None);
    assert_eq!(family("codex", "Interrupt"), None);
    assert_eq!(family("cursor", "STOP"), Some(Family::Stop));
    assert_eq!(family("cursor", "UserPromptSubmit"), Some(Family::PromptSubmit));
    assert_eq!(family("gemini", "AfterAgent"), Some(Family::Stop));
    assert_eq!(family("gemini", "PreCompress"), None);
    assert_eq!(family("droid", "SubagentStop"), Some(Family::AgentStop));
    assert_eq!(family("copilot", "agentStop"), Some(Family::Stop));
    assert_eq!(family("copilot", "SubagentStart"), Some(Family::AgentStart));
    assert_eq!(family("opencode", "session.idle"), Some(Family::Stop));
    assert!(table("nobody").is_none());
}

#[test]
fn entries_ask_for_no_more_time_than_the_host_grants() {
    let codex = table("codex").unwrap();
    let entry_ms = |name: &str| codex.entry_ms(codex.event(name).unwrap());
    assert_eq!((entry_ms("Stop"), entry_ms("Interrupt"), entry_ms("SessionEnd")), (5_000, 3_000, 3_000));
}
