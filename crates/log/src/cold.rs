//! Closed segments, compressed: `0000000001.jsonl.zst` in place of `0000000001.jsonl`.
//!
//! The text is packed into zstd frames of up to 1 MiB that end where a line ends (a longer line goes over several), so that
//! `zstdcat`, `zstdgrep` and a reader that begins in the middle work. The plain file goes only when the packed one is
//! durable and was read back equal; where both are there, the plain one is read. So a crash at any step leaves the log as
//! readable as it was.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use crate::damage::Damage;
use crate::lock::{self, Lock, LockError, LockOwner};
use crate::memo::MEMO;
use crate::packed::{FRAME_BYTES, Packed};
use crate::reader::Reader;
use crate::segment::{SegmentName, segments_of};
use crate::storage::{Folder, LogFile, Storage, read_full, remove_if_there};
use crate::whole::Whole;

/// How hard is tried: zstd's own default.
const LEVEL: i32 = 3;
/// The window is no larger than a frame's text: 2^20 bytes.
const WINDOW_LOG: u32 = 20;

/// What compressing a log did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compressed {
    /// How many segments were compressed.
    pub segments: usize,
    /// How many bytes their text has.
    pub text_bytes: u64,
    /// How many bytes they take now.
    pub packed_bytes: u64,
}

/// Why a closed log could not be changed. It is as readable as before.
#[derive(Debug, thiserror::Error)]
pub enum ClosedLogError {
    /// Somebody writes to it.
    #[error("{} is open for writing: it is left alone", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Who holds it, where that could be read.
        owner: Option<LockOwner>,
    },
    /// It is damaged.
    #[error("the log is damaged and was left as it is: {0}")]
    Damaged(Damage),
    /// Its end is torn; opening it for an append mends that.
    #[error("the log ends in half a line (after seq {last_seq}) and was left as it is")]
    Torn {
        /// The last whole line.
        last_seq: u64,
    },
    /// What was written could not be read back as it should be.
    #[error("{name} did not read back as it was written; the log was left as it is")]
    NotEqual {
        /// The file.
        name: String,
    },
    /// Lines of one segment are there again in the next one: a sync failed there, and then a cut.
    #[error("{name} repeats lines of the segment before it and cannot be rewritten")]
    Repeats {
        /// The segment.
        name: String,
    },
    /// The system refused.
    #[error("could not change {}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl From<io::Error> for ClosedLogError {
    fn from(source: io::Error) -> ClosedLogError {
        ClosedLogError::Io { path: PathBuf::new(), source }
    }
}

impl ClosedLogError {
    pub(crate) fn in_folder(self, folder: &Path) -> ClosedLogError {
        match self {
            ClosedLogError::Io { source, .. } => ClosedLogError::Io { path: folder.to_owned(), source },
            other => other,
        }
    }
}

/// Compresses all segments of a log that nobody writes to, whose LOCK it holds meanwhile. What is compressed already
/// stays as it is.
///
/// # Errors
/// Somebody writes to it, it is damaged, or the system refuses. Nothing is lost then.
pub fn compress(folder: &Path, now_ms: u64) -> Result<Compressed, ClosedLogError> {
    let _lock = take_lock(folder, now_ms)?;
    compress_in(&folder_of(folder)).map_err(|error| error.in_folder(folder))
}

/// The same, on any storage, without a lock.
///
/// # Errors
/// As [`compress`].
pub fn compress_in(storage: &Arc<dyn Storage>) -> Result<Compressed, ClosedLogError> {
    let names = storage.list()?;
    let mut done = Compressed::default();
    let plain: Vec<SegmentName> =
        segments_of(&names).into_iter().filter(|name| names.contains(&name.file_name())).collect();
    if plain.is_empty() {
        return Ok(done);
    }
    check(storage)?;
    let storage = &**storage;
    // It would not count any more.
    remove_if_there(storage, MEMO)?;
    for segment in plain {
        let file = storage.open(&segment.file_name(), false)?;
        let length = file.length()?;
        if length == 0 {
            continue;
        }
        let name = segment.cold_name();
        if !(names.contains(&name) && is_equal(storage, &name, &*file)?) {
            let mut whole = Whole::begin(storage, &name)?;
            pack(&*file, &mut whole)?;
            whole.is_as_old_as(&*file)?;
            let temp = whole.sync()?.to_owned();
            if !is_equal(storage, &temp, &*file)? {
                return Err(ClosedLogError::NotEqual { name });
            }
            whole.place(&name)?;
        }
        storage.remove(&segment.file_name())?;
        storage.sync_folder()?;
        done.segments += 1;
        done.text_bytes += length;
        done.packed_bytes += storage.open(&name, false)?.length()?;
    }
    Ok(done)
}

pub(crate) fn folder_of(path: &Path) -> Arc<dyn Storage> {
    Arc::new(Folder::new(path))
}

/// Takes the LOCK in a log's folder, until what is returned is dropped.
///
/// # Errors
/// Somebody has it, or it cannot be made.
pub fn take_lock(folder: &Path, now_ms: u64) -> Result<Lock, ClosedLogError> {
    lock::take(&folder.join("LOCK"), now_ms).map_err(|error| match error {
        LockError::Held(owner) => ClosedLogError::Open { path: folder.to_owned(), owner },
        LockError::Io(source) => ClosedLogError::Io { path: folder.to_owned(), source },
    })
}

/// Reads a whole log, and tells the first thing that is wrong with it.
pub(crate) fn check(storage: &Arc<dyn Storage>) -> Result<(), ClosedLogError> {
    let mut reader = Reader::with_storage(Arc::clone(storage));
    for line in &mut reader {
        if let Err(damage) = line {
            return Err(ClosedLogError::Damaged(damage));
        }
    }
    let last = segments_of(&storage.list()?).into_iter().next_back();
    let Some(last) = last else { return Ok(()) };
    let file = open_segment(&**storage, last)?.file;
    let length = file.length()?;
    let mut end = [0];
    if length > 0 && !(file.read_at(&mut end, length - 1)? == 1 && end == *b"\n") {
        return Err(ClosedLogError::Torn { last_seq: reader.last_seq() });
    }
    Ok(())
}

/// A segment, plain or compressed.
pub(crate) struct OpenedSegment {
    pub file: Box<dyn LogFile>,
    /// It is compressed: only its text is read.
    pub is_cold: bool,
}

/// Opens a segment for reading: the plain file, else the compressed one.
pub(crate) fn open_segment(storage: &dyn Storage, segment: SegmentName) -> io::Result<OpenedSegment> {
    match storage.open(&segment.file_name(), false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = segment.cold_name();
            let file = Box::new(Packed::new(&name, storage.open(&name, false)?));
            Ok(OpenedSegment { file, is_cold: true })
        }
        file => Ok(OpenedSegment { file: file?, is_cold: false }),
    }
}

/// Packs text into frames as it comes.
pub(crate) struct Packer {
    packer: Compressor<'static>,
    text: Vec<u8>,
}

impl Packer {
    pub(crate) fn new() -> io::Result<Packer> {
        let mut packer = Compressor::new(LEVEL)?;
        packer.set_parameter(CParameter::ChecksumFlag(true))?;
        packer.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
        Ok(Packer { packer, text: Vec::new() })
    }

    /// Adds text, and writes the frames that are full.
    pub(crate) fn push(&mut self, bytes: &[u8], to: &mut Whole<'_>) -> io::Result<()> {
        self.text.extend_from_slice(bytes);
        let mut start = 0;
        while self.text.len() - start >= FRAME_BYTES {
            let full = &self.text[start..start + FRAME_BYTES];
            let end = memchr::memrchr(b'\n', full).map_or(FRAME_BYTES, |at| at + 1);
            to.push(&self.packer.compress(&full[..end])?)?;
            start += end;
        }
        self.text.drain(..start);
        Ok(())
    }

    /// Writes the last frame.
    pub(crate) fn finish(mut self, to: &mut Whole<'_>) -> io::Result<()> {
        if self.text.is_empty() { Ok(()) } else { to.push(&self.packer.compress(&self.text)?) }
    }
}

fn pack(file: &dyn LogFile, to: &mut Whole<'_>) -> io::Result<()> {
    let mut packer = Packer::new()?;
    let mut buffer = vec![0; FRAME_BYTES];
    let mut offset = 0;
    loop {
        let count = file.read_at(&mut buffer, offset)?;
        if count == 0 {
            return packer.finish(to);
        }
        packer.push(&buffer[..count], to)?;
        offset += count as u64;
    }
}

/// True when a packed file holds the text of a plain one.
fn is_equal(storage: &dyn Storage, packed: &str, plain: &dyn LogFile) -> io::Result<bool> {
    let packed = Packed::new(packed, storage.open(packed, false)?);
    let mut texts = (vec![0; FRAME_BYTES], vec![0; FRAME_BYTES]);
    let mut offset = 0;
    loop {
        let count = match packed.read_at(&mut texts.0, offset) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(false),
            Err(error) => return Err(error),
        };
        if count == 0 {
            return Ok(offset == plain.length()?);
        }
        let filled = read_full(plain, &mut texts.1[..count], offset)?;
        if texts.0[..count] != texts.1[..filled] {
            return Ok(false);
        }
        offset += count as u64;
    }
}
