//! Appends that are taken in: refused, or encoded with their seqs; and the record that owns up to refused ones.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Writer;
use crate::batch::Chunk;
use crate::line::NewRecord;
use crate::queue::Job;
use crate::refused::AppendError;
use crate::store::Lost;

/// One write has at most this many bytes, unless a single append has more.
const CHUNK_BYTES: u64 = 1 << 20;

impl Writer {
    pub(super) fn accept(&mut self, job: Job) {
        if let Some(reason) = &self.read_only {
            let refused = AppendError::ReadOnly { reason: reason.clone() };
            return self.waiters.refuse_one(job.reply, refused);
        }
        if self.failure.is_some() && self.unwritten_bytes + job.weight as u64 > self.pending_bytes {
            self.lose(&job.records);
            let refused = AppendError::Full { pending_bytes: self.unwritten_bytes };
            return self.waiters.refuse_one(job.reply, refused);
        }
        self.encode_gap();
        let first_seq = self.encoder.next_seq;
        if job.first_seq.is_some_and(|wanted| wanted != first_seq && !job.records.is_empty()) {
            return self.waiters.refuse_one(job.reply, AppendError::Moved { next_seq: first_seq });
        }
        if !job.records.is_empty() {
            self.encode(&job.records, job.weight as u64);
        }
        self.waiters.push(job.durability, first_seq, self.encoder.next_seq - 1, job.reply);
    }

    fn encode(&mut self, records: &[NewRecord], weight: u64) {
        let limit = CHUNK_BYTES.min(self.segment_bytes);
        let fits = self.unwritten.back().is_some_and(|chunk| chunk.bytes.len() as u64 + weight <= limit);
        if !fits {
            self.unwritten.push_back(Chunk::default());
        }
        if let Some(chunk) = self.unwritten.back_mut() {
            let before = chunk.bytes.len();
            self.encoder.encode(chunk, records);
            self.unwritten_bytes += (chunk.bytes.len() - before) as u64;
        }
    }

    fn lose(&mut self, records: &[NewRecord]) {
        for record in records {
            self.lost.add(&Lost {
                records: 1,
                bytes: record.weight() as u64,
                first_ts_ms: record.ts_ms,
                last_ts_ms: record.ts_ms,
            });
        }
        self.lost_total += records.len() as u64;
    }

    /// Puts the record that owns up to refused ones before what comes next.
    fn encode_gap(&mut self) {
        let Some(gap) = self.gap.as_ref().filter(|_| self.lost.records > 0) else { return };
        let record = catch_unwind(AssertUnwindSafe(|| gap(&self.lost)));
        match record {
            Ok(record) if record.fault().is_none() => {
                self.gaps.push((self.encoder.next_seq, std::mem::take(&mut self.lost)));
                let weight = record.weight() as u64;
                self.encode(&[record], weight);
            }
            // It would fail again and again. The count stays in the health.
            _ => self.gap = None,
        }
    }

    pub(super) fn own_up(&mut self) {
        if self.failure.is_none() && self.read_only.is_none() && self.lost.records > 0 {
            self.encode_gap();
            self.flush();
        }
    }
}
