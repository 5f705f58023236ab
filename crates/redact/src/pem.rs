//! Private keys in PEM form (RFC 7468), also where line ends are still escaped, quoted or numbered.

use crate::find::{Kind, Look, Span};

/// What every block begins with.
pub(crate) const KEYWORD: &str = "-----BEGIN ";

const KIND: Kind = Kind::format("private-key");
const END: &str = "-----END ";

/// A line of a key is 64 characters; the shortest key in use fills most of one. Less is talk about keys.
const LEAST_RUN: usize = 36;

/// Marks from `-----BEGIN … PRIVATE KEY…-----` to the end line, or, where that was cut off, to the last line of base64.
pub(crate) fn look(text: &str, at: usize) -> Look {
    let miss = Look { span: None, resume: at + KEYWORD.len() };
    let rest = &text[at..];
    // `ENCRYPTED PRIVATE KEY`, `OPENSSH PRIVATE KEY`, `PGP PRIVATE KEY BLOCK`: a label is short.
    let label_part = &rest.as_bytes()[KEYWORD.len()..rest.len().min(KEYWORD.len() + 60)];
    let Some(label_end) = label_part.windows(5).position(|five| five == b"-----") else { return miss };
    let label = &label_part[..label_end];
    let label = std::str::from_utf8(label).unwrap_or_default();
    if !(label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK")) {
        return miss;
    }
    let body_start = at + KEYWORD.len() + label_end + 5;
    let body = read_body(&text[body_start..]);
    let resume = body_start + body.scanned;
    let end = match body.end_line {
        Some(end) => body_start + end,
        None => body_start + body.last_run,
    };
    let span = body.is_key.then_some(Span { start: at, end, kind: KIND });
    Look { span, resume: resume.max(end) }
}

struct Body {
    /// Whether a run of base64 as long as a line was seen.
    is_key: bool,
    /// End of the last run of base64.
    last_run: usize,
    /// End of the end line, if the block has one.
    end_line: Option<usize>,
    scanned: usize,
}

/// Reads what can stand in a block: base64, armor headers, line ends in any spelling, quotes, `+` of a concatenation,
/// line numbers and their separators.
fn read_body(text: &str) -> Body {
    let mut body = Body { is_key: false, last_run: 0, end_line: None, scanned: text.len() };
    let mut run = 0;
    for (index, c) in text.char_indices() {
        if c == '-' && text[index..].starts_with(END) {
            let after = index + END.len();
            let line = &text.as_bytes()[after..text.len().min(after + 60)];
            let dashes = line.windows(5).position(|five| five == b"-----");
            let end = dashes.map_or(after, |dashes| after + dashes + 5);
            body.end_line = Some(end);
            body.scanned = end;
            return body;
        }
        if c == '-' && text[index..].starts_with(KEYWORD) {
            body.scanned = index;
            return body;
        }
        if c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=') {
            run += 1;
            body.is_key |= run >= LEAST_RUN;
            // Shorter runs may be words of the text that follows a block without its end.
            if run >= 16 {
                body.last_run = index + 1;
            }
            continue;
        }
        run = 0;
        let belongs = c.is_ascii_whitespace()
            || matches!(c, '\\' | '"' | '\'' | ',' | ':' | '-' | '.' | '>' | '|' | '→' | '(' | ')' | '_');
        if !belongs {
            body.scanned = index;
            return body;
        }
    }
    // Cut off in the middle of the block: all that is there is key.
    body.last_run = text.len();
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> Option<&str> {
        look(text, text.find(KEYWORD)?).span.map(|span| &text[span.start..span.end])
    }

    fn block(line_end: &str) -> String {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
        let (begin, end) = (["-----BEGIN", "PRIVATE KEY-----"].join(" "), "-----END PRIVATE KEY-----");
        [begin.as_str(), line, line, "abcd12==", end].join(line_end)
    }

    #[test]
    fn a_block_is_marked_whole_in_every_spelling_of_its_line_ends() {
        for line_end in ["\n", "\r\n", "\\n", "\\\\n", "\n    12→", "\\n\" +\n  \""] {
            let block = block(line_end);
            let text = format!("key: {block}\nafter");
            assert_eq!(marked(&text), Some(block.as_str()), "{line_end:?}");
        }
    }

    #[test]
    fn a_block_that_was_cut_is_marked_to_its_last_line() {
        let block = block("\n");
        let cut = &block[..block.len() - "\n-----END PRIVATE KEY-----".len() - 30];
        assert_eq!(marked(cut), Some(cut));
    }

    #[test]
    fn public_keys_and_talk_are_left() {
        let talk = format!("a file that begins with {} PRIVATE KEY----- and then has base64", "-----BEGIN");
        assert_eq!(marked(&talk), None);
        assert_eq!(marked(&block("\n").replace("PRIVATE", "PUBLIC")), None);
    }
}
