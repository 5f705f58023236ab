//! The index beside a segment, `0000000001.idx`: where its lines stand, and how far the segment was synced.
//!
//! It is made of records of 24 bytes, little endian: seq, offset, the crc before the line (u64, u64, u32), and a CRC-32C
//! over these 20 bytes. There is one for the segment's first line and then one per 64 KiB or 256 lines. A record of the
//! same form says how far the segment was synced: the place where the line after the last synced one begins. Its
//! checksum continues that of the segment's name and the session id, so that it is told from the others and is never
//! believed beside another log.
//!
//! It is a cache. Each use is checked against the log, and what is wrong or missing is made anew from it. It is synced
//! when it is made, so that a log has a watermark from its first line on, and never for its own sake after that: what a
//! power cut leaves is an older index, which costs some reading, and an older watermark. That one is still true, since it
//! was written after the sync it tells of; it only leaves more of the log's end to be called torn instead of damaged.
//! Records are only ever added, so half a record at the end harms none before it.

use std::io;

use crate::batch::Chunk;
use crate::segment::SegmentName;
use crate::storage::{LogFile, Storage, append_all, read_full};
use crate::syncer::sync;

const RECORD_BYTES: usize = 24;
/// A record stands for at most so many bytes …
const STEP_BYTES: u64 = 64 << 10;
/// … or lines (eventlog 1.6).
const STEP_LINES: u64 = 256;
/// So many bytes of records wait for a disk that takes none; then they are forgotten until the log is opened again.
const MAX_WAITING_BYTES: usize = 64 << 10;

/// A longer file is no index: a segment whose every line is as short as a line can be, and synced alone, has one of a
/// fifth of that.
const MAX_INDEX_BYTES: u64 = 64 << 20;

/// The place of a line, or of the line that is to come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub seq: u64,
    /// Where it begins in the segment, in bytes.
    pub offset: u64,
    /// The crc that it continues.
    pub crc: u32,
}

impl Entry {
    fn encode(self, seed: u32) -> [u8; RECORD_BYTES] {
        let mut record = [0; RECORD_BYTES];
        record[..8].copy_from_slice(&self.seq.to_le_bytes());
        record[8..16].copy_from_slice(&self.offset.to_le_bytes());
        record[16..20].copy_from_slice(&self.crc.to_le_bytes());
        let check = crc32c::crc32c_append(seed, &record[..20]);
        record[20..].copy_from_slice(&check.to_le_bytes());
        record
    }

    /// Reads a record; nothing where its checksum is not the one of this seed.
    fn decode(record: &[u8], seed: u32) -> Option<Entry> {
        let number = |from: usize| Some(u64::from_le_bytes(record.get(from..from + 8)?.try_into().ok()?));
        let crc = u32::from_le_bytes(record.get(16..20)?.try_into().ok()?);
        let entry = Entry { seq: number(0)?, offset: number(8)?, crc };
        (entry.encode(seed) == record).then_some(entry)
    }

    /// True where a line this far behind `last` gets a record of its own.
    fn is_due(self, last: Option<Entry>) -> bool {
        last.is_none_or(|last| {
            self.offset.saturating_sub(last.offset) >= STEP_BYTES
                || self.seq.saturating_sub(last.seq) >= STEP_LINES
        })
    }
}

/// Where the checksum of an entry starts.
const ENTRY: u32 = 0;

/// Where the checksum of a watermark starts.
fn synced_seed(name: SegmentName, session: &str) -> u32 {
    crc32c::crc32c(format!("synced {} {session}", name.file_name()).as_bytes())
}

/// What an index says, as far as its own checksums go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// With rising seqs and offsets.
    pub entries: Vec<Entry>,
    /// How far the segment was synced for sure.
    pub synced: Option<Entry>,
    /// Every byte of it is part of a right record.
    pub whole: bool,
    length: u64,
}

impl Index {
    /// Reads the index of a segment; nothing where there is none that can be read. Without a session id the watermark
    /// is not read.
    pub(crate) fn read(storage: &dyn Storage, name: SegmentName, session: Option<&str>) -> Option<Index> {
        let file = storage.open(&name.index_name(), false).ok()?;
        if file.length().ok()? > MAX_INDEX_BYTES {
            return None;
        }
        let seed = session.map(|session| synced_seed(name, session));
        let mut index = Index { whole: true, ..Index::default() };
        let mut buffer = vec![0; RECORD_BYTES << 11];
        loop {
            let read = read_full(&*file, &mut buffer, index.length).ok()?;
            for record in buffer[..read].chunks(RECORD_BYTES) {
                index.whole &= index.take(record, seed);
            }
            index.length += read as u64;
            if read < buffer.len() {
                return Some(index);
            }
        }
    }

    /// Reads the last seq that was synced for sure; 0 where no index says one.
    pub(crate) fn promised(storage: &dyn Storage, name: SegmentName, session: &str) -> u64 {
        let synced = Index::read(storage, name, Some(session)).and_then(|index| index.synced);
        synced.map_or(0, |synced| synced.seq.saturating_sub(1))
    }

    fn take(&mut self, record: &[u8], seed: Option<u32>) -> bool {
        if let Some(entry) = Entry::decode(record, ENTRY) {
            let rises =
                self.entries.last().is_none_or(|last| entry.seq > last.seq && entry.offset > last.offset);
            if rises {
                self.entries.push(entry);
            }
            return rises;
        }
        let Some(synced) = seed.and_then(|seed| Entry::decode(record, seed)) else { return false };
        let rises = self.synced.is_none_or(|last| synced.offset >= last.offset);
        if rises {
            self.synced = Some(synced);
        }
        rises
    }

    /// Reads the last record alone: how far a segment was synced that is not written to any more.
    pub(crate) fn read_synced(storage: &dyn Storage, name: SegmentName, session: &str) -> Option<Entry> {
        let file = storage.open(&name.index_name(), false).ok()?;
        let start = file.length().ok()?.checked_sub(RECORD_BYTES as u64)?;
        let mut record = [0; RECORD_BYTES];
        let read = read_full(&*file, &mut record, start).ok()?;
        Entry::decode(&record[..read], synced_seed(name, session))
    }
}

/// Picks the lines that an index has records for.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    last: Option<Entry>,
}

impl Steps {
    pub(crate) fn after(last: Option<Entry>) -> Steps {
        Steps { last }
    }

    /// True where this line is to have a record.
    pub(crate) fn take(&mut self, entry: Entry) -> bool {
        let due = entry.is_due(self.last);
        if due {
            self.last = Some(entry);
        }
        due
    }
}

/// Writes the index of the segment that is written to.
pub(crate) struct IndexWriter {
    name: SegmentName,
    seed: u32,
    file: Option<Box<dyn LogFile>>,
    /// Up to where all records are right.
    length: u64,
    /// There may be something else behind them.
    dirty: bool,
    steps: Steps,
    waiting: Vec<u8>,
    synced: Option<Entry>,
}

impl IndexWriter {
    /// Makes the index anew; whatever is there is overwritten with the first record.
    pub(crate) fn anew(name: SegmentName, session: &str) -> IndexWriter {
        IndexWriter {
            name,
            seed: synced_seed(name, session),
            file: None,
            length: 0,
            dirty: true,
            steps: Steps::default(),
            waiting: Vec::new(),
            synced: None,
        }
    }

    /// Goes on behind an index that is whole.
    pub(crate) fn behind(name: SegmentName, session: &str, index: &Index) -> IndexWriter {
        IndexWriter {
            length: index.length,
            dirty: false,
            steps: Steps::after(index.entries.last().copied()),
            ..IndexWriter::anew(name, session)
        }
    }

    /// Nothing of it is written yet, and something else may be there.
    pub(crate) fn is_anew(&self) -> bool {
        self.dirty && self.length == 0
    }

    /// Makes the index of a new segment, durably: its first line will stand at `first`, and nothing is synced yet.
    pub(crate) fn make(
        storage: &dyn Storage,
        name: SegmentName,
        session: &str,
        first: Entry,
    ) -> io::Result<IndexWriter> {
        let mut index = IndexWriter::anew(name, session);
        index.note(first);
        index.note_synced(first);
        index.write_durably(storage)?;
        Ok(index)
    }

    /// Writes what was noted, durably.
    pub(crate) fn write_durably(&mut self, storage: &dyn Storage) -> io::Result<()> {
        self.write(storage)?;
        match &self.file {
            Some(file) => sync(&**file).map_err(io::Error::other),
            None => Ok(()),
        }
    }

    /// Notes a line, which gets a record where one is due.
    pub(crate) fn note(&mut self, entry: Entry) {
        if self.steps.take(entry) {
            self.waiting.extend_from_slice(&entry.encode(ENTRY));
        }
    }

    /// Notes the lines of a chunk that was written at this offset.
    pub(crate) fn note_chunk(&mut self, offset: u64, chunk: &Chunk) {
        for mark in &chunk.marks {
            self.note(Entry { seq: mark.seq, offset: offset + mark.start as u64, crc: mark.crc });
        }
    }

    /// Notes that everything before a place is synced.
    pub(crate) fn note_synced(&mut self, next: Entry) {
        self.synced = Some(next);
    }

    /// Writes what was noted. What cannot be written now is tried again the next time.
    pub(crate) fn flush(&mut self, storage: &dyn Storage) {
        if self.waiting.is_empty() && self.synced.is_none() {
            return;
        }
        if self.write(storage).is_err() && self.waiting.len() > MAX_WAITING_BYTES {
            self.waiting.clear();
        }
    }

    fn write(&mut self, storage: &dyn Storage) -> io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => match storage.create(&self.name.index_name()) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    storage.open(&self.name.index_name(), true)?
                }
                created => created?,
            },
        };
        let file = self.file.insert(file);
        if self.dirty {
            file.cut(self.length)?;
        }
        let mut records = self.waiting.clone();
        records.extend(self.synced.iter().flat_map(|synced| synced.encode(self.seed)));
        self.dirty = true;
        append_all(&**file, &records).1?;
        self.dirty = false;
        self.length += records.len() as u64;
        self.waiting.clear();
        self.synced = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Folder;

    const NAME: SegmentName = SegmentName { first_seq: 1, copy: 1 };

    fn entry(seq: u64, offset: u64) -> Entry {
        Entry { seq, offset, crc: 7 * seq as u32 }
    }

    #[expect(clippy::disallowed_methods, reason = "the test damages a file")]
    fn put(path: &std::path::Path, bytes: &[u8]) {
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn a_record_is_24_bytes_with_a_checksum_over_the_first_20() {
        let record = Entry { seq: 258, offset: 65_536, crc: 0x0102_0304 }.encode(ENTRY);
        assert_eq!(record[..20], [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 4, 3, 2, 1]);
        assert_eq!(record[20..], crc32c::crc32c(&record[..20]).to_le_bytes());
    }

    #[test]
    fn lines_get_a_record_per_64_kib_or_256_lines() {
        let mut steps = Steps::default();
        let picked: Vec<u64> = (1..=600).filter(|seq| steps.take(entry(*seq, (seq - 1) * 100))).collect();
        assert_eq!(picked, [1, 257, 513]);
        let mut steps = Steps::default();
        let picked: Vec<u64> = (1..=20).filter(|seq| steps.take(entry(*seq, (seq - 1) * 10_000))).collect();
        assert_eq!(picked, [1, 8, 15]);
    }

    #[test]
    fn a_file_that_is_too_long_is_no_index() {
        let scratch = tempfile::tempdir().unwrap();
        let storage = Folder::new(scratch.path());
        let mut writer = IndexWriter::anew(NAME, "s");
        writer.note(entry(1, 0));
        writer.flush(&storage);
        let path = scratch.path().join("0000000001.idx");
        let set_length =
            |bytes| std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        set_length(MAX_INDEX_BYTES);
        assert_eq!(Index::read(&storage, NAME, Some("s")).unwrap().entries, [entry(1, 0)]);
        set_length(1 << 40);
        assert_eq!(Index::read(&storage, NAME, Some("s")), None);
    }

    #[test]
    fn what_is_written_is_read_back_and_goes_on_behind_half_a_record() {
        let scratch = tempfile::tempdir().unwrap();
        let storage = Folder::new(scratch.path());
        let mut writer = IndexWriter::anew(NAME, "s");
        writer.note(entry(1, 0));
        writer.note(entry(2, 100));
        writer.note_synced(entry(3, 200));
        writer.flush(&storage);
        writer.note(entry(300, 30_000));
        writer.flush(&storage);
        let path = scratch.path().join("0000000001.idx");
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 3 * 24);
        let index = Index::read(&storage, NAME, Some("s")).unwrap();
        assert_eq!(index.entries, [entry(1, 0), entry(300, 30_000)]);
        assert_eq!((index.synced, index.whole), (Some(entry(3, 200)), true));
        // The watermark is of this session and this segment alone.
        assert_eq!(Index::read(&storage, NAME, Some("t")).unwrap().synced, None);

        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(60);
        put(&path, &bytes);
        let index = Index::read(&storage, NAME, Some("s")).unwrap();
        assert_eq!((index.entries.len(), index.synced.is_some(), index.whole), (1, true, false));
        bytes.truncate(48);
        bytes[10] ^= 1;
        put(&path, &bytes);
        let index = Index::read(&storage, NAME, Some("s")).unwrap();
        assert_eq!((index.entries.len(), index.synced.is_some(), index.whole), (0, true, false));
        assert_eq!(Index::read_synced(&storage, NAME, "s"), Some(entry(3, 200)));
    }
}
