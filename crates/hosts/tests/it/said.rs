//! What each host is told, to the letter, for every decision at every event of a family.

use std::fmt::Write;

use herdbook_hosts::{Answer, Decision, HOSTS, HostTable, NativeEvent, Outcome, Output, Route, Said, table};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::shared::{contract_of, folder};

/// What is expected, for people.
const TABLE: &str = include_str!("said.txt");

const BEGINNING: &str = "\
What each host is told at each event of a family. The reason is `why`, the context `note`, the other input
`{\"command\":\"ls\"}` (of a prompt: `go`). `without` names what is left out, with the nearest thing that works.
";

fn read(printed: &str) -> Decision {
    Decision::read(printed.as_bytes()).unwrap()
}

/// A decision with those parts; alone, context and another input come with the outcome `continue`.
fn decision(event: &NativeEvent, parts: &[Answer]) -> Decision {
    let mut printed = json!({});
    for part in parts {
        match part {
            Answer::Context => printed["context"] = json!("note"),
            Answer::UpdatedInput if event.name == "UserPromptSubmit" => printed["updatedInput"] = json!("go"),
            Answer::UpdatedInput => printed["updatedInput"] = json!({"command": "ls"}),
            outcome => {
                printed["outcome"] = json!(outcome.as_str());
                printed["reason"] = json!("why");
            }
        }
    }
    read(&printed.to_string())
}

/// The five answers, and those of several parts that an author may want.
const ROWS: [&[Answer]; 9] = [
    &[Answer::Allow],
    &[Answer::Ask],
    &[Answer::Deny],
    &[Answer::Context],
    &[Answer::UpdatedInput],
    &[Answer::Allow, Answer::UpdatedInput],
    &[Answer::Ask, Answer::UpdatedInput],
    &[Answer::Deny, Answer::UpdatedInput],
    &[Answer::Deny, Answer::Context],
];

fn words(parts: &[Answer]) -> String {
    parts.iter().map(|part| part.as_str()).collect::<Vec<_>>().join(" + ")
}

fn printed(output: &Output) -> String {
    match output {
        Output::Nothing => "nothing".to_owned(),
        Output::Stdout(text) => text.clone(),
        Output::ExitTwo(text) => format!("exit 2: {}", text.replace('\n', "\\n")),
    }
}

fn row(table: &HostTable, event: &NativeEvent, parts: &[Answer]) -> String {
    let Said { output, left_out, .. } = table.say(event, &decision(event, parts));
    let mut row = format!("  {:<22}{}", words(parts), printed(&output));
    for (answer, refusal) in left_out {
        let _ = write!(row, " | without {}: {} → {}", answer.as_str(), refusal.why, refusal.nearest);
    }
    row
}

fn of_families(table: &'static HostTable) -> impl Iterator<Item = &'static NativeEvent> {
    table.events.iter().filter(|event| event.family.is_some())
}

#[test]
fn every_decision_is_said_as_the_table_expects() {
    let mut said = BEGINNING.to_owned();
    for table in HOSTS {
        for event in of_families(table) {
            let _ = writeln!(said, "\n{} {} ({})", table.host, event.name, event.family.unwrap().as_str());
            for parts in ROWS {
                // Of several parts only those are told that can be told one by one, too.
                let is_possible = |part: &Answer| table.answer(event, *part).is_ok();
                if parts.len() == 1 || parts.iter().any(is_possible) && is_possible(&parts[1]) {
                    let _ = writeln!(said, "{}", row(table, event, parts));
                }
            }
        }
    }
    println!("{said}");
    for (ours, expected) in said.lines().zip(TABLE.lines()) {
        assert_eq!(ours, expected);
    }
    assert_eq!(said.lines().count(), TABLE.lines().count());
}

#[test]
fn no_opinion_prints_nothing_anywhere() {
    for table in HOSTS {
        for event in table.events {
            for no_opinion in ["", "{}", r#"{"reason":"why"}"#, r#"{"outcome":"continue","context":" "}"#] {
                assert_eq!(
                    table.say(event, &read(no_opinion)),
                    Said::default(),
                    "{} {}",
                    table.host,
                    event.name
                );
            }
        }
    }
}

/// The form of the shared contract with the words of these tests in its places.
fn contract(form: &Value, answer: Answer) -> String {
    fn filled(value: &Value) -> Value {
        match value {
            Value::String(text) => match text.as_str() {
                "$reason" => json!("why"),
                "$context" => json!("note"),
                "$input" => json!({"command": "ls"}),
                "$text" => json!("go"),
                text => json!(text),
            },
            Value::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), filled(value))).collect()
            }
            other => other.clone(),
        }
    }
    let place = form["target"].as_str().unwrap_or_default();
    match form["via"].as_str().unwrap() {
        "stdout-json" => filled(&form["json"]).to_string(),
        "exit-code" => format!("exit 2: {}", filled(&form["stderr"]).as_str().unwrap()),
        "throw" => json!({"throw": filled(&form["message"])}).to_string(),
        "return" => json!({"return": filled(&form["value"])}).to_string(),
        "mutate" if answer == Answer::Context => json!({"append": {place: "note"}}).to_string(),
        "mutate" => json!({"set": {place: filled(&form["value"])}}).to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn each_answer_has_the_form_of_the_shared_contracts() {
    let Some(shared) = folder("each_answer_has_the_form_of_the_shared_contracts") else { return };
    let mut told = 0;
    for table in HOSTS {
        let contracts = contract_of(&shared, table.host);
        for theirs in contracts["events"].as_array().unwrap() {
            let Some(family) = theirs["family"].as_str() else { continue };
            let event = table.event(theirs["native"].as_str().unwrap()).unwrap();
            let stop = matches!(family, "stop" | "agent/stop");
            for (answer, intent) in [
                (Answer::Allow, "allow"),
                (Answer::Ask, "ask"),
                (Answer::Deny, if stop { "blockStop" } else { "deny" }),
                (Answer::Context, "addContext"),
                (Answer::UpdatedInput, "rewriteInput"),
            ] {
                let name = format!("{} {} {}", table.host, event.name, answer.as_str());
                let form = &theirs["outputs"][intent][0];
                assert_eq!(table.answer(event, answer).is_ok(), !form.is_null(), "{name}");
                if form.is_null() {
                    continue;
                }
                let expected = contract(form, answer);
                // Where the form of another input allows, it is told beside `allow` alone.
                let beside = expected.contains("\"allow\"") || expected.contains("\"modify\"");
                let both = [Answer::Allow, Answer::UpdatedInput];
                let parts = if answer == Answer::UpdatedInput && beside { &both[..] } else { &[answer] };
                let mut ours = printed(&table.say(event, &decision(event, parts)).output);
                if let Ok(mut value) = serde_json::from_str::<Value>(&ours) {
                    if parts.len() == 2 {
                        for holder in [value.pointer_mut("/hookSpecificOutput"), None].into_iter().flatten() {
                            holder.as_object_mut().unwrap().remove("permissionDecisionReason");
                        }
                        value.as_object_mut().unwrap().remove("permissionDecisionReason");
                    }
                    ours = value.to_string();
                }
                assert_eq!(ours, expected, "{name}");
                told += 1;
            }
        }
    }
    assert_eq!(told, 94);
}

#[test]
fn what_is_left_out_is_refused_before_it_comes_to_that() {
    for table in HOSTS.iter().filter(|table| table.is_installable()) {
        for event in of_families(table) {
            for parts in ROWS {
                let may: Vec<&str> = parts.iter().map(|part| part.as_str()).collect();
                let toml = format!("hosts = [\"{}\"]\nmay = {may:?}\n", table.host);
                let route = Route::parse("a/route", event.family.unwrap(), Some(&toml)).unwrap();
                let refused: Vec<Answer> = parts
                    .iter()
                    .copied()
                    .filter(|part| {
                        let wanted = format!("may = [\"{}\"]", part.as_str());
                        route.faults().iter().any(|fault| fault.wants == wanted)
                    })
                    .collect();
                let left_out = table.say(event, &decision(event, parts)).left_out;
                let left_out: Vec<Answer> = left_out.into_iter().map(|(answer, _)| answer).collect();
                if parts.len() == 1 {
                    assert_eq!(refused, left_out, "{} {} {may:?}", table.host, event.name);
                }
                assert!(
                    refused.iter().all(|answer| left_out.contains(answer)),
                    "{} {}",
                    table.host,
                    event.name
                );
            }
        }
    }
}

#[test]
fn the_outcome_is_what_the_host_takes_for_it() {
    for (host, event, printed_by, expected) in [
        ("claude", "PreToolUse", r#"{"outcome":"ask"}"#, Outcome::Ask),
        ("gemini", "BeforeTool", r#"{"outcome":"ask"}"#, Outcome::Deny),
        ("gemini", "BeforeTool", r#"{"outcome":"allow","updatedInput":{}}"#, Outcome::Continue),
        ("codex", "PreToolUse", r#"{"outcome":"allow","updatedInput":{}}"#, Outcome::Allow),
        ("codex", "PreToolUse", r#"{"outcome":"allow","context":"c"}"#, Outcome::Continue),
        ("claude", "PostToolUse", r#"{"outcome":"deny","reason":"why"}"#, Outcome::Continue),
        ("claude", "PermissionRequest", r#"{"outcome":"ask"}"#, Outcome::Continue),
        ("opencode", "session.idle", r#"{"outcome":"deny"}"#, Outcome::Continue),
        ("droid", "Stop", r#"{"outcome":"deny"}"#, Outcome::Deny),
        ("cursor", "preToolUse", r#"{"context":"c"}"#, Outcome::Continue),
    ] {
        let table = table(host).unwrap();
        let said = table.say(table.event(event).unwrap(), &read(printed_by));
        assert_eq!(said.outcome(), expected, "{host} {event} {printed_by}");
    }
}

#[test]
fn to_allow_another_input_never_allows_the_given_one() {
    // Codex allows what it asks for, but only as it is.
    let table = table("codex").unwrap();
    let event = table.event("PermissionRequest").unwrap();
    let Said { output, given, left_out } =
        table.say(event, &read(r#"{"outcome":"allow","updatedInput":{"command":"ls"}}"#));
    assert_eq!((output, given), (Output::Nothing, vec![]));
    let left_out: Vec<_> = left_out.iter().map(|(answer, refusal)| (*answer, refusal.why)).collect();
    assert_eq!(
        left_out,
        [
            (Answer::Allow, "it was for the other input, which cannot be told"),
            (
                Answer::UpdatedInput,
                "updatedInput is an error: the hook counts as failed, and the human is asked"
            ),
        ]
    );
}

#[test]
fn a_reason_is_never_empty_and_names_nobody() {
    let said = |host: &str, event: &str, printed_by: &str| {
        let table = table(host).unwrap();
        printed(&table.say(table.event(event).unwrap(), &read(printed_by)).output)
    };
    for empty in
        [r#"{"outcome":"deny"}"#, r#"{"outcome":"deny","reason":""}"#, r#"{"outcome":"deny","reason":"\n "}"#]
    {
        assert_eq!(
            said("codex", "PreToolUse", empty),
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"denied by a route"}}"#
        );
        assert_eq!(
            said("codex", "Stop", empty),
            r#"{"decision":"block","reason":"a route wants you to go on"}"#
        );
        assert_eq!(said("claude", "TaskCompleted", empty), "exit 2: denied by a route");
        assert_eq!(said("opencode", "tool.execute.before", empty), r#"{"throw":"denied by a route"}"#);
        // There is nothing to tell the model.
        assert_eq!(said("claude", "PostToolUse", empty), "nothing");
    }
    // To ask becomes to deny, whose reason it is then.
    assert_eq!(
        said("gemini", "BeforeTool", r#"{"outcome":"ask"}"#),
        r#"{"decision":"deny","reason":"denied by a route"}"#
    );
}

#[test]
fn another_input_is_told_to_the_letter_or_not_at_all() {
    let said = |printed_by: &str| {
        let table = table("gemini").unwrap();
        table.say(table.event("BeforeTool").unwrap(), &read(printed_by))
    };
    let long = "9".repeat(400);
    let input = format!(r#"{{"n": 1.0, "big": {long}, "a": "\ud83d\ude00", "$": "$reason"}}"#);
    let output = said(&format!(r#"{{"updatedInput":{input}}}"#)).output;
    assert_eq!(output, Output::Stdout(format!(r#"{{"hookSpecificOutput":{{"tool_input":{input}}}}}"#)));
    // Half a surrogate pair is refused by readers of JSON that hosts use.
    assert_eq!(
        said(r#"{"updatedInput":{"a":"\ud83d"}}"#).output,
        Output::Stdout("{\"hookSpecificOutput\":{\"tool_input\":{\"a\":\"\u{fffd}\"}}}".to_owned())
    );
    let text = said(r#"{"updatedInput":"ls"}"#);
    assert_eq!(text.output, Output::Nothing);
    assert_eq!(text.left_out.first().unwrap().1.why, "it must be an object");
}

/// The members in which hosts are told an outcome.
fn allows(value: &Value) -> bool {
    let Some(members) = value.as_object() else { return false };
    let word = |name: &str| members.get(name).and_then(Value::as_str);
    let words = ["permissionDecision", "permission", "behavior", "decision", "action", "output.status"];
    words.iter().any(|name| matches!(word(name), Some("allow" | "modify" | "approve")))
        || members.get("continue") == Some(&json!(true))
        || ["hookSpecificOutput", "decision", "return", "set"]
            .iter()
            .any(|name| members.get(*name).is_some_and(allows))
}

fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(held) => held == text,
        Value::Object(members) => members.values().any(|value| holds(value, text)),
        _ => false,
    }
}

fn outcomes() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["continue", "allow", "ask", "deny"][..])
}

/// Texts with all that is odd in JSON and in our own forms.
fn texts() -> impl Strategy<Value = Option<String>> {
    let odd = prop::sample::select(
        &["$reason", "\"$input\"", "allow", "\u{0}\u{1f}\"\\", "}\u{2028}{", " ", ""][..],
    );
    prop::option::of(prop_oneof![any::<String>(), odd.prop_map(str::to_owned)])
}

proptest! {
    #[test]
    fn any_decision_is_valid_json_and_allows_only_what_is_allowed(
        host in 0..HOSTS.len(), event in any::<prop::sample::Index>(),
        outcome in outcomes(), reason in texts(), context in texts(),
        input in prop::option::of(prop::collection::hash_map(any::<String>(), any::<String>(), 0..3)),
    ) {
        let table = HOSTS[host];
        let event = event.get(table.events);
        let answer = json!({"outcome": outcome, "reason": reason, "context": context, "updatedInput": input});
        let said = table.say(event, &read(&answer.to_string()));
        match &said.output {
            Output::Nothing => prop_assert!(said.given.is_empty()),
            Output::ExitTwo(text) => prop_assert!(!text.trim().is_empty()),
            Output::Stdout(text) => {
                let value: Value = serde_json::from_str(text).unwrap();
                prop_assert!(outcome == "allow" || !allows(&value), "{text}");
                prop_assert!(outcome != "deny" || !allows(&value));
                if let Some(context) = context.filter(|_| said.given == [Answer::Context] && outcome != "deny") {
                    prop_assert!(holds(&value, &context), "{text}");
                }
                // OpenCode's status and Cursor's tab completion have no place for one; no route runs there.
                let is_told = event.family.is_some() && said.given.contains(&Answer::Deny);
                if let Some(reason) = reason.filter(|_| is_told) {
                    prop_assert!(reason.trim().is_empty() || holds(&value, &reason), "{text}");
                }
            }
        }
        // A host takes nothing for laxer than what was decided, and an `allow` is for the input that it came with.
        let laxer = matches!(outcome, "ask" | "deny") && said.outcome() == Outcome::Allow;
        prop_assert!(!laxer && (outcome == "allow" || said.outcome() != Outcome::Allow));
        prop_assert!(outcome != "deny" || matches!(said.outcome(), Outcome::Deny | Outcome::Continue));
        let changed = input.is_none() || said.given.contains(&Answer::UpdatedInput);
        prop_assert!(said.outcome() != Outcome::Allow || changed, "{:?}", said.output);
        // What is decided is told or named.
        let named = |answer| said.given.contains(&answer) || said.left_out.iter().any(|(left, _)| *left == answer);
        if let Some(answer) = Answer::parse(outcome) { prop_assert!(named(answer)) }
        if input.is_some() { prop_assert!(named(Answer::UpdatedInput)) }
    }
}
