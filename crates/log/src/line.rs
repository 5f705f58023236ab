//! One line of a log: how it is written, and how its fixed members are read back by bytes.

use std::ops::Range;

/// The longest line that is written or read, in bytes, its line feed included: 640 MiB.
///
/// The largest native envelope is 256 MiB (overview D2: beyond that only its first MiB is kept), and a hook record
/// holds it up to twice, untouched and as the values of its projected payload. The rest is room for marks and the
/// envelope. A reader passes over a longer line and names it as [`DamageKind::TooLong`](crate::DamageKind::TooLong).
pub const MAX_LINE_BYTES: usize = 640 << 20;

/// The version of the line format that is written, and the highest that is read.
pub const LINE_VERSION: u64 = 1;

/// The longest id or kind of a record, in bytes.
pub const MAX_NAME_BYTES: usize = 128;

/// The longest session id, in bytes (overview D6).
pub const MAX_SESSION_ID_BYTES: usize = 1024;

/// The highest seq: the largest integer that every JSON reader keeps exactly.
const MAX_SEQ: u64 = 1 << 53;

/// Bytes of `,"crc":"xxxxxxxx"}` at the end of each line, without the line feed.
pub(crate) const SUFFIX_BYTES: usize = 18;

/// One record to append. It becomes one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// Its id, a ULID by habit: 1 to 128 bytes of `A-Z a-z 0-9 . _ -`.
    pub id: String,
    /// Unix milliseconds at which it happened (overview D7).
    pub ts_ms: u64,
    /// Its kind, the member `type` of the line; same letters as an id.
    pub kind: String,
    /// One JSON object as text, without raw line feeds or carriage returns. That it is JSON is the caller's word:
    /// the store looks at the braces at both ends and at no more.
    pub payload: String,
}

impl NewRecord {
    /// Says what keeps this record from being written as one line, or nothing.
    pub(crate) fn fault(&self) -> Option<String> {
        for (field, text) in [("id", &self.id), ("kind", &self.kind)] {
            if !is_name(text.as_bytes()) {
                return Some(format!(
                    "'{field}' must be 1 to {MAX_NAME_BYTES} letters, digits, '.', '_' or '-'"
                ));
            }
        }
        let payload = self.payload.as_bytes();
        if !(payload.len() >= 2 && payload.starts_with(b"{") && payload.ends_with(b"}")) {
            return Some("'payload' must be one JSON object, without white space around it".to_owned());
        }
        if memchr::memchr2(b'\n', b'\r', payload).is_some() {
            return Some(
                "'payload' has a raw line feed or carriage return; JSON writes them as \\n and \\r"
                    .to_owned(),
            );
        }
        let room = MAX_LINE_BYTES - (8 * MAX_SESSION_ID_BYTES + 1024);
        (payload.len() > room)
            .then(|| format!("'payload' has {} bytes; at most {room} fit a line", payload.len()))
    }

    /// Returns about how many bytes the record takes in a log.
    pub(crate) fn weight(&self) -> usize {
        self.payload.len() + self.id.len() + self.kind.len() + 128
    }
}

/// True where these bytes may be the id or the kind of a record: 1 to 128 of `A-Z a-z 0-9 . _ -`.
pub fn is_name(bytes: &[u8]) -> bool {
    // All bytes are looked at, without a way out in between, which takes half of the time.
    let all_fit = bytes.iter().fold(true, |all_fit, byte| all_fit & IS_NAME[usize::from(*byte)]);
    (1..=MAX_NAME_BYTES).contains(&bytes.len()) && all_fit
}

/// Which bytes a name has; a table, because listings look at every one.
static IS_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        byte += 1;
    }
    table
};

/// Returns the crc that the first line of a log continues: CRC-32C of the session id (eventlog 1.2).
pub(crate) fn first_crc(session_id: &str) -> u32 {
    crc32c::crc32c(session_id.as_bytes())
}

/// Returns a line as it will be written, but without its crc. `session_json` is the session id as a JSON string.
pub fn unsealed(session_json: &str, seq: u64, record: &NewRecord) -> String {
    let mut line = head(session_json, seq, record);
    line.reserve_exact(record.payload.len() + 1);
    line.push_str(&record.payload);
    line.push('}');
    line
}

fn head(session_json: &str, seq: u64, record: &NewRecord) -> String {
    format!(
        "{{\"v\":{LINE_VERSION},\"id\":\"{}\",\"sessionId\":{session_json},\"seq\":{seq},\"ts\":{},\"type\":\"{}\",\"payload\":",
        record.id, record.ts_ms, record.kind
    )
}

/// Appends one line, line feed included, to `buffer` and returns its crc, which the next line continues.
pub(crate) fn encode(
    buffer: &mut Vec<u8>,
    session_json: &str,
    seq: u64,
    record: &NewRecord,
    previous_crc: u32,
) -> u32 {
    let start = buffer.len();
    let head = head(session_json, seq, record);
    buffer.reserve(head.len() + record.payload.len() + SUFFIX_BYTES + 1);
    buffer.extend_from_slice(head.as_bytes());
    buffer.extend_from_slice(record.payload.as_bytes());
    end_line(buffer, start, previous_crc)
}

/// Ends the line that begins at `start` with its crc, which is returned, and a line feed.
pub(crate) fn end_line(buffer: &mut Vec<u8>, start: usize, previous_crc: u32) -> u32 {
    let crc = crc32c::crc32c_append(previous_crc, &buffer[start..]);
    buffer.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes());
    crc
}

/// The members of a line that the store itself reads, found by bytes. That it has this shape says nothing about
/// whether its bytes are right: only the crc does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub head: Head,
    /// How many bytes the crc covers: up to the end of the payload.
    pub body: usize,
    /// The crc that stands in the line.
    pub crc: u32,
}

impl Shape {
    /// Reads the shape of one line without its line feed.
    pub(crate) fn read(line: &[u8]) -> Option<Shape> {
        let (body, crc) = read_crc(line)?;
        let head = Head::read(&line[..body]).filter(|head| head.seq >= 1)?;
        let inner = &line[head.payload..body];
        (inner.len() >= 2 && inner[0] == b'{' && inner[inner.len() - 1] == b'}').then_some(Shape {
            head,
            body,
            crc,
        })
    }

    pub(crate) fn payload(&self) -> Range<usize> {
        self.head.payload..self.body
    }

    /// True when the line's crc is right after one with this crc.
    pub(crate) fn continues(&self, previous_crc: u32, line: &[u8]) -> bool {
        crc32c::crc32c_append(previous_crc, &line[..self.body]) == self.crc
    }

    /// Returns the crc that the first line of this line's log continues.
    pub(crate) fn first_crc(&self, line: &[u8]) -> u32 {
        self.head.session_id(line).as_deref().map_or(0, first_crc)
    }
}

/// The members of a line before its payload, found by bytes: with a crc at its end or without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The member `v`.
    pub version: u64,
    /// Where the id stands, without its quotes: letters, digits, `.`, `_` and `-` only.
    pub id: Range<usize>,
    /// Where the session id stands as a JSON string, quotes included.
    pub session: Range<usize>,
    /// The member `seq`, at most 2^53.
    pub seq: u64,
    /// The member `ts`, Unix milliseconds.
    pub ts_ms: u64,
    /// Where the type stands, without its quotes; same letters as the id.
    pub kind: Range<usize>,
    /// Where the payload begins. Nothing from here on was looked at.
    pub payload: usize,
}

impl Head {
    /// Reads the head of one line. Nothing where the members stand in another order than the store writes, or are
    /// spelled in another way; such a line may be right JSON all the same.
    pub fn read(line: &[u8]) -> Option<Head> {
        let mut cursor = Cursor { line, at: 0 };
        cursor.literal(b"{\"v\":")?;
        let version = cursor.number()?;
        cursor.literal(b",\"id\":\"")?;
        let id = cursor.name()?;
        cursor.literal(b"\",\"sessionId\":")?;
        let session = cursor.string()?;
        cursor.literal(b",\"seq\":")?;
        let seq = cursor.number().filter(|seq| *seq <= MAX_SEQ)?;
        cursor.literal(b",\"ts\":")?;
        let ts_ms = cursor.number()?;
        cursor.literal(b",\"type\":\"")?;
        let kind = cursor.name()?;
        cursor.literal(b"\",\"payload\":")?;
        Some(Head { version, id, session, seq, ts_ms, kind, payload: cursor.at })
    }

    /// Reads the session id of the line with this head.
    pub(crate) fn session_id(&self, line: &[u8]) -> Option<String> {
        unquote(&line[self.session.clone()])
    }
}

/// Reads how many bytes the crc of a line covers, and the crc that stands at its end.
pub(crate) fn read_crc(line: &[u8]) -> Option<(usize, u32)> {
    let body = line.len().checked_sub(SUFFIX_BYTES)?;
    let hex = line[body..].strip_prefix(b",\"crc\":\"")?.strip_suffix(b"\"}")?;
    let mut crc = 0;
    for byte in hex {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        crc = (crc << 4) | u32::from(digit);
    }
    Some((body, crc))
}

struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn literal<const N: usize>(&mut self, literal: &[u8; N]) -> Option<()> {
        (self.line[self.at..].first_chunk::<N>()? == literal).then(|| self.at += N)
    }

    fn number(&mut self) -> Option<u64> {
        let start = self.at;
        let mut value = 0u64;
        while let Some(digit) = self.line.get(self.at).map(|byte| byte.wrapping_sub(b'0')).filter(|d| *d < 10)
        {
            value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
            self.at += 1;
        }
        (self.at > start).then_some(value)
    }

    /// Reads up to the closing quote of a string that needs no escapes; stops before the quote.
    fn name(&mut self) -> Option<Range<usize>> {
        let rest = &self.line[self.at..];
        let end = self.at + memchr::memchr(b'"', &rest[..rest.len().min(MAX_NAME_BYTES + 1)])?;
        let range = self.at..end;
        self.at = end;
        is_name(&self.line[range.clone()]).then_some(range)
    }

    /// Reads a JSON string, quotes included.
    fn string(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.literal(b"\"")?;
        loop {
            let rest = self.line.get(self.at..)?;
            let stop = memchr::memchr2(b'"', b'\\', rest)?;
            self.at += stop + 1;
            if rest[stop] == b'"' {
                return Some(start..self.at);
            }
            self.at += 1;
        }
    }
}

/// Writes a session id as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Reads back what [`quote`] wrote; nothing for escapes that it never writes.
pub(crate) fn unquote(quoted: &[u8]) -> Option<String> {
    let mut rest = std::str::from_utf8(quoted).ok()?.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        if let Some(hex) = escape.strip_prefix('u') {
            let code = u32::from_str_radix(hex.get(..4)?, 16).ok()?;
            text.push(char::from_u32(code)?);
            rest = &hex[4..];
        } else {
            text.push(escape.chars().next().filter(|letter| ['"', '\\'].contains(letter))?);
            rest = &escape[1..];
        }
    }
    text.push_str(rest);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> NewRecord {
        NewRecord {
            id: "01KDWS62XR0000000000000001".to_owned(),
            ts_ms: 1_767_225_603_000,
            kind: "hook".to_owned(),
            payload: r#"{"a":"}\""}"#.to_owned(),
        }
    }

    #[test]
    fn a_line_has_its_members_in_order_and_the_crc_last() {
        let mut buffer = Vec::new();
        let crc = encode(&mut buffer, &quote("journal"), 1, &record(), first_crc("journal"));
        let body = r#"{"v":1,"id":"01KDWS62XR0000000000000001","sessionId":"journal","seq":1,"ts":1767225603000,"type":"hook","payload":{"a":"}\""}"#;
        assert_eq!(String::from_utf8(buffer).unwrap(), format!("{body},\"crc\":\"{crc:08x}\"}}\n"));
        // The chain is the CRC-32C of the session id followed by the body, in one piece.
        assert_eq!(crc, crc32c::crc32c(format!("journal{body}").as_bytes()));
    }

    #[test]
    fn the_checksum_is_crc_32c() {
        // The check value of CRC-32/ISCSI in the catalogue of parametrised CRC algorithms.
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_shape_reads_back_what_was_written() {
        let mut buffer = Vec::new();
        let session = "a\"b\\c\nd\u{1}é";
        let crc = encode(&mut buffer, &quote(session), 77, &record(), 5);
        let line = &buffer[..buffer.len() - 1];
        let shape = Shape::read(line).unwrap();
        assert_eq!(&line[shape.head.id.clone()], b"01KDWS62XR0000000000000001");
        assert_eq!(shape.head.session_id(line).as_deref(), Some(session));
        assert_eq!(
            (shape.head.version, shape.head.seq, shape.head.ts_ms, shape.crc),
            (1, 77, 1_767_225_603_000, crc)
        );
        assert_eq!(&line[shape.payload()], br#"{"a":"}\""}"#);
    }

    #[test]
    fn a_head_is_read_with_a_crc_and_without_one() {
        let line = br#"{"v":2,"id":"A-1","sessionId":"s \"1\"","seq":0,"ts":5,"type":"tool.started","payload":[],"x":1}"#;
        let head = Head::read(line).unwrap();
        assert_eq!((head.version, head.seq, head.ts_ms), (2, 0, 5));
        assert_eq!(&line[head.session.clone()], br#""s \"1\"""#);
        assert_eq!(&line[head.kind.clone()], b"tool.started");
        assert!(line[head.payload..].starts_with(b"[]"));
        for other in [&b""[..], br#"{"id":"A-1","v":1}"#, br#"{"v":1,"id":"A-1","sessionId":"s\"#] {
            assert_eq!(Head::read(other), None);
        }
    }

    #[test]
    fn shapes_of_other_lines_are_refused() {
        for line in [
            "",
            "{}",
            "\0\0\0",
            r#"{"v":1,"id":"x","sessionId":"j","seq":0,"ts":1,"type":"t","payload":{},"crc":"00000000"}"#,
            r#"{"v":1,"id":"x","sessionId":"j","seq":18446744073709551615,"ts":1,"type":"t","payload":{},"crc":"00000000"}"#,
        ] {
            assert_eq!(Shape::read(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn faults_name_the_field() {
        let faulty = |change: fn(&mut NewRecord)| {
            let mut record = record();
            change(&mut record);
            record.fault().unwrap_or_default()
        };
        assert!(faulty(|record| record.id.clear()).starts_with("'id'"));
        assert!(faulty(|record| record.kind = "a\"b".to_owned()).starts_with("'kind'"));
        assert!(faulty(|record| record.payload = "[]".to_owned()).starts_with("'payload' must"));
        assert!(faulty(|record| record.payload = "{\n}".to_owned()).contains("line feed"));
        assert_eq!(record().fault(), None);
    }
}
