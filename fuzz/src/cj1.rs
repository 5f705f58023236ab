//! CJ-1, the canonical text of a payload.

use herdbook_events::replace_lone_surrogates;
use herdbook_story::canonical::{NotCanonical, canonical};
use serde_json::Value;

/// How deep the oracle reads: one level less than CJ-1 allows.
const ORACLE_DEPTH: usize = 127;

/// The input is a JSON text, or is none.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let oracle = serde_json::from_str::<Value>(&replace_lone_surrogates(text));
    let canonical_text = match canonical(text) {
        Ok(canonical_text) => canonical_text,
        Err(NotCanonical::TooDeep) => {
            assert!(oracle.is_err(), "what nests less than {ORACLE_DEPTH} deep has a canonical text");
            return;
        }
        Err(NotCanonical::Json(_)) => {
            assert!(oracle.is_err(), "each JSON text has a canonical one");
            return;
        }
    };
    let again = canonical(&canonical_text).expect("a canonical text is JSON");
    assert_eq!(again, canonical_text, "the canonical text of a canonical text is itself");
    assert_eq!(replace_lone_surrogates(&canonical_text), canonical_text, "no half of a pair stays");
    for character in canonical_text.chars() {
        let is_escaped = character < ' ' || matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}');
        assert!(!is_escaped, "{character:?} stands in a canonical text");
    }
    // Numbers beyond a double are no error of the text; the oracle cannot hold them.
    let Ok(value) = oracle else { return };
    let read_back: Value = serde_json::from_str(&canonical_text).expect("a canonical text is JSON");
    assert!(same(&value, &read_back), "a canonical text has the value of its source");
    // Another spelling of the same value: members sorted by bytes, numbers as the oracle prints them.
    if is_plain(&canonical_text) {
        let respelled = serde_json::to_string(&value).expect("a value is JSON");
        assert_eq!(
            canonical(&respelled).ok().as_ref(),
            Some(&canonical_text),
            "equal values have equal texts"
        );
    }
}

/// Equal values, whichever kind of number they were read as.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| one.0 == other.0 && same(one.1, other.1))
        }
        (one, other) => one == other,
    }
}

/// True where all numbers of a canonical text are inside I-JSON: at most 15 digits, no exponent. Digits inside strings
/// count too, which only makes the check rarer.
fn is_plain(canonical_text: &str) -> bool {
    let is_number =
        |character: char| character.is_ascii_digit() || matches!(character, '.' | 'e' | '+' | '-');
    canonical_text.split(|character| !is_number(character)).all(|run| run.len() <= 15 && !run.contains('e'))
}
