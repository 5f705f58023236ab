//! Halves of surrogate pairs that a host left behind when it cut a text (case F-025).

use std::borrow::Cow;

/// Replaces each escaped lone surrogate of a JSON text by U+FFFD. Whole pairs and all other text stay as they are.
///
/// What a host sent keeps its halves; what is written to a log that others read must not have them.
pub fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    // Nearly no text has any; the standard library finds out about these two many bytes at a time.
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return Cow::Borrowed(json);
    }
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(escape) = json[at..].find('\\') {
        at += escape;
        let Some(unit) = unit_at(json, at) else {
            // Another escape: pass over the backslash and the one character behind it, which may be a backslash.
            at += 1 + json[at + 1..].chars().next().map_or(0, char::len_utf8);
            continue;
        };
        let low = unit_at(json, at + 6);
        match (unit, low) {
            (0xD800..=0xDBFF, Some(0xDC00..=0xDFFF)) => at += 12,
            (0xD800..=0xDFFF, _) => {
                out.push_str(&json[copied..at]);
                out.push(char::REPLACEMENT_CHARACTER);
                at += 6;
                copied = at;
            }
            _ => at += 6,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[copied..]);
    Cow::Owned(out)
}

/// Reads a `\uXXXX` escape.
fn unit_at(json: &str, at: usize) -> Option<u16> {
    let hex = json.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(hex, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_halves_are_replaced() {
        assert_eq!(replace_lone_surrogates(r#""a\ud83d\ude00\u00e9\n""#), r#""a\ud83d\ude00\u00e9\n""#);
        assert_eq!(
            replace_lone_surrogates(r#"{"a":"x\ud83d","b":"\uDC00\ud83d"}"#),
            "{\"a\":\"x�\",\"b\":\"��\"}"
        );
        assert_eq!(replace_lone_surrogates(r#""\\ud83d \ud83d\\""#), "\"\\\\ud83d �\\\\\"");
        assert_eq!(replace_lone_surrogates(r#""\ud83d\ud83d\ude00""#), "\"�\\ud83d\\ude00\"");
    }

    #[test]
    fn broken_text_does_no_harm() {
        for text in ["\\", "\"\\u", "\\ud8", "\\é\\ud800", "\\ud800\\"] {
            let _ = replace_lone_surrogates(text);
        }
    }
}
