//! `writer.memo`: what whoever appends to a log remembers of it, so that it need not read all of it the next time.
//!
//! A cache, which anybody may delete. It counts only while the segments are the files that they were when it was written, to the
//! byte and the moment; it is not synced, and its own crc tells half a one. Like `LOCK` it is no part of the log: readers
//! pass it over. It may hold texts of the log, so a scrub removes it.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::segment::SegmentName;
use crate::storage::{Folder, Storage, append_all, open_regular, remove_if_there};

/// Its name in a log's folder.
pub(crate) const MEMO: &str = "writer.memo";
/// A memo begins so; the number is raised when its frame changes.
const HEAD: &[u8] = b"herdbook memo 1\n";

/// Writes it, while the log's LOCK is held and all that was appended is in the files.
///
/// # Errors
/// Whatever the system says. Then there is none.
pub fn keep_memo(folder: &Path, text: &[u8]) -> io::Result<()> {
    let storage = Folder::new(folder);
    forget_memo(folder)?;
    let files = files(folder)?;
    let mut bytes = HEAD.to_vec();
    let crc = crc32c::crc32c_append(crc32c::crc32c(files.as_bytes()), text);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes.extend_from_slice(text);
    let temp = format!("{MEMO}.tmp");
    remove_if_there(&storage, &temp)?;
    let written = append_all(&*storage.create(&temp)?, &bytes).1;
    written.and_then(|()| storage.rename(&temp, MEMO)).inspect_err(|_| drop(storage.remove(&temp)))
}

/// Reads it, where there is one and the log is as it was then. To be asked while the log's LOCK is held.
pub fn memo(folder: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(OpenOptions::new().read(true), &folder.join(MEMO)).ok()?.read_to_end(&mut bytes).ok()?;
    let (crc, text) = bytes.strip_prefix(HEAD)?.split_first_chunk()?;
    let files = files(folder).ok()?;
    let expected = crc32c::crc32c_append(crc32c::crc32c(files.as_bytes()), text);
    (u32::from_le_bytes(*crc) == expected).then(|| text.to_vec())
}

/// Removes it, if it is there.
///
/// # Errors
/// Whatever the system says.
pub fn forget_memo(folder: &Path) -> io::Result<()> {
    remove_if_there(&Folder::new(folder), MEMO)
}

/// Names the segments with lines, and what stands beside rewritten ones: which files they are, how long they are, and when they
/// were written to.
fn files(folder: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let found = entry.metadata()?;
        // An empty segment was made and not written to yet.
        if found.len() > 0 && (SegmentName::parse(&name).is_some() || name.ends_with(".carry")) {
            let (at, nanos) = (found.mtime(), found.mtime_nsec());
            files.push(format!("{name} {} {} {at}.{nanos:09}\n", found.ino(), found.len()));
        }
    }
    files.sort_unstable();
    Ok(files.concat())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    const SEGMENT: &str = "0000000001.jsonl";

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), SEGMENT, b"line\n");
        keep_memo(folder.path(), b"all").unwrap();
        folder
    }

    fn write(folder: &Path, name: &str, bytes: &[u8]) {
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join(name))
            .unwrap()
            .write_all(bytes)
            .unwrap();
    }

    #[test]
    fn it_counts_while_the_segments_are_as_they_were() {
        let folder = folder();
        let dir = folder.path();
        // What a writer makes when it opens a log, and what it keeps beside it, says nothing about lines.
        for (name, bytes) in [("0000000002.jsonl", &b""[..]), ("0000000001.idx", b"1"), ("LOCK", b"1")] {
            write(dir, name, bytes);
        }
        assert_eq!(memo(dir).as_deref(), Some(&b"all"[..]));
        keep_memo(dir, b"").unwrap();
        assert_eq!(memo(dir).as_deref(), Some(&b""[..]));
        forget_memo(dir).unwrap();
        forget_memo(dir).unwrap();
        assert_eq!(memo(dir), None);
    }

    #[test]
    fn no_link_is_followed_and_no_pipe_waited_for_in_its_place() {
        let folder = folder();
        let path = folder.path().join(MEMO);
        fs::rename(&path, folder.path().join("elsewhere")).unwrap();
        symlink("elsewhere", &path).unwrap();
        assert_eq!(memo(folder.path()), None);
        forget_memo(folder.path()).unwrap();
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(memo(folder.path()), None);
        // Neither is in the way of the next one.
        keep_memo(folder.path(), b"all").unwrap();
        assert_eq!(memo(folder.path()).as_deref(), Some(&b"all"[..]));
    }

    #[test]
    fn any_change_of_the_segments_ends_it() {
        let changes: [fn(&Path); 6] = [
            |dir| write(dir, SEGMENT, b"more\n"),
            |dir| write(dir, "0000000002.jsonl", b"line\n"),
            |dir| write(dir, "0000000001.carry", b"01234567\n"),
            |dir| fs::rename(dir.join(SEGMENT), dir.join("0000000001.jsonl.zst")).unwrap(),
            // The same bytes, written at another time.
            |dir| fs::File::open(dir.join(SEGMENT)).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap(),
            // The same bytes and the same time in another file.
            |dir| {
                let at = fs::metadata(dir.join(SEGMENT)).unwrap().modified().unwrap();
                fs::copy(dir.join(SEGMENT), dir.join("copy")).unwrap();
                fs::File::open(dir.join("copy")).unwrap().set_modified(at).unwrap();
                fs::rename(dir.join("copy"), dir.join(SEGMENT)).unwrap();
            },
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let folder = folder();
            change(folder.path());
            assert_eq!(memo(folder.path()), None, "change {at}");
        }
    }

    #[test]
    fn one_with_any_other_byte_is_none() {
        let folder = folder();
        let path = folder.path().join(MEMO);
        let bytes = fs::read(&path).unwrap();
        let put = |bytes: &[u8]| {
            fs::remove_file(&path).unwrap();
            write(folder.path(), MEMO, bytes);
        };
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            put(&other);
            assert_eq!(memo(folder.path()), None, "byte {at}");
            put(&bytes[..at]);
            assert_eq!(memo(folder.path()), None, "cut at {at}");
        }
        put(&bytes);
        assert!(memo(folder.path()).is_some());
    }
}
