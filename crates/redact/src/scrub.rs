//! Taking one known secret out of what is kept already.

use std::borrow::Cow;

use crate::find::{Kind, Span, merge};
use crate::json::{decode, raw_spans, replace};
use crate::redactor::Redactor;

/// The word in the marks that a scrub leaves.
const KIND: &str = "scrubbed";
/// A shorter text stands in too many places where it is no secret.
const MIN_BYTES: usize = 6;
/// Bytes that end with so many bytes of the secret are cut within it; fewer tell nothing.
const MIN_CUT_BYTES: usize = 4;
/// How deep JSON is looked into that stands in a string of JSON.
const DEPTH: usize = 4;

/// One secret, and the mark that takes its place.
#[derive(Clone, Debug)]
pub struct Scrub {
    secret: String,
    mark: String,
}

impl Scrub {
    /// Takes the secret; nothing where it is shorter than 6 bytes, since then it is in too much that is none.
    pub fn new(redactor: &Redactor, secret: &str) -> Option<Scrub> {
        let mark = redactor.mark(KIND, secret);
        (secret.len() >= MIN_BYTES).then(|| Scrub { secret: secret.to_owned(), mark })
    }

    /// The mark: `[redacted:scrubbed:<8 hex>]`.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Replaces the secret in the strings of a JSON text, however its characters are escaped there, also in JSON that
    /// stands in a string. All other bytes stay as they are; valid JSON stays valid. A number that is the secret stays:
    /// [`Scrub::is_left`].
    pub fn json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        replace(text, &mut |raw| self.spans(raw, DEPTH), &self.mark)
    }

    /// Replaces the secret in bytes of any kind, as it stands and however JSON escapes it, also where the bytes end within
    /// it; nothing where it is not in them.
    pub fn bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut found = self.unescaped(bytes);
        let mut form = self.secret.clone();
        for _ in 0..DEPTH {
            let now: &[u8] = found.as_deref().unwrap_or(bytes);
            if let Some(replaced) = self.replaced(now, form.as_bytes()) {
                found = Some(replaced);
            }
            let now: &[u8] = found.as_deref().unwrap_or(bytes);
            let cut = (MIN_CUT_BYTES..form.len()).rev().find(|cut| now.ends_with(&form.as_bytes()[..*cut]));
            if let Some(cut) = cut {
                found = Some([&now[..now.len() - cut], self.mark.as_bytes()].concat());
            }
            let escaped = escape(&form);
            if escaped == form {
                break;
            }
            form = escaped;
        }
        found
    }

    /// Replaces it where bytes read as a part of JSON have it, wherever strings begin and end in them: quotes may be missing.
    fn unescaped(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (mut out, mut copied, mut at) = (Vec::new(), 0, 0);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let start = at;
            at += line.len();
            if !line.contains(&b'\\') {
                continue;
            }
            let mut within = start;
            for chunk in line.utf8_chunks() {
                for (from, to) in self.spans(chunk.valid(), DEPTH) {
                    out.extend_from_slice(&bytes[copied..within + from]);
                    out.extend_from_slice(self.mark.as_bytes());
                    copied = within + to;
                }
                within += chunk.valid().len() + chunk.invalid().len();
            }
        }
        out.extend_from_slice(&bytes[copied..]);
        (copied > 0).then_some(out)
    }

    /// True when the text still has the secret, letter for letter.
    pub fn is_left(&self, text: &str) -> bool {
        text.contains(&self.secret)
    }

    /// Replaces it where bytes have it in this form, byte for byte.
    fn replaced(&self, bytes: &[u8], form: &[u8]) -> Option<Vec<u8>> {
        let (mut out, mut copied) = (Vec::new(), 0);
        for at in memchr::memmem::find_iter(bytes, form) {
            out.extend_from_slice(&bytes[copied..at]);
            out.extend_from_slice(self.mark.as_bytes());
            copied = at + form.len();
        }
        out.extend_from_slice(&bytes[copied..]);
        (copied > 0).then_some(out)
    }

    /// Where the secret stands in the raw contents of a string.
    fn spans(&self, raw: &str, depth: usize) -> Vec<(usize, usize)> {
        let decoded = decode(raw);
        let kind = Kind::context(KIND);
        let found = decoded.match_indices(&self.secret);
        let mut spans: Vec<Span> =
            found.map(|(start, text)| Span { start, end: start + text.len(), kind }).collect();
        // What has no escapes reads the same the next time.
        if depth > 1 && decoded.contains('\\') && decoded != raw {
            let inner = self.spans(&decoded, depth - 1).into_iter();
            spans.extend(inner.map(|(start, end)| Span { start, end, kind }));
        }
        let spans = merge(spans);
        raw_spans(raw, &spans).into_iter().map(|(_, start, end)| (start, end)).collect()
    }
}

/// As JSON writes it in a string.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            control if control < ' ' => escaped.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrub(secret: &str) -> Scrub {
        Scrub::new(&Redactor::new(&[7; 32]), secret).unwrap()
    }

    #[test]
    fn a_secret_is_found_however_it_is_escaped() {
        let scrub = scrub("pass\"wörd\n1");
        let mark = scrub.mark().to_owned();
        assert!(mark.starts_with("[redacted:scrubbed:") && mark.len() == 28, "{mark}");
        for (before, after) in [
            (r#"{"a":"pass\"wörd\n1"}"#, r#"{"a":"MARK"}"#.to_owned()),
            (r#"{"a":"x pass\"w\u00f6rd\u000a1 y","n":1.50}"#, r#"{"a":"x MARK y","n":1.50}"#.to_owned()),
            (r#"{"pass\"wörd\n1":["\u0070ass\"wörd\n1"]}"#, r#"{"MARK":["MARK"]}"#.to_owned()),
            // In JSON inside a string, once and twice.
            (r#"{"a":"{\"b\":\"pass\\\"wörd\\n1\"}"}"#, r#"{"a":"{\"b\":\"MARK\"}"}"#.to_owned()),
            (
                r#"{"a":"{\"b\":\"{\\\"c\\\":\\\"pass\\\\\\\"w\\\\u00f6rd\\\\n1\\\"}\"}"}"#,
                r#"{"a":"{\"b\":\"{\\\"c\\\":\\\"MARK\\\"}\"}"}"#.to_owned(),
            ),
        ] {
            let scrubbed = scrub.json(before);
            assert_eq!(scrubbed, after.replace("MARK", &mark), "{before}");
            serde_json::from_str::<serde_json::Value>(&scrubbed).unwrap();
            assert!(matches!(scrub.json(&scrubbed), Cow::Borrowed(_)));
        }
        let other = r#"{"a":"pass'wörd\n1 pass\"wörd 1","b":[true,null,"\ud800"]}"#;
        assert!(matches!(scrub.json(other), Cow::Borrowed(_)));
    }

    #[test]
    fn bytes_lose_it_too_and_a_number_is_owned_up_to() {
        let tab = scrub("tab\there");
        let found = tab.bytes(b"\xff tab\there tab\\there \x00 tab\\\\there").unwrap();
        let mark = tab.mark().as_bytes();
        assert_eq!(found, [b"\xff ", mark, b" ", mark, b" \x00 ", mark].concat());
        assert_eq!(tab.bytes(&found), None);
        let number = scrub("123456");
        let text = number.json(r#"{"a":123456,"b":"no 123456"}"#);
        assert_eq!(text, format!(r#"{{"a":123456,"b":"no {}"}}"#, number.mark()));
        assert!(number.is_left(&text));
    }

    #[test]
    fn bytes_that_are_cut_or_have_other_escapes_lose_it_too() {
        let scrub = scrub("pass\"wörd/12");
        let mark = scrub.mark();
        for (before, after) in [
            // As other writers escape it, in a line whose quotes are not all there.
            (r#"{"a":"x","b":x pass\u0022w\u00f6rd\/12","c":"\n"}"#, r#"{"a":"x","b":x MARK","c":"\n"}"#),
            (r#""b":"{\"c\":\"pass\\\"w\\u00F6rd\\/12\"}"#, r#""b":"{\"c\":\"MARK\"}"#),
            // Cut in it.
            (r#"{"a":"pass\"wörd/1"#, r#"{"a":"MARK"#),
            (r#"{"a":"pass"#, r#"{"a":"MARK"#),
        ] {
            let found = String::from_utf8(scrub.bytes(before.as_bytes()).unwrap()).unwrap();
            assert_eq!(found, after.replace("MARK", mark), "{before}");
            assert_eq!(scrub.bytes(found.as_bytes()), None, "{found}");
        }
        assert_eq!(scrub.bytes(br#"{"a":"\n","b":"pas"#), None);
    }

    #[test]
    fn a_text_that_is_in_everything_is_no_secret() {
        assert!(Scrub::new(&Redactor::new(&[7; 32]), "short").is_none());
    }
}
