//! The chain of lines: which line is right, which is damaged, and what the reading can go on from.
//!
//! Each crc continues the crc of the line before, so a right crc proves the line's bytes and its place. Where a line
//! is damaged, the next one is checked against each value its predecessor's crc can have had: the last right one (the
//! damaged line was put in), the one that stands in the damaged line (its text was changed), the one its text gives
//! (its crc was changed). Where the predecessor is gone, a line is held until the next one continues it.

use crate::damage::{Damage, DamageKind};
use crate::line::{self, Head, Shape};

/// Where a line stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub segment: String,
    pub line: u64,
    pub offset: u64,
}

impl Place {
    pub(crate) fn damage(self, seq: u64, found: Option<u64>, kind: DamageKind) -> Damage {
        let Place { segment, line, offset } = self;
        Damage { segment, line, offset, seq, found, kind }
    }
}

/// What became of a line.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// A readable line, by its bytes.
    Line(Vec<u8>, Shape, Place),
    /// A damaged place.
    Damage(Damage),
}

/// What a judged line was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// The next right line.
    Right,
    /// A line that the segment before has too.
    Repeated,
    /// Damaged, or not known before the next line is.
    Doubtful,
}

/// How many crcs of damaged lines are remembered.
const MAX_ANCHORS: usize = 8;

#[derive(Clone, Debug)]
struct Held {
    bytes: Vec<u8>,
    shape: Shape,
    place: Place,
}

/// The state of reading one log from its start.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// A line was right, or what the next one continues was given. Before, each line is tried as the first one of the
    /// session that it names.
    started: bool,
    last_seq: u64,
    /// What the next line continues, where it is known.
    last_crc: Option<u32>,
    /// Damaged lines since the last good one.
    bad: u64,
    /// Crcs, beside the last good one, which the next line may continue.
    anchors: Vec<u32>,
    /// The crc of the damaged line before is known, so the next line has to continue it.
    strict: bool,
    held: Option<Held>,
    /// Reading a segment that repeats lines of the one before (after a failed sync).
    overlap: bool,
    /// The first line is believed: reading began in the middle of a log.
    trust_first: bool,
    /// The highest seq of lines after the last good one that stay in place unverified.
    unverified_seq: u64,
}

impl Chain {
    /// Begins at seq 1. Whoever knows the session judges like those who do not, so that all find the same lines right.
    pub(crate) fn new() -> Chain {
        Chain {
            started: false,
            last_seq: 0,
            last_crc: None,
            bad: 0,
            anchors: Vec::new(),
            strict: false,
            held: None,
            overlap: false,
            trust_first: false,
            unverified_seq: 0,
        }
    }

    /// Begins in the middle, at a line with this seq, whose predecessor is not read.
    pub(crate) fn from_middle(seq: u64) -> Chain {
        Chain { last_seq: seq - 1, trust_first: seq > 1, ..Chain::new() }
    }

    /// Begins behind a line of which the seq and the crc are known.
    pub(crate) fn behind(last_seq: u64, last_crc: u32) -> Chain {
        Chain { started: true, last_seq, last_crc: Some(last_crc), ..Chain::new() }
    }

    /// The seq of the last good line, 0 before the first.
    pub(crate) fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// How many places since the last good line are damaged, or wait to be vouched for.
    pub(crate) fn bad(&self) -> u64 {
        self.bad + u64::from(self.held.is_some())
    }

    /// The crc which a new line has to continue; nothing before the first right line.
    pub(crate) fn last_crc(&self) -> Option<u32> {
        self.last_crc.filter(|_| self.started)
    }

    /// The highest seq that must not be given again: of the last good line, or of a line after it that stays in
    /// place although nothing vouches for it.
    pub(crate) fn highest_seq(&self) -> u64 {
        let held = self.held.as_ref().map_or(0, |held| held.shape.head.seq);
        self.last_seq.max(self.unverified_seq).max(held)
    }

    /// Notes that reading goes on in a segment which was made for this seq. `carried` is the crc that it continues where
    /// the one before was rewritten.
    pub(crate) fn enter_segment(&mut self, first_seq: u64, carried: Option<u32>) {
        self.overlap = first_seq <= self.last_seq && !self.trust_first;
        if self.begins_here(first_seq) {
            // It continues the last right line. Bad ones behind that count for nothing.
            (self.bad, self.strict) = (0, false);
            self.anchors.clear();
        }
        if let Some(crc) = carried {
            self.carry(crc);
        }
    }

    /// True where a segment that was made for this seq continues the last right line, or one before it.
    pub(crate) fn begins_here(&self, first_seq: u64) -> bool {
        first_seq <= self.last_seq + 1
    }

    /// Notes that the segment that ends here was rewritten: the next one continues the crc which its last line had before.
    pub(crate) fn carry(&mut self, crc: u32) {
        if self.bad == 0 && self.held.is_none() {
            (self.started, self.last_crc) = (true, Some(crc));
        } else {
            self.remember(crc);
        }
    }

    /// Takes a line that follows the last good one without any doubt; nothing when it has to be judged.
    pub(crate) fn take_next(&mut self, bytes: &[u8]) -> Option<Shape> {
        if self.bad > 0 || self.held.is_some() || self.overlap {
            return None;
        }
        let shape = Shape::read(bytes)?;
        self.start(bytes, &shape.head);
        let follows = shape.head.version <= line::LINE_VERSION
            && shape.head.seq == self.last_seq + 1
            && (self.trust_first || self.continues_last(bytes, &shape));
        if follows {
            self.commit(&shape);
        }
        follows.then_some(shape)
    }

    /// Takes any line and tells what became of it, and of lines held before.
    pub(crate) fn judge(&mut self, bytes: &[u8], place: Place, verdicts: &mut Vec<Verdict>) -> Judged {
        let Some(shape) = Shape::read(bytes) else {
            self.refuse(place, DamageKind::Malformed, verdicts);
            let text = &bytes[..bytes.len().saturating_sub(line::SUFFIX_BYTES)];
            if let Some(head) = Head::read(text) {
                self.start(bytes, &head);
                self.remember_text(text);
            }
            let crc = line::read_crc(bytes);
            self.strict = crc.is_some();
            if let Some((_, crc)) = crc {
                self.remember(crc);
            }
            return Judged::Doubtful;
        };
        if std::mem::take(&mut self.overlap) {
            if shape.head.seq < self.last_seq {
                self.overlap = true;
                return Judged::Repeated;
            }
            if shape.head.seq == self.last_seq && Some(shape.crc) == self.last_crc {
                return Judged::Right;
            }
        }
        self.start(bytes, &shape.head);
        if let Some(held) = self.held.take_if(|held| {
            shape.head.seq == held.shape.head.seq + 1 && shape.continues(held.shape.crc, bytes)
        }) {
            self.accept(&held.bytes, held.shape, held.place, verdicts);
            self.accept(bytes, shape, place, verdicts);
            return Judged::Right;
        }
        let believed = self.trust_first && self.bad == 0 && shape.head.seq == self.last_seq + 1;
        let verified = believed
            || self.continues_last(bytes, &shape)
            || self.held.as_ref().is_some_and(|held| shape.continues(held.shape.crc, bytes))
            || self.anchors.iter().any(|anchor| shape.continues(*anchor, bytes));
        if shape.head.seq <= self.last_seq {
            self.reject_held(verdicts);
            self.bad += 1;
            self.remember(shape.crc);
            verdicts.push(Verdict::Damage(place.damage(
                self.last_seq + 1,
                Some(shape.head.seq),
                DamageKind::OutOfOrder,
            )));
            return Judged::Doubtful;
        }
        if verified {
            let displaced = self.held.as_ref().map(|held| held.shape.crc);
            self.reject_held(verdicts);
            let carried = std::mem::take(&mut self.anchors);
            let (bad, seq) = (self.bad, shape.head.seq);
            let last_before = self.last_seq;
            self.accept(bytes, shape, place, verdicts);
            // Lines that stood before this one although they come after it: what follows may continue one of them.
            if displaced.is_some() && seq == last_before + 1 {
                self.anchors = carried;
                self.bad = bad;
            }
            return Judged::Right;
        }
        // A line that directly follows the last good one has to continue it; so has one after lines whose crcs are
        // known. Anything else may be right: the next line will tell.
        let known = seq_is_next(&shape, self.last_seq, self.bad) && (self.bad == 0 || self.strict);
        if known || shape.head.seq == self.last_seq + 1 {
            self.reject_held(verdicts);
            let seq = self.last_seq + 1 + self.bad;
            self.bad += 1;
            self.remember_text(&bytes[..shape.body]);
            self.remember(shape.crc);
            self.strict = true;
            verdicts.push(Verdict::Damage(place.damage(seq, Some(shape.head.seq), DamageKind::WrongCrc)));
            return Judged::Doubtful;
        }
        self.reject_held(verdicts);
        self.held = Some(Held { bytes: bytes.to_vec(), shape, place });
        Judged::Doubtful
    }

    /// Notes a place that is no line at all.
    pub(crate) fn refuse(&mut self, place: Place, kind: DamageKind, verdicts: &mut Vec<Verdict>) {
        self.reject_held(verdicts);
        verdicts.push(Verdict::Damage(place.damage(self.last_seq + 1 + self.bad, None, kind)));
        self.bad += 1;
    }

    /// Gives up waiting for a line that vouches for the held one.
    pub(crate) fn reject_held(&mut self, verdicts: &mut Vec<Verdict>) {
        if let Some(held) = self.held.take() {
            let (seq, found) = (self.last_seq + 1 + self.bad, held.shape.head.seq);
            self.bad += 1;
            self.remember(held.shape.crc);
            self.unverified_seq = self.unverified_seq.max(found);
            verdicts.push(Verdict::Damage(held.place.damage(seq, Some(found), DamageKind::Unverified)));
        }
    }

    fn accept(&mut self, bytes: &[u8], shape: Shape, place: Place, verdicts: &mut Vec<Verdict>) {
        let expected = self.last_seq + 1 + self.bad;
        if shape.head.seq > expected {
            let kind = DamageKind::Missing { to: shape.head.seq - 1 };
            verdicts.push(Verdict::Damage(place.clone().damage(expected, Some(shape.head.seq), kind)));
        }
        self.commit(&shape);
        if shape.head.version > line::LINE_VERSION {
            let kind = DamageKind::NewerVersion(shape.head.version);
            return verdicts.push(Verdict::Damage(place.damage(shape.head.seq, Some(shape.head.seq), kind)));
        }
        verdicts.push(Verdict::Line(bytes.to_vec(), shape, place));
    }

    fn commit(&mut self, shape: &Shape) {
        self.started = true;
        self.last_seq = shape.head.seq;
        self.last_crc = Some(shape.crc);
        self.bad = 0;
        self.strict = false;
        self.anchors.clear();
        self.trust_first = false;
        self.unverified_seq = 0;
    }

    fn start(&mut self, bytes: &[u8], head: &Head) {
        if !self.started {
            self.last_crc = head.session_id(bytes).as_deref().map(line::first_crc);
        }
    }

    fn continues_last(&self, bytes: &[u8], shape: &Shape) -> bool {
        self.last_crc.is_some_and(|crc| shape.continues(crc, bytes))
    }

    /// Remembers the crc that a line with this text has after the last right one.
    fn remember_text(&mut self, text: &[u8]) {
        if let Some(crc) = self.last_crc {
            self.remember(crc32c::crc32c_append(crc, text));
        }
    }

    fn remember(&mut self, crc: u32) {
        if self.anchors.len() == MAX_ANCHORS {
            self.anchors.remove(0);
        }
        self.anchors.push(crc);
    }
}

fn seq_is_next(shape: &Shape, last_seq: u64, bad: u64) -> bool {
    shape.head.seq == last_seq + 1 + bad
}
