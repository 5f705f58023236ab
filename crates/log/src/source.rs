//! Lines of one file, read forward with bounded memory.

use std::io;
use std::ops::Range;

use crate::line::MAX_LINE_BYTES;
use crate::storage::LogFile;

const CHUNK_BYTES: usize = 256 << 10;

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A line: its bytes in the buffer, without the line feed.
    Line(Range<usize>),
    /// A line of more than the allowed bytes, passed over.
    TooLong,
    /// The end; the bytes after the last line feed, which may be none.
    End(Range<usize>),
}

/// Reads one file line by line, and again from where it stopped when the file has grown.
pub(crate) struct LineSource {
    file: Box<dyn LogFile>,
    limit: usize,
    /// Read bytes are in the first `filled` places.
    buffer: Vec<u8>,
    filled: usize,
    /// Where the next line starts in the buffer, and in the file.
    start: usize,
    start_offset: u64,
    /// Up to where the buffer has been searched for a line feed.
    searched: usize,
    /// Number of the next line, from 1.
    line: u64,
    /// Where the line handed out last started.
    handed: (u64, u64),
    skipping: bool,
}

impl LineSource {
    pub(crate) fn new(file: Box<dyn LogFile>) -> LineSource {
        LineSource {
            file,
            limit: MAX_LINE_BYTES,
            buffer: Vec::new(),
            filled: 0,
            start: 0,
            start_offset: 0,
            searched: 0,
            line: 1,
            handed: (1, 0),
            skipping: false,
        }
    }

    /// Begins at the line with this number, which starts at this offset.
    pub(crate) fn at(file: Box<dyn LogFile>, offset: u64, line: u64) -> LineSource {
        LineSource { start_offset: offset, line, handed: (line, offset), ..LineSource::new(file) }
    }

    #[cfg(test)]
    fn with_limit(mut self, limit: usize) -> LineSource {
        self.limit = limit;
        self
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// Number and offset of the line, or of the end, that was handed out last.
    pub(crate) fn handed(&self) -> (u64, u64) {
        self.handed
    }

    /// Goes back to the start of what was handed out last and forgets what was read from there on: the writer may
    /// have cut half a line back and written another one in its place.
    pub(crate) fn rewind(&mut self) {
        (self.line, self.start_offset) = self.handed;
        self.forget();
    }

    /// Hands out again the line that was handed out last.
    pub(crate) fn put_back(&mut self, line: Range<usize>) {
        (self.line, self.start_offset) = self.handed;
        self.start = line.start;
        self.searched = line.start;
    }

    /// Goes on behind a place that could not be read, where the file knows how. What was read of the line is dropped.
    pub(crate) fn skip_fault(&mut self) -> bool {
        let Some(to) = self.file.after_fault(self.start_offset + (self.filled - self.start) as u64) else {
            return false;
        };
        self.start_offset = to;
        self.line += 1;
        self.forget();
        true
    }

    fn forget(&mut self) {
        self.filled = 0;
        self.start = 0;
        self.searched = 0;
        self.skipping = false;
    }

    pub(crate) fn next(&mut self) -> io::Result<Next> {
        self.handed = (self.line, self.start_offset);
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..self.filled]) {
                let end = self.searched + found;
                let line = self.start..end;
                self.start_offset += (end + 1 - self.start) as u64;
                self.start = end + 1;
                self.searched = end + 1;
                self.line += 1;
                let too_long = std::mem::take(&mut self.skipping) || line.len() >= self.limit;
                return Ok(if too_long { Next::TooLong } else { Next::Line(line) });
            }
            if self.skipping || self.filled - self.start >= self.limit {
                self.skipping = true;
                self.start_offset += (self.filled - self.start) as u64;
                self.filled = 0;
                self.start = 0;
            }
            self.searched = self.filled;
            if self.fill()? == 0 {
                return Ok(Next::End(self.start..self.filled));
            }
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        let kept = self.filled - self.start;
        // Twice as much each time a long line goes on, so that it is copied a bounded number of times; back to the
        // usual size after it.
        let wanted = (2 * kept).clamp(CHUNK_BYTES, self.limit.max(CHUNK_BYTES) + CHUNK_BYTES);
        if wanted > self.buffer.len() || self.buffer.len() > 16 * wanted {
            let mut larger = vec![0; wanted];
            larger[..kept].copy_from_slice(&self.buffer[self.start..self.filled]);
            self.buffer = larger;
        } else if kept < self.buffer.len() {
            self.buffer.copy_within(self.start..self.filled, 0);
        }
        self.searched -= self.start;
        self.start = 0;
        self.filled = kept;
        let offset = self.start_offset + kept as u64;
        loop {
            match self.file.read_at(&mut self.buffer[kept..], offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.filled += read;
                    return Ok(read);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    struct Bytes(Mutex<Vec<u8>>);

    impl LogFile for Bytes {
        fn append(&self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("read only"))
        }
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let bytes = self.0.lock().unwrap();
            let rest = bytes.get(offset as usize..).unwrap_or_default();
            let count = rest.len().min(buffer.len()).min(7);
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        }
        fn length(&self) -> io::Result<u64> {
            Ok(self.0.lock().unwrap().len() as u64)
        }
        fn cut(&self, _: u64) -> io::Result<()> {
            Err(io::Error::other("read only"))
        }
        fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn source(text: &str) -> LineSource {
        LineSource::new(Box::new(Bytes(Mutex::new(text.as_bytes().to_vec()))))
    }

    fn read(source: &mut LineSource) -> String {
        match source.next().unwrap() {
            Next::Line(range) => format!("line {}", std::str::from_utf8(source.bytes(range)).unwrap()),
            Next::TooLong => "too long".to_owned(),
            Next::End(range) => format!("end {}", std::str::from_utf8(source.bytes(range)).unwrap()),
        }
    }

    #[test]
    fn lines_come_with_number_and_offset() {
        let mut source = source("first line\n\nthird, longer than one read\nrest");
        assert_eq!((read(&mut source).as_str(), source.handed()), ("line first line", (1, 0)));
        assert_eq!((read(&mut source).as_str(), source.handed()), ("line ", (2, 11)));
        assert_eq!(
            (read(&mut source).as_str(), source.handed()),
            ("line third, longer than one read", (3, 12))
        );
        assert_eq!((read(&mut source).as_str(), source.handed()), ("end rest", (4, 40)));
        source.rewind();
        assert_eq!((read(&mut source).as_str(), source.handed()), ("end rest", (4, 40)));
    }

    #[test]
    fn a_line_over_the_limit_is_passed_over() {
        let mut source = source(&format!("ok\n{}\nok again\n", "x".repeat(1000))).with_limit(100);
        assert_eq!(read(&mut source), "line ok");
        assert_eq!((read(&mut source).as_str(), source.handed()), ("too long", (2, 3)));
        assert_eq!((read(&mut source).as_str(), source.handed()), ("line ok again", (3, 1004)));
        assert_eq!(read(&mut source), "end ");
        assert_eq!(source.buffer.len(), CHUNK_BYTES);
    }
}
