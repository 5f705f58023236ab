//! Redaction inside raw JSON text: strings are read where they stand, nothing is parsed into values and printed again,
//! so numbers, order, white space and escapes survive byte for byte.

use std::borrow::Cow;

use crate::find::{Span, merge, spans};
use crate::names::{Class, class_of_member, secret_part};
use crate::patched::Patched;

/// One open object or array.
struct Level {
    is_object: bool,
    /// In an object: the next string is a member name.
    expects_name: bool,
    /// What the current member's name says; in an array: what the array's own name said.
    class: Option<Class>,
}

/// Replaces secrets in the strings of `text`; `mark` appends the mark for a span of a decoded string.
pub(crate) fn redact<'a>(text: &'a str, mark: &mut dyn FnMut(&mut String, &Span, &str)) -> Cow<'a, str> {
    let bytes = text.as_bytes();
    let mut levels: Vec<Level> = Vec::new();
    let mut patched = Patched::new(text);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let start = at + 1;
                let end = string_end(bytes, start);
                let raw = &text[start..end];
                let is_name = levels.last().is_some_and(|level| level.expects_name);
                let class = if is_name { None } else { levels.last().and_then(|level| level.class) };
                let decoded = decode(raw);
                let mut found = spans(&decoded);
                if let Some(class) = class
                    && let Some((from, to)) = secret_part(class, &decoded)
                {
                    found.push(Span { start: from, end: to, kind: class.kind() });
                    found = merge(found);
                }
                if is_name && let Some(level) = levels.last_mut() {
                    level.class = class_of_member(&decoded);
                }
                if !found.is_empty() {
                    for (span, raw_start, raw_end) in raw_spans(raw, &found) {
                        mark(patched.replace(start + raw_start, start + raw_end), &span, &decoded);
                    }
                }
                at = end;
            }
            b'{' => levels.push(Level { is_object: true, expects_name: true, class: None }),
            b'[' => {
                let class = levels.last().and_then(|level| level.class);
                levels.push(Level { is_object: false, expects_name: false, class });
            }
            b'}' | b']' => {
                levels.pop();
            }
            b':' => {
                if let Some(level) = levels.last_mut() {
                    level.expects_name = false;
                }
            }
            b',' => {
                if let Some(level) = levels.last_mut()
                    && level.is_object
                {
                    level.expects_name = true;
                    level.class = None;
                }
            }
            _ => {}
        }
        at += 1;
    }
    patched.finish()
}

/// One string value of a JSON text.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    /// The member it stands under; in an array: the array's own.
    pub name: &'a str,
    /// In how many objects and arrays it stands.
    pub depth: usize,
    /// What it says.
    pub text: &'a str,
}

/// Replaces string values of a JSON text: `change` gives the new one as raw contents, escapes included; nothing where it
/// stays. Names and all other bytes stay.
pub fn map_values<'a>(text: &'a str, change: &mut dyn FnMut(&Value<'_>) -> Option<String>) -> Cow<'a, str> {
    let bytes = text.as_bytes();
    // The name under which values stand, and whether the next string in an object is a name.
    let mut levels: Vec<(String, bool, bool)> = Vec::new();
    let mut patched = Patched::new(text);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let start = at + 1;
                let end = string_end(bytes, start);
                let decoded = decode(&text[start..end]);
                let depth = levels.len();
                match levels.last_mut() {
                    Some((name, true, expects_name @ true)) => {
                        *name = decoded.into_owned();
                        *expects_name = false;
                    }
                    level => {
                        let name = level.map_or("", |(name, ..)| name);
                        if let Some(new) = change(&Value { name, depth, text: &decoded }) {
                            patched.replace(start, end).push_str(&new);
                        }
                    }
                }
                at = end;
            }
            b'{' => levels.push((String::new(), true, true)),
            b'[' => {
                let name = levels.last().map(|(name, ..)| name.clone()).unwrap_or_default();
                levels.push((name, false, false));
            }
            b'}' | b']' => {
                levels.pop();
            }
            b',' => {
                if let Some((_, is_object, expects_name)) = levels.last_mut() {
                    *expects_name = *is_object;
                }
            }
            _ => {}
        }
        at += 1;
    }
    patched.finish()
}

/// Replaces parts of the strings of `text`: those that `find` names in the raw contents of each.
pub(crate) fn replace<'a>(
    text: &'a str,
    find: &mut dyn FnMut(&str) -> Vec<(usize, usize)>,
    mark: &str,
) -> Cow<'a, str> {
    let bytes = text.as_bytes();
    let mut patched = Patched::new(text);
    let mut at = 0;
    while let Some(quote) = text[at..].find('"') {
        let start = at + quote + 1;
        let end = string_end(bytes, start);
        for (from, to) in find(&text[start..end]) {
            patched.replace(start + from, start + to).push_str(mark);
        }
        at = (end + 1).min(text.len());
    }
    patched.finish()
}

/// Offset of the quote that closes the string whose contents begin at `start`, or the end of the text.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Reads one character of a raw string: the character, and the bytes it takes there. What is no proper escape reads as
/// its backslash; half a surrogate pair reads as U+FFFD.
fn read_char(raw: &str) -> Option<(char, usize)> {
    let first = raw.chars().next()?;
    if first != '\\' {
        return Some((first, first.len_utf8()));
    }
    let simple = match raw.as_bytes().get(1) {
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(sign @ (b'"' | b'\\' | b'/')) => char::from(*sign),
        Some(b'u') => return Some(read_unicode(raw)),
        _ => return Some(('\\', 1)),
    };
    Some((simple, 2))
}

fn read_unicode(raw: &str) -> (char, usize) {
    let unit = |at: usize| {
        raw.get(at..at + 6)
            .filter(|escape| escape.starts_with("\\u"))
            .and_then(|escape| u32::from_str_radix(&escape[2..], 16).ok())
    };
    let Some(high) = unit(0) else { return ('\\', 1) };
    if (0xD800..0xDC00).contains(&high)
        && let Some(low @ 0xDC00..0xE000) = unit(6)
        && let Some(c) = char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    {
        return (c, 12);
    }
    (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

pub(crate) fn decode(raw: &str) -> Cow<'_, str> {
    let Some(first) = raw.find('\\') else { return Cow::Borrowed(raw) };
    let mut out = String::with_capacity(raw.len());
    out.push_str(&raw[..first]);
    let mut rest = &raw[first..];
    while let Some((c, length)) = read_char(rest) {
        out.push(c);
        rest = &rest[length..];
        // Plain stretches are copied at once.
        let plain = rest.find('\\').unwrap_or(rest.len());
        out.push_str(&rest[..plain]);
        rest = &rest[plain..];
    }
    Cow::Owned(out)
}

/// Where spans of the decoded string lie in the raw one. Walks the string once more instead of keeping a table of
/// offsets: secrets are rare, and strings can have many megabytes.
pub(crate) fn raw_spans(raw: &str, found: &[Span]) -> Vec<(Span, usize, usize)> {
    let mut placed = Vec::with_capacity(found.len());
    let (mut raw_at, mut decoded_at) = (0, 0);
    let mut advance = |target: usize| {
        while decoded_at < target {
            let Some((c, length)) = read_char(&raw[raw_at..]) else { break };
            raw_at += length;
            decoded_at += c.len_utf8();
        }
        raw_at
    };
    for span in found {
        let start = advance(span.start);
        let end = advance(span.end);
        placed.push((*span, start, end));
    }
    placed
}
