//! Reading and following a log without locks.

mod segments;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use crate::carry;
use crate::chain::{Chain, Judged, Place, Verdict};
use crate::damage::{Damage, DamageKind};
use crate::index::Index;
use crate::line::Shape;
use crate::segment::{SegmentName, segments_of};
use crate::source::{LineSource, Next};
use crate::storage::{Folder, Storage};

/// One record, read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its place in the log, from 1.
    pub seq: u64,
    /// Its id.
    pub id: String,
    /// Unix milliseconds at which it happened.
    pub ts_ms: u64,
    /// Its kind (the member `type`).
    pub kind: String,
    /// Its payload, one JSON object, as it was appended.
    pub payload: String,
    /// The whole line as it stands in the file, without the line feed.
    pub raw: String,
}

/// Reads a log from its start, across segments, and follows it: each item is the next record, or a damaged place.
///
/// Readable lines come with rising seq, each once. `None` means that there is nothing more now; call again later to
/// follow. It stops at the last line feed, takes no lock, and holds one line in memory (the longest may have
/// [`MAX_LINE_BYTES`](crate::MAX_LINE_BYTES)).
pub struct Reader {
    storage: Arc<dyn Storage>,
    chain: Chain,
    from_seq: u64,
    current: Option<Current>,
    /// The segments behind it, or from it on, that the last listing of the folder named.
    listed: VecDeque<SegmentName>,
    ready: VecDeque<Result<Line, Damage>>,
    verdicts: Vec<Verdict>,
    /// The highest seq that a damaged place was expected to have.
    damaged_to: u64,
}

/// The segment that is being read.
struct Current {
    name: SegmentName,
    source: LineSource,
    /// The system refused to read on, and that was said.
    failed: bool,
    /// Its end was seen, and no segment behind it.
    ended: bool,
}

impl Current {
    fn new(name: SegmentName, source: LineSource) -> Current {
        Current { name, source, failed: false, ended: false }
    }

    fn place(&self) -> Place {
        let (line, offset) = self.source.handed();
        Place { segment: self.name.file_name(), line, offset }
    }
}

impl Reader {
    /// Reads the log in a folder from its first record. A folder that is not there yet has no records.
    pub fn open(dir: &Path) -> Reader {
        Reader::with_storage(Arc::new(Folder::new(dir)))
    }

    /// Reads from the record with this seq on. Earlier segments are not read, and of its own segment only what lies
    /// behind the last place before it that the index knows. Without an index the first line of the segment is believed,
    /// since its predecessor is not read.
    pub fn open_from(dir: &Path, seq: u64) -> Reader {
        Reader::open(dir).from_seq(seq)
    }

    /// Passes over the records before this one, as [`Reader::open_from`] does. To be called before anything is read.
    #[must_use]
    pub fn from_seq(self, seq: u64) -> Reader {
        Reader { from_seq: seq, ..self }
    }

    /// Reads from any storage.
    pub fn with_storage(storage: Arc<dyn Storage>) -> Reader {
        Reader {
            storage,
            chain: Chain::new(),
            from_seq: 1,
            current: None,
            listed: VecDeque::new(),
            ready: VecDeque::new(),
            verdicts: Vec::new(),
            damaged_to: 0,
        }
    }

    /// Returns the seq of the last line that was read, 0 before the first.
    pub fn last_seq(&self) -> u64 {
        self.chain.last_seq()
    }

    /// Returns the last seq that the log's index says was synced, 0 where there is none. To be asked before the log is
    /// read to its end: a writer may go on meanwhile.
    pub fn promised(&self) -> u64 {
        let names = self.storage.list().unwrap_or_default();
        let Some(last) = segments_of(&names).last().copied() else { return 0 };
        // The watermark is of a session; whose log it is stands in each line.
        let mut first = Reader::with_storage(Arc::clone(&self.storage)).filter_map(Result::ok);
        let session = first.next().and_then(|line| {
            let raw = line.raw.as_bytes();
            Shape::read(raw)?.head.session_id(raw)
        });
        session.map_or(0, |session| Index::promised(&*self.storage, last, &session))
    }

    /// Returns what is lost of the lines up to this seq, which were synced, when the end was read. A last line that is
    /// whole but for its line feed is not lost: whoever opens the log for appending puts it back.
    pub fn lost(&mut self, promised: u64) -> Option<Damage> {
        let mut seq = self.chain.highest_seq().max(self.damaged_to) + 1;
        let current = self.current.as_mut().filter(|_| seq <= promised)?;
        if let Ok(Next::End(rest)) = current.source.next() {
            let rest = current.source.bytes(rest);
            let crc = self.chain.last_crc();
            let is_next =
                |shape: &Shape| shape.head.seq == seq && crc.is_some_and(|crc| shape.continues(crc, rest));
            seq += u64::from(Shape::read(rest).is_some_and(|shape| is_next(&shape)));
        }
        current.source.rewind();
        (seq <= promised).then(|| current.place().damage(seq, None, DamageKind::Lost { to: promised }))
    }

    fn read_on(&mut self) -> Option<Result<Line, Damage>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if self.current.is_none() {
                self.enter_first()?;
            }
            let current = self.current.as_mut()?;
            match current.source.next() {
                Ok(Next::Line(range)) => {
                    let bytes = current.source.bytes(range);
                    match self.chain.take_next(bytes) {
                        Some(shape) if shape.head.seq < self.from_seq => {}
                        Some(shape) => return Some(line_of(bytes, &shape, || current.place())),
                        None => {
                            let seen = bytes.to_vec();
                            self.judge_again(&seen);
                        }
                    }
                }
                Ok(Next::TooLong) => {
                    let place = current.place();
                    self.chain.refuse(place, DamageKind::TooLong, &mut self.verdicts);
                    self.take_verdicts();
                }
                Ok(Next::End(_)) => {
                    current.source.rewind();
                    self.leave_segment()?;
                }
                Err(error) => {
                    if !current.source.skip_fault() {
                        current.source.rewind();
                        if std::mem::replace(&mut current.failed, true) {
                            self.leave_segment()?;
                            continue;
                        }
                    }
                    let kind = DamageKind::Unreadable(error.to_string());
                    self.chain.refuse(current.place(), kind, &mut self.verdicts);
                    self.take_verdicts();
                }
            }
        }
    }

    /// Judges a line that is not simply the next one, after reading it once more: it may have been put together from
    /// half a line that the writer has cut back since, and from what was written in its place.
    fn judge_again(&mut self, seen: &[u8]) {
        let Some(current) = &mut self.current else { return };
        current.source.rewind();
        match current.source.next() {
            Ok(Next::Line(range)) if current.source.bytes(range.clone()) == seen => {
                let judged = self.chain.judge(seen, current.place(), &mut self.verdicts);
                self.take_verdicts();
                if judged == Judged::Doubtful {
                    self.leave_bad_end();
                }
            }
            _ => current.source.rewind(),
        }
    }

    /// Goes on to the next segment if that begins where this one went bad, or before: after a failed sync the lines were written
    /// there once more, and whatever else is left of them here would only hide them.
    fn leave_bad_end(&mut self) {
        let Some(after) = self.current.as_ref().map(|current| current.name) else { return };
        if let Some(next) = self.next_segment(after, 1).filter(|(name, _)| self.goes_on(*name)) {
            self.enter(next);
        }
    }

    /// At the end of a segment: goes on to the next one that has bytes, or returns nothing.
    fn leave_segment(&mut self) -> Option<()> {
        let current = self.current.as_mut()?;
        let after = current.name;
        // Who follows comes here again and again.
        let looks = if current.ended { 1 } else { segments::LOOKS };
        let Some(next) = self.next_segment(after, looks) else {
            self.current.as_mut()?.ended = true;
            // No writer goes on from a line that nothing vouches for, so there is nothing to wait for.
            self.chain.reject_held(&mut self.verdicts);
            self.take_verdicts();
            return (!self.ready.is_empty()).then_some(());
        };
        // The next segment was there when the end of this one is seen now: what was appended before it was made comes first.
        let current = self.current.as_mut()?;
        match current.source.next() {
            Ok(Next::Line(_) | Next::TooLong) => {
                current.source.rewind();
                return Some(());
            }
            Ok(Next::End(range)) if !range.is_empty() => {
                let rest = current.source.bytes(range).to_vec();
                self.chain.judge(&rest, current.place(), &mut self.verdicts);
                self.take_verdicts();
            }
            Ok(Next::End(_)) | Err(_) => {}
        }
        self.enter(next);
        Some(())
    }

    fn enter(&mut self, (name, source): (SegmentName, LineSource)) {
        if self.chain.begins_here(name.first_seq) {
            self.chain.reject_held(&mut self.verdicts);
            self.take_verdicts();
        }
        let before = self.current.as_ref().map(|current| current.name);
        let carried = before.and_then(|before| carry::read(&*self.storage, before));
        self.chain.enter_segment(name.first_seq, carried);
        self.current = Some(Current::new(name, source));
    }

    fn take_verdicts(&mut self) {
        for verdict in self.verdicts.drain(..) {
            match verdict {
                Verdict::Damage(damage) => {
                    self.damaged_to = self.damaged_to.max(damage.seq);
                    self.ready.push_back(Err(damage));
                }
                Verdict::Line(_, shape, _) if shape.head.seq < self.from_seq => {}
                Verdict::Line(bytes, shape, place) => self.ready.push_back(line_of(&bytes, &shape, || place)),
            }
        }
    }
}

/// A reader is done only for now: after `None`, calling again reads what was appended since.
impl Iterator for Reader {
    type Item = Result<Line, Damage>;

    fn next(&mut self) -> Option<Result<Line, Damage>> {
        self.read_on()
    }
}

fn line_of(bytes: &[u8], shape: &Shape, place: impl FnOnce() -> Place) -> Result<Line, Damage> {
    let Ok(raw) = std::str::from_utf8(bytes) else {
        return Err(place().damage(shape.head.seq, Some(shape.head.seq), DamageKind::Malformed));
    };
    Ok(Line {
        seq: shape.head.seq,
        id: raw[shape.head.id.clone()].to_owned(),
        ts_ms: shape.head.ts_ms,
        kind: raw[shape.head.kind.clone()].to_owned(),
        payload: raw[shape.payload()].to_owned(),
        raw: raw.to_owned(),
    })
}
