//! The segment that is written to: cut back after a failed write, left when it is full, made anew.

use std::io;
use std::sync::Arc;

use super::{Segment, Writer};
use crate::index::{Entry, IndexWriter};
use crate::segment::{SegmentName, segments_of};
use crate::storage::LogFile;

/// So many bytes are reserved on the disk at once.
const RESERVE_BYTES: u64 = 1 << 20;

impl Segment {
    pub(super) fn new(
        name: SegmentName,
        file: Arc<dyn LogFile>,
        length: u64,
        index: Option<IndexWriter>,
    ) -> Segment {
        Segment { name, file, length, synced: 0, reserved: 0, dirty: false, cut_back: false, index }
    }

    /// Sees to it that there is room on the disk for so many more bytes, and for what comes next when others have filled
    /// it. Where that cannot be had the write itself says so. A segment asks once for each step.
    pub(super) fn reserve(&mut self, size: u64) {
        let end = self.length + size;
        if end > self.reserved {
            let to = end.next_multiple_of(RESERVE_BYTES);
            self.reserved = to;
            if let Err(error) = self.file.reserve(self.length..to) {
                if error.kind() == io::ErrorKind::Unsupported {
                    self.reserved = u64::MAX;
                }
                // Some file systems keep as much as there was: others need it.
                drop(self.file.give_back());
            }
        }
    }
}

impl Writer {
    /// Cuts off what a failed write left.
    pub(super) fn cut_tail(&mut self) -> io::Result<()> {
        if let Some(segment) = self.segment.as_mut().filter(|segment| segment.dirty) {
            segment.file.cut(segment.length)?;
            segment.dirty = false;
            segment.cut_back = true;
            // What is reserved behind the end goes with the cut.
            segment.reserved = 0;
            self.failed_cuts = 0;
        }
        Ok(())
    }

    /// Sees to it that there is a segment which ends in a whole line and has room.
    pub(super) fn make_ready(&mut self, size: u64) -> io::Result<()> {
        if let Err(error) = self.cut_tail() {
            self.failed_cuts += 1;
            if self.failed_cuts < 2 {
                return Err(error);
            }
            self.failed_cuts = 0;
            self.end_sync();
            if self.tainted {
                // Its seqs would be given again to other records, and readers believe the first ones.
                self.make_read_only(&format!("could not cut back a refused batch: {error}"));
            } else {
                // Half a line that cannot be cut off is left behind, and the file with it.
                self.move_on(&format!("could not cut back: {error}"));
            }
        }
        if self.segment.as_ref().is_some_and(|segment| segment.cut_back) {
            // A sync may have made durable what was cut off since. Written over, some of it could come back: between
            // right lines it would be damage, and lines that were refused would be read.
            self.sync_cut();
        }
        let full = self
            .segment
            .as_ref()
            .is_none_or(|segment| segment.length > 0 && segment.length + size > self.segment_bytes);
        if full && self.read_only.is_none() {
            // Only the last segment may ever have unsynced lines.
            self.end_sync();
            self.sync_now();
            if self.read_only.is_none() {
                self.keep_index();
                if let Some(segment) = &self.segment {
                    drop(segment.file.give_back());
                }
                self.segment = Some(self.create_segment(self.written_seq + 1, self.written_crc)?);
            }
        }
        match &self.read_only {
            Some(reason) => Err(io::Error::other(reason.clone())),
            None => Ok(()),
        }
    }

    pub(super) fn create_segment(&mut self, first_seq: u64, crc: u32) -> io::Result<Segment> {
        let made = match self.fresh.take().filter(|(name, _)| name.first_seq == first_seq) {
            Some(fresh) => fresh,
            None => {
                // Behind all that are there, of which the first may be gone: segments are read in the order of their names.
                let names = segments_of(&self.storage.list()?);
                let same = names.iter().rfind(|name| name.first_seq == first_seq);
                let mut name = SegmentName { first_seq, copy: 1 + same.map_or(0, |name| name.copy) };
                loop {
                    match self.storage.create(&name.file_name()) {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => name.copy += 1,
                        other => break (name, Arc::from(other?)),
                    }
                }
            }
        };
        let index = self.make_index(made.0, Entry { seq: first_seq, offset: 0, crc });
        let index = match index.and_then(|index| self.storage.sync_folder().map(|()| index)) {
            Ok(index) => index,
            Err(error) => {
                self.fresh = Some(made);
                return Err(error);
            }
        };
        let (name, file) = made;
        Ok(Segment::new(name, file, 0, index))
    }

    fn make_index(&self, name: SegmentName, first: Entry) -> io::Result<Option<IndexWriter>> {
        let Some(session) = &self.indexed else { return Ok(None) };
        IndexWriter::make(&*self.storage, name, session, first).map(Some)
    }

    pub(super) fn keep_index(&mut self) {
        if let Some(index) = self.segment.as_mut().and_then(|segment| segment.index.as_mut()) {
            index.flush(&*self.storage);
        }
    }
}
