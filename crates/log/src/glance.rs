//! What a log shows at its two ends, for listings: nothing of it is read whole.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::cold;
use crate::index::Index;
use crate::line::{self, MAX_LINE_BYTES, Shape};
use crate::reader::Reader;
use crate::segment::{SegmentName, segments_of};
use crate::storage::{Folder, LogFile, read_full};

/// How much of each end is read first, in bytes; more where a line is longer.
const WINDOW_BYTES: u64 = 64 << 10;

/// A log at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Whose log it is, as its first line says; nothing where that cannot be read.
    pub session_id: Option<String>,
    /// The first line as it stands in the file, without its line feed.
    pub first: Option<String>,
    /// The seq of the last line, 0 in an empty log.
    pub last_seq: u64,
    /// Unix milliseconds of the last line, 0 in an empty log.
    pub last_ts_ms: u64,
    /// Unix milliseconds at which one of its segments was last written to, as the file system says; 0 in an empty log. An
    /// imported log has older lines than this.
    pub written_ms: u64,
    /// How many bytes its segments take.
    pub bytes: u64,
    /// A process has it open for appending.
    pub is_open: bool,
    /// The first line, or the last, is not what was written, or lines that were synced are not there at the end. Damage
    /// between them is not looked for.
    pub is_damaged: bool,
}

/// Looks at a log.
///
/// # Errors
/// The folder or one of the two segments cannot be read.
pub fn glance(dir: &Path) -> io::Result<Glance> {
    let mut names = Vec::new();
    let mut found = Glance::default();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name == "LOCK" {
            found.is_open = is_locked(&entry.path());
        } else if name.contains(".jsonl") {
            let entry = entry.metadata()?;
            found.bytes += entry.len();
            if SegmentName::parse(&name).is_some() {
                let since = entry.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
                found.written_ms = found.written_ms.max(since.as_millis() as u64);
            }
            names.push(name);
        }
    }
    match Reader::open(dir).next() {
        Some(Ok(line)) => {
            let raw = line.raw.as_bytes();
            found.session_id = Shape::read(raw).and_then(|shape| shape.head.session_id(raw));
            (found.last_seq, found.last_ts_ms) = (line.seq, line.ts_ms);
            found.first = Some(line.raw);
        }
        Some(Err(_)) => found.is_damaged = true,
        None => return Ok(Glance { written_ms: 0, ..found }),
    }
    // An empty segment was made and not written to yet.
    let storage = Folder::new(dir);
    let segments = segments_of(&names);
    let last = segments.last().zip(found.session_id.as_deref());
    let promised = last.map_or(0, |(segment, session)| Index::promised(&storage, *segment, session));
    for segment in segments.iter().rev() {
        let file = cold::open_segment(&storage, *segment)?.file;
        match last_lines(&*file)? {
            End::Empty => {}
            End::Line { seq, ts_ms } => {
                (found.last_seq, found.last_ts_ms) = (seq, ts_ms);
                if seq < promised {
                    let mut reader = Reader::open_from(dir, seq);
                    found.is_damaged |= reader.any(|line| line.is_err()) || reader.lost(promised).is_some();
                }
                return Ok(found);
            }
            End::Damaged => {
                found.is_damaged = true;
                return Ok(found);
            }
        }
    }
    let mut reader = Reader::open_from(dir, u64::MAX);
    found.is_damaged |= reader.any(|line| line.is_err());
    found.last_seq = found.last_seq.max(reader.last_seq());
    Ok(found)
}

enum End {
    Empty,
    Line { seq: u64, ts_ms: u64 },
    Damaged,
}

/// Reads the last line of a file, and where it can the one before it, whose crc it has to continue. What stands behind
/// the last line feed may be about to be written.
fn last_lines(file: &dyn LogFile) -> io::Result<End> {
    let length = file.length()?;
    let mut window = WINDOW_BYTES;
    loop {
        if window > 4 * MAX_LINE_BYTES as u64 {
            return Ok(End::Damaged);
        }
        let start = length.saturating_sub(window);
        let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(usize::MAX)];
        match read_full(file, &mut bytes, start) {
            Ok(filled) => bytes.truncate(filled),
            // A broken frame of a compressed segment.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(End::Damaged),
            Err(error) => return Err(error),
        }
        let Some(end) = memchr::memrchr(b'\n', &bytes) else {
            if start == 0 {
                return Ok(End::Empty);
            }
            window *= 2;
            continue;
        };
        let before = memchr::memrchr(b'\n', &bytes[..end]);
        if before.is_none() && start > 0 {
            window *= 2;
            continue;
        }
        let last = &bytes[before.map_or(0, |at| at + 1)..end];
        let Some(shape) = Shape::read(last) else { return Ok(End::Damaged) };
        let from = before.map(|at| (memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |at| at + 1), at));
        let previous = from.and_then(|(from, to)| line::read_crc(&bytes[from..to]));
        let fits = |(_, crc)| shape.continues(crc, last);
        if previous.is_some_and(|previous| !fits(previous)) {
            return Ok(End::Damaged);
        }
        return Ok(End::Line { seq: shape.head.seq, ts_ms: shape.head.ts_ms });
    }
}

/// Says whether a process holds the lock of this file, without touching it: taking it, if only for a moment, could keep
/// a writer out.
fn is_locked(path: &Path) -> bool {
    let Ok(found) = std::fs::symlink_metadata(path) else { return false };
    let device = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
    let text = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    text.lines().any(|line| is_lock_of(line, device, found.ino()))
}

/// A line of `/proc/locks` (proc(5)): `1: FLOCK  ADVISORY  WRITE 27016 fe:00:5572856 0 EOF`; one that waits has `->`
/// behind its number.
fn is_lock_of(line: &str, (major, minor): (u32, u32), inode: u64) -> bool {
    let mut words = line.split_whitespace();
    if words.nth(1) != Some("FLOCK") {
        return false;
    }
    let Some(place) = words.nth(3) else { return false };
    let mut parts = place.split(':');
    let hex = |part: Option<&str>| part.and_then(|part| u32::from_str_radix(part, 16).ok());
    let found = (hex(parts.next()), hex(parts.next()));
    found == (Some(major), Some(minor)) && parts.next().and_then(|part| part.parse().ok()) == Some(inode)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::line::{NewRecord, encode, first_crc, quote};

    fn write(dir: &Path, name: &str, bytes: &[u8]) {
        std::fs::create_dir_all(dir).unwrap();
        let mut file = File::create(dir.join(name)).unwrap();
        io::Write::write_all(&mut file, bytes).unwrap();
    }

    fn lines(payloads: &[&str]) -> Vec<u8> {
        let (mut bytes, mut crc) = (Vec::new(), first_crc("s-1"));
        for (seq, payload) in (1..).zip(payloads) {
            let (id, kind) = (format!("id-{seq}"), "note".to_owned());
            let record = NewRecord { id, ts_ms: 100 + seq, kind, payload: (*payload).to_owned() };
            crc = encode(&mut bytes, &quote("s-1"), seq, &record, crc);
        }
        bytes
    }

    #[test]
    fn both_ends_are_read_whatever_their_length_is() {
        let folder = tempfile::tempdir().unwrap();
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(200_000));
        for payloads in [&["{}"][..], &["{}", &long], &[&long, "{}"], &[&long, &long, &long]] {
            let bytes = lines(payloads);
            for torn in ["", "{\"v\":1,\"id\""] {
                write(folder.path(), "0000000001.jsonl", &[&bytes, torn.as_bytes()].concat());
                let found = glance(folder.path()).unwrap();
                let count = payloads.len() as u64;
                assert_eq!((found.session_id.as_deref(), found.is_damaged), (Some("s-1"), false));
                assert_eq!((found.last_seq, found.last_ts_ms), (count, 100 + count));
                assert_eq!(found.bytes, (bytes.len() + torn.len()) as u64);
                assert!(!found.is_open);
            }
        }
    }

    #[test]
    fn a_compressed_log_is_seen_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(3_000_000));
        let bytes = lines(&["{}", &long, "{}"]);
        write(folder.path(), "0000000001.jsonl", &bytes);
        let plain = glance(folder.path()).unwrap();
        cold::compress(folder.path(), 5).unwrap();
        assert!(!folder.path().join("0000000001.jsonl").exists());
        let cold = glance(folder.path()).unwrap();
        assert!(cold.bytes < plain.bytes / 100, "{}", cold.bytes);
        assert_eq!(cold.last_seq, 3);
        assert_eq!(Glance { bytes: plain.bytes, ..cold }, plain);
    }

    #[test]
    fn a_changed_end_is_damage_and_an_empty_log_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = lines(&[r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]);
        let text = String::from_utf8(bytes).unwrap();
        for (from, to) in [(r#""n":1"#, r#""n":7"#), (r#""n":3"#, r#""n":7"#), ("\"ts\":103", "\"ts\":x")] {
            write(folder.path(), "0000000001.jsonl", text.replace(from, to).as_bytes());
            assert!(glance(folder.path()).unwrap().is_damaged, "{from}");
        }
        write(folder.path(), "0000000001.jsonl", b"");
        assert_eq!(glance(folder.path()).unwrap(), Glance::default());
    }

    #[test]
    fn a_lock_is_known_by_device_and_inode() {
        let device = (0xfe, 0);
        for (line, is) in [
            ("1: FLOCK  ADVISORY  WRITE 27016 fe:00:5572856 0 EOF", true),
            ("1: -> FLOCK  ADVISORY  WRITE 27016 fe:00:5572856 0 EOF", false),
            ("1: POSIX  ADVISORY  WRITE 27016 fe:00:5572856 0 EOF", false),
            ("1: FLOCK  ADVISORY  WRITE 27016 fe:01:5572856 0 EOF", false),
            ("1: FLOCK  ADVISORY  WRITE 27016 fe:00:557285 0 EOF", false),
            ("", false),
        ] {
            assert_eq!(is_lock_of(line, device, 5_572_856), is, "{line}");
        }
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "LOCK", b"");
        assert!(!is_locked(&folder.path().join("LOCK")));
        let held = File::open(folder.path().join("LOCK")).unwrap();
        held.try_lock().unwrap();
        assert!(glance(folder.path()).unwrap().is_open);
    }
}
