//! Tells when one complete JSON value has come, so that the hook need not wait for the end of its input (case F-031).
//!
//! This is no parser: it follows strings and nesting, lets anything pass inside strings, and does not care for the
//! order of commas and colons. What is no JSON at all is never complete, so it is read to its end.

/// Deepest nesting that is followed; a deeper value is read to its end.
const MAX_DEPTH: usize = 1 << 20;

/// Follows the bytes of an input as they come.
#[derive(Debug, Default)]
pub struct Scanner {
    state: State,
    /// One bit for each open bracket, 1 for an object.
    open: Vec<u64>,
    depth: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Before the value: white space and byte order marks (case F-024).
    #[default]
    Before,
    /// Inside an object or array, outside strings.
    Inside,
    String,
    Escape,
    /// The outermost bracket is closed and only white space followed.
    Whole,
    /// A number, a word, garbage, or more than one value: only the end of the input ends it.
    Endless,
}

impl Scanner {
    /// True when exactly one complete object or array has come.
    pub fn is_whole(&self) -> bool {
        self.state == State::Whole
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((&byte, tail)) = rest.split_first() {
            rest = tail;
            self.state = match self.state {
                State::Before => match byte {
                    b' ' | b'\t' | b'\n' | b'\r' | 0xef | 0xbb | 0xbf => State::Before,
                    b'{' | b'[' => self.push(byte),
                    _ => State::Endless,
                },
                State::Inside => match byte {
                    b'"' => State::String,
                    b'{' | b'[' => self.push(byte),
                    b'}' | b']' => self.pop(byte),
                    b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b'+' | b'-' | b'.' => State::Inside,
                    b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => State::Inside,
                    _ => State::Endless,
                },
                State::String => {
                    // Nearly all bytes of a large payload stand inside strings: pass over them in one go.
                    let end =
                        std::iter::once(&byte).chain(tail).position(|byte| matches!(byte, b'"' | b'\\'));
                    match end {
                        None => return,
                        Some(at) => {
                            rest = &tail[at..];
                            let stop = if at == 0 { byte } else { tail[at - 1] };
                            if stop == b'"' { State::Inside } else { State::Escape }
                        }
                    }
                }
                State::Escape => State::String,
                State::Whole if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => State::Whole,
                State::Whole | State::Endless => {
                    self.state = State::Endless;
                    return;
                }
            };
        }
    }

    fn push(&mut self, bracket: u8) -> State {
        if self.depth == MAX_DEPTH {
            return State::Endless;
        }
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.open.len() {
            self.open.push(0);
        }
        self.open[word] = self.open[word] & !(1 << bit) | u64::from(bracket == b'{') << bit;
        self.depth += 1;
        State::Inside
    }

    fn pop(&mut self, bracket: u8) -> State {
        self.depth -= 1;
        let (word, bit) = (self.depth / 64, self.depth % 64);
        let opened_object = self.open[word] >> bit & 1 == 1;
        match (opened_object == (bracket == b'}'), self.depth) {
            (false, _) => State::Endless,
            (true, 0) => State::Whole,
            (true, _) => State::Inside,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_whole(bytes: &[u8]) -> bool {
        let mut scanner = Scanner::default();
        scanner.feed(bytes);
        scanner.is_whole()
    }

    #[test]
    fn one_object_or_array_is_whole() {
        for whole in [
            r#"{}"#,
            r#" [1, -2.5e+3, null, {"a": [true]}] "#,
            r#"{"a\"}":"\\","b":"}]"}"#,
            "\u{feff}\u{feff}{\"a\u{feff}\":1}\r\n",
            r#"{"cut emoji":"\ud83d"}"#,
        ] {
            assert!(is_whole(whole.as_bytes()), "{whole}");
        }
        assert!(is_whole(b"{\"\xff\xfe\x00\":1}"), "foreign bytes inside a string");
    }

    #[test]
    fn anything_else_waits_for_the_end() {
        for open in [
            "",
            "  ",
            "\u{feff}",
            "42",
            "null",
            "\"text\"",
            "{",
            "[[]",
            "{\"a",
            r#"{"a":"\"}"#,
            r#"{"a":"b\"#,
            "{]",
            "[}",
            "{}x",
            "{}{}",
            "x{}",
            "{\u{7f}}",
            "}",
        ] {
            assert!(!is_whole(open.as_bytes()), "{open:?}");
        }
        assert!(!is_whole(&vec![b'['; 3 << 20]), "deeper than anybody nests");
    }

    #[test]
    fn deep_but_bounded_nesting_is_followed() {
        let depth = 100_000;
        assert!(is_whole(&[vec![b'['; depth], vec![b']'; depth]].concat()));
        assert!(!is_whole(&[vec![b'['; depth], vec![b']'; depth - 1]].concat()));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            bytes in prop::collection::vec(prop::sample::select(b"{}[]\"\\ a1,:\xef\xbb\xbf\n".to_vec()), 0..60),
            at in any::<prop::sample::Index>(),
        ) {
            let at = at.index(bytes.len() + 1);
            let mut scanner = Scanner::default();
            scanner.feed(&bytes[..at]);
            scanner.feed(&bytes[at..]);
            prop_assert_eq!(scanner.is_whole(), is_whole(&bytes));
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            is_whole(&bytes);
            is_whole(&[b"{", bytes.as_slice()].concat());
        }
    }
}
