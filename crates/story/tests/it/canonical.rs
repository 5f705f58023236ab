//! Properties of the canonical text.

use herdbook_story::canonical;
use proptest::prelude::*;
use serde_json::Value;

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has none", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[\\u{80}-\\u{90}\\u{2020}-\\u{2030}\\u{0}-\\u{20}]{0,5}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn a_text_keeps_its_value_and_is_its_own_canonical_text(value in json()) {
        let once = canonical(&value.to_string()).unwrap();
        prop_assert_eq!(&canonical(&once).unwrap(), &once);
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(&canonical(&pretty).unwrap(), &once);
        let breaks_lines = once.contains(['\u{85}', '\u{2028}', '\u{2029}', '\n', '\r']);
        prop_assert!(!breaks_lines);
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,40}") {
        let _ = canonical(&text);
    }

    #[test]
    fn numbers_keep_their_exact_value(
        sign in prop_oneof![Just(""), Just("-")],
        whole in "(0|[1-9][0-9]{0,24})",
        fraction in prop::option::of("[0-9]{1,24}"),
        exponent in prop::option::of("[eE][+-]?[0-9]{1,3}"),
    ) {
        let fraction = fraction.map(|digits| format!(".{digits}")).unwrap_or_default();
        let source = format!("{sign}{whole}{fraction}{}", exponent.unwrap_or_default());
        let text = canonical(&source).unwrap();
        prop_assert_eq!(exact(&text), exact(&source), "{} became {}", source, text);
        prop_assert_eq!(&canonical(&text).unwrap(), &text);
    }
}

/// Digits and power of ten of a number, written out by hand: no shared code with what is tested.
fn exact(text: &str) -> (bool, Vec<u8>, i64) {
    let lower = text.to_lowercase();
    let (mantissa, power) = lower.split_once('e').unwrap_or((&lower, "0"));
    let mut power: i64 = power.parse().unwrap();
    let mut digits = Vec::new();
    let mut behind_point = false;
    for byte in mantissa.bytes() {
        match byte {
            b'-' => {}
            b'.' => behind_point = true,
            digit => {
                digits.push(digit - b'0');
                power -= i64::from(behind_point);
            }
        }
    }
    while digits.last() == Some(&0) {
        digits.pop();
        power += 1;
    }
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    digits.drain(..leading);
    if digits.is_empty() {
        return (false, digits, 0);
    }
    (mantissa.starts_with('-'), digits, power)
}
