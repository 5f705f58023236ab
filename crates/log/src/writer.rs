//! The one thread that writes: batches, answers, and what happens when the disk says no.
//!
//! * A write that fails is cut back to the last whole append at once; what was not written stays in memory and is
//!   tried again. When that memory is full, new appends are refused, counted, and owned up to by a gap record.
//! * A sync that fails is never repeated on the same file (Linux may have dropped the pages, and a second sync would
//!   lie): the unsynced lines, which are still in memory, are written to a new segment and synced there. If that
//!   fails too, nothing more is written (eventlog 1.3).
//! * A panic refuses what was being written, and nothing else.

mod segments;
mod syncing;
mod taking;

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::batch::{Chunk, Encoder};
use crate::index::IndexWriter;
use crate::queue::Queue;
use crate::recover::Recovered;
use crate::refused::AppendError;
use crate::segment::SegmentName;
use crate::storage::{LogFile, Storage, append_all};
use crate::store::{GapRecord, Lost, OnDamage, Options};
use crate::syncer::Syncer;
use crate::waiters::Waiters;

struct Segment {
    name: SegmentName,
    file: Arc<dyn LogFile>,
    /// Where its last whole append ends.
    length: u64,
    /// Up to where it is synced.
    synced: u64,
    /// Up to where room on the disk was asked for.
    reserved: u64,
    /// There may be bytes of a failed write after `length`.
    dirty: bool,
    /// Bytes of a failed write were cut off, and may come back in a power cut.
    cut_back: bool,
    /// In a log that has indexes.
    index: Option<IndexWriter>,
}

struct Failure {
    text: String,
    retry_at: Instant,
}

pub(crate) struct Writer {
    queue: Arc<Queue>,
    storage: Arc<dyn Storage>,
    syncer: Syncer,
    segment_bytes: u64,
    pending_bytes: u64,
    sync_within: Option<Duration>,
    retry_every: Duration,
    gap: Option<GapRecord>,
    /// The session id, in a log that has indexes.
    indexed: Option<String>,

    encoder: Encoder,
    segment: Option<Segment>,
    /// A new segment whose creation could not be made durable yet.
    fresh: Option<(SegmentName, Arc<dyn LogFile>)>,
    /// Encoded, not in the file.
    unwritten: VecDeque<Chunk>,
    unwritten_bytes: u64,
    /// In the file, not synced: kept for the case that the sync fails.
    unsynced: VecDeque<Chunk>,
    unsynced_bytes: u64,
    unsynced_since: Option<Instant>,
    written_seq: u64,
    written_crc: u32,
    synced_seq: u64,
    synced_crc: u32,
    sync_under_way: bool,
    waiters: Waiters,

    failure: Option<Failure>,
    read_only: Option<String>,
    failed_cuts: u32,
    /// What follows the segment's last whole append, or did until a cut that is not synced yet, may be lines that were refused.
    tainted: bool,
    failed_syncs: u64,
    panics: u64,
    /// Unsynced lines are being moved to a new segment.
    moving: bool,
    closing: bool,
    /// Refused since the last gap record.
    lost: Lost,
    lost_total: u64,
    /// Gap records that are not written yet, by seq.
    gaps: Vec<(u64, Lost)>,
}

impl Writer {
    pub(crate) fn new(
        queue: Arc<Queue>,
        storage: Arc<dyn Storage>,
        options: Options,
        found: Recovered,
    ) -> io::Result<Writer> {
        let syncer = Syncer::start(Arc::clone(&queue))?;
        let segment = match found.append_to {
            Some((name, length)) => {
                let file: Arc<dyn LogFile> = Arc::from(storage.open(&name.file_name(), true)?);
                // What a killed writer had reserved.
                drop(file.give_back());
                Some(Segment { synced: length, ..Segment::new(name, file, length, found.index) })
            }
            None => None,
        };
        queue.set_health(|health| {
            health.written_seq = found.last_seq;
            health.synced_seq = found.last_seq;
            health.segment = segment.as_ref().map(|segment| segment.name.file_name());
            health.torn = found.torn;
            health.damage = found.damage;
        });
        Ok(Writer {
            queue,
            storage,
            syncer,
            segment_bytes: options.segment_bytes,
            pending_bytes: options.pending_bytes,
            sync_within: options.sync_within,
            retry_every: options.retry_every,
            gap: options.gap,
            indexed: (options.on_damage == OnDamage::Refuse).then(|| options.session_id.clone()),
            encoder: Encoder::new(&options.session_id, found.last_seq, found.last_crc),
            segment,
            fresh: None,
            unwritten: VecDeque::new(),
            unwritten_bytes: 0,
            unsynced: VecDeque::new(),
            unsynced_bytes: 0,
            unsynced_since: None,
            written_seq: found.last_seq,
            written_crc: found.last_crc,
            synced_seq: found.last_seq,
            synced_crc: found.last_crc,
            sync_under_way: false,
            waiters: Waiters::default(),
            failure: None,
            read_only: None,
            failed_cuts: 0,
            tainted: false,
            failed_syncs: 0,
            panics: 0,
            moving: false,
            closing: false,
            lost: Lost::default(),
            lost_total: 0,
            gaps: Vec::new(),
        })
    }

    /// Works until the store is closed.
    pub(crate) fn run(mut self) {
        loop {
            let turned = catch_unwind(AssertUnwindSafe(|| self.turn()));
            let go_on = match turned {
                Ok(go_on) => go_on,
                Err(_) => {
                    if catch_unwind(AssertUnwindSafe(|| self.after_panic())).is_err() {
                        self.make_read_only("the writer failed twice in a row");
                    }
                    !self.closing
                }
            };
            if !go_on {
                self.waiters.refuse(0, &AppendError::Closed);
            }
            self.publish();
            self.waiters.send();
            // Nobody waits for the index, and a failure of its own is no failure of the log.
            drop(catch_unwind(AssertUnwindSafe(|| self.keep_index())));
            if !go_on {
                break;
            }
        }
        self.queue.end();
    }

    fn turn(&mut self) -> bool {
        let woken = self.queue.wait(self.deadline());
        if let Some(done) = woken.sync_done {
            self.sync_is_done(done);
        }
        for job in woken.jobs {
            self.accept(job);
        }
        self.flush();
        self.own_up();
        self.begin_sync();
        if woken.last {
            self.closing = true;
            self.finish();
        }
        self.waiters.answer(self.written_seq, self.synced_seq);
        !self.closing
    }

    fn deadline(&self) -> Option<Instant> {
        let retry = self.failure.as_ref().map(|failure| failure.retry_at);
        let due = self.unsynced_since.zip(self.sync_within).map(|(since, within)| since + within);
        let due = due.filter(|_| !self.sync_under_way && self.read_only.is_none());
        [retry, due].into_iter().flatten().min()
    }

    // Writing.

    fn flush(&mut self) {
        while self.read_only.is_none() && !self.unwritten.is_empty() {
            if let Err(error) = self.write_front() {
                let name = self.segment.as_ref().map(|segment| segment.name.file_name());
                let name = name.unwrap_or_else(|| "a new segment".to_owned());
                let text = format!("could not write {name}: {error}");
                self.failure = Some(Failure { text, retry_at: Instant::now() + self.retry_every });
                return;
            }
        }
        self.failure = None;
    }

    fn write_front(&mut self) -> io::Result<()> {
        let size = self.unwritten.front().map_or(0, |chunk| chunk.bytes.len() as u64);
        self.make_ready(size)?;
        let (Some(segment), Some(chunk)) = (&mut self.segment, self.unwritten.front_mut()) else {
            return Err(io::Error::other("no segment to write to"));
        };
        segment.reserve(size);
        segment.dirty = true;
        let (written, outcome) = append_all(&*segment.file, &chunk.bytes);
        let done = if outcome.is_ok() {
            segment.dirty = false;
            self.unwritten.pop_front()
        } else {
            chunk.split_written(written)
        };
        if let Some(done) = done {
            self.note_written(done);
        }
        if outcome.is_err() {
            // What cannot be cut now is cut before the next write.
            drop(self.cut_tail());
        }
        outcome
    }

    fn note_written(&mut self, chunk: Chunk) {
        let Some(last) = chunk.last() else { return };
        let bytes = chunk.bytes.len() as u64;
        if let Some(segment) = &mut self.segment {
            if let Some(index) = &mut segment.index {
                index.note_chunk(segment.length, &chunk);
            }
            segment.length += bytes;
        }
        self.unwritten_bytes -= bytes;
        self.unsynced_bytes += bytes;
        self.written_seq = last.last_seq;
        self.written_crc = last.crc;
        self.unsynced.push_back(chunk);
        self.unsynced_since.get_or_insert_with(Instant::now);
        self.gaps.retain(|(seq, _)| *seq > last.last_seq);
    }

    // Ends, good and bad.

    fn forget_unwritten(&mut self) {
        self.unwritten.clear();
        self.unwritten_bytes = 0;
        self.encoder.next_seq = self.written_seq + 1;
        self.encoder.last_crc = self.written_crc;
        for (_, lost) in self.gaps.drain(..) {
            self.lost.add(&lost);
        }
    }

    fn after_panic(&mut self) {
        self.panics += 1;
        if self.moving {
            return self.make_read_only("the writer failed while it moved to a new segment");
        }
        self.waiters.answer(self.written_seq, self.synced_seq);
        self.waiters.refuse(self.written_seq, &AppendError::Panicked);
        self.forget_unwritten();
        self.tainted = self.segment.as_ref().is_some_and(|segment| segment.dirty);
        drop(self.cut_tail());
    }

    fn make_read_only(&mut self, reason: &str) {
        self.waiters.answer(self.written_seq, self.synced_seq);
        self.waiters.refuse(0, &AppendError::ReadOnly { reason: reason.to_owned() });
        self.forget_unwritten();
        self.failure = None;
        self.moving = false;
        self.read_only = Some(reason.to_owned());
    }

    fn finish(&mut self) {
        self.end_sync();
        self.sync_now();
        if let Some(segment) = &self.segment {
            drop(segment.file.give_back());
        }
    }

    fn publish(&self) {
        let waiting = self.encoder.next_seq - 1 - self.written_seq;
        let failure = self.failure.as_ref().map(|failure| {
            let (records, wait) = if waiting == 1 { ("record", "waits") } else { ("records", "wait") };
            let (bytes, every) = (self.unwritten_bytes, self.retry_every.as_millis());
            let text = &failure.text;
            format!(
                "{text}; {waiting} {records} ({bytes} bytes) {wait} in memory, trying again every {every} ms"
            )
        });
        let read_only =
            self.read_only.as_ref().map(|reason| format!("read-only until opened again: {reason}"));
        self.queue.set_health(|health| {
            health.written_seq = self.written_seq;
            health.synced_seq = self.synced_seq;
            health.error = read_only.or(failure);
            health.read_only = self.read_only.is_some();
            health.pending_bytes = self.unwritten_bytes;
            health.pending_records = waiting;
            health.lost = self.lost_total;
            health.failed_syncs = self.failed_syncs;
            health.panics = self.panics;
            health.segment = self.segment.as_ref().map(|segment| segment.name.file_name());
        });
    }
}
