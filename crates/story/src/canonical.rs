//! CJ-1, the canonical text of a payload: RFC 8785, without what that loses.
//!
//! Integers keep their digits, and numbers that a double cannot hold keep their spelling. U+0085, U+2028 and U+2029 are
//! escaped, since some readers split lines on them. A lone surrogate becomes U+FFFD; of repeated keys the last counts.

use std::borrow::Cow;
use std::fmt::Write;

use herdbook_events::catalog::Members;
use herdbook_events::replace_lone_surrogates;
use serde_json::value::RawValue;

use crate::plain::is_certainly_canonical;

/// How deep values may nest.
pub const MAX_DEPTH: usize = 128;

/// Why a text has no canonical form.
#[derive(Debug, thiserror::Error)]
pub enum NotCanonical {
    /// It is not JSON.
    #[error("not JSON")]
    Json(#[from] serde_json::Error),
    /// It nests too deep.
    #[error("nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Returns the canonical text of a JSON value. Equal values have equal texts, and the text of a canonical text is itself.
pub fn canonical(json: &str) -> Result<String, NotCanonical> {
    canonical_text(json).map(Cow::into_owned)
}

/// The same, without a copy of a text that is canonical already.
pub(crate) fn canonical_text(json: &str) -> Result<Cow<'_, str>, NotCanonical> {
    if is_certainly_canonical(json) {
        return Ok(Cow::Borrowed(json));
    }
    written_anew(json).map(Cow::Owned)
}

/// The same, for any text.
fn written_anew(json: &str) -> Result<String, NotCanonical> {
    let json = replace_lone_surrogates(json);
    let text = json.trim_matches([' ', '\t', '\n', '\r']);
    // An object or array is read as a whole before anything of it is written.
    if !text.starts_with(['{', '[']) {
        serde_json::from_str::<&RawValue>(text)?;
    }
    let mut out = String::with_capacity(text.len());
    write_value(text, MAX_DEPTH, &mut out)?;
    Ok(out)
}

/// Appends a text as a JSON string.
pub(crate) fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| MAY_BE_ESCAPED[usize::from(byte)]) {
        // All of these bytes begin a character.
        let (plain, from_here) = rest.split_at(at);
        out.push_str(plain);
        let mut characters = from_here.chars();
        if let Some(character) = characters.next() {
            write_character(character, out);
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// The first bytes of characters that are escaped, and of some that are not; a table, because nearly all bytes of a log
/// stand inside strings.
pub(crate) static MAY_BE_ESCAPED: [bool; 256] = {
    let mut table = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = true;
        control += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    // U+0085, and U+2028 and U+2029, in UTF-8.
    table[0xc2] = true;
    table[0xe2] = true;
    table
};

fn write_character(character: char, out: &mut String) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        '\0'..='\u{1f}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        }
        _ => out.push(character),
    }
}

/// Appends a value without white space around it; one that is no object or array was found to be JSON.
fn write_value(text: &str, depth: usize, out: &mut String) -> Result<(), NotCanonical> {
    match text.as_bytes().first() {
        Some(b'"') => write_text(&serde_json::from_str::<String>(text)?, out),
        Some(b'[') => {
            let depth = depth.checked_sub(1).ok_or(NotCanonical::TooDeep)?;
            out.push('[');
            for (at, item) in serde_json::from_str::<Vec<&RawValue>>(text)?.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_value(item.get(), depth, out)?;
            }
            out.push(']');
        }
        Some(b'{') => {
            let depth = depth.checked_sub(1).ok_or(NotCanonical::TooDeep)?;
            let members = Members::read(text)?;
            let mut sorted: Vec<(&str, &RawValue)> = members.iter().collect();
            // The sort is stable, so a repeated key's last value comes last.
            sorted.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            out.push('{');
            let mut is_first = true;
            for (at, (key, value)) in sorted.iter().enumerate() {
                if sorted.get(at + 1).is_some_and(|(next, _)| next == key) {
                    continue;
                }
                if !std::mem::take(&mut is_first) {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write_value(value.get(), depth, out)?;
            }
            out.push('}');
        }
        Some(b'-' | b'0'..=b'9') => write_number(text, out),
        _ => out.push_str(text),
    }
    Ok(())
}

fn write_number(text: &str, out: &mut String) {
    let Some(split) = text.find(['.', 'e', 'E']) else {
        out.push_str(if text == "-0" { "0" } else { text });
        return;
    };
    if let Some(number) = text.parse().ok().filter(|number: &f64| number.is_finite()) {
        let mut buffer = ryu_js::Buffer::new();
        let printed = buffer.format_finite(number);
        if decimal(printed) == decimal(text) {
            out.push_str(printed);
            return;
        }
    }
    let exponent = text[split..].find(['e', 'E']).map(|at| split + at);
    out.push_str(&text[..exponent.unwrap_or(text.len())]);
    if let Some(at) = exponent {
        let digits = text[at + 1..].trim_start_matches('+');
        let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
        let digits = digits.trim_start_matches('0');
        out.push('e');
        out.push_str(if digits.is_empty() { "" } else { sign });
        out.push_str(if digits.is_empty() { "0" } else { digits });
    }
}

/// The exact value of a number: its sign, its digits without zeros at either end, and the power of ten of the last one.
/// Zero has no digits. Nothing where the exponent is beyond 64 bits.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some((false, String::new(), 0));
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let exponent: i64 = exponent.trim_start_matches('+').parse().ok()?;
    let power = exponent
        .checked_sub(i64::try_from(fraction.len()).ok()?)?
        .checked_add(i64::try_from(trailing).ok()?)?;
    Some((negative, significant.to_owned(), power))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Both ways to it must lead to the same text.
    fn text(json: &str) -> String {
        let text = canonical(json).unwrap();
        assert_eq!(written_anew(json).unwrap(), text);
        assert_eq!(canonical(&text).unwrap(), text);
        text
    }

    proptest! {
        #[test]
        fn no_text_is_taken_for_canonical_that_is_not(
            parts in prop::collection::vec(
                prop_oneof![
                    "[\\[\\]{},:\"]", "[-0-9.eE]{1,3}", "true|false|null", "\"[ab]?\":", "\"[ -~]{0,3}\"", r"\\.",
                    r"\\u00[0-2][0-9a-f]", "\"[\u{80}-\u{90}\u{2020}-\u{2030}\u{0}-\u{20}]{0,2}\"", "[ \n]",
                ],
                0..12,
            ),
        ) {
            let text = parts.concat();
            let sure = is_certainly_canonical(&text);
            let slow = written_anew(&text).ok();
            prop_assert!(!sure || slow.as_deref() == Some(&text), "{text}: {slow:?}");
        }

        #[test]
        fn a_nested_value_is_not_either(
            value in r#"(\{"a":)?(\[|\{"b":)?(-?[0-9]{1,2}(\.5)?|"[a\\/n\u{85}é]{0,2}"|null|\{\})(,"?[abc]"?(:1)?)?(\]|\})?\}?"#,
        ) {
            let sure = is_certainly_canonical(&value);
            let slow = written_anew(&value).ok();
            prop_assert!(!sure || slow.as_deref() == Some(&value), "{value}: {slow:?}");
        }
    }

    #[test]
    fn integers_keep_their_digits() {
        for kept in ["0", "-7", "9007199254740993", "18446744073709551615", "-123456789012345678901234567890"]
        {
            assert_eq!(text(kept), kept);
        }
        assert_eq!(text("-0"), "0");
    }

    #[test]
    fn other_numbers_print_as_rfc_8785_unless_that_changes_their_value() {
        let cases = [
            ("1.0", "1"),
            ("1E5", "100000"),
            ("1e21", "1e+21"),
            ("-0.0", "0"),
            ("0e99999999999999999999", "0"),
            ("1767225500123.5", "1767225500123.5"),
            ("0.1", "0.1"),
            ("0.10", "0.1"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            // 5e-324 as a double is 4.94...e-324, yet its shortest text says 5e-324, which is the value of the source.
            ("5E-324", "5e-324"),
            ("1e400", "1e400"),
            ("1E+0400", "1e400"),
            ("-1.50E-0400", "-1.50e-400"),
            ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
            ("9007199254740993.0", "9007199254740993.0"),
            ("1e99999999999999999999", "1e99999999999999999999"),
        ];
        for (source, expected) in cases {
            assert_eq!(text(source), expected, "{source}");
        }
    }

    #[test]
    fn numbers_of_the_standards_appendix_print_as_it_says() {
        // RFC 8785, appendix B: the double's bits, and its text.
        let samples: [(u64, &str); 18] = [
            (0x0000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        ];
        for (bits, expected) in samples {
            let source = format!("{:e}", f64::from_bits(bits));
            assert_eq!(text(&source), expected, "{source}");
        }
    }

    #[test]
    fn keys_sort_by_utf_16_and_the_last_of_a_repeated_one_counts() {
        // The order of RFC 8785, 3.2.3: the emoji's surrogates come before U+FB33.
        let json = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
        assert_eq!(
            text(json),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}"
        );
        assert_eq!(text(r#" { "b" : [ 1 , { } ] , "a" : 1 , "b" : null } "#), r#"{"a":1,"b":null}"#);
    }

    #[test]
    fn strings_are_spelled_one_way() {
        assert_eq!(
            text(r#""\/\u0041\u000a\u0007\u007f\u0085\u2028\u2029\u00a0\u0022""#),
            "\"/A\\n\\u0007\u{7f}\\u0085\\u2028\\u2029\u{a0}\\\"\""
        );
        assert_eq!(text("\"\u{2028}\""), "\"\\u2028\"");
        assert_eq!(text(r#"{"x\ud83d":"\udc00y"}"#), "{\"x\u{fffd}\":\"\u{fffd}y\"}");
    }

    #[test]
    fn what_is_no_json_or_too_deep_is_refused() {
        for broken in ["", "{", "[1,]", "01", "1.", "nul", "\"\u{1}\"", "{} {}"] {
            assert!(matches!(canonical(broken), Err(NotCanonical::Json(_))), "{broken}");
        }
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(text(&nested(128)), nested(128));
        for levels in [129, 100_000] {
            assert!(matches!(canonical(&nested(levels)), Err(NotCanonical::TooDeep)));
        }
    }
}
