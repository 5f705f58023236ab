//! Finds program status reports in the bytes that a program writes to its terminal.

use super::report::{Discarded, Report};

const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;
/// The one-byte forms of `ESC ]` and `ESC \`.
const OSC: u8 = 0x9d;
const ST: u8 = 0x9c;
const NUMBER: &[u8] = b"7501;";
/// The longest sequence, from `ESC ]` to the end of `ESC \`.
const SEQUENCE_BYTES: usize = 4_096;
const BODY_BYTES: usize = SEQUENCE_BYTES - 2 - NUMBER.len() - 2;

/// What a sequence said.
pub type Found = Result<Report, Discarded>;

/// Finds the sequences in a stream of bytes, however it is cut into reads. It keeps one body at most.
///
/// A sequence begins with `ESC ]` and ends with BEL or `ESC \`, or with the one-byte forms where these are not a part of
/// a UTF-8 character. The doubled `ESC` of a sequence that is passed through tmux is taken for one. CAN, SUB and any
/// other escape sequence break it off.
#[derive(Clone, Debug, Default)]
pub struct Scanner {
    at: At,
    body: Vec<u8>,
    /// So many bytes of a UTF-8 character are still to come.
    rest: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Text,
    Escape,
    /// So many letters of [`NUMBER`] are read.
    Number(usize),
    Body,
    BodyEscape,
    /// The body is too long: what ends it ends nothing.
    TooLong,
}

impl Scanner {
    /// Makes a scanner at the beginning of a stream.
    pub fn new() -> Scanner {
        Scanner::default()
    }

    /// Reads on. Returns what the sequences said that ended in these bytes, in their order; those that ask whether the
    /// protocol is known say nothing.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        for byte in bytes {
            if self.take(*byte) {
                let said = Report::parse(&std::mem::take(&mut self.body));
                found.extend(said.transpose());
            }
        }
        found
    }

    /// Takes one byte. True: a body ends here.
    fn take(&mut self, byte: u8) -> bool {
        let is_control = !self.is_inside_character(byte);
        match (self.at, byte) {
            (At::Body, BEL) | (At::BodyEscape, b'\\') => {
                self.at = At::Text;
                return true;
            }
            (At::Body, ST) if is_control => {
                self.at = At::Text;
                return true;
            }
            (At::TooLong, BEL | ST) if is_control => self.at = At::Text,
            (_, CAN | SUB) => self.at = At::Text,
            (_, OSC) if is_control => self.at = At::Number(0),
            (At::Body | At::BodyEscape, ESC) => self.at = At::BodyEscape,
            (_, ESC) => self.at = At::Escape,
            (At::Escape | At::BodyEscape, b']') => self.at = At::Number(0),
            (At::Number(read), byte) if NUMBER[read] == byte => {
                self.body.clear();
                self.at = if read + 1 == NUMBER.len() { At::Body } else { At::Number(read + 1) };
            }
            (At::Body, 0..=0x1f) | (At::TooLong | At::Text, _) => {}
            (At::Body, byte) if self.body.len() < BODY_BYTES => self.body.push(byte),
            (At::Body, _) => self.at = At::TooLong,
            (At::Escape | At::Number(_) | At::BodyEscape, _) => self.at = At::Text,
        }
        false
    }

    /// True when the byte continues a UTF-8 character: then it is no control, whatever its value.
    fn is_inside_character(&mut self, byte: u8) -> bool {
        let continues = self.rest > 0 && matches!(byte, 0x80..=0xbf);
        self.rest = match byte {
            _ if continues => self.rest - 1,
            0xc2..=0xdf => 1,
            0xe0..=0xef => 2,
            0xf0..=0xf4 => 3,
            _ => 0,
        };
        continues
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn states(bytes: &[u8]) -> Vec<Result<&'static str, Discarded>> {
        let found = Scanner::new().feed(bytes);
        found.into_iter().map(|said| said.map(|report| report.state.as_str())).collect()
    }

    #[test]
    fn each_way_to_begin_and_to_end_a_sequence_is_known() {
        for bytes in [
            &b"a\x1b]7501;state=done\x07b"[..],
            b"\x1b]7501;state=done\x1b\\",
            b"\x9d7501;state=done\x9c",
            b"\x1b]7501;state=done\x9c",
            b"\x1b[31m\x1b]0;title\x07\x1b]7501;state=done\x1b\\",
            // As tmux passes it through.
            b"\x1bPtmux;\x1b\x1b]7501;state=done\x1b\x1b\\\x1b\\",
            // Controls inside a sequence are passed over, as terminals do.
            b"\x1b]7501;sta\r\nte=done\x07",
        ] {
            assert_eq!(states(bytes), [Ok("done")], "{:?}", bytes.escape_ascii().to_string());
        }
    }

    #[test]
    fn what_is_no_sequence_says_nothing() {
        for bytes in [
            &b"]7501;state=done\x07"[..],
            b"\x1b]7501;state=done",
            b"\x1b]75011;state=done\x07",
            b"\x1b]7501:state=done\x07",
            b"\x1b]7501;state=do\x18ne\x07",
            b"\x1b]7501;state=do\x1b[1mne\x07",
            b"\x1b]7501;?\x07",
            // The last byte of a quotation mark, before and after.
            "”7501;state=done\x07".as_bytes(),
            "\u{1b}]7501;x=“ ".as_bytes(),
        ] {
            assert_eq!(states(bytes), [], "{:?}", bytes.escape_ascii().to_string());
        }
    }

    #[test]
    fn a_sequence_that_breaks_a_rule_is_told_and_the_next_one_counts() {
        let bytes = b"\x1b]7501;state=odd\x07\x1b]7501;state=idle:id=/\x07\x1b]7501;state=idle\x07";
        assert_eq!(states(bytes), [Err(Discarded::State), Err(Discarded::Id), Ok("idle")]);
        let broken_off = b"\x1b]7501;state=working\x1b]7501;state=idle\x07";
        assert_eq!(states(broken_off), [Ok("idle")]);
    }

    #[test]
    fn a_sequence_may_have_4096_bytes_and_no_more() {
        let sized = |bytes: usize| {
            let frame = b"\x1b]7501;state=done:x=\x1b\\".len();
            let bytes = format!("\x1b]7501;state=done:x={}\x1b\\", "y".repeat(bytes - frame));
            states(bytes.as_bytes())
        };
        assert_eq!(sized(4_096), [Ok("done")]);
        assert_eq!(sized(4_097), []);
        let mut scanner = Scanner::new();
        scanner.feed(b"\x1b]7501;");
        for _ in 0..1_000 {
            assert_eq!(scanner.feed(&[b'x'; 1_000]), []);
        }
        assert!(scanner.body.capacity() <= 2 * BODY_BYTES, "what never ends is not kept");
        assert_eq!(scanner.feed(b"\x07\x1b]7501;state=idle\x07").len(), 1);
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let known: Vec<&[u8]> = vec![
            b"\x1b",
            b"]",
            b"7501;",
            b"\x1b]7501;",
            b"state=",
            b"working",
            b"blocked",
            b":",
            b"id=a/b",
            b"msg=b2s",
            b"\x07",
            b"\x1b\\",
            b"\\",
            b"\x9d",
            b"\x9c",
            b"\x18",
            "”".as_bytes(),
            b"?",
            b"=",
            b"kind=auth",
        ];
        let known = proptest::sample::select(known).prop_map(<[u8]>::to_vec);
        let piece = prop_oneof![4 => known, 1 => proptest::collection::vec(any::<u8>(), 0..6)];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

        #[test]
        fn how_the_stream_is_cut_into_reads_makes_no_difference(bytes in pieces(), cut in 1_usize..9) {
            let whole = Scanner::new().feed(&bytes);
            let mut scanner = Scanner::new();
            let torn: Vec<Found> = bytes.chunks(cut).flat_map(|chunk| scanner.feed(chunk)).collect();
            prop_assert_eq!(whole, torn);
        }

        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            drop(Report::parse(&bytes));
            let framed = [&b"\x1b]7501;"[..], &bytes, b"\x07"].concat();
            drop(Scanner::new().feed(&framed));
        }
    }
}
