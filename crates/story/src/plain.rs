//! Whether a text is canonical already, told in one pass over its bytes.
//!
//! Nearly every payload of a log is: the daemon wrote it so. Only a text that is certainly canonical gets a yes; for any
//! other, [`canonical`](crate::canonical::canonical) reads it and decides.

use crate::canonical::{MAX_DEPTH, MAY_BE_ESCAPED};

/// True for a text that is JSON and its own canonical text. False says nothing: keys with escapes or beyond ASCII and
/// numbers that are not whole may be canonical, and are not looked at here.
pub(crate) fn is_certainly_canonical(text: &str) -> bool {
    value(text.as_bytes(), 0, MAX_DEPTH) == Some(text.len())
}

/// Each of these returns the place behind what it passed over, or nothing where it is not sure.
fn value(text: &[u8], at: usize, depth: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => string(text, at + 1),
        b'{' => object(text, at + 1, depth.checked_sub(1)?),
        b'[' => array(text, at + 1, depth.checked_sub(1)?),
        b't' => word(text, at, b"true"),
        b'f' => word(text, at, b"false"),
        b'n' => word(text, at, b"null"),
        b'-' => whole_number(text, at + 1).filter(|_| text.get(at + 1) != Some(&b'0')),
        _ => whole_number(text, at),
    }
}

fn object(text: &[u8], mut at: usize, depth: usize) -> Option<usize> {
    if text.get(at)? == &b'}' {
        return Some(at + 1);
    }
    let mut before: Option<&[u8]> = None;
    loop {
        let begin = word(text, at, b"\"")?;
        let key = text.get(begin..)?.split(|byte| *byte == b'"').next()?;
        // These sort by bytes as they do by UTF-16, and are spelled in one way.
        let is_plain = key.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'\\');
        if !is_plain || before.is_some_and(|before| before >= key) {
            return None;
        }
        before = Some(key);
        at = value(text, word(text, begin + key.len(), b"\":")?, depth)?;
        match text.get(at)? {
            b',' => at += 1,
            b'}' => return Some(at + 1),
            _ => return None,
        }
    }
}

fn array(text: &[u8], mut at: usize, depth: usize) -> Option<usize> {
    if text.get(at)? == &b']' {
        return Some(at + 1);
    }
    loop {
        at = value(text, at, depth)?;
        match text.get(at)? {
            b',' => at += 1,
            b']' => return Some(at + 1),
            _ => return None,
        }
    }
}

fn string(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += text.get(at..)?.iter().position(|byte| MAY_BE_ESCAPED[usize::from(*byte)])?;
        at += match text.get(at..)? {
            [b'"', ..] => return Some(at + 1),
            [b'\\', b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r', ..] => 2,
            // Control characters without a letter of their own.
            [b'\\', b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f', ..]
            | [b'\\', b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f', ..] => 6,
            // U+0085, U+2028 and U+2029 are escaped, their neighbours are not.
            [0xc2, 0x85, ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..] => return None,
            [0xc2 | 0xe2, ..] => 2,
            _ => return None,
        };
    }
}

fn whole_number(text: &[u8], at: usize) -> Option<usize> {
    // A point or an exponent behind the digits is nothing that may follow a value.
    match text.get(at..)? {
        [b'0', ..] => Some(at + 1),
        [b'1'..=b'9', more @ ..] => {
            Some(at + 1 + more.iter().take_while(|byte| byte.is_ascii_digit()).count())
        }
        _ => None,
    }
}

fn word(text: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    text.get(at..)?.starts_with(word).then_some(at + word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_daemon_writes_is_told_at_once() {
        let payload = r#"{"a":{"B":-1,"b":[{},[],"\"\\\b\t\n\f\r\u0007\u001b/é“→ ✓ 設 "]},"a b":[true,false,null],"b":0}"#;
        assert!(is_certainly_canonical(payload));
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(is_certainly_canonical(&nested(128)));
        assert!(!is_certainly_canonical(&nested(129)));
    }

    #[test]
    fn what_is_spelled_otherwise_is_left_to_the_slow_path() {
        for text in [
            "",
            " 1",
            "1 ",
            "01",
            "-0",
            "-",
            "-01",
            "1.5",
            "1e5",
            "tru",
            "{",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[,]",
            "{}{}",
            "'a'",
            r#"{"a":1,}"#,
            r#"{"a"}"#,
            r#"{"b":1,"a":2}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a" :1}"#,
            r#"{"é":1}"#,
            r#"{"\n":1}"#,
            r#"{"a":1"#,
            r#"{"a"#,
            r#"""#,
            r#""\""#,
            r#""\/""#,
            r#""\u0041""#,
            r#""\u000a""#,
            r#""\u001B""#,
            r#""\u00e9""#,
            r#""\u2028""#,
            r#""\ud83d""#,
            r#""\x""#,
            "\"\u{85}\"",
            "\"\u{2028}\"",
            "\"\u{2029}\"",
            "\"\n\"",
        ] {
            assert!(!is_certainly_canonical(text), "{text}");
        }
    }
}
