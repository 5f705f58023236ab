//! Reads foreign JSON text without understanding it: checks the grammar, drops white space between tokens and
//! notes where the top-level members are. What is inside strings and numbers stays byte for byte.

use std::borrow::Cow;
use std::ops::Range;

use crate::ecmascript::{is_canonical_number, reads_as};

/// How deep values may nest. serde_json's readers stop at 128 levels; the difference is room for the envelopes
/// that our own records and answers put around a native object.
pub const MAX_DEPTH: usize = 120;

/// An object of more members is not looked through for repeated keys: each is compared with all before it.
const MOST_COMPARED: usize = 64;

/// A checked JSON text.
#[derive(Debug)]
pub(crate) struct Compact<'a> {
    /// The text without white space between tokens.
    pub text: Cow<'a, str>,
    /// The top-level members, in order, repeats included; empty for values that are not objects.
    pub members: Vec<Member>,
    /// The text is its own canonical text (see `ecmascript`). Where this is false it still may be.
    pub is_canonical: bool,
}

impl Compact<'_> {
    /// Returns the value of a top-level member; of repeated members the last one counts, as in ECMAScript.
    pub fn member(&self, key: &str) -> Option<&str> {
        let is_it = |member: &&Member| {
            if member.is_escaped {
                return reads_as(&self.text[member.key.clone()], key);
            }
            member.key.len() == key.len() && &self.text.as_bytes()[member.key.clone()] == key.as_bytes()
        };
        let found = self.members.iter().rev().find(is_it)?;
        Some(&self.text[found.value.clone()])
    }
}

/// Where a top-level member stands in a [`Compact`] text.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The key without its quotation marks.
    pub key: Range<usize>,
    /// The key has escapes.
    pub is_escaped: bool,
    /// The value.
    pub value: Range<usize>,
}

/// A text that is not JSON, with what was whole before the break.
#[derive(Debug)]
pub(crate) struct Broken<'a> {
    /// What is wrong, with line and column (both from 1, the column in characters).
    pub error: String,
    /// What was read before the break.
    pub before: Compact<'a>,
}

/// Checks a JSON text and compacts it. Recursion is bounded by [`MAX_DEPTH`].
pub(crate) fn compact(text: &str) -> Result<Compact<'_>, Broken<'_>> {
    let mut reader = Reader {
        text,
        at: 0,
        out: String::new(),
        copied: 0,
        members: Vec::with_capacity(16),
        keys: Vec::with_capacity(16),
        is_canonical: true,
    };
    let outcome = reader.whole();
    let at = reader.at;
    let before = reader.finish();
    match outcome {
        Ok(()) => Ok(before),
        Err(what) => Err(Broken { error: format!("{}: {what}", position(text, at)), before }),
    }
}

/// Says where a byte offset is, for people.
fn position(text: &str, at: usize) -> String {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    // Continuation bytes of UTF-8 are not characters of their own.
    let column = before[line_start..].iter().filter(|byte| **byte & 0xC0 != 0x80).count() + 1;
    format!("line {line} column {column}")
}

type Outcome = Result<(), &'static str>;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The compact text so far; empty while nothing had to be left out.
    out: String,
    /// Up to where `text` went into `out`.
    copied: usize,
    members: Vec<Member>,
    /// The keys of all open objects as they stand in `text`, the innermost object's last.
    keys: Vec<Range<usize>>,
    is_canonical: bool,
}

impl<'a> Reader<'a> {
    fn finish(mut self) -> Compact<'a> {
        let text = if self.copied == 0 {
            Cow::Borrowed(&self.text[..self.at])
        } else {
            self.out.push_str(&self.text[self.copied..self.at]);
            Cow::Owned(self.out)
        };
        Compact { text, members: self.members, is_canonical: self.is_canonical }
    }

    fn whole(&mut self) -> Outcome {
        self.skip_white();
        self.value(0)?;
        self.skip_white();
        if self.at < self.text.len() { Err("text follows after the end of the value") } else { Ok(()) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Returns the position in the compact text.
    fn out_at(&self) -> usize {
        self.out.len() + (self.at - self.copied)
    }

    #[inline(always)]
    fn skip_white(&mut self) {
        if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.leave_out_white();
        }
    }

    fn leave_out_white(&mut self) {
        let white = self.text.as_bytes()[self.at..]
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
            .count();
        self.out.push_str(&self.text[self.copied..self.at]);
        self.at += white;
        self.copied = self.at;
    }

    fn value(&mut self, depth: usize) -> Outcome {
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(_) => Err("a value is expected"),
            None => Err("the text ends where a value is expected"),
        }
    }

    fn object(&mut self, depth: usize) -> Outcome {
        if depth > MAX_DEPTH {
            return Err("values nest too deep");
        }
        self.at += 1;
        self.skip_white();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let outer_keys = self.keys.len();
        loop {
            if self.peek() != Some(b'"') {
                return Err("a key is expected");
            }
            let (key_start, at) = (self.out_at() + 1, self.at + 1);
            let is_escaped = self.string()?;
            let key = key_start..self.out_at() - 1;
            self.note_key(outer_keys, at..self.at - 1);
            self.skip_white();
            if self.peek() != Some(b':') {
                return Err("a colon is expected");
            }
            self.at += 1;
            self.skip_white();
            let value_start = self.out_at();
            self.value(depth)?;
            if depth == 1 {
                self.members.push(Member { key, is_escaped, value: value_start..self.out_at() });
            }
            if !self.goes_on(b'}')? {
                self.keys.truncate(outer_keys);
                return Ok(());
            }
        }
    }

    /// Notes a key of the innermost object. A repeated one, and one that may be an array index, has another place in
    /// canonical text.
    fn note_key(&mut self, outer_keys: usize, key: Range<usize>) {
        let text = self.text.as_bytes();
        let before = &self.keys[outer_keys..];
        let is_repeat =
            |other: &Range<usize>| other.len() == key.len() && text[other.clone()] == text[key.clone()];
        self.is_canonical = self.is_canonical
            && !text[key.start].is_ascii_digit()
            && before.len() < MOST_COMPARED
            && !before.iter().any(is_repeat);
        self.keys.push(key);
    }

    fn array(&mut self, depth: usize) -> Outcome {
        if depth > MAX_DEPTH {
            return Err("values nest too deep");
        }
        self.at += 1;
        self.skip_white();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth)?;
            if !self.goes_on(b']')? {
                return Ok(());
            }
        }
    }

    /// Reads a comma (true) or the closing bracket (false).
    fn goes_on(&mut self, close: u8) -> Result<bool, &'static str> {
        self.skip_white();
        let next = self.peek();
        if next != Some(b',') && next != Some(close) {
            return Err(match (next, close) {
                (None, b'}') => "the object is not closed",
                (None, _) => "the list is not closed",
                (Some(_), b'}') => "a comma or } is expected",
                (Some(_), _) => "a comma or ] is expected",
            });
        }
        self.at += 1;
        self.skip_white();
        Ok(next == Some(b','))
    }

    /// Reads a string, and says whether it has escapes.
    fn string(&mut self) -> Result<bool, &'static str> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        let mut is_escaped = false;
        loop {
            at = plain_end(bytes, at);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(is_escaped);
                }
                Some(b'\\') => {
                    let length = match bytes.get(at + 1) {
                        Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                        Some(b'/') => {
                            self.is_canonical = false;
                            2
                        }
                        Some(b'u')
                            if bytes
                                .get(at + 2..at + 6)
                                .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) =>
                        {
                            self.is_canonical = false;
                            6
                        }
                        Some(_) => return Err("the string that begins here has an invalid escape"),
                        None => return Err("the string that begins here is not closed"),
                    };
                    is_escaped = true;
                    at += length;
                }
                Some(_) => return Err("the string that begins here has a control character in it"),
                None => return Err("the string that begins here is not closed"),
            }
        }
    }

    fn number(&mut self) -> Outcome {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.digits() {
            0 => return Err("a digit is expected"),
            1 => {}
            count if self.text.as_bytes()[self.at - count] == b'0' => return Err("a number begins with 0"),
            _ => {}
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err("a digit is expected after the point");
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err("a digit is expected in the exponent");
            }
        }
        self.is_canonical = self.is_canonical && is_canonical_number(&self.text[start..self.at]);
        Ok(())
    }

    fn digits(&mut self) -> usize {
        let count = self.text.as_bytes()[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn word(&mut self, word: &str) -> Outcome {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err("a value is expected");
        }
        self.at += word.len();
        Ok(())
    }
}

/// Returns where the plain characters of a string end: at a quotation mark, a backslash, a control character or the end
/// of the text. Looks at eight bytes at once: most of what hosts send is inside strings.
pub(crate) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    while let Some(Ok(eight)) = bytes.get(at..at + 8).map(<[u8; 8]>::try_from) {
        let eight = u64::from_le_bytes(eight);
        // Sets the high bit of each byte below `bound`, which is at most 128. A borrow may mark bytes behind a true one too.
        let below = |eight: u64, bound: u64| eight.wrapping_sub(ONES * bound) & !eight & (ONES * 128);
        let is = |byte: u8| below(eight ^ (ONES * u64::from(byte)), 1);
        let found = below(eight, 0x20) | is(b'"') | is(b'\\');
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let is_plain = |byte: &&u8| !matches!(byte, b'"' | b'\\' | 0..=0x1F);
    at + bytes.get(at..).unwrap_or_default().iter().take_while(is_plain).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecmascript::canonical_text_of;

    fn compacted(text: &str) -> String {
        compact(text).unwrap().text.into_owned()
    }

    fn error(text: &str) -> String {
        compact(text).unwrap_err().error
    }

    #[test]
    fn white_space_between_tokens_goes_and_all_else_stays() {
        assert_eq!(
            compacted(" {\"b\" : [ 1 , 2.50 ,\t-0 ] ,\r\n \"a b\":\" x\\u0020\\ud800 \", \"b\":1E400 } \n"),
            r#"{"b":[1,2.50,-0],"a b":" x\u0020\ud800 ","b":1E400}"#
        );
        assert!(matches!(compact("{\"a\":[]}").unwrap().text, Cow::Borrowed("{\"a\":[]}")));
    }

    #[test]
    fn members_point_into_the_compact_text() {
        let read = compact("{ \"a\" : { \"x\": 1 }, \"b\": [ ], \"a\": null }").unwrap();
        let members: Vec<_> =
            read.members.iter().map(|m| (&read.text[m.key.clone()], &read.text[m.value.clone()])).collect();
        assert_eq!(members, [("a", "{\"x\":1}"), ("b", "[]"), ("a", "null")]);
    }

    #[test]
    fn what_is_called_canonical_is_what_ecmascript_prints() {
        let canonical = r#"{"a":"x\n\"é","b":[1,-2.5,1e+21,{"a":{}}],"c":{"a":1},"":null}"#;
        for (text, is_canonical) in [
            (canonical, true),
            (" { \"a\" : [ true ] } ", true),
            (r#"{"a":1.0}"#, false),
            (r#"[-0]"#, false),
            (r#"[1E400]"#, false),
            (r#"[1234567890123456789]"#, false),
            (r#"{"a":"\/"}"#, false),
            (r#"{"a":"\u0041"}"#, false),
            (r#"{"a":1,"b":2,"a":3}"#, false),
            (r#"[{"x":{"a":1,"a":{}}}]"#, false),
            (r#"{"b":1,"1":2}"#, false),
        ] {
            let read = compact(text).unwrap();
            assert_eq!(read.is_canonical, is_canonical, "{text}");
            assert_eq!(canonical_text_of(&read.text) == read.text, is_canonical, "{text}");
        }
        let many: Vec<String> = (0..=MOST_COMPARED).map(|place| format!("\"k{place}\":1")).collect();
        assert!(compact(&format!("{{{}}}", many[1..].join(","))).unwrap().is_canonical);
        assert!(!compact(&format!("{{{}}}", many.join(","))).unwrap().is_canonical);
    }

    #[test]
    fn the_plain_part_of_a_string_ends_at_the_first_special_byte() {
        for length in 0..20 {
            for (special, expected) in [
                (b'"', true),
                (b'\\', true),
                (0, true),
                (0x1F, true),
                (b' ', false),
                (0x7F, false),
                (0xC3, false),
            ] {
                let mut bytes = vec![b'!'; length];
                bytes.push(special);
                bytes.extend(b"[]#\x80\xff\"\"");
                assert_eq!(
                    plain_end(&bytes, 0),
                    if expected { length } else { length + 6 },
                    "{length} {special}"
                );
            }
        }
        assert_eq!(plain_end(b"aaaaaaaa", 0), 8);
    }

    #[test]
    fn errors_name_line_and_column() {
        assert_eq!(error("{\n \"é\": \"x"), "line 2 column 7: the string that begins here is not closed");
        assert_eq!(error("{\"a\":1} {"), "line 1 column 9: text follows after the end of the value");
        assert_eq!(error(""), "line 1 column 1: the text ends where a value is expected");
        assert_eq!(error("{\"a\":1,}"), "line 1 column 8: a key is expected");
        assert_eq!(error("{\"a\":1"), "line 1 column 7: the object is not closed");
        assert_eq!(error("[1 2]"), "line 1 column 4: a comma or ] is expected");
        for bad in [
            "01",
            "-",
            "1.",
            "1e",
            ".5",
            "+1",
            "tru",
            "nul",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\t\"",
            "[,1]",
            "{1:2}",
        ] {
            assert!(compact(bad).is_err(), "{bad}");
            assert!(serde_json::from_str::<serde_json::Value>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn members_before_a_break_are_kept_and_half_ones_are_not() {
        let broken = compact("{\"a\": \"x\", \"b\": [1], \"c\": \"y").unwrap_err();
        let keys: Vec<_> = broken.before.members.iter().map(|m| &broken.before.text[m.key.clone()]).collect();
        assert_eq!(keys, ["a", "b"]);
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(compact(&nested(MAX_DEPTH)).is_ok());
        assert!(error(&nested(MAX_DEPTH + 1)).ends_with("values nest too deep"));
        assert!(compact(&"{\"a\":".repeat(100_000)).is_err());
    }
}
