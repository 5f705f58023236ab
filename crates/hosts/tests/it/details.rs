//! Keys, answers and evidence of every native event equal the shared contracts, field by field.

use std::collections::{BTreeMap, BTreeSet};

use herdbook_hosts::{
    Answer, Can, Detail, HOSTS, HostTable, Key, Nearest, Projected, Wording, project, table,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::shared::{contract_of, folder};

fn key(key: &Key) -> Value {
    let shape = key.shape.as_str();
    json!({"key": key.name, "type": shape, "required": key.required, "nullable": key.nullable})
}

/// Keys that we know better than the contract, with the reason.
const OURS: &[(&str, &str, &str, &str)] = &[
    (
        "copilot",
        "timestamp",
        "type",
        "the contract has one of two spellings; the other one counts milliseconds",
    ),
    ("opencode", "parts", "required", "our plugin forwards their words alone, as the prompt"),
    ("opencode", "output", "required", "our plugin leaves a tool's output out, which may be long"),
];

/// A key of the contract without its closed lists and its words, and with what is ours.
fn plain(host: &str, theirs: &Value) -> Value {
    let mut plain = json!({"key": theirs["key"], "type": theirs["type"], "required": theirs["required"],
                           "nullable": theirs["nullable"]});
    for (_, _, what, _) in OURS.iter().filter(|(whose, key, ..)| *whose == host && theirs["key"] == *key) {
        plain[what] = if *what == "type" { "any".into() } else { false.into() };
    }
    plain
}

fn wording(wording: &Wording, event: &str) -> Value {
    let parsed = |text: &str| -> Value { serde_json::from_str(&text.replace("$event", event)).unwrap() };
    match wording {
        Wording::Json(text) => json!({"via": "stdout-json", "exit": 0, "json": parsed(text)}),
        Wording::Text(text) => json!({"via": "stdout-text", "exit": 0, "stdout": text}),
        Wording::ExitTwo(text) => json!({"via": "exit-code", "exit": 2, "stderr": text}),
        Wording::Throw(text) => json!({"via": "throw", "message": text}),
        Wording::Return(text) => json!({"via": "return", "value": parsed(text)}),
        Wording::Set(place, value) => json!({"via": "mutate", "target": place, "value": value}),
    }
}

/// The versions that evidence ids name: `live-2.1.257/2.1.259`, `live-2.1.332 (where)`.
fn versions(evidence: &Value) -> Vec<&str> {
    let ids = evidence.as_array().unwrap().iter().filter_map(|id| id.as_str()?.strip_prefix("live-"));
    ids.flat_map(|id| id.split(' ').next().unwrap().split('/')).collect()
}

/// Recordings that are younger than the contract's evidence: subagents in Codex, an error in OpenCode.
const SINCE_SEEN: &[(&str, &str, &str)] = &[
    ("codex", "SubagentStart", "0.171.0"),
    ("codex", "SubagentStop", "0.171.0"),
    ("opencode", "session.error", "1.18.33"),
];

fn since_seen(table: &HostTable, detail: &Detail) -> Option<&'static str> {
    let of = |(host, event, _): &&(&str, &str, &str)| (*host, *event) == (table.host, detail.event);
    SINCE_SEEN.iter().find(of).map(|(.., version)| *version)
}

/// Keys that the contract lists with an event although every event of the host carries them.
const LISTED_TWICE: &[(&str, &str)] = &[("amp", "session_id")];

#[test]
fn keys_answers_and_evidence_equal_the_shared_contracts() {
    let Some(shared) = folder("keys_answers_and_evidence_equal_the_shared_contracts") else { return };
    let (mut keys, mut answers) = (0, 0);
    for table in HOSTS {
        let contract = contract_of(&shared, table.host);
        let common: Vec<Value> =
            contract["commonInput"].as_array().unwrap().iter().map(|key| plain(table.host, key)).collect();
        assert_eq!(table.common.iter().map(key).collect::<Vec<_>>(), common, "{}", table.host);
        let events = contract["events"].as_array().unwrap();
        assert_eq!(table.details.len(), events.len(), "{}", table.host);
        for (detail, theirs) in table.details.iter().zip(events) {
            let name = format!("{} {}", table.host, detail.event);
            assert_eq!(json!(detail.event), theirs["native"]);
            let listed_twice = |key: &Value| {
                LISTED_TWICE.iter().any(|(host, name)| table.host == *host && key["key"] == *name)
            };
            let input: Vec<Value> = theirs["input"]
                .as_array()
                .unwrap()
                .iter()
                .map(|key| plain(table.host, key))
                .filter(|key| !listed_twice(key))
                .collect();
            // Groups of keys change their order, and nothing else.
            let sorted = |mut keys: Vec<Value>| {
                keys.sort_by_key(|key| key["key"].as_str().unwrap().to_owned());
                keys
            };
            keys += input.len();
            assert_eq!(sorted(detail.keys().map(key).collect()), sorted(input), "{name}");
            let listed = theirs["input"].as_array().unwrap().iter().filter(|key| key["values"].is_array());
            let listed: Vec<Value> = listed.map(|key| json!([key["key"], key["values"]])).collect();
            assert_eq!(json!(detail.values), Value::Array(listed), "{name}");
            assert_eq!(json!(detail.effect.is_some()), theirs["canBlock"], "{name}");
            let seen: Vec<&str> =
                versions(&theirs["evidence"]).into_iter().chain(since_seen(table, detail)).collect();
            assert_eq!(detail.seen, seen, "{name}");

            let ours: BTreeMap<&str, Value> = detail
                .can
                .iter()
                .map(|can| {
                    let wordings = can.wordings.iter().map(|one| wording(one, detail.event)).collect();
                    (can.intent.as_str(), Value::Array(wordings))
                })
                .collect();
            assert_eq!(ours.len(), detail.can.len(), "{name}: an intent stands twice");
            let mut outputs = theirs["outputs"].as_object().unwrap().clone();
            let silence = json!([{"via": "none", "exit": 0}]);
            assert_eq!(outputs.remove("passThrough").unwrap_or(silence.clone()), silence, "{name}");
            for form in outputs.values_mut().flat_map(|forms| forms.as_array_mut().unwrap()) {
                form.as_object_mut().unwrap().remove("note");
            }
            answers += outputs.len();
            assert_eq!(json!(ours), Value::Object(outputs), "{name}");
            let ours: BTreeSet<&str> = detail.cannot.iter().map(|cannot| cannot.what).collect();
            let theirs: BTreeSet<&str> =
                theirs["unsupportedOutputs"].as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(ours, theirs, "{name}");
        }
    }
    println!("{keys} keys and {answers} answers equal");
    assert_eq!((keys, answers), (463, 173));
}

#[test]
fn each_event_has_its_details_and_may_block_where_it_can_be_denied() {
    for table in HOSTS {
        let events: Vec<&str> = table.events.iter().map(|event| event.name).collect();
        assert_eq!(
            table.details.iter().map(|detail| detail.event).collect::<Vec<_>>(),
            events,
            "{}",
            table.host
        );
        for event in table.events {
            let detail = table.detail(event).unwrap();
            let name = format!("{} {}", table.host, event.name);
            assert_eq!(event.can_block, detail.effect.is_some(), "{name}");
            let is_mapped = |key: &str| table.is_common(key) || detail.keys().any(|known| known.name == key);
            assert!(event.mappings().all(|mapping| is_mapped(mapping.key)), "{name}");
        }
    }
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(default)]
    argv: Vec<String>,
    #[serde(borrow)]
    native: Option<&'a RawValue>,
}

/// The contract's evidence names it; what is left of that recording does not hold it.
const NOT_KEPT: &[(&str, &str)] = &[("cursor", "beforeSubmitPrompt")];

#[test]
fn what_the_recordings_hold_is_marked_as_seen() {
    let Some(shared) = folder("what_the_recordings_hold_is_marked_as_seen") else { return };
    let mut apart = BTreeSet::new();
    for table in HOSTS {
        let newest = newest(table);
        let Some(newest) = newest else { continue };
        let prefix = format!("{}-{newest}", table.host);
        let folders = ["captures", "captures/real"];
        let lines = folders.iter().flat_map(|name| crate::shared::lines(shared.join(name), &[&prefix]));
        let mut recorded = BTreeSet::new();
        for line in lines {
            let call: Call = serde_json::from_str(&line).unwrap();
            let Some(native) = call.native else { continue };
            let told = call.argv.iter().find_map(|argument| argument.strip_prefix("event:"));
            let Projected::Event(event) = project(table.host, told, native.get().as_bytes()) else {
                panic!()
            };
            recorded.extend(event.native_event.and_then(|name| Some(table.event(&name)?.name)));
        }
        for detail in table.details {
            if recorded.contains(detail.event) != detail.seen.contains(&newest) {
                apart.insert((table.host, detail.event));
            }
        }
    }
    assert_eq!(apart, NOT_KEPT.iter().copied().collect());
}

/// The newest version of a host's client that was seen.
fn newest(table: &HostTable) -> Option<&'static str> {
    table.details.iter().filter_map(|detail| detail.seen.last().copied()).max()
}

fn forms(can: &Can) -> Vec<Wording> {
    can.wordings.to_vec()
}

fn answer(host: &str, event: &str, answer: Answer) -> Result<Vec<Wording>, Nearest> {
    let table = table(host).unwrap();
    table.answer(table.event(event).unwrap(), answer).map(forms).map_err(|refusal| refusal.nearest)
}

#[test]
fn what_a_host_cannot_be_told_leads_to_something_it_can() {
    let mut refused = 0;
    for table in HOSTS {
        for event in table.events {
            for wanted in Answer::ALL {
                let Err(refusal) = table.answer(event, wanted) else { continue };
                refused += 1;
                assert!(!refusal.why.is_empty());
                let (event, other) = match refusal.nearest {
                    Nearest::Continue => continue,
                    Nearest::Answer(other) => (event, other),
                    Nearest::At(name, other) => (table.event(name).unwrap(), other),
                };
                assert!(table.answer(event, other).is_ok(), "{} {} {other:?}", table.host, event.name);
                // Whoever wants less than yes is never led to a yes.
                assert_ne!(other, Answer::Allow, "{} {}", table.host, event.name);
            }
        }
    }
    println!("{refused} refusals");
    assert!(refused > 100);
}

#[test]
fn the_answers_that_bite_are_as_each_host_takes_them() {
    use Nearest::{At, Continue};
    // To Codex, allow and ask before a tool are errors, and the call runs.
    assert_eq!(answer("codex", "PreToolUse", Answer::Allow), Err(Continue));
    assert_eq!(answer("codex", "PreToolUse", Answer::Ask), Err(Nearest::Answer(Answer::Deny)));
    assert_eq!(
        answer("codex", "PreCompact", Answer::Deny),
        Ok(vec![Wording::Json(r#"{"continue":false,"stopReason":"$reason"}"#)])
    );
    assert_eq!(answer("codex", "Stop", Answer::Context), Err(Nearest::Answer(Answer::Deny)));
    // Cursor reads ask before a tool, and asks nobody.
    assert_eq!(answer("cursor", "preToolUse", Answer::Ask), Err(Nearest::Answer(Answer::Deny)));
    assert_eq!(answer("cursor", "preToolUse", Answer::Context), Err(At("postToolUse", Answer::Context)));
    // A dialog that is about to be shown asks by itself.
    assert_eq!(answer("claude", "PermissionRequest", Answer::Ask), Err(Continue));
    assert_eq!(answer("claude", "PostToolUse", Answer::Deny), Err(Nearest::Answer(Answer::Context)));
    assert_eq!(answer("claude", "TaskCompleted", Answer::Deny), Ok(vec![Wording::ExitTwo("$reason")]));
    assert_eq!(answer("claude", "Stop", Answer::Deny).unwrap().len(), 2);
    assert_eq!(
        answer("opencode", "permission.asked", Answer::Deny),
        Err(At("tool.execute.before", Answer::Deny))
    );
    assert_eq!(answer("copilot", "SessionEnd", Answer::Deny), Err(Continue));
}

#[test]
fn one_event_of_one_host_may_be_held() {
    let held: Vec<(&str, &str)> = HOSTS
        .iter()
        .flat_map(|table| table.details.iter().map(|detail| (table.host, detail)))
        .filter(|(_, detail)| detail.hold_safe)
        .map(|(host, detail)| (host, detail.event))
        .collect();
    assert_eq!(held, [("claude", "PermissionRequest")]);
}
