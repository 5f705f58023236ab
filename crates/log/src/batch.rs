//! Encoded lines on their way to the disk.

use crate::line::{self, NewRecord};

/// Where one append ends inside a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobEnd {
    pub end: usize,
    pub last_seq: u64,
    pub crc: u32,
}

/// Where one line begins inside a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub start: usize,
    pub seq: u64,
    /// The crc that it continues.
    pub crc: u32,
}

/// Encoded lines that go out in one write. It holds whole appends.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub bytes: Vec<u8>,
    pub jobs: Vec<JobEnd>,
    pub marks: Vec<Mark>,
}

impl Chunk {
    /// Takes off the whole appends within the first `written` bytes.
    pub(crate) fn split_written(&mut self, written: usize) -> Option<Chunk> {
        let count = self.jobs.iter().take_while(|job| job.end <= written).count();
        let end = self.jobs[..count].last()?.end;
        let rest = self.bytes.split_off(end);
        let jobs = self.jobs.split_off(count);
        let marks = self.marks.split_off(self.marks.partition_point(|mark| mark.start < end));
        let done = Chunk {
            bytes: std::mem::replace(&mut self.bytes, rest),
            jobs: std::mem::take(&mut self.jobs),
            marks: std::mem::take(&mut self.marks),
        };
        self.marks = marks.into_iter().map(|mark| Mark { start: mark.start - end, ..mark }).collect();
        self.jobs = jobs.into_iter().map(|job| JobEnd { end: job.end - end, ..job }).collect();
        Some(done)
    }

    pub(crate) fn last(&self) -> Option<JobEnd> {
        self.jobs.last().copied()
    }
}

/// Gives seqs and crcs to new records.
#[derive(Debug)]
pub(crate) struct Encoder {
    session_json: String,
    pub next_seq: u64,
    pub last_crc: u32,
}

impl Encoder {
    pub(crate) fn new(session_id: &str, last_seq: u64, last_crc: u32) -> Encoder {
        Encoder { session_json: line::quote(session_id), next_seq: last_seq + 1, last_crc }
    }

    /// Encodes the records of one append at the end of a chunk.
    pub(crate) fn encode(&mut self, chunk: &mut Chunk, records: &[NewRecord]) {
        for record in records {
            chunk.marks.push(Mark { start: chunk.bytes.len(), seq: self.next_seq, crc: self.last_crc });
            self.last_crc =
                line::encode(&mut chunk.bytes, &self.session_json, self.next_seq, record, self.last_crc);
            self.next_seq += 1;
        }
        chunk.jobs.push(JobEnd { end: chunk.bytes.len(), last_seq: self.next_seq - 1, crc: self.last_crc });
    }
}
