//! The lines of a log file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use herdbook_log::MAX_LINE_BYTES;

use crate::error::Problem;

/// How much is read at once, in bytes: more leaves the cache of the processor before it is looked at.
const CHUNK_BYTES: usize = 256 << 10;

/// How compressed files begin, and what unpacks them: gzip (RFC 1952), zstd (RFC 8878).
const PACKED: [(&[u8], &str); 2] = [(b"\x1f\x8b", "gzip -dc"), (b"\x28\xb5\x2f\xfd", "zstd -dc")];

/// One line of a file.
#[derive(Debug)]
pub struct FileLine<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes, without the line feed.
    pub bytes: &'a [u8],
    /// The line feed is there. Only the last line may lack it.
    pub is_ended: bool,
}

/// Reads a file line by line, in memory that grows to its longest line.
pub struct LogFile {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// What of the buffer is read and not yet handed out.
    start: usize,
    end: usize,
    number: u64,
}

impl LogFile {
    /// Opens it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<LogFile, Problem> {
        let file = File::open(path).map_err(|source| unread(path, source))?;
        Ok(LogFile { path: path.to_owned(), file, buffer: vec![0; CHUNK_BYTES], start: 0, end: 0, number: 0 })
    }

    /// Returns the next line, nothing at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read, or the line is longer than a line may be.
    pub fn next(&mut self) -> Result<Option<FileLine<'_>>, Problem> {
        if self.number == 0 && self.end == 0 {
            self.refuse_packed()?;
        }
        let mut looked_at = self.start;
        let (from, to, is_ended) = loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[looked_at..self.end]) {
                break (self.start, looked_at + at, true);
            }
            looked_at = self.end - self.start;
            if self.fill().map_err(|source| unread(&self.path, source))? == 0 {
                if self.start == self.end {
                    return Ok(None);
                }
                break (self.start, self.end, false);
            }
            looked_at += self.start;
        };
        self.number += 1;
        self.start = to + usize::from(is_ended);
        Ok(Some(FileLine { number: self.number, bytes: &self.buffer[from..to], is_ended }))
    }

    /// Reads the beginning of the file, and says what to do with a compressed one.
    fn refuse_packed(&mut self) -> Result<(), Problem> {
        while self.end < 4 && self.fill().map_err(|source| unread(&self.path, source))? > 0 {}
        match PACKED.iter().find(|(magic, _)| self.buffer[..self.end].starts_with(magic)) {
            Some((_, tool)) => Err(Problem::Packed { path: self.path.clone(), tool }),
            None => Ok(()),
        }
    }

    /// Reads more behind what is left, which moves to the front.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.end >= MAX_LINE_BYTES {
                let words = format!("line {} is longer than {MAX_LINE_BYTES} bytes", self.number + 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, words));
            }
            self.buffer.resize((2 * self.end).min(MAX_LINE_BYTES), 0);
        }
        loop {
            match self.file.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn unread(path: &Path, source: io::Error) -> Problem {
    Problem::File { what: "read", path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_whatever_their_length_is() {
        let lengths = [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, 3, 5 * CHUNK_BYTES + 7, 0, 2];
        for last in ["\n", ""] {
            let texts: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("log");
            let mut file = File::create(&path).unwrap();
            io::Write::write_all(&mut file, (texts.join("\n") + last).as_bytes()).unwrap();
            let mut file = LogFile::open(&path).unwrap();
            for (number, text) in (1u64..).zip(&texts) {
                let line = file.next().unwrap().unwrap();
                assert_eq!((line.number, line.bytes.len()), (number, text.len()));
                assert_eq!(line.is_ended, number < 8 || last == "\n");
            }
            assert!(file.next().unwrap().is_none());
        }
    }
}
