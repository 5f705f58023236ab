//! Raw JSON stays JSON, with the same structure, byte for byte outside of marks.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[test]
fn members_are_marked_by_name() {
    let redactor = redactor();
    let text = r#"{ "user_email" : "dev@example.com", "email":"dev@example.com", "password": "two words", "token":"short",
        "nested":{"clientSecret":"abcdefgh","authorization":["Bearer abc","Basic ZGV2"],"api_key":12345678,"password":{"type":"string"}},
        "big": 12345678901234567890123456, "note":"dev@example.com" }"#;
    let marked = redactor.json(text).into_owned();
    let value: Value = serde_json::from_str(&marked).unwrap();
    let is_mark = |value: &Value, kind: &str| {
        let text = value.as_str().unwrap();
        text.starts_with(&format!("[redacted:{kind}:")) && text.ends_with(']')
    };
    assert!(is_mark(&value["user_email"], "email"));
    assert!(is_mark(&value["password"], "password"));
    assert!(is_mark(&value["nested"]["clientSecret"], "secret"));
    assert!(
        value["nested"]["authorization"][0].as_str().unwrap().starts_with("Bearer [redacted:authorization:")
    );
    assert_eq!(value["email"], "dev@example.com");
    assert_eq!(value["note"], "dev@example.com");
    assert_eq!(value["token"], "short");
    assert_eq!(value["nested"]["api_key"], 12_345_678);
    assert_eq!(value["nested"]["password"]["type"], "string");
    assert!(marked.contains("\"big\": 12345678901234567890123456"));
}

#[test]
fn escapes_around_a_mark_stay_as_they_came() {
    let redactor = redactor();
    let token = ["gh", "p_", &noise(ALNUM, 36, 3)].concat();
    // A lone surrogate, an escaped slash, an escaped letter, and the token behind an escaped line end.
    let text = format!(r#"["\ud83d x\/y \u0041 é\n{token}\"\\"]"#);
    let marked = redactor.json(&text).into_owned();
    let (head, tail) = marked.split_once("[redacted:github-pat:").unwrap();
    assert_eq!(head, r#"["\ud83d x\/y \u0041 é\n"#);
    assert_eq!(&tail[8..], r#"]\"\\"]"#);

    // A token whose letters are written as escapes is a token.
    let hidden = format!(r#"["\u0067h\u0070_{}"]"#, noise(ALNUM, 36, 3));
    assert_eq!(redactor.json(&hidden), format!("[\"{}\"]", redactor.text(&token)));
}

#[test]
fn broken_json_does_not_panic_and_keeps_its_shape() {
    let redactor = redactor();
    let token = ["gh", "p_", &noise(ALNUM, 36, 3)].concat();
    for text in ["", "\"", "\"\\", "{\"a", "]]}}", "\"\\u12", "\"\\ud83d\\u", "nul"] {
        assert_eq!(redactor.json(text), text);
    }
    let cut = format!("{{\"message\":\"see {token}");
    assert!(redactor.json(&cut).starts_with("{\"message\":\"see [redacted:github-pat:"));
}

/// Strings that secrets, escapes and odd characters meet in.
fn strings() -> impl Strategy<Value = String> {
    let token = ["gh", "p_", &noise(ALNUM, 36, 3)].concat();
    let pieces = prop_oneof![
        Just(token),
        Just("password=".to_owned()),
        Just("\"password\":\"hunter2\"".to_owned()),
        Just("Authorization: Bearer abcdef0123456789".to_owned()),
        Just("https://a:b@c/".to_owned()),
        Just("-----BEGIN ".to_owned()),
        Just("PRIVATE KEY-----\n".to_owned()),
        Just("AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJKKKK".to_owned()),
        Just("\\n".to_owned()),
        Just("\\".to_owned()),
        Just("\"".to_owned()),
        Just("\n".to_owned()),
        Just("😀é\u{0}\u{7f}".to_owned()),
        ".{0,8}",
    ];
    prop::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        strings().prop_map(Value::from),
    ];
    let names = prop_oneof![
        Just("password".to_owned()),
        Just("authorization".to_owned()),
        Just("token".to_owned()),
        Just("user_email".to_owned()),
        Just("text".to_owned()),
        strings(),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The value with every string emptied: its structure.
fn shape(value: &Value) -> Value {
    match value {
        Value::String(_) => json!(""),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(members) => members.values().map(shape).collect(),
        other => other.clone(),
    }
}

/// Members by position, since a mark in a name may change its place among sorted names.
fn sorted(mut shapes: Vec<String>) -> Vec<String> {
    shapes.sort();
    shapes
}

fn leaves(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| leaves(item, out)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, out)),
        other => out.push(shape(other).to_string()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn valid_json_stays_valid_with_the_same_structure(value in values()) {
        let redactor = redactor();
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let marked = redactor.json(&text).into_owned();
            let again: Value = serde_json::from_str(&marked).unwrap();
            let (mut before, mut after) = (Vec::new(), Vec::new());
            leaves(&value, &mut before);
            leaves(&again, &mut after);
            prop_assert_eq!(sorted(before), sorted(after));
        }
    }

    #[test]
    fn any_text_is_taken(text in "(?s).{0,80}", piece in strings()) {
        let redactor = redactor();
        let text = format!("{text}{piece}{text}");
        let token = ["gh", "p_", &noise(ALNUM, 36, 4)].concat();
        let beside = [text.as_str(), " ", &token].concat();
        let kept = redactor.text(&beside).contains(&token);
        prop_assert!(!kept);
        let _ = redactor.json(&text);
        let clean = herdbook_redact::clean_line(&text);
        prop_assert!(!clean.chars().any(char::is_control));
        prop_assert_eq!(herdbook_redact::clean_line(&clean), clean.as_str());
    }
}
