//! The frame: one delivery as bytes, and the answer to it.
//!
//! ```text
//! delivery   0  magic 00 'H' 'B' 'K'      the first byte tells a frame from HTTP on the same socket
//!            4  version   u16
//!            6  kind      u8   = 1
//!            7  flags     u8   bit 0: body was cut
//!            8  head_len  u32
//!           12  zero      u32
//!           16  body_len  u64
//!           24  head, then body
//! answer     0  magic 00 'H' 'B' 'A'
//!            4  kind      u8   1 done, 2 decision, 3 wait, 4 spool, 5 refusal
//!            5  zero      3 bytes
//!            8  value     u32  decision, refusal: length of the bytes that follow; wait: milliseconds
//! ```
//! Numbers are little-endian. Lengths stand at fixed places, so that a body of unknown length can be written first and
//! its length afterwards. Magic and version keep their places in every version, and answers never change, so any
//! server can tell any hook to use the spool. A hook that does not know a kind of answer spools the event, too: it has
//! the id of the one that is in the journal.

use std::fmt;
use std::io::{self, Read};

use crate::delivery::{Answer, Delivery, Origin, Process, Tty};
use crate::limits::{BODY_BYTES, DECISION_BYTES, SOCKET_BODY_BYTES};
use crate::{OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION};

/// The first four bytes of a delivery frame.
pub const MAGIC: [u8; 4] = *b"\0HBK";
/// The first four bytes of an answer.
pub const ANSWER_MAGIC: [u8; 4] = *b"\0HBA";
/// Length of the fixed part of a delivery frame.
pub const HEADER_BYTES: usize = 24;
/// Length of the fixed part of an answer.
pub const ANSWER_HEADER_BYTES: usize = 12;
/// Longest head (everything but the body).
pub const HEAD_BYTES: u32 = 512 << 10;
/// Longest host name; longer ones are shortened when encoded.
pub const HOST_BYTES: usize = 255;
/// Longest native event name; longer ones are shortened when encoded.
pub const EVENT_BYTES: usize = 1 << 10;
/// Longest variable value or machine name; longer ones are left out when encoded, since half a path is a wrong path.
pub const VALUE_BYTES: usize = 4 << 10;
/// Longest working directory; a longer one is left out when encoded.
pub const CWD_BYTES: usize = 32 << 10;
/// Most ancestors, and most variables; further ones are left out when encoded.
pub const LIST_LEN: usize = 64;

const KIND_DELIVERY: u8 = 1;
const FLAG_CUT: u8 = 1;
pub(crate) const FLAGS_AT: u64 = 7;
pub(crate) const BODY_LEN_AT: u64 = 16;

/// Why bytes are not a frame.
#[derive(Debug)]
pub enum FrameError {
    /// The stream ended or failed before the frame was whole.
    Io(io::Error),
    /// The bytes do not begin like a frame.
    Magic,
    /// A frame of a protocol version this build does not speak: answer [`Answer::Spool`], leave the spool file.
    Version(u16),
    /// A length is over its limit.
    TooLong {
        /// Which length.
        what: &'static str,
        /// What the frame says.
        bytes: u64,
        /// What is allowed.
        limit: u64,
    },
    /// A field cannot be read.
    Malformed(&'static str),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Io(_) => write!(f, "could not read the whole frame"),
            FrameError::Magic => write!(f, "not a hook frame: wrong first bytes"),
            FrameError::Version(found) => {
                write!(f, "hook frame of protocol version {found}; this build speaks {PROTOCOL_VERSION}")
            }
            FrameError::TooLong { what, bytes, limit } => {
                write!(f, "hook frame with {what} of {bytes} bytes; at most {limit} are allowed")
            }
            FrameError::Malformed(what) => write!(f, "hook frame with an unreadable {what}"),
        }
    }
}

impl std::error::Error for FrameError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            FrameError::Io(source) => Some(source),
            _ => None,
        }
    }
}

/// The fixed part of a delivery frame: read [`HEADER_BYTES`], then as many bytes as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of the head.
    pub head_len: u32,
    /// Length of the body.
    pub body_len: u64,
    /// The body was cut by the hook.
    pub cut: bool,
}

impl Header {
    /// Reads the fixed part; `body_limit` is [`SOCKET_BODY_BYTES`] on a socket and [`BODY_BYTES`] in the spool.
    ///
    /// # Errors
    /// Wrong magic, another version, a length over its limit, an unknown kind or flag.
    pub fn parse(bytes: &[u8; HEADER_BYTES], body_limit: u64) -> Result<Header, FrameError> {
        let mut fields = Fields { rest: bytes };
        if fields.take(4, "magic")? != MAGIC {
            return Err(FrameError::Magic);
        }
        let version = fields.u16("version")?;
        if !(OLDEST_PROTOCOL_VERSION..=PROTOCOL_VERSION).contains(&version) {
            return Err(FrameError::Version(version));
        }
        let (kind, flags) = (fields.u8("kind")?, fields.u8("flags")?);
        let (head_len, zero, body_len) = (fields.u32("head")?, fields.u32("header")?, fields.u64("body")?);
        if kind != KIND_DELIVERY || flags & !FLAG_CUT != 0 || zero != 0 {
            return Err(FrameError::Malformed("header"));
        }
        check_length("a head", u64::from(head_len), u64::from(HEAD_BYTES))?;
        check_length("a body", body_len, body_limit)?;
        Ok(Header { head_len, body_len, cut: flags & FLAG_CUT != 0 })
    }

    /// Returns how many bytes follow the fixed part.
    pub fn rest_len(&self) -> u64 {
        u64::from(self.head_len) + self.body_len
    }

    /// Makes the delivery of the head's bytes and the body, without copying the body.
    ///
    /// # Errors
    /// A field of the head that cannot be read, or a length other than the header's.
    pub fn delivery(&self, head: &[u8], body: Vec<u8>) -> Result<Delivery, FrameError> {
        if head.len() as u64 != u64::from(self.head_len) || body.len() as u64 != self.body_len {
            return Err(FrameError::Malformed("length"));
        }
        let mut delivery = decode_head(head)?;
        delivery.body = body;
        delivery.cut = self.cut;
        Ok(delivery)
    }
}

/// Returns the whole frame.
pub fn encode(delivery: &Delivery) -> Vec<u8> {
    let mut bytes = encode_without_body(delivery, delivery.body.len());
    bytes.extend_from_slice(&delivery.body);
    bytes
}

/// Returns header and head, with room for `extra` further bytes; the header gives the length of `delivery.body`.
pub(crate) fn encode_without_body(delivery: &Delivery, extra: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1024 + extra);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&PROTOCOL_VERSION.to_le_bytes());
    bytes.push(KIND_DELIVERY);
    bytes.push(if delivery.cut { FLAG_CUT } else { 0 });
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&(delivery.body.len() as u64).to_le_bytes());
    encode_head(delivery, &mut bytes);
    let head_len = (bytes.len() - HEADER_BYTES) as u32;
    bytes[8..12].copy_from_slice(&head_len.to_le_bytes());
    bytes
}

/// Returns the flags byte of a frame whose body was cut.
pub(crate) fn cut_flag() -> u8 {
    FLAG_CUT
}

/// Reads one frame from a stream, as a socket server does; bodies over [`SOCKET_BODY_BYTES`] are refused.
///
/// # Errors
/// See [`FrameError`]; a stream that ends inside the frame is `Io`.
pub fn read_delivery(stream: impl Read) -> Result<Delivery, FrameError> {
    read_limited(stream, SOCKET_BODY_BYTES)
}

/// Reads one frame from a stream. Memory grows with what arrives, not with what the header promises.
pub(crate) fn read_limited(mut stream: impl Read, body_limit: u64) -> Result<Delivery, FrameError> {
    let mut fixed = [0; HEADER_BYTES];
    stream.read_exact(&mut fixed).map_err(FrameError::Io)?;
    let header = Header::parse(&fixed, body_limit)?;
    let head = read_part(&mut stream, u64::from(header.head_len))?;
    let body = read_part(&mut stream, header.body_len)?;
    header.delivery(&head, body)
}

fn read_part(stream: &mut impl Read, len: u64) -> Result<Vec<u8>, FrameError> {
    let mut part = Vec::new();
    stream.take(len).read_to_end(&mut part).map_err(FrameError::Io)?;
    if (part.len() as u64) < len {
        return Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(part)
}

/// Reads a whole frame that must fill `bytes` exactly (bodies up to [`BODY_BYTES`]).
///
/// # Errors
/// See [`FrameError`].
pub fn decode(bytes: &[u8]) -> Result<Delivery, FrameError> {
    let Some((fixed, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err(FrameError::Malformed("header"));
    };
    let header = Header::parse(fixed, BODY_BYTES)?;
    if rest.len() as u64 != header.rest_len() {
        return Err(FrameError::Malformed("length"));
    }
    let (head, body) = rest.split_at(header.head_len as usize);
    header.delivery(head, body.to_vec())
}

/// Returns an answer as bytes.
///
/// # Errors
/// A decision or refusal over [`DECISION_BYTES`]: it must not be dropped in silence, so the caller has to know.
pub fn encode_answer(answer: &Answer) -> Result<Vec<u8>, FrameError> {
    let (kind, value, tail): (u8, u32, &[u8]) = match answer {
        Answer::Done => (1, 0, &[]),
        Answer::Decision(output) => {
            check_length("a decision", output.len() as u64, DECISION_BYTES)?;
            (2, output.len() as u32, output)
        }
        Answer::Refusal(words) => {
            check_length("a refusal", words.len() as u64, DECISION_BYTES)?;
            (5, words.len() as u32, words)
        }
        Answer::Wait(ms) => (3, *ms, &[]),
        Answer::Spool => (4, 0, &[]),
    };
    let mut bytes = Vec::with_capacity(ANSWER_HEADER_BYTES + tail.len());
    bytes.extend_from_slice(&ANSWER_MAGIC);
    bytes.extend_from_slice(&[kind, 0, 0, 0]);
    bytes.extend_from_slice(&value.to_le_bytes());
    bytes.extend_from_slice(tail);
    Ok(bytes)
}

/// Reads one answer from the start of `bytes`: the answer and how many bytes it took, or nothing when more are needed.
///
/// # Errors
/// Bytes that are no answer.
pub fn decode_answer(bytes: &[u8]) -> Result<Option<(Answer, usize)>, FrameError> {
    let known = bytes.len().min(ANSWER_MAGIC.len());
    if bytes[..known] != ANSWER_MAGIC[..known] {
        return Err(FrameError::Magic);
    }
    let Some((fixed, tail)) = bytes.split_first_chunk::<ANSWER_HEADER_BYTES>() else {
        return Ok(None);
    };
    let mut fields = Fields { rest: &fixed[4..] };
    let kind = fields.u8("answer")?;
    fields.take(3, "answer")?;
    let value = fields.u32("answer")?;
    let answer = match kind {
        1 => Answer::Done,
        2 | 5 => {
            check_length("a decision", u64::from(value), DECISION_BYTES)?;
            let Some(output) = tail.get(..value as usize) else {
                return Ok(None);
            };
            let (output, length) = (output.to_vec(), ANSWER_HEADER_BYTES + output.len());
            return Ok(Some((
                if kind == 2 { Answer::Decision(output) } else { Answer::Refusal(output) },
                length,
            )));
        }
        3 => Answer::Wait(value),
        4 => Answer::Spool,
        _ => return Err(FrameError::Malformed("answer")),
    };
    Ok(Some((answer, ANSWER_HEADER_BYTES)))
}

fn check_length(what: &'static str, bytes: u64, limit: u64) -> Result<(), FrameError> {
    if bytes > limit { Err(FrameError::TooLong { what, bytes, limit }) } else { Ok(()) }
}

fn encode_head(delivery: &Delivery, out: &mut Vec<u8>) {
    let origin = &delivery.origin;
    out.extend_from_slice(&delivery.delivery.to_le_bytes());
    out.extend_from_slice(&delivery.stamp_ms.to_le_bytes());
    out.extend_from_slice(&delivery.started_at_ms.to_le_bytes());
    put_text(out, shortened(&delivery.host, HOST_BYTES));
    put_option(out, delivery.native_event.as_deref().map(|name| shortened(name, EVENT_BYTES)));
    match &origin.tty {
        Tty::Unknown => out.push(0),
        Tty::None => out.push(1),
        Tty::Some => out.push(2),
        Tty::Named(name) if name.len() > VALUE_BYTES => out.push(2),
        Tty::Named(name) => {
            out.push(3);
            put_text(out, name);
        }
    }
    put_option(out, origin.cwd.as_deref().filter(|cwd| cwd.len() <= CWD_BYTES));
    put_option(out, origin.machine.as_deref().filter(|name| name.len() <= VALUE_BYTES));
    let ancestors = &origin.ancestors[..origin.ancestors.len().min(LIST_LEN)];
    out.push(ancestors.len() as u8);
    for process in ancestors {
        out.extend_from_slice(&process.pid.to_le_bytes());
        out.push(u8::from(process.start.is_some()));
        out.extend_from_slice(&process.start.unwrap_or(0).to_le_bytes());
    }
    let fits = |(name, value): &&(String, String)| name.len() <= VALUE_BYTES && value.len() <= VALUE_BYTES;
    let vars: Vec<_> = origin.vars.iter().filter(fits).take(LIST_LEN).collect();
    out.push(vars.len() as u8);
    for (name, value) in vars {
        put_text(out, name);
        put_text(out, value);
    }
}

fn decode_head(head: &[u8]) -> Result<Delivery, FrameError> {
    let mut fields = Fields { rest: head };
    let delivery = u128::from_le_bytes(fields.array("delivery id")?);
    let stamp_ms = fields.u64("stamp")?;
    let started_at_ms = fields.u64("start time")?;
    let host = fields.text("host", HOST_BYTES)?;
    let native_event = fields.option("native event", EVENT_BYTES)?;
    let tty = match fields.u8("tty")? {
        0 => Tty::Unknown,
        1 => Tty::None,
        2 => Tty::Some,
        3 => Tty::Named(fields.text("tty", VALUE_BYTES)?),
        _ => return Err(FrameError::Malformed("tty")),
    };
    let cwd = fields.option("cwd", CWD_BYTES)?;
    let machine = fields.option("machine", VALUE_BYTES)?;
    let mut ancestors = Vec::new();
    for _ in 0..fields.count("ancestors")? {
        let (pid, known) = (fields.u32("ancestors")?, fields.flag("ancestors")?);
        let start = fields.u64("ancestors")?;
        if !known && start != 0 {
            return Err(FrameError::Malformed("ancestors"));
        }
        ancestors.push(Process { pid, start: known.then_some(start) });
    }
    let mut vars = Vec::new();
    for _ in 0..fields.count("variables")? {
        vars.push((fields.text("variables", VALUE_BYTES)?, fields.text("variables", VALUE_BYTES)?));
    }
    if !fields.rest.is_empty() {
        return Err(FrameError::Malformed("end of the head"));
    }
    let origin = Origin { ancestors, tty, cwd, vars, machine };
    Ok(Delivery {
        host,
        native_event,
        delivery,
        stamp_ms,
        started_at_ms,
        origin,
        body: Vec::new(),
        cut: false,
    })
}

fn shortened(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Writes a text of at most 65,535 bytes; the callers' limits see to that.
fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn put_option(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put_text(out, text);
    }
}

/// Takes fields off the front of bytes; the error names the field.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], FrameError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(FrameError::Malformed(what))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], FrameError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(FrameError::Malformed(what))?;
        self.rest = rest;
        Ok(*taken)
    }

    fn u8(&mut self, what: &'static str) -> Result<u8, FrameError> {
        Ok(u8::from_le_bytes(self.array(what)?))
    }

    fn u16(&mut self, what: &'static str) -> Result<u16, FrameError> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, FrameError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, FrameError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    fn flag(&mut self, what: &'static str) -> Result<bool, FrameError> {
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(FrameError::Malformed(what)),
        }
    }

    fn count(&mut self, what: &'static str) -> Result<usize, FrameError> {
        let count = usize::from(self.u8(what)?);
        if count > LIST_LEN { Err(FrameError::Malformed(what)) } else { Ok(count) }
    }

    fn text(&mut self, what: &'static str, limit: usize) -> Result<String, FrameError> {
        let len = usize::from(self.u16(what)?);
        check_length(what, len as u64, limit as u64)?;
        let text = str::from_utf8(self.take(len, what)?).map_err(|_| FrameError::Malformed(what))?;
        Ok(text.to_owned())
    }

    fn option(&mut self, what: &'static str, limit: usize) -> Result<Option<String>, FrameError> {
        if self.flag(what)? { Ok(Some(self.text(what, limit)?)) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests;
