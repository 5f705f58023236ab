//! The text that ECMAScript's `JSON.stringify(JSON.parse(text))` gives, which the reference hashes for its
//! idempotency key: numbers as doubles, a repeated key at its first place with its last value, keys that look
//! like array indexes first, lone surrogates escaped.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use serde_json::value::RawValue;

use crate::json::plain_end;

/// Returns the canonical ECMAScript text of a JSON value. Equal values have equal texts, whatever their spelling.
///
/// It does not recurse, so any depth is fine.
pub fn canonical_text(value: &RawValue) -> String {
    canonical_text_of(value.get())
}

/// The same, of a text that was found to be JSON.
pub(crate) fn canonical_text_of(json: &str) -> String {
    let mut writer = Writer { out: String::with_capacity(json.len()), ..Writer::default() };
    writer.write(json);
    writer.out
}

/// A value that is open while its text is written.
enum Frame {
    List,
    Object {
        /// Where its text begins in the output.
        start: usize,
        /// How many members of the objects around it stand before its own.
        members_from: usize,
    },
}

/// A member of an open object, as it stands in the output.
struct Written {
    key: Range<usize>,
    end: usize,
}

#[derive(Default)]
struct Writer {
    out: String,
    frames: Vec<Frame>,
    /// Members of all open objects, the innermost last.
    members: Vec<Written>,
}

impl Writer {
    fn write(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        let mut before = b' ';
        while at < bytes.len() {
            let start = at;
            match bytes[at] {
                b' ' | b'\t' | b'\n' | b'\r' => {
                    at += 1;
                    continue;
                }
                b'"' => {
                    let is_plain;
                    (at, is_plain) = string_end(bytes, at);
                    // In an object, what follows a brace or a comma is a key.
                    let is_key = matches!(before, b'{' | b',')
                        && matches!(self.frames.last(), Some(Frame::Object { .. }));
                    let key_start = self.out.len();
                    if is_plain {
                        self.out.push_str(&text[start..at]);
                    } else {
                        write_string(&text[start..at], &mut self.out);
                    }
                    if is_key {
                        self.members.push(Written { key: key_start..self.out.len(), end: 0 });
                    }
                }
                b'{' => {
                    self.frames
                        .push(Frame::Object { start: self.out.len(), members_from: self.members.len() });
                    self.out.push('{');
                    at += 1;
                }
                b'[' => {
                    self.frames.push(Frame::List);
                    self.out.push('[');
                    at += 1;
                }
                b',' => {
                    self.end_member();
                    self.out.push(',');
                    at += 1;
                }
                b'}' => {
                    self.end_member();
                    if let Some(Frame::Object { start, members_from }) = self.frames.pop() {
                        self.order_members(start, members_from);
                    }
                    self.out.push('}');
                    at += 1;
                }
                b']' => {
                    self.frames.pop();
                    self.out.push(']');
                    at += 1;
                }
                b'-' | b'0'..=b'9' => {
                    let length = bytes[at..]
                        .iter()
                        .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                        .count();
                    at += length;
                    write_number(&text[start..at], &mut self.out);
                }
                // Colons and the letters of true, false and null.
                other => {
                    self.out.push(char::from(other));
                    at += 1;
                }
            }
            before = bytes[start];
        }
    }

    /// Notes where the open member of the innermost object ends.
    fn end_member(&mut self) {
        if let Some(Frame::Object { members_from, .. }) = self.frames.last() {
            let end = self.out.len();
            if let Some(member) = self.members[*members_from..].last_mut() {
                member.end = end;
            }
        }
    }

    /// Brings the members of the object that begins at `start` into ECMAScript's order, and forgets them.
    fn order_members(&mut self, start: usize, members_from: usize) {
        let members: Vec<Written> = self.members.drain(members_from..).collect();
        let index_of = |member: &Written| array_index(&self.out[member.key.clone()]);
        let out_of_order = {
            // Index keys come first and ascend; the rest stays as it is.
            let mut last = Some(-1);
            members.iter().any(|member| {
                let index = index_of(member).map(i64::from);
                let wrong = index.is_some() && (last.is_none() || index <= last);
                last = index;
                wrong
            })
        };
        if !out_of_order && !self.has_repeats(&members) {
            return;
        }
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(members.len());
        let mut ordered: Vec<(Option<u32>, &Written)> = Vec::with_capacity(members.len());
        for member in &members {
            let key = &self.out[member.key.clone()];
            match places.get(key) {
                Some(place) => ordered[*place].1 = member,
                None => {
                    places.insert(key, ordered.len());
                    ordered.push((array_index(key), member));
                }
            }
        }
        // The sort is stable: keys that are no index keep their order behind the others.
        ordered.sort_by_key(|(index, _)| index.map_or(u64::MAX, u64::from));
        let mut text = String::with_capacity(self.out.len() - start);
        for (_, member) in ordered {
            text.push(if text.is_empty() { '{' } else { ',' });
            text.push_str(&self.out[member.key.start..member.end]);
        }
        self.out.truncate(start);
        self.out.push_str(&text);
    }

    fn has_repeats(&self, members: &[Written]) -> bool {
        let key = |member: &Written| &self.out[member.key.clone()];
        if members.len() <= 16 {
            return members
                .iter()
                .enumerate()
                .any(|(at, one)| members[..at].iter().any(|other| key(other) == key(one)));
        }
        let distinct: std::collections::HashSet<&str> = members.iter().map(key).collect();
        distinct.len() < members.len()
    }
}

/// Returns the number of a quoted key that ECMAScript takes for an array index: 0 to 2^32-2, no leading zeros.
fn array_index(quoted: &str) -> Option<u32> {
    let digits = quoted.get(1..quoted.len() - 1)?;
    let plain =
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if !plain {
        return None;
    }
    digits.parse().ok().filter(|index| *index < u32::MAX)
}

/// Returns the end of the string that begins at `at`, and whether it has no escapes. The text is valid JSON.
fn string_end(bytes: &[u8], at: usize) -> (usize, bool) {
    let (mut at, mut is_plain) = (at + 1, true);
    loop {
        at = plain_end(bytes, at);
        if bytes.get(at) != Some(&b'\\') {
            return (at + 1, is_plain);
        }
        is_plain = false;
        at += 2;
    }
}

/// True for a number that ECMAScript prints as it is spelled.
pub(crate) fn is_canonical_number(text: &str) -> bool {
    is_small_integer(text) || {
        let mut printed = String::new();
        write_number(text, &mut printed);
        printed == text
    }
}

/// True for integers below 10^15: they are exact as doubles and print as they are.
fn is_small_integer(text: &str) -> bool {
    text.len() <= 15 && text != "-0" && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

fn write_number(text: &str, out: &mut String) {
    if is_small_integer(text) {
        out.push_str(text);
        return;
    }
    match text.parse::<f64>() {
        // JSON.stringify prints what is too large for a double as null.
        Ok(number) if number.is_finite() => out.push_str(ryu_js::Buffer::new().format_finite(number)),
        _ => out.push_str("null"),
    }
}

/// Writes a string that has escapes.
fn write_string(quoted: &str, out: &mut String) {
    for piece in pieces(quoted) {
        match piece {
            Piece::Plain(text) => out.push_str(text),
            Piece::Char(character) => match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\u{8}' => out.push_str("\\b"),
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\u{c}' => out.push_str("\\f"),
                '\r' => out.push_str("\\r"),
                '\0'..='\u{1f}' => push_escape(u16::try_from(u32::from(character)).unwrap_or(0), out),
                _ => out.push(character),
            },
            Piece::Lone(unit) => push_escape(unit, out),
        }
    }
}

/// Decodes a JSON string into the text it stands for, keeping each lone surrogate as an escape, so that what
/// this text says as JSON is what ECMAScript would read. Nothing where such an escape would change meaning
/// (behind an open backslash).
pub(crate) fn decode_string(quoted: &str) -> Option<String> {
    let mut text = String::with_capacity(quoted.len());
    let inside = quoted.get(1..quoted.len().checked_sub(1)?)?;
    for piece in pieces(inside) {
        match piece {
            Piece::Plain(plain) => text.push_str(plain),
            Piece::Char(character) => text.push(character),
            Piece::Lone(unit) => {
                let backslashes = text.bytes().rev().take_while(|byte| *byte == b'\\').count();
                if backslashes % 2 == 1 {
                    return None;
                }
                push_escape(unit, &mut text);
            }
        }
    }
    Some(text)
}

/// True when the inside of a JSON string stands for this text, a lone surrogate for U+FFFD.
pub(crate) fn reads_as(inside: &str, mut text: &str) -> bool {
    let is_all_there = pieces(inside).all(|piece| {
        let rest = match piece {
            Piece::Plain(plain) => text.strip_prefix(plain),
            Piece::Char(character) => text.strip_prefix(character),
            Piece::Lone(_) => text.strip_prefix(char::REPLACEMENT_CHARACTER),
        };
        text = rest.unwrap_or_default();
        rest.is_some()
    });
    is_all_there && text.is_empty()
}

fn push_escape(unit: u16, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(out, "\\u{unit:04x}");
}

/// A part of a JSON string.
enum Piece<'a> {
    Plain(&'a str),
    Char(char),
    Lone(u16),
}

/// Takes a valid JSON string apart at its escapes.
fn pieces(mut rest: &str) -> impl Iterator<Item = Piece<'_>> {
    std::iter::from_fn(move || {
        let escape = rest.find('\\').unwrap_or(rest.len());
        if escape > 0 {
            let (plain, behind) = rest.split_at(escape);
            rest = behind;
            return Some(Piece::Plain(plain));
        }
        let (piece, length) = match rest.as_bytes().get(1)? {
            b'u' => {
                let unit = hex_unit(rest)?;
                match (unit, rest.get(6..).and_then(hex_unit)) {
                    (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) => {
                        let code = 0x1_0000 + ((u32::from(unit) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
                        (Piece::Char(char::from_u32(code)?), 12)
                    }
                    (0xD800..=0xDFFF, _) => (Piece::Lone(unit), 6),
                    _ => (Piece::Char(char::from_u32(u32::from(unit))?), 6),
                }
            }
            b'b' => (Piece::Char('\u{8}'), 2),
            b'f' => (Piece::Char('\u{c}'), 2),
            b'n' => (Piece::Char('\n'), 2),
            b'r' => (Piece::Char('\r'), 2),
            b't' => (Piece::Char('\t'), 2),
            other => (Piece::Char(char::from(*other)), 2),
        };
        rest = &rest[length..];
        Some(piece)
    })
}

/// Reads the `\uXXXX` at the beginning of a text.
fn hex_unit(text: &str) -> Option<u16> {
    let hex = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(hex, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        canonical_text(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn numbers_print_as_doubles() {
        let cases = [
            ("1.0", "1"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1e3", "1000"),
            ("1E21", "1e+21"),
            ("123456789012345678901234567890", "1.2345678901234568e+29"),
            ("9007199254740993", "9007199254740992"),
            ("0.000001", "0.000001"),
            ("1e-7", "1e-7"),
            ("5e-324", "5e-324"),
            ("1e400", "null"),
            ("-1e400", "null"),
            ("1e-400", "0"),
        ];
        for (text, expected) in cases {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn repeated_and_index_keys_move() {
        assert_eq!(canonical(r#"{"b":1,"a":2,"b":{"x":3}}"#), r#"{"b":{"x":3},"a":2}"#);
        assert_eq!(
            canonical(r#"{"b":1,"12":2,"a":[{"1":0,"0":1}],"2":4}"#),
            r#"{"2":4,"12":2,"b":1,"a":[{"0":1,"1":0}]}"#
        );
        assert_eq!(
            canonical(r#"{"4294967295":1,"01":2,"4294967294":3,"-1":4,"\u0030":5}"#),
            r#"{"0":5,"4294967294":3,"4294967295":1,"01":2,"-1":4}"#
        );
        assert_eq!(canonical(r#"{"__proto__":1,"é":2,"\u00e9":3}"#), r#"{"__proto__":1,"é":3}"#);
        assert_eq!(canonical(" { \"a\" : [ ] , \"c\" : { } , \"a\" : \"x\" } "), r#"{"a":"x","c":{}}"#);
    }

    #[test]
    fn strings_are_escaped_as_stringify_does() {
        assert_eq!(
            canonical(r#""\/\u0041\u000A\u001F\u007f\u2028\u0022\uD83D\uDE00""#),
            "\"/A\\n\\u001f\u{7f}\u{2028}\\\"😀\""
        );
        assert_eq!(canonical(r#""x\uDEAD\uD800y\uD800\ud83d\ude00""#), r#""x\udead\ud800y\ud800😀""#);
    }

    #[test]
    fn depth_does_not_matter() {
        let text = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(canonical(&text), text);
    }

    #[test]
    fn decoded_text_keeps_lone_surrogates_as_escapes() {
        assert_eq!(decode_string(r#""{\"a\":\"x\ud83d\"}""#).as_deref(), Some(r#"{"a":"x\ud83d"}"#));
        assert_eq!(decode_string(r#""\\\ud83d""#), None);
    }
}
