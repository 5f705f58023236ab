//! Opening a session's log: damage is refused, and where the indexes vouch for the rest only the end is read.
//!
//! A segment ends where the next one begins. After a failed sync its unsynced lines are written to a new segment, and
//! what is left of them in the old one, half of it perhaps, counts for nothing once they are all there (`moved`).
//!
//! Bad lines at the end of the log are torn: they were being written. Bad lines that were synced, or that have right ones
//! after them, are damage (eventlog 1.5). What was synced is known by the watermark of the index, and by the names of
//! segments: one is made only when every line before it is synced.

use crate::carry;
use crate::chain::Chain;
use crate::cold::{self, OpenedSegment};
use crate::damage::{Damage, DamageKind};
use crate::index::{Entry, Index, IndexWriter, Steps};
use crate::line::first_crc;
use crate::moved::{self, Fit, Tail};
use crate::recover::{FileError, Recovered, Scan, Segment, keep_torn};
use crate::segment::{SegmentName, segments_of};
use crate::source::{LineSource, Next};
use crate::storage::{LogFile, Storage};

/// A segment that is there, and its length.
#[derive(Clone, Copy)]
struct Found {
    name: SegmentName,
    length: u64,
    /// It is compressed, or was rewritten and is not the last one any more: nothing is cut off it or appended to it.
    is_closed: bool,
}

/// A segment that was read, and the lines that its index has records for.
struct Read {
    segment: Segment,
    entries: Vec<Entry>,
    /// What it has of the next segment's lines.
    tail: Option<Tail>,
}

/// What a log's session is, and when it is opened.
#[derive(Clone, Copy)]
struct Log<'a> {
    storage: &'a dyn Storage,
    session: &'a str,
    now_ms: u64,
    /// The seq in the name of the last segment.
    named: u64,
}

/// Finds where to go on, mends a torn end, and sees to the indexes. With damage, a newer format or another session's log
/// nothing is changed.
pub(crate) fn recover(storage: &dyn Storage, session: &str, now_ms: u64) -> Result<Recovered, FileError> {
    let names = segments_of(&storage.list().map_err(|source| FileError { name: String::new(), source })?);
    let log = Log { storage, session, now_ms, named: names.last().map_or(1, |last| last.first_seq) };
    let mut filled = Vec::new();
    let mut empty_last = None;
    for name in names {
        let at = |source| FileError { name: name.file_name(), source };
        let OpenedSegment { file, is_cold } = cold::open_segment(storage, name).map_err(at)?;
        let length = file.length().map_err(at)?;
        let has_lost = filled.is_empty() && name.first_seq > 1;
        let is_filled = length > 0 || has_lost || log.was_synced(name);
        empty_last = (!is_filled).then_some(name);
        if is_filled {
            filled.push(Found { name, length, is_closed: is_cold });
        }
    }
    let mut found = if filled.is_empty() {
        Recovered { last_crc: first_crc(session), ..Recovered::default() }
    } else {
        match log.read_end(&filled) {
            Some(found) => found?,
            None => log.read_all(&filled)?,
        }
    };
    // A new segment was made, and nothing came to be written there.
    let is_next = |name: &SegmentName| name.first_seq == found.last_seq + 1;
    if let Some(name) = empty_last.filter(|name| filled.is_empty() && is_next(name)) {
        let at = |source| FileError { name: name.index_name(), source };
        let first = Entry { seq: name.first_seq, offset: 0, crc: found.last_crc };
        found.index = Some(IndexWriter::make(storage, name, session, first).map_err(at)?);
        // Whoever made it may have been killed before its name was durable.
        storage.sync_folder().map_err(at)?;
        found.append_to = Some((name, 0));
    }
    Ok(found)
}

impl Log<'_> {
    fn open(&self, name: SegmentName) -> Result<LineSource, FileError> {
        let at = |source| FileError { name: name.file_name(), source };
        Ok(LineSource::new(cold::open_segment(self.storage, name).map_err(at)?.file))
    }

    /// True where a segment had synced lines at some time, be it empty now.
    fn was_synced(&self, name: SegmentName) -> bool {
        let index = Index::read(self.storage, name, Some(self.session));
        index.and_then(|index| index.synced).is_some_and(|synced| synced.offset > 0)
    }

    /// Reads from the last entry at or below the watermark. Nothing where anything is not as the indexes say, or not
    /// right: then all is read, and the log decides.
    fn read_end(&self, filled: &[Found]) -> Option<Result<Recovered, FileError>> {
        let (last, earlier) = filled.split_last()?;
        let next_names = filled.iter().skip(1).map(|next| next.name);
        for (sealed, next) in earlier.iter().zip(next_names) {
            let synced = Index::read_synced(self.storage, sealed.name, self.session)?;
            if (synced.offset, synced.seq) != (sealed.length, next.first_seq) {
                return None;
            }
        }
        let index = Index::read(self.storage, last.name, Some(self.session)).filter(|index| index.whole)?;
        let synced = index.synced.filter(|synced| synced.offset <= last.length)?;
        let below = |entry: &&Entry| entry.offset <= synced.offset && entry.offset < last.length;
        let start = *index.entries.iter().rev().find(below)?;
        let (chain, source) = open_at(self.storage, last.name, start)?;
        let mut scan = Scan::new(self.session, chain);
        scan.steps = Steps::after(index.entries.last().copied());
        scan.watched = Some(synced);
        let mut segment = scan.segment(last.name, source, None);
        // Records for lines that are gone would stand in the way of those for their successors.
        let fits = index.entries.last().is_some_and(|entry| entry.offset < segment.good_end);
        let right = scan.passed && !segment.is_closed && segment.listed_at_good == 0 && fits;
        if !right || scan.chain.highest_seq() > scan.chain.last_seq() || scan.found.newer.is_some() {
            return None;
        }
        if self.named > scan.chain.last_seq() + 1 {
            return None;
        }
        if last.is_closed && segment.good_end < segment.end {
            return None;
        }
        segment.is_closed = last.is_closed;
        let mut writer = IndexWriter::behind(last.name, self.session, &index);
        scan.entries.iter().for_each(|entry| writer.note(*entry));
        Some(self.mend(scan, vec![Read { segment, entries: Vec::new(), tail: None }], writer, synced.offset))
    }

    /// Reads every line.
    fn read_all(&self, filled: &[Found]) -> Result<Recovered, FileError> {
        let index = filled.last().and_then(|last| Index::read(self.storage, last.name, Some(self.session)));
        let synced = index.and_then(|index| index.synced);
        let synced_to = synced.map_or(0, |synced| synced.seq).max(self.named);
        let (mut scan, mut all) = self.scan(filled, None)?;
        if let Some(seq) = synced.and_then(|synced| self.hole(&scan.found.damage, filled, synced)) {
            (scan, all) = self.scan(filled, Some(seq))?;
        }
        let Some(last) = all.last() else { return Ok(scan.found) };
        if scan.chain.highest_seq() > scan.chain.last_seq() {
            // Lines behind a hole that nothing vouches for may be right: they are not torn.
            scan.reject_held();
        } else if synced_to > scan.chain.last_seq() + 1 {
            scan.note_missing(&last.segment, synced_to - 1);
        } else if !last.segment.is_closed {
            scan.found.damage.truncate(last.segment.listed_at_good);
        }
        let found = &mut scan.found;
        let newer = |damage: &Damage| matches!(damage.kind, DamageKind::NewerVersion(_));
        found.damage.retain(|damage| !newer(damage));
        if !found.damage.is_empty() || found.newer.is_some() || found.other_session.is_some() {
            return Ok(scan.found);
        }
        if let Some(found) = self.finish_move(filled, &mut scan, &all)? {
            return Ok(found);
        }
        let mut writer = IndexWriter::anew(last.segment.name, self.session);
        last.entries.iter().for_each(|entry| writer.note(*entry));
        self.mend(scan, all, writer, 0)
    }

    /// Looks at what segments have of the next one's lines. Nothing where all of it is there; where some is not, it is
    /// written there and all is read again; where the next one has others, the log is damaged.
    fn finish_move(
        &self,
        filled: &[Found],
        scan: &mut Scan,
        all: &[Read],
    ) -> Result<Option<Recovered>, FileError> {
        let last_seq = scan.chain.last_seq();
        for (place, pair) in all.windows(2).enumerate() {
            let [Read { segment, tail: Some(tail), .. }, Read { segment: next, .. }] = pair else { continue };
            if tail.other_session.is_some() {
                scan.found.other_session = tail.other_session.clone();
                return Ok(Some(std::mem::take(&mut scan.found)));
            }
            let is_last = place + 2 == all.len();
            match tail.fit(self.storage, segment, next, (is_last, last_seq))? {
                Fit::Moved => continue,
                Fit::Others(damage) => scan.found.damage = vec![damage],
                Fit::Left(_) if tail.newer.is_some() => scan.found.newer = tail.newer,
                Fit::Left(left) => {
                    let mut filled = filled.to_vec();
                    if let Some(last) = filled.last_mut() {
                        last.length = next.good_end + (left.end - left.start);
                    }
                    let torn =
                        moved::finish(self.storage, (segment.name, left), next, last_seq + 1, self.now_ms)?;
                    let mut found = self.read_all(&filled)?;
                    found.torn.extend(torn);
                    return Ok(Some(found));
                }
            }
            return Ok(Some(std::mem::take(&mut scan.found)));
        }
        Ok(None)
    }

    /// Scans all segments, the last one up to the line with the seq `until`.
    fn scan(&self, filled: &[Found], until: Option<u64>) -> Result<(Scan, Vec<Read>), FileError> {
        let mut scan = Scan::new(self.session, Chain::new());
        scan.ends_at_next = true;
        let mut all = Vec::new();
        for (place, found) in filled.iter().enumerate() {
            let next = filled.get(place + 1).map(|next| next.name);
            let until = next.map_or(until, |next| Some(next.first_seq));
            scan.steps = Steps::default();
            let before = all.last();
            scan.carried = before.and_then(|before: &Read| carry::read(self.storage, before.segment.name));
            let mut segment = scan.segment(found.name, self.open(found.name)?, until);
            segment.is_closed |= found.is_closed;
            segment.end = segment.end.max(found.length);
            let is_next = |next: &SegmentName| scan.chain.begins_here(next.first_seq);
            let tail = next.filter(|next| segment.good_end < segment.end && is_next(next));
            let tail =
                tail.map(|next| Tail::read(self.storage, self.session, scan.chain.clone(), &segment, next));
            let (entries, tail) = (std::mem::take(&mut scan.entries), tail.transpose()?);
            all.push(Read { segment, entries, tail });
        }
        Ok((scan, all))
    }

    /// The seq at a hole that a power cut left: the first bad place was never synced, and has zero bytes, which no line
    /// has, where the system did not come to write. What stands behind it was never synced either: all of it is torn.
    fn hole(&self, damage: &[Damage], filled: &[Found], synced: Entry) -> Option<u64> {
        let (first, last) = (damage.first()?, filled.last()?);
        if first.segment != last.name.file_name() || first.offset < synced.offset || first.seq < synced.seq {
            return None;
        }
        let file = cold::open_segment(self.storage, last.name).ok()?.file;
        let mut source = LineSource::at(file, first.offset, first.line);
        match source.next().ok()? {
            Next::Line(range) | Next::End(range) => memchr::memchr(0, source.bytes(range)).map(|_| first.seq),
            Next::TooLong => None,
        }
    }

    /// Cuts off what counts for nothing, and makes durable what the log goes on from. `synced` is where the last
    /// segment's synced part ends.
    fn mend(
        &self,
        scan: Scan,
        all: Vec<Read>,
        mut index: IndexWriter,
        synced: u64,
    ) -> Result<Recovered, FileError> {
        let last_crc = scan.last_crc();
        let Scan { chain, mut found, .. } = scan;
        (found.last_seq, found.last_crc) = (chain.last_seq(), last_crc);
        found.damage.clear();
        for (place, Read { segment, entries, .. }) in all.iter().enumerate() {
            let name = segment.name;
            let at = |source| FileError { name: name.file_name(), source };
            let next_seq = all.get(place + 1).map_or(found.last_seq + 1, |next| next.segment.name.first_seq);
            if segment.is_closed {
                // What is appended goes to a new segment.
                if place + 1 == all.len() {
                    return Ok(found);
                }
                self.mend_index(segment, entries, next_seq);
                continue;
            }
            if segment.good_end < segment.end {
                let kept = keep_torn(self.storage, name, segment.good_end..segment.end, self.now_ms);
                found.torn.push(segment.torn(next_seq, Some(kept.map_err(at)?)));
            }
            if place + 1 < all.len() {
                self.mend_index(segment, entries, next_seq);
                continue;
            }
            let mut length = segment.good_end;
            let file = self.storage.open(&name.file_name(), true).map_err(at)?;
            if segment.open_end {
                file.append(b"\n").map_err(at)?;
                length += 1;
            }
            // What an earlier, killed writer had written but not synced becomes durable before anything rests on it.
            if synced < length || index.is_anew() {
                file.sync().map_err(at)?;
                index.note_synced(Entry { seq: next_seq, offset: length, crc: found.last_crc });
            }
            if index.is_anew() {
                // It takes the place of another one, whose watermark is gone until this one is durable.
                drop(index.write_durably(self.storage));
            } else {
                index.flush(self.storage);
            }
            found.append_to = Some((name, length));
        }
        found.index = Some(index);
        Ok(found)
    }

    /// Makes the index of an earlier segment anew where it does not say that the segment is synced to its end: it was,
    /// before the next one was begun.
    fn mend_index(&self, segment: &Segment, entries: &[Entry], next_seq: u64) {
        let (name, end) = (segment.name, segment.good_end);
        let known = Index::read(self.storage, name, Some(self.session));
        let is_right = known.is_some_and(|index| {
            index.whole
                && index.entries == entries
                && index.synced.is_some_and(|synced| (synced.offset, synced.seq) == (end, next_seq))
        });
        let Some(crc) = self.last_crc(segment).filter(|_| !is_right && end > 0) else { return };
        let mut index = IndexWriter::anew(name, self.session);
        entries.iter().for_each(|entry| index.note(*entry));
        index.note_synced(Entry { seq: next_seq, offset: end, crc });
        drop(index.write_durably(self.storage));
    }

    /// The crc in the last right line of a segment.
    fn last_crc(&self, segment: &Segment) -> Option<u32> {
        let file = cold::open_segment(self.storage, segment.name).ok()?.file;
        let line_feed = u64::from(!segment.open_end);
        let mut suffix = [0; crate::line::SUFFIX_BYTES];
        let start = segment.good_end.checked_sub(line_feed + suffix.len() as u64)?;
        let read = file.read_at(&mut suffix, start).ok()?;
        crate::line::read_crc(&suffix[..read]).map(|(_, crc)| crc)
    }
}

/// Opens a segment at a place that its index has a record for; nothing where no line begins there.
pub(crate) fn open_at(storage: &dyn Storage, name: SegmentName, place: Entry) -> Option<(Chain, LineSource)> {
    let file = cold::open_segment(storage, name).ok()?.file;
    if !follows_line_feed(&*file, place.offset) {
        return None;
    }
    let line = (place.seq + 1).checked_sub(name.first_seq).filter(|line| *line > 0)?;
    let chain = Chain::behind(place.seq.checked_sub(1)?, place.crc);
    Some((chain, LineSource::at(file, place.offset, line)))
}

/// True at the start of a file and behind a line feed.
fn follows_line_feed(file: &dyn LogFile, offset: u64) -> bool {
    let mut before = [0];
    let Some(place) = offset.checked_sub(1) else { return true };
    matches!(file.read_at(&mut before, place), Ok(1)) && before == *b"\n"
}
