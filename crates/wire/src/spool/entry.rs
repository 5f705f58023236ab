//! Reading the spool: listing in order, reading, removing, setting aside.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::tally::{self, check_own_file};
use crate::clock::{boot_prefix, unix_ms_of};
use crate::delivery::Delivery;
use crate::frame::{self, FrameError};
use crate::limits::BODY_BYTES;
use crate::paths::{DirError, check_dir, private_dir};

pub(super) const TEMP_PREFIX: &str = "tmp-";
const BAD: &str = "bad";

/// One file of the spool, as its name tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// First 32 bits of the boot id: stamps of different boots cannot be compared.
    pub boot: u32,
    /// [`Delivery::stamp_ms`].
    pub stamp_ms: u64,
    /// [`Delivery::started_at_ms`].
    pub started_at_ms: u64,
    /// [`Delivery::delivery`].
    pub delivery: u128,
    /// Length of the file.
    pub bytes: u64,
}

impl Entry {
    /// Returns the entry that a delivery of this boot makes.
    pub(super) fn of(delivery: &Delivery) -> Entry {
        Entry {
            boot: boot_prefix(),
            stamp_ms: delivery.stamp_ms,
            started_at_ms: delivery.started_at_ms & 0xffff_ffff_ffff,
            delivery: delivery.delivery,
            bytes: 0,
        }
    }

    /// Returns the file's name.
    pub fn name(&self) -> String {
        format!("{:08x}-{:016x}-{:012x}-{:032x}", self.boot, self.stamp_ms, self.started_at_ms, self.delivery)
    }

    /// Reads a file's name; nothing for any other file.
    pub(super) fn parse(name: &str) -> Option<Entry> {
        let mut parts = name.split('-');
        let mut part = |len: usize| {
            let digits = parts.next().filter(|part| part.len() == len)?;
            digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')).then_some(digits)
        };
        let (boot, stamp, start, delivery) = (part(8)?, part(16)?, part(12)?, part(32)?);
        let entry = Entry {
            boot: u32::from_str_radix(boot, 16).ok()?,
            stamp_ms: u64::from_str_radix(stamp, 16).ok()?,
            started_at_ms: u64::from_str_radix(start, 16).ok()?,
            delivery: u128::from_str_radix(delivery, 16).ok()?,
            bytes: 0,
        };
        parts.next().is_none().then_some(entry)
    }
}

/// Lists what waits in the spool folder, in the order in which the hooks ran: boots by their earliest start, inside a
/// boot by stamp, then by delivery id. Also corrects the tally, so call it again after draining until it is empty.
///
/// # Errors
/// The folder cannot be read or is not ours alone; a missing one is empty.
pub fn entries(dir: &Path) -> io::Result<Vec<Entry>> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    for_each_name(dir, |name, file| {
        let listed = Entry::parse(name);
        if listed.is_some() || name.starts_with(TEMP_PREFIX) {
            // A file may be gone by now: its hook renamed it, or somebody else drains too.
            let Ok(len) = file.metadata().map(|found| found.len()) else { return };
            bytes += len;
            found.extend(listed.map(|entry| Entry { bytes: len, ..entry }));
        }
    })?;
    if dir.exists() {
        tally::correct(dir, bytes);
    }
    let mut first_start: HashMap<u32, u64> = HashMap::new();
    for entry in &found {
        let first = first_start.entry(entry.boot).or_insert(entry.started_at_ms);
        *first = (*first).min(entry.started_at_ms);
    }
    found.sort_by_cached_key(|entry| {
        (first_start.get(&entry.boot).copied(), entry.boot, entry.stamp_ms, entry.delivery)
    });
    Ok(found)
}

/// Counts what waits in the spool folder, without looking into it.
///
/// # Errors
/// As [`entries`].
pub fn count(dir: &Path) -> io::Result<u64> {
    let mut count = 0;
    for_each_name(dir, |name, _| count += u64::from(Entry::parse(name).is_some()))?;
    Ok(count)
}

/// True when something waits in the spool folder that `wanted` says yes to. It sees names alone: `bytes` is 0.
///
/// # Errors
/// As [`entries`].
pub fn any_entry(dir: &Path, wanted: impl Fn(&Entry) -> bool) -> io::Result<bool> {
    let mut found = false;
    for_each_name(dir, |name, _| found = found || Entry::parse(name).is_some_and(|entry| wanted(&entry)))?;
    Ok(found)
}

fn for_each_name(dir: &Path, mut each: impl FnMut(&str, &fs::DirEntry)) -> io::Result<()> {
    // Events out of a folder that others can write to are not what hooks of ours have seen.
    match check_dir(dir) {
        Ok(_) => {}
        Err(DirError::Io(_, error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    }
    for file in fs::read_dir(dir)? {
        let file = file?;
        if let Some(name) = file.file_name().to_str() {
            each(name, &file);
        }
    }
    Ok(())
}

/// Why a file of the spool did not become a delivery.
#[derive(Debug)]
pub enum ReadError {
    /// It cannot be read now, or it is gone; it stays where it is.
    Io(PathBuf, io::Error),
    /// Another version of the hook wrote it; it stays where it is for a daemon that can read it.
    Version(PathBuf, u16),
    /// It is no frame, or not the one its name says; it lies in `bad/` now, under the path given here.
    Bad(PathBuf, FrameError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(path, _) => write!(f, "could not read the spooled event {}", path.display()),
            ReadError::Version(path, version) => {
                write!(
                    f,
                    "the spooled event {} has protocol version {version}: update herdbook",
                    path.display()
                )
            }
            ReadError::Bad(path, _) => write!(f, "unreadable spooled event, moved to {}", path.display()),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io(_, source) => Some(source),
            ReadError::Bad(_, source) => Some(source),
            ReadError::Version(..) => None,
        }
    }
}

/// Reads one entry. A file that is no frame is moved to `bad/`.
///
/// # Errors
/// See [`ReadError`].
pub fn read(dir: &Path, entry: &Entry) -> Result<Delivery, ReadError> {
    let path = dir.join(entry.name());
    let file = match open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ReadError::Io(path, error)),
        // A link, a pipe, a foreign file: never ours, whatever it holds (case F-111).
        Err(error) => return Err(set_aside(dir, path, FrameError::Io(error))),
    };
    match read_frame(file) {
        Ok(delivery) if delivery.delivery == entry.delivery && delivery.stamp_ms == entry.stamp_ms => {
            Ok(delivery)
        }
        Ok(_) => Err(set_aside(dir, path, FrameError::Malformed("file name"))),
        Err(FrameError::Version(version)) => Err(ReadError::Version(path, version)),
        Err(FrameError::Io(error)) if error.kind() != io::ErrorKind::UnexpectedEof => {
            Err(ReadError::Io(path, error))
        }
        Err(error) => Err(set_aside(dir, path, error)),
    }
}

/// Removes an entry that is in the journal now; one that is gone already is fine.
///
/// # Errors
/// The file cannot be removed.
pub fn remove(dir: &Path, entry: &Entry) -> io::Result<()> {
    match fs::remove_file(dir.join(entry.name())) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Deals with temp files of hooks that were killed while writing: a whole frame gets its name, anything else older
/// than `age_ms` goes to `bad/`. Returns how many of each. Younger ones may still be written to; one of another protocol
/// version waits for a daemon that can tell whether it is whole.
///
/// # Errors
/// The folder cannot be read.
pub fn recover_temps(dir: &Path, now_unix_ms: u64, age_ms: u64) -> io::Result<(usize, usize)> {
    let mut old = Vec::new();
    for_each_name(dir, |name, file| {
        let Some(entry) = name.strip_prefix(TEMP_PREFIX).and_then(Entry::parse) else { return };
        let changed = file.metadata().and_then(|found| found.modified()).map(unix_ms_of);
        if changed.is_ok_and(|at| at.saturating_add(age_ms) <= now_unix_ms) {
            old.push((dir.join(name), entry));
        }
    })?;
    let (mut kept, mut bad) = (0, 0);
    for (path, entry) in old {
        let found = open(&path).map_err(FrameError::Io).and_then(read_frame);
        if let Err(FrameError::Version(_)) = found {
            continue;
        }
        let whole = found.is_ok_and(|delivery| delivery.delivery == entry.delivery);
        if whole && fs::rename(&path, dir.join(entry.name())).is_ok() {
            kept += 1;
        } else if let ReadError::Bad(..) = set_aside(dir, path, FrameError::Malformed("end")) {
            bad += 1;
        }
    }
    Ok((kept, bad))
}

fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    check_own_file(&file)?;
    Ok(file)
}

fn read_frame(file: File) -> Result<Delivery, FrameError> {
    let len = file.metadata().map_err(FrameError::Io)?.len();
    let mut reader = CountingReader { inner: BufReader::new(file), read: 0 };
    let delivery = frame::read_limited(&mut reader, BODY_BYTES)?;
    if reader.read == len { Ok(delivery) } else { Err(FrameError::Malformed("length")) }
}

struct CountingReader<R> {
    inner: R,
    read: u64,
}

impl<R: io::Read> io::Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

fn set_aside(dir: &Path, path: PathBuf, error: FrameError) -> ReadError {
    let bad = dir.join(BAD);
    let Some(name) = path.file_name() else { return ReadError::Io(path, io::ErrorKind::InvalidInput.into()) };
    let target = bad.join(name);
    let moved = private_dir(&bad).map_err(io::Error::other).and_then(|()| fs::rename(&path, &target));
    match moved {
        Ok(()) => ReadError::Bad(target, error),
        Err(error) => ReadError::Io(path, error),
    }
}
