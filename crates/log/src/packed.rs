//! Compressed segments, read as the text they hold.
//!
//! A `.jsonl.zst` file is a row of zstd frames (RFC 8878), each of which stands alone, says how long its text is, and has at
//! most [`FRAME_BYTES`] of it. So memory is bounded whatever a file claims: one frame's bytes and one frame's text. What is
//! not such a frame is a fault; reading goes on at the next one.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use zstd::bulk::Decompressor;
use zstd::zstd_safe::{compress_bound, find_frame_compressed_size, get_frame_content_size};

use crate::storage::{LogFile, read_full};

/// The most text in one frame, in bytes.
pub(crate) const FRAME_BYTES: usize = 1 << 20;
/// How many frames one file may have: 64 GiB of text.
const MAX_FRAMES: usize = 1 << 16;
/// After so many faults the rest of a file is not looked through any more.
const MAX_FAULTS: usize = 1000;
/// What each frame begins with (RFC 8878, 3.1.1).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The longest compressed frame, in bytes: what cannot be compressed grows a little.
fn max_packed() -> usize {
    compress_bound(FRAME_BYTES) + 64
}

/// One frame, or a stretch that is none.
struct Frame {
    /// Where it lies in the file.
    at: u64,
    packed: u64,
    /// Where its text begins. A stretch without a readable frame counts as one byte of text.
    text_at: u64,
    text: u64,
    fault: Option<String>,
}

/// A compressed segment. It is only read.
pub(crate) struct Packed {
    file: Box<dyn LogFile>,
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    frames: Option<Vec<Frame>>,
    /// Which frame's text is at hand.
    held: Option<usize>,
    text: Vec<u8>,
}

impl Packed {
    pub(crate) fn new(name: &str, file: Box<dyn LogFile>) -> Packed {
        Packed { file, name: name.to_owned(), state: Mutex::default() }
    }

    /// The state with its frames found.
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.frames.is_none() {
            state.frames = Some(Walk::new(&*self.file, &self.name).frames()?);
        }
        Ok(state)
    }

    fn fill(&self, state: &mut State, index: usize) -> io::Result<()> {
        let State { frames, held, text } = state;
        let Some(frame) = frames.as_mut().and_then(|frames| frames.get_mut(index)) else { return Ok(()) };
        if *held == Some(index) {
            return Ok(());
        }
        if frame.fault.is_none() {
            *held = None;
            let mut packed = vec![0; frame.packed as usize];
            let filled = read_full(&*self.file, &mut packed, frame.at)?;
            text.clear();
            text.reserve_exact(FRAME_BYTES);
            let unpacked = Decompressor::new()
                .and_then(|mut unpacker| unpacker.decompress_to_buffer(&packed[..filled], text));
            match unpacked {
                Ok(count) if count as u64 == frame.text => *held = Some(index),
                Ok(_) => frame.fault = Some(fault(&self.name, frame.at, "is shorter than it says")),
                Err(error) => {
                    frame.fault = Some(fault(&self.name, frame.at, &format!("is damaged ({error})")));
                }
            }
        }
        match &frame.fault {
            Some(fault) => Err(io::Error::new(io::ErrorKind::InvalidData, fault.clone())),
            None => Ok(()),
        }
    }
}

fn fault(name: &str, at: u64, what: &str) -> String {
    format!("the compressed frame at byte {at} of {name} {what}")
}

/// The frame in which a place of the text lies.
fn frame_at(frames: &[Frame], offset: u64) -> Option<usize> {
    let index = frames.partition_point(|frame| frame.text_at <= offset).checked_sub(1)?;
    (offset < frames[index].text_at + frames[index].text).then_some(index)
}

impl LogFile for Packed {
    fn append(&self, _: &[u8]) -> io::Result<usize> {
        Err(read_only())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.state()?;
        let frames = state.frames.as_deref().unwrap_or_default();
        let Some(index) = frame_at(frames, offset) else { return Ok(0) };
        let within = (offset - frames[index].text_at) as usize;
        self.fill(&mut state, index)?;
        let rest = state.text.get(within..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn after_fault(&self, offset: u64) -> Option<u64> {
        let state = self.state().ok()?;
        let frames = state.frames.as_deref()?;
        let frame = &frames[frame_at(frames, offset)?];
        frame.fault.as_ref().map(|_| frame.text_at + frame.text)
    }

    fn length(&self) -> io::Result<u64> {
        let state = self.state()?;
        let last = state.frames.as_deref().and_then(<[Frame]>::last);
        Ok(last.map_or(0, |frame| frame.text_at + frame.text))
    }

    fn modified(&self) -> Option<SystemTime> {
        self.file.modified()
    }

    fn cut(&self, _: u64) -> io::Result<()> {
        Err(read_only())
    }

    fn sync(&self) -> io::Result<()> {
        Err(read_only())
    }
}

fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "a compressed segment is only read")
}

/// Finds the frames of a file: their headers and block headers are read, no text is unpacked.
struct Walk<'a> {
    file: &'a dyn LogFile,
    name: &'a str,
    buffer: Vec<u8>,
    filled: usize,
    start: usize,
    /// Where `start` lies in the file.
    at: u64,
    frames: Vec<Frame>,
    faults: usize,
}

impl<'a> Walk<'a> {
    fn new(file: &'a dyn LogFile, name: &'a str) -> Walk<'a> {
        Walk { file, name, buffer: Vec::new(), filled: 0, start: 0, at: 0, frames: Vec::new(), faults: 0 }
    }

    fn frames(mut self) -> io::Result<Vec<Frame>> {
        let length = self.file.length()?;
        self.buffer = vec![0; length.clamp(1, 4 * max_packed() as u64) as usize];
        if length == 0 {
            self.push_fault(0, "is missing: the file is empty");
        }
        while self.look()? > 0 {
            if self.frames.len() >= MAX_FRAMES || self.faults >= MAX_FAULTS {
                self.push_fault(length - self.at, "and what follows is more than is read");
                break;
            }
            match measure(self.ahead()) {
                Ok((packed, text)) => {
                    self.push(packed as u64, text, None);
                    self.advance(packed);
                }
                Err(what) => self.pass_over(&what)?,
            }
        }
        Ok(self.frames)
    }

    /// Passes over what is no frame, up to what may be one.
    fn pass_over(&mut self, what: &str) -> io::Result<()> {
        let at = self.at;
        self.advance(1);
        while self.look()? > 0 {
            let ahead = self.ahead();
            // The last three bytes may be the start of one.
            match memchr::memmem::find(ahead, &MAGIC) {
                Some(found) => {
                    self.advance(found);
                    break;
                }
                None if ahead.len() > 3 => self.advance(ahead.len() - 3),
                None => self.advance(ahead.len()),
            }
        }
        let packed = self.at - at;
        self.at = at;
        self.push_fault(packed, what);
        self.at = at + packed;
        Ok(())
    }

    fn push_fault(&mut self, packed: u64, what: &str) {
        self.faults += 1;
        self.push(packed, 1, Some(fault(self.name, self.at, what)));
    }

    fn push(&mut self, packed: u64, text: u64, fault: Option<String>) {
        let text_at = self.frames.last().map_or(0, |frame| frame.text_at + frame.text);
        self.frames.push(Frame { at: self.at, packed, text_at, text, fault });
    }

    fn ahead(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    fn advance(&mut self, count: usize) {
        self.start += count;
        self.at += count as u64;
    }

    /// Sees to it that the longest frame is in the buffer whole, or what is left of the file; returns how much is.
    fn look(&mut self) -> io::Result<usize> {
        if self.filled - self.start < max_packed() {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
            let from = self.at + self.filled as u64;
            self.filled += read_full(self.file, &mut self.buffer[self.filled..], from)?;
        }
        Ok(self.filled - self.start)
    }
}

/// Returns the length of the frame at the start of these bytes, and that of its text; or what is wrong with it.
fn measure(bytes: &[u8]) -> Result<(usize, u64), String> {
    if !bytes.starts_with(&MAGIC) {
        return Err("does not begin as one".to_owned());
    }
    let text = match get_frame_content_size(bytes) {
        Ok(Some(text)) => text,
        _ => return Err("does not say how long its text is".to_owned()),
    };
    if !(1..=FRAME_BYTES as u64).contains(&text) {
        return Err(format!("says that it has {text} bytes of text; 1 to {FRAME_BYTES} are read"));
    }
    match find_frame_compressed_size(bytes) {
        Ok(packed) if packed <= max_packed() => Ok((packed, text)),
        Ok(packed) => Err(format!("has {packed} bytes for {text} bytes of text")),
        Err(_) => Err("has no right end".to_owned()),
    }
}
