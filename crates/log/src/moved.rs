//! Lines that were being moved to a new segment, and that the one before still has.
//!
//! After a failed sync the writer writes the lines that were not synced to a new segment, byte for byte, and then cuts
//! them off the old one. Killed on the way it leaves both, and the new one may have only some of them. Readers were shown
//! what the old one has, so no other lines may get these seqs: opening finishes the move.

use std::io;
use std::ops::Range;

use crate::chain::Chain;
use crate::cold;
use crate::damage::{Damage, DamageKind, Torn};
use crate::recover::{FileError, Scan, Segment, keep_torn};
use crate::segment::SegmentName;
use crate::source::{LineSource, Next};
use crate::storage::{Storage, copy, read_full};

/// What a segment has behind the place where the next one begins, as far as a reader would read there.
pub(crate) struct Tail {
    /// Its right lines, in bytes of the segment.
    pub lines: Range<u64>,
    /// Another session's id, where it is the beginning of that session's log.
    pub other_session: Option<String>,
    /// The version of its last line, when it is newer than this build.
    pub newer: Option<u64>,
    /// What is wrong before its last line: a writer moves no such lines.
    damage: Option<Damage>,
    last_seq: u64,
}

/// How the lines of a tail and those of the next segment go together.
pub(crate) enum Fit {
    /// They are all there.
    Moved,
    /// These are not there yet, in bytes of the segment with the tail.
    Left(Range<u64>),
    /// There are others.
    Others(Damage),
}

impl Tail {
    /// Reads it, behind a scan that ended where the segment `next` begins.
    pub(crate) fn read(
        storage: &dyn Storage,
        session: &str,
        chain: Chain,
        segment: &Segment,
        next: SegmentName,
    ) -> Result<Tail, FileError> {
        let at = |source| FileError { name: segment.name.file_name(), source };
        let file = cold::open_segment(storage, segment.name).map_err(at)?.file;
        let mut scan = Scan::new(session, chain);
        let source = LineSource::at(file, segment.good_end, 1);
        let read = scan.segment(next, source, Some(next.first_seq));
        let mut damage = scan.found.damage.into_iter().take(read.listed_at_good);
        let damage = damage.find(|damage| !matches!(damage.kind, DamageKind::NewerVersion(_)));
        let damage = damage.map(|damage| {
            // It was read under the name of the segment that it was to be moved to, and from the middle.
            let line = damage.line + lines_before(storage, segment.name, segment.good_end).map_err(at)?;
            Ok(Damage { segment: segment.name.file_name(), line, ..damage })
        });
        Ok(Tail {
            damage: damage.transpose()?,
            lines: segment.good_end..read.good_end,
            last_seq: scan.chain.last_seq(),
            other_session: scan.found.other_session,
            newer: scan.found.newer,
        })
    }

    /// Compares it with the lines of the next segment, which may be the last one of a log that ends with `last_seq`.
    pub(crate) fn fit(
        &self,
        storage: &dyn Storage,
        segment: &Segment,
        next: &Segment,
        (is_last, last_seq): (bool, u64),
    ) -> Result<Fit, FileError> {
        // One that was rewritten has its lines in another form. It stays as it is.
        if self.lines.is_empty() || (segment.is_closed && self.last_seq <= last_seq) {
            return Ok(Fit::Moved);
        }
        let both = next.good_end.min(self.lines.end - self.lines.start);
        let left = self.lines.start + both..self.lines.end;
        let may_move = left.is_empty() || (is_last && !segment.is_closed && !next.is_closed);
        let at = |source| FileError { name: segment.name.file_name(), source };
        if !may_move || !same(storage, (segment.name, self.lines.start), next.name, both).map_err(at)? {
            let (file, seq, kind) = (next.name.file_name(), next.name.first_seq, DamageKind::OutOfOrder);
            return Ok(Fit::Others(Damage {
                segment: file,
                line: 1,
                offset: 0,
                seq,
                found: Some(seq),
                kind,
            }));
        }
        Ok(match &self.damage {
            _ if left.is_empty() => Fit::Moved,
            Some(damage) => Fit::Others(damage.clone()),
            None => Fit::Left(left),
        })
    }
}

/// How many lines a segment has before an offset.
fn lines_before(storage: &dyn Storage, segment: SegmentName, offset: u64) -> io::Result<u64> {
    let mut source = LineSource::new(cold::open_segment(storage, segment)?.file);
    let mut lines = 0;
    while !matches!(source.next()?, Next::End(_)) && source.handed().1 < offset {
        lines += 1;
    }
    Ok(lines)
}

/// True where two segments have the same `count` bytes: one from an offset on, the other from its start.
fn same(
    storage: &dyn Storage,
    (segment, offset): (SegmentName, u64),
    other: SegmentName,
    count: u64,
) -> io::Result<bool> {
    let (file, other) =
        (cold::open_segment(storage, segment)?.file, cold::open_segment(storage, other)?.file);
    let mut buffers = [vec![0; 64 << 10], vec![0; 64 << 10]];
    let mut done = 0;
    while done < count {
        let size = (count - done).min(64 << 10) as usize;
        let [left, right] = &mut buffers;
        let (left, right) = (&mut left[..size], &mut right[..size]);
        let whole =
            read_full(&*file, left, offset + done)? == size && read_full(&*other, right, done)? == size;
        if !whole || left != right {
            return Ok(false);
        }
        done += size as u64;
    }
    Ok(true)
}

/// Writes the lines that are left in a segment to the end of the next one, durably, in the place of its torn end, which
/// begins in the line with the seq `torn_seq`.
pub(crate) fn finish(
    storage: &dyn Storage,
    (segment, left): (SegmentName, Range<u64>),
    next: &Segment,
    torn_seq: u64,
    now_ms: u64,
) -> Result<Option<Torn>, FileError> {
    let at = |source| FileError { name: next.name.file_name(), source };
    let mut torn = None;
    if next.good_end < next.end {
        let kept = keep_torn(storage, next.name, next.good_end..next.end, now_ms).map_err(at)?;
        torn = Some(next.torn(torn_seq, Some(kept)));
    }
    let from = storage.open(&segment.file_name(), false).map_err(at)?;
    let to = storage.open(&next.name.file_name(), true).map_err(at)?;
    copy(&*from, left, &*to).and_then(|()| to.sync()).and_then(|()| storage.sync_folder()).map_err(at)?;
    Ok(torn)
}
