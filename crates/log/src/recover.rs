//! Opening a log after whatever happened to it: what is right, what was torn off, what is damaged.

use std::io;
use std::ops::Range;

use crate::carry;
use crate::chain::{Chain, Judged, Place, Verdict};
use crate::cold::{self, OpenedSegment};
use crate::damage::{Damage, DamageKind, Torn};
use crate::index::{Entry, IndexWriter, Steps};
use crate::line::{Shape, first_crc};
use crate::segment::{SegmentName, segments_of};
use crate::source::{LineSource, Next};
use crate::storage::{Storage, copy};

/// How many damaged places are listed.
const MAX_LISTED: usize = 1000;

/// What a scan of the log found.
#[derive(Default)]
pub(crate) struct Recovered {
    /// Another session's id, when this is the log of that session.
    pub other_session: Option<String>,
    /// The highest seq that is taken.
    pub last_seq: u64,
    /// The crc of the last right line.
    pub last_crc: u32,
    pub last_id: Option<String>,
    pub damage: Vec<Damage>,
    pub torn: Vec<Torn>,
    /// The segment that may be appended to, and its length. Nothing: go on in a new one.
    pub append_to: Option<(SegmentName, u64)>,
    /// The version of the last right line, when it is newer than this build.
    pub newer: Option<u64>,
    /// The index beside `append_to`, in a log that has one.
    pub index: Option<IndexWriter>,
}

/// A failure of one file.
#[derive(Debug)]
pub(crate) struct FileError {
    pub name: String,
    pub source: io::Error,
}

/// Reads all segments, cuts a torn end off the last one (its bytes are kept beside it), and finds where to go on.
pub(crate) fn recover(storage: &dyn Storage, session: &str, now_ms: u64) -> Result<Recovered, FileError> {
    let names = segments_of(&storage.list().map_err(|source| FileError { name: String::new(), source })?);
    let mut scan = Scan::new(session, Chain::new());
    let mut filled = Vec::new();
    let mut empty_last = None;
    for name in names {
        let at = |source| FileError { name: name.file_name(), source };
        let length = cold::open_segment(storage, name).and_then(|opened| opened.file.length()).map_err(at)?;
        empty_last = (length == 0).then_some(name);
        if length > 0 {
            filled.push(name);
        }
    }
    let mut last = None;
    for (place, name) in filled.iter().copied().enumerate() {
        let at = |source| FileError { name: name.file_name(), source };
        let OpenedSegment { file, is_cold } = cold::open_segment(storage, name).map_err(at)?;
        scan.carried = last.as_ref().and_then(|before: &Segment| carry::read(storage, before.name));
        let next = filled.get(place + 1).map(|next| next.first_seq);
        let mut segment = scan.segment(name, LineSource::new(file), next);
        segment.is_closed |= is_cold;
        last = Some(segment);
    }
    if let Some(segment) = &mut last
        && let Some(crc) = carry::read(storage, segment.name)
    {
        scan.chain.carry(crc);
        segment.is_closed = true;
    }
    let mut found = match last {
        Some(segment) => {
            let name = segment.name.file_name();
            scan.end(storage, segment, now_ms).map_err(|source| FileError { name, source })?
        }
        None => Recovered { last_crc: first_crc(session), ..Recovered::default() },
    };
    // A new segment was made, and nothing came to be written there.
    if let Some(name) = empty_last.filter(|name| name.first_seq == found.last_seq + 1)
        && found.append_to.is_none()
    {
        // Whoever made it may have been killed before its name was durable.
        storage.sync_folder().map_err(|source| FileError { name: name.file_name(), source })?;
        found.append_to = Some((name, 0));
    }
    Ok(found)
}

/// What a scan found in one segment.
pub(crate) struct Segment {
    pub name: SegmentName,
    /// Where its last right line ends, line feed excluded if `open_end`.
    pub good_end: u64,
    /// Where its last byte is.
    pub end: u64,
    /// The last right line has no line feed.
    pub open_end: bool,
    /// How many damaged places were listed before it, and up to its last right line: what was found after that may
    /// be a torn end.
    listed_before: usize,
    pub listed_at_good: usize,
    /// The last right line of the log is in this segment.
    has_head: bool,
    /// Nothing is cut off it or appended to it: the system refused to read on, it is compressed, or it was rewritten.
    pub is_closed: bool,
}

impl Segment {
    /// What became of its end, of which a file keeps a copy or which is left there.
    pub(crate) fn torn(&self, seq: u64, kept: Option<String>) -> Torn {
        let (segment, offset, bytes) = (self.name.file_name(), self.good_end, self.end - self.good_end);
        Torn { segment, offset, bytes, seq, kept }
    }
}

pub(crate) struct Scan {
    session: String,
    pub chain: Chain,
    verdicts: Vec<Verdict>,
    pub found: Recovered,
    /// The lines of the segment that its index has records for.
    pub entries: Vec<Entry>,
    pub steps: Steps,
    /// A segment ends where the next one begins, whatever else it has; otherwise only where it goes bad there.
    pub ends_at_next: bool,
    /// The crc that the next segment continues where the one before was rewritten.
    pub carried: Option<u32>,
    /// A place that the scan is to pass, and whether it did.
    pub watched: Option<Entry>,
    pub passed: bool,
}

impl Scan {
    pub(crate) fn new(session: &str, chain: Chain) -> Scan {
        Scan {
            session: session.to_owned(),
            chain,
            verdicts: Vec::new(),
            found: Recovered::default(),
            entries: Vec::new(),
            steps: Steps::default(),
            ends_at_next: false,
            carried: None,
            watched: None,
            passed: false,
        }
    }

    /// Reads a segment to its end, or up to where the next one begins, at the seq `until`: after a failed sync the lines
    /// from there on were written to that one, and what this one has of them may be half written.
    pub(crate) fn segment(
        &mut self,
        name: SegmentName,
        mut source: LineSource,
        until: Option<u64>,
    ) -> Segment {
        self.chain.enter_segment(name.first_seq, self.carried.take());
        let listed = self.found.damage.len();
        let start = source.handed().1;
        let mut segment = Segment {
            name,
            good_end: start,
            end: start,
            open_end: false,
            listed_before: listed,
            listed_at_good: listed,
            has_head: false,
            is_closed: false,
        };
        loop {
            if self.ends_at_next && until.is_some_and(|until| self.chain.begins_here(until)) {
                return segment;
            }
            let next = source.next();
            let (line, offset) = source.handed();
            let here = Entry { seq: self.chain.last_seq() + 1, offset, crc: self.last_crc() };
            self.passed |= self.watched == Some(here);
            let place = || Place { segment: name.file_name(), line, offset };
            let (range, at_end) = match next {
                Ok(Next::Line(range)) => (range, false),
                Ok(Next::End(range)) => (range, true),
                Ok(Next::TooLong) => {
                    self.refuse(place(), DamageKind::TooLong);
                    continue;
                }
                Err(error) => {
                    self.refuse(place(), DamageKind::Unreadable(error.to_string()));
                    if source.skip_fault() {
                        continue;
                    }
                    segment.is_closed = true;
                    return segment;
                }
            };
            segment.end = offset + range.len() as u64 + u64::from(!at_end);
            if at_end && range.is_empty() {
                return segment;
            }
            let judged = self.line(source.bytes(range), place, here);
            if judged != Judged::Doubtful {
                segment.good_end = segment.end;
                segment.open_end = at_end;
                segment.listed_at_good = self.found.damage.len();
                segment.has_head = judged == Judged::Right;
            } else if until.is_some_and(|until| self.chain.begins_here(until)) {
                self.reject_held();
                return segment;
            }
            if at_end {
                return segment;
            }
        }
    }

    fn line(&mut self, bytes: &[u8], place: impl FnOnce() -> Place, here: Entry) -> Judged {
        if self.chain.last_seq() == 0 {
            self.note_other_session(bytes);
        }
        if let Some(shape) = self.chain.take_next(bytes) {
            self.found.note_right(bytes, &shape);
            if self.steps.take(here) {
                self.entries.push(here);
            }
            return Judged::Right;
        }
        let judged = self.chain.judge(bytes, place(), &mut self.verdicts);
        self.take_verdicts();
        judged
    }

    fn refuse(&mut self, place: Place, kind: DamageKind) {
        self.chain.refuse(place, kind, &mut self.verdicts);
        self.take_verdicts();
    }

    pub(crate) fn take_verdicts(&mut self) {
        for verdict in self.verdicts.drain(..) {
            match verdict {
                Verdict::Line(bytes, shape, _) => self.found.note_right(&bytes, &shape),
                Verdict::Damage(damage) => {
                    if let DamageKind::NewerVersion(version) = damage.kind {
                        self.found.newer = Some(version);
                    }
                    if self.found.damage.len() < MAX_LISTED {
                        self.found.damage.push(damage);
                    }
                }
            }
        }
    }

    /// Names lines that were synced and are not at the end of their segment, or not right.
    pub(crate) fn note_missing(&mut self, segment: &Segment, to: u64) {
        if self.found.damage.len() == segment.listed_at_good {
            let (file, seq) = (segment.name.file_name(), self.chain.last_seq() + 1);
            let line = (seq + 1).saturating_sub(segment.name.first_seq).max(1);
            let (offset, kind) = (segment.good_end, DamageKind::Missing { to });
            self.found.damage.push(Damage { segment: file, line, offset, seq, found: None, kind });
        }
    }

    /// Gives up on a line that nothing vouches for.
    pub(crate) fn reject_held(&mut self) {
        self.chain.reject_held(&mut self.verdicts);
        self.take_verdicts();
    }

    /// The crc which a new line has to continue.
    pub(crate) fn last_crc(&self) -> u32 {
        self.chain.last_crc().unwrap_or_else(|| first_crc(&self.session))
    }

    /// A line that begins the log of another session id: this is not our log.
    fn note_other_session(&mut self, bytes: &[u8]) {
        let Some(shape) = Shape::read(bytes) else { return };
        let is_other =
            |session: &String| *session != self.session && shape.continues(first_crc(session), bytes);
        if let Some(session) = shape.head.session_id(bytes).filter(is_other) {
            self.found.other_session = Some(session);
        }
    }

    /// Judges the end of the last segment that has bytes, and mends it.
    fn end(mut self, storage: &dyn Storage, segment: Segment, now_ms: u64) -> io::Result<Recovered> {
        // Lines that stand after a hole and that nothing vouches for may be right: they stay, and are named.
        let stays = self.chain.highest_seq() > self.chain.last_seq();
        if stays {
            self.reject_held();
        }
        let mut found = std::mem::take(&mut self.found);
        // Segments are read in the order of their names: what comes next must not stand before the last one.
        found.last_seq = self.chain.highest_seq().max(segment.name.first_seq.saturating_sub(1));
        found.last_crc = self.last_crc();
        let mut length = segment.end;
        let mut may_append = !stays && !segment.is_closed && segment.listed_at_good == segment.listed_before;
        if !stays && !segment.is_closed && segment.good_end < segment.end && found.other_session.is_none() {
            found.damage.truncate(segment.listed_at_good);
            let kept = keep_torn(storage, segment.name, segment.good_end..segment.end, now_ms).ok();
            may_append &= kept.is_some();
            length = segment.good_end;
            found.torn.push(segment.torn(found.last_seq + 1, kept));
        } else if segment.open_end && may_append {
            let file = storage.open(&segment.name.file_name(), true)?;
            may_append = matches!(file.append(b"\n"), Ok(1));
            length += 1;
        }
        // What an earlier, killed writer had written but not synced becomes durable before anything rests on it.
        may_append &= storage.open(&segment.name.file_name(), true).is_ok_and(|file| file.sync().is_ok());
        may_append &= segment.has_head || (length == 0 && segment.name.first_seq == found.last_seq + 1);
        found.append_to = may_append.then_some((segment.name, length));
        Ok(found)
    }
}

impl Recovered {
    fn note_right(&mut self, bytes: &[u8], shape: &Shape) {
        let id = self.last_id.get_or_insert_default();
        id.clear();
        id.push_str(std::str::from_utf8(&bytes[shape.head.id.clone()]).unwrap_or_default());
        self.newer = None;
    }
}

/// Copies the end of a segment into a file of its own, durably, and only then cuts it off.
pub(crate) fn keep_torn(
    storage: &dyn Storage,
    segment: SegmentName,
    end: Range<u64>,
    now_ms: u64,
) -> io::Result<String> {
    let file = storage.open(&segment.file_name(), true)?;
    let mut tries = 0;
    let (name, kept) = loop {
        let name = segment.torn_name(now_ms, tries);
        match storage.create(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => tries += 1,
            other => break (name, other?),
        }
    };
    copy(&*file, end.clone(), &*kept)?;
    kept.sync()?;
    storage.sync_folder()?;
    file.cut(end.start)?;
    file.sync()?;
    Ok(name)
}
