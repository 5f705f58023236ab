//! Follows a file of lines that another program writes: stat first, then only what is new.
//!
//! The cursor only ever stands at the start or just behind a newline (field case F-050); what stands behind the last
//! newline is pending. Whether the bytes before the cursor are still those that were read is told by a fingerprint, so
//! that a file which became shorter, was rewritten in place or replaced is read again from its start (F-063). Memory is
//! bounded whatever the file holds (F-061).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::foreign::{FileStamp, ForeignError, open_foreign, stat_foreign};

/// A line longer than this is passed over and counted.
pub const LINE_BYTES: usize = 4 << 20;
/// One look reads so much at most; the rest comes with the next one.
const LOOK_BYTES: u64 = 64 << 20;
/// So much is read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// An existing file is met by its end: first so much of it.
const WINDOW_BYTES: u64 = 64 << 10;
/// The window grows up to this, until it holds the start of a line.
const WINDOW_MAX_BYTES: u64 = 16 << 20;
/// So many bytes before the cursor make the fingerprint.
const PRINT_BYTES: u64 = 512;

/// How far a file was read. Kept as JSON, reading goes on exactly where it stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cursor {
    /// Device of the file.
    pub dev: u64,
    /// Inode of the file.
    pub ino: u64,
    /// Offset of the next line.
    pub offset: u64,
    /// The line at the offset is too long: it was passed over up to here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<u64>,
    /// SHA-256 over the last bytes before the offset, in hex.
    pub print: String,
}

/// What a look found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The file was read from its start again: it was replaced, rewritten or cut.
    pub reset: bool,
    /// Lines that were longer than [`LINE_BYTES`].
    pub too_long: u64,
    /// Bytes behind the last newline.
    pub pending: u64,
    /// There is more to read at once.
    pub more: bool,
}

/// What a look gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The file was replaced, rewritten or cut: it is read from its start again.
    Anew,
    /// A complete line, without its newline.
    Line(&'a [u8]),
}

/// One followed file.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    roots: Vec<PathBuf>,
    cursor: Cursor,
    seen: Option<FileStamp>,
    pending: u64,
}

impl Tail {
    /// Follows a file from its start; it need not be there yet. `roots` as for [`open_foreign`].
    pub fn from_start(path: &Path, roots: &[PathBuf]) -> Tail {
        Tail::resume(path, roots, Cursor::default())
    }

    /// Goes on where a reader of before stopped.
    pub fn resume(path: &Path, roots: &[PathBuf], cursor: Cursor) -> Tail {
        Tail { path: path.to_owned(), roots: roots.to_owned(), cursor, seen: None, pending: 0 }
    }

    /// Meets a file that is there already: the first look begins with the first line that starts in a window at its
    /// end, which grows backwards until it holds one. `from` sets where the window starts.
    ///
    /// # Errors
    /// The file may not be opened, or cannot be read.
    pub fn attach(path: &Path, roots: &[PathBuf], from: Option<u64>) -> Result<Tail, ForeignError> {
        let opened = open_foreign(path, roots)?;
        let size = opened.stamp.size;
        let mut tail = Tail::from_start(path, roots);
        let mut window = WINDOW_BYTES;
        let start = loop {
            let start = from.unwrap_or_else(|| size.saturating_sub(window)).min(size);
            if start == 0 {
                break Some(0);
            }
            // The byte before the window may be the newline.
            let found = find_newline(&opened.file, start - 1, size).map_err(|source| tail.io(source))?;
            match found {
                Some(at) if at + 1 < size || from.is_some() || window >= WINDOW_MAX_BYTES => {
                    break Some(at + 1);
                }
                _ if from.is_some() || window >= WINDOW_MAX_BYTES => break None,
                _ => window *= 2,
            }
        };
        tail.cursor = Cursor { dev: opened.stamp.dev, ino: opened.stamp.ino, ..Cursor::default() };
        match start {
            Some(start) => tail.cursor.offset = start,
            // Somewhere in a line beyond all bounds.
            None => (tail.cursor.offset, tail.cursor.passed) = (size - window.min(size), Some(size)),
        }
        tail.cursor.print = print_of(&opened.file, tail.cursor.offset).map_err(|source| tail.io(source))?;
        Ok(tail)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How far it was read.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Looks for complete new lines and gives each one to `take`. Where the file did not change
    /// since the last look, this is one `stat`.
    ///
    /// # Errors
    /// The file may not be opened, is not there, or cannot be read; the cursor stands where it stood.
    pub fn look(&mut self, mut take: impl FnMut(Piece<'_>)) -> Result<Look, ForeignError> {
        let stamp = stat_foreign(&self.path, &self.roots)?;
        if self.seen == Some(stamp) {
            return Ok(Look { pending: self.pending, ..Look::default() });
        }
        let opened = open_foreign(&self.path, &self.roots)?;
        let stamp = opened.stamp;
        let mut look = Look::default();
        let mut cursor = self.cursor.clone();
        if cursor == Cursor::default() {
            (cursor.dev, cursor.ino) = (stamp.dev, stamp.ino);
        } else if !self.still(&opened.file, stamp).map_err(|source| self.io(source))? {
            look.reset = true;
            take(Piece::Anew);
            cursor = Cursor { dev: stamp.dev, ino: stamp.ino, ..Cursor::default() };
        }
        let read = read_lines(&opened.file, stamp.size, &mut cursor, &mut take);
        let (too_long, stopped) = read.map_err(|source| self.io(source))?;
        look.too_long = too_long;
        look.more = stopped;
        look.pending = stamp.size - cursor.offset.min(stamp.size);
        cursor.print = print_of(&opened.file, cursor.offset).map_err(|source| self.io(source))?;
        self.cursor = cursor;
        self.pending = look.pending;
        self.seen = (!look.more).then_some(stamp);
        Ok(look)
    }

    /// True when what was read stands in the file as it stood.
    fn still(&self, file: &File, stamp: FileStamp) -> io::Result<bool> {
        let Cursor { dev, ino, offset, passed, print } = &self.cursor;
        if (stamp.dev, stamp.ino) != (*dev, *ino) || stamp.size < passed.unwrap_or(*offset) {
            return Ok(false);
        }
        Ok(print_of(file, *offset)? == *print)
    }

    fn io(&self, source: io::Error) -> ForeignError {
        ForeignError::Io { path: self.path.clone(), source }
    }
}

/// Reads the complete lines at the start of a file, within so many bytes: who it is of stands there.
///
/// # Errors
/// The file may not be opened, or cannot be read.
pub fn head(
    path: &Path,
    roots: &[PathBuf],
    bytes: usize,
    mut take: impl FnMut(&[u8]),
) -> Result<(), ForeignError> {
    let opened = open_foreign(path, roots)?;
    let mut buffer = vec![0; bytes.min(usize::try_from(opened.stamp.size).unwrap_or(bytes))];
    let got = opened
        .file
        .read_at(&mut buffer, 0)
        .map_err(|source| ForeignError::Io { path: path.to_owned(), source })?;
    let mut rest = &buffer[..got];
    while let Some(place) = memchr::memchr(b'\n', rest) {
        take(&rest[..place]);
        rest = &rest[place + 1..];
    }
    Ok(())
}

/// Reads complete lines from the cursor on. Returns how many were too long, and whether it stopped for its bound.
fn read_lines(
    file: &File,
    size: u64,
    cursor: &mut Cursor,
    take: &mut impl FnMut(Piece<'_>),
) -> io::Result<(u64, bool)> {
    let mut line = Vec::new();
    let mut too_long = 0;
    let mut at = cursor.passed.unwrap_or(cursor.offset);
    let end = size.min(at.saturating_add(LOOK_BYTES));
    let mut chunk = vec![0; CHUNK_BYTES.min(usize::try_from(end.saturating_sub(at)).unwrap_or(CHUNK_BYTES))];
    while at < end {
        let wanted = chunk.len().min(usize::try_from(end - at).unwrap_or(CHUNK_BYTES));
        let got = file.read_at(&mut chunk[..wanted], at)?;
        if got == 0 {
            // It became shorter meanwhile: the next look tells.
            break;
        }
        let mut rest = &chunk[..got];
        while let Some(place) = memchr::memchr(b'\n', rest) {
            let (part, behind) = rest.split_at(place);
            rest = &behind[1..];
            at += place as u64 + 1;
            match cursor.passed.take() {
                Some(_) => too_long += 1,
                None if line.len() + part.len() > LINE_BYTES => too_long += 1,
                None if line.is_empty() => take(Piece::Line(part)),
                None => {
                    line.extend_from_slice(part);
                    take(Piece::Line(&line));
                }
            }
            line.clear();
            cursor.offset = at;
        }
        at += rest.len() as u64;
        if cursor.passed.is_some() || line.len() + rest.len() > LINE_BYTES {
            cursor.passed = Some(at);
            line = Vec::new();
        } else {
            line.extend_from_slice(rest);
        }
    }
    Ok((too_long, end < size))
}

/// Returns the place of the first newline in a range.
fn find_newline(file: &File, start: u64, end: u64) -> io::Result<Option<u64>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = start;
    while at < end {
        let wanted = CHUNK_BYTES.min(usize::try_from(end - at).unwrap_or(CHUNK_BYTES));
        let got = file.read_at(&mut chunk[..wanted], at)?;
        if got == 0 {
            break;
        }
        if let Some(place) = memchr::memchr(b'\n', &chunk[..got]) {
            return Ok(Some(at + place as u64));
        }
        at += got as u64;
    }
    Ok(None)
}

fn print_of(file: &File, offset: u64) -> io::Result<String> {
    let start = offset.saturating_sub(PRINT_BYTES);
    let mut bytes = vec![0; usize::try_from(offset - start).unwrap_or_default()];
    match file.read_exact_at(&mut bytes, start) {
        Ok(()) => {}
        // Shorter than the cursor: no fingerprint is like this.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(String::new()),
        Err(error) => return Err(error),
    }
    Ok(Sha256::digest(&bytes).iter().take(16).fold(String::new(), |hex, byte| hex + &format!("{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;

    use super::*;

    fn put(path: impl AsRef<Path>, text: &str) {
        File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    struct Bench {
        scratch: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Bench {
            Bench { scratch: tempfile::tempdir().unwrap() }
        }

        fn path(&self) -> PathBuf {
            self.scratch.path().join("a.jsonl")
        }

        fn roots(&self) -> Vec<PathBuf> {
            vec![self.scratch.path().to_owned()]
        }

        fn append(&self, text: &str) {
            let mut file = OpenOptions::new().append(true).create(true).open(self.path()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        fn tail(&self) -> Tail {
            Tail::from_start(&self.path(), &self.roots())
        }
    }

    fn look(tail: &mut Tail) -> (Vec<String>, Look) {
        let mut lines = Vec::new();
        let take = |piece: Piece<'_>| match piece {
            Piece::Anew => assert!(lines.is_empty()),
            Piece::Line(line) => lines.push(String::from_utf8_lossy(line).into_owned()),
        };
        let look = tail.look(take).unwrap();
        (lines, look)
    }

    #[test]
    fn a_torn_line_waits_for_its_newline_also_over_a_restart() {
        let bench = Bench::new();
        let mut tail = bench.tail();
        assert!(tail.look(|_| {}).unwrap_err().is_missing());
        bench.append("one\ntw");
        assert_eq!(look(&mut tail), (vec!["one".into()], Look { pending: 2, ..Look::default() }));
        assert_eq!(look(&mut tail), (vec![], Look { pending: 2, ..Look::default() }));
        let kept = serde_json::to_string(tail.cursor()).unwrap();
        let mut tail = Tail::resume(&bench.path(), &bench.roots(), serde_json::from_str(&kept).unwrap());
        bench.append("o\n\nthree\n");
        assert_eq!(look(&mut tail), (vec!["two".into(), "".into(), "three".into()], Look::default()));
        assert_eq!(look(&mut tail).0, Vec::<String>::new());
    }

    #[test]
    fn a_cut_a_rewrite_and_another_file_are_read_from_the_start() {
        let bench = Bench::new();
        let mut tail = bench.tail();
        bench.append("one\ntwo\nthree\n");
        look(&mut tail);
        put(bench.path(), "four\n");
        assert_eq!(look(&mut tail), (vec!["four".into()], Look { reset: true, ..Look::default() }));
        put(bench.path(), "FOUR\nfive\n");
        assert_eq!(
            look(&mut tail),
            (vec!["FOUR".into(), "five".into()], Look { reset: true, ..Look::default() })
        );
        // The same length, another content.
        put(bench.path(), "FOUR\nsix.\n");
        assert_eq!(look(&mut tail).0, ["FOUR", "six."]);
        let other = bench.scratch.path().join("b");
        put(&other, "FOUR\nsix.\nnext\n");
        fs::rename(&other, bench.path()).unwrap();
        assert_eq!(look(&mut tail).0, ["FOUR", "six.", "next"]);
        bench.append("last\n");
        assert_eq!(look(&mut tail), (vec!["last".into()], Look::default()));
    }

    #[test]
    fn a_line_beyond_the_bound_is_passed_over_once_whether_it_is_there_or_grows() {
        let bench = Bench::new();
        let mut tail = bench.tail();
        bench.append("one\n");
        bench.append(&"z".repeat(LINE_BYTES + 1));
        let (lines, seen) = look(&mut tail);
        assert_eq!((lines.len(), seen.too_long, seen.pending), (1, 0, LINE_BYTES as u64 + 1));
        assert_eq!(tail.cursor().offset, 4);
        bench.append("zz\ntwo\n");
        assert_eq!(look(&mut tail), (vec!["two".into()], Look { too_long: 1, ..Look::default() }));
        bench.append(&format!("{}\nthree\n", "z".repeat(LINE_BYTES)));
        let (lines, seen) = look(&mut tail);
        assert_eq!((lines[0].len(), lines[1].as_str(), seen.too_long), (LINE_BYTES, "three", 0));
    }

    #[test]
    fn a_file_that_is_met_is_read_from_a_line_near_its_end() {
        let bench = Bench::new();
        let filler = format!("{}\n", "f".repeat(999));
        bench.append(&filler.repeat(200));
        bench.append("last\n");
        let mut tail = Tail::attach(&bench.path(), &bench.roots(), None).unwrap();
        let (lines, seen) = look(&mut tail);
        assert!(lines.iter().rev().skip(1).all(|line| line.len() == 999) && lines.len() < 70);
        assert_eq!((lines.last().unwrap().as_str(), seen), ("last", Look::default()));
        let mut tail = Tail::attach(&bench.path(), &bench.roots(), Some(199_500)).unwrap();
        assert_eq!(look(&mut tail).0, ["last"]);
        // One long line at the end: the window grows to its start.
        bench.append(&format!("{}\n", "g".repeat(200_000)));
        let mut tail = Tail::attach(&bench.path(), &bench.roots(), None).unwrap();
        assert_eq!(look(&mut tail).0.last().unwrap().len(), 200_000);
        // A line beyond all bounds: its end is waited for.
        bench.append(&"h".repeat(17 << 20));
        let mut tail = Tail::attach(&bench.path(), &bench.roots(), None).unwrap();
        assert_eq!(look(&mut tail).0.len(), 0);
        bench.append("h\nnext\n");
        assert_eq!(look(&mut tail), (vec!["next".into()], Look { too_long: 1, ..Look::default() }));
    }
}
