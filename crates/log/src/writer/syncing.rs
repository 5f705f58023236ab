//! Syncs: when one is begun, what it made durable, and how the writer moves on to a new segment after one that failed.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::{Segment, Writer};
use crate::batch::Chunk;
use crate::index::Entry;
use crate::queue::{SyncDone, SyncedTo};
use crate::storage::append_all;
use crate::syncer::sync;

/// The writer waits for a sync when this many bytes are unsynced: they are kept in memory until then.
const MAX_UNSYNCED_BYTES: u64 = 16 << 20;

impl Writer {
    pub(super) fn begin_sync(&mut self) {
        let much = self.unsynced_bytes > MAX_UNSYNCED_BYTES;
        if much {
            self.end_sync();
        }
        if self.sync_under_way || self.read_only.is_some() || self.written_seq == self.synced_seq {
            return;
        }
        let wanted = self.waiters.want_sync(self.written_seq);
        let within = self.unsynced_since.zip(self.sync_within);
        let due = much || within.is_some_and(|(since, within)| since.elapsed() >= within);
        if let Some(segment) = self.segment.as_ref().filter(|_| wanted || due) {
            let to = self.written_to(segment.length);
            self.sync_under_way = self.syncer.begin(Arc::clone(&segment.file), to);
        }
    }

    /// Waits for the sync that is under way.
    pub(super) fn end_sync(&mut self) {
        if self.sync_under_way {
            let done = self.queue.wait_sync();
            self.sync_is_done(done);
        }
    }

    pub(super) fn sync_is_done(&mut self, done: SyncDone) {
        self.sync_under_way = false;
        match done {
            Ok(to) => self.note_synced(to),
            Err(error) => self.move_on(&format!("a sync failed: {error}")),
        }
    }

    fn written_to(&self, length: u64) -> SyncedTo {
        SyncedTo { seq: self.written_seq, crc: self.written_crc, length }
    }

    pub(super) fn sync_now(&mut self) {
        // After a sync that failed for good another one on the same file would lie.
        if self.read_only.is_none() && self.written_seq > self.synced_seq {
            self.sync_file();
        }
    }

    fn sync_file(&mut self) {
        let Some(segment) = self.segment.as_ref() else { return };
        let done = sync(&*segment.file).map(|()| self.written_to(segment.length));
        self.sync_is_done(done);
    }

    pub(super) fn sync_cut(&mut self) {
        self.end_sync();
        if self.read_only.is_none() && self.segment.as_ref().is_some_and(|segment| segment.cut_back) {
            self.sync_file();
            if let Some(segment) = &mut self.segment {
                segment.cut_back = false;
            }
            self.tainted = false;
        }
    }

    fn note_synced(&mut self, to: SyncedTo) {
        (self.synced_seq, self.synced_crc) = (to.seq, to.crc);
        if let Some(segment) = &mut self.segment {
            segment.synced = to.length;
            if let Some(index) = &mut segment.index {
                index.note_synced(Entry { seq: to.seq + 1, offset: to.length, crc: to.crc });
            }
        }
        while self.unsynced.front().and_then(Chunk::last).is_some_and(|last| last.last_seq <= to.seq) {
            let done = self.unsynced.pop_front();
            self.unsynced_bytes -= done.map_or(0, |chunk| chunk.bytes.len() as u64);
        }
        self.unsynced_since = (!self.unsynced.is_empty()).then(Instant::now);
    }

    /// Leaves the segment for good: writes its unsynced lines to a new one, syncs there, cuts them off the old one.
    pub(super) fn move_on(&mut self, reason: &str) {
        self.failed_syncs += 1;
        if self.tainted {
            // They may come back in a power cut, and readers would believe them rather than those that get their seqs now.
            return self.make_read_only(&format!("{reason}; what was refused may not be cut off for good"));
        }
        self.moving = true;
        match self.rewrite_unsynced() {
            Ok(new) => {
                let to = self.written_to(new.length);
                if let Some(old) = self.segment.replace(new) {
                    // If this fails, readers find the same lines twice and pass over the second ones.
                    drop(old.file.cut(old.synced));
                }
                self.note_synced(to);
                self.moving = false;
            }
            Err(error) => self.make_read_only(&format!("{reason}; then a new segment failed: {error}")),
        }
    }

    fn rewrite_unsynced(&mut self) -> io::Result<Segment> {
        let mut new = self.create_segment(self.synced_seq + 1, self.synced_crc)?;
        for chunk in &self.unsynced {
            append_all(&*new.file, &chunk.bytes).1?;
            if let Some(index) = &mut new.index {
                index.note_chunk(new.length, chunk);
            }
            new.length += chunk.bytes.len() as u64;
        }
        if new.length > 0 {
            sync(&*new.file).map_err(io::Error::other)?;
        }
        new.synced = new.length;
        Ok(new)
    }
}
