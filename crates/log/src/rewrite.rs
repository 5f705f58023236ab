//! Closed segments written anew with other payloads: what a scrub and the ageing of the journal rest on.
//!
//! Lines keep their version, id, session, seq, ts and type; a touched segment gets a new chain of crcs, begun with the crc that
//! its first line continued. What the next segment continues is kept beside it (`carry`), so nothing else is rewritten. The
//! new file takes the old one's place at once; a crash leaves the one or the other, and both can be read.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::carry;
use crate::chain::{Chain, Place, Verdict};
use crate::cold::{ClosedLogError, OpenedSegment, Packer, folder_of, open_segment, take_lock};
use crate::damage::{Damage, DamageKind};
use crate::line::{Head, Shape, end_line};
use crate::packed::Packed;
use crate::segment::{SegmentName, segments_of};
use crate::source::{LineSource, Next};
use crate::storage::{LogFile, Storage, remove_if_there};
use crate::whole::Whole;

/// One line that may be changed.
#[derive(Clone, Copy, Debug)]
pub struct OldLine<'a> {
    /// Its seq.
    pub seq: u64,
    /// Unix milliseconds at which it happened.
    pub ts_ms: u64,
    /// Its type.
    pub kind: &'a str,
    /// What follows `"payload":`, up to the crc.
    pub payload: &'a str,
}

/// Says what a line's payload is to be; nothing where it stays.
pub type Change<'a> = dyn FnMut(&OldLine<'_>) -> Option<String> + 'a;

/// A segment that may be rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedSegment {
    /// Its file name, without `.zst`.
    pub name: String,
    /// The seq that it was made for.
    pub first_seq: u64,
    /// The seq of its last line.
    pub last_seq: u64,
    /// When the newest of its lines happened, in Unix milliseconds: a clock that was set back does not make them old.
    pub newest_ts_ms: u64,
}

/// What was rewritten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The segments that have new lines, by their file names without `.zst`.
    pub segments: Vec<String>,
    /// How many lines were changed.
    pub lines: u64,
}

/// Changes lines of a log that nobody writes to, whose LOCK it holds meanwhile.
///
/// # Errors
/// Somebody writes to it, it is damaged, or the system refuses: segments that were not rewritten yet are as before.
pub fn rewrite(folder: &Path, now_ms: u64, change: &mut Change<'_>) -> Result<Rewritten, ClosedLogError> {
    let _lock = take_lock(folder, now_ms)?;
    rewrite_in(&folder_of(folder), change).map_err(|error| error.in_folder(folder))
}

/// The same, on any storage, without a lock.
///
/// # Errors
/// As [`rewrite`].
pub fn rewrite_in(storage: &Arc<dyn Storage>, change: &mut Change<'_>) -> Result<Rewritten, ClosedLogError> {
    rewrite_noted(storage, change, &mut || Ok(()))
}

/// The same, with a word that is said before the first segment is replaced.
pub(crate) fn rewrite_noted(
    storage: &Arc<dyn Storage>,
    change: &mut Change<'_>,
    note: &mut dyn FnMut() -> io::Result<()>,
) -> Result<Rewritten, ClosedLogError> {
    let plans = plan(&**storage, false)?;
    if let Some(damage) = plans.iter().find_map(|plan| plan.damage.clone()) {
        return Err(ClosedLogError::Damaged(damage));
    }
    if let Some(torn) = plans.iter().find(|plan| plan.is_torn) {
        return Err(ClosedLogError::Torn { last_seq: torn.seen.last_seq });
    }
    let mut done = Rewritten::default();
    for plan in &plans {
        plan.carry_out(&**storage, change, note, &mut done)?;
    }
    Ok(done)
}

/// Changes lines of closed segments of a log that is written to: of those that `wanted` asks for, never of the last one.
/// Damaged segments are left as they are.
///
/// # Errors
/// The system refuses: segments that were not rewritten yet are as before.
pub fn rewrite_closed(
    folder: &Path,
    wanted: &mut dyn FnMut(&ClosedSegment) -> bool,
    change: &mut Change<'_>,
) -> Result<Rewritten, ClosedLogError> {
    let storage = folder_of(folder);
    let in_folder = |error: ClosedLogError| error.in_folder(folder);
    let mut done = Rewritten::default();
    for plan in plan(&*storage, true).map_err(in_folder)? {
        let is_sound = plan.damage.is_none() && !plan.is_torn && !plan.repeats;
        if is_sound && wanted(&plan.seen) {
            plan.carry_out(&*storage, change, &mut || Ok(()), &mut done).map_err(in_folder)?;
        }
    }
    Ok(done)
}

/// What is known of a segment before anything is changed.
struct Plan {
    segment: SegmentName,
    seen: ClosedSegment,
    /// The crc that its first line continues, and that of its last line.
    first_crc: u32,
    last_crc: u32,
    /// No segment with lines follows.
    is_last: bool,
    damage: Option<Damage>,
    /// It ends in half a line.
    is_torn: bool,
    /// It begins with lines of the segment before.
    repeats: bool,
}

/// Reads a log, and says of each segment with lines what it needs to be rewritten.
fn plan(storage: &dyn Storage, without_last: bool) -> Result<Vec<Plan>, ClosedLogError> {
    let mut chain = Chain::new();
    let mut plans: Vec<Plan> = Vec::new();
    let mut filled = Vec::new();
    for segment in segments_of(&storage.list()?) {
        if open_segment(storage, segment)?.file.length()? > 0 {
            filled.push(segment);
        }
    }
    // An empty segment behind the last one with lines says nothing: the writer may go on in either.
    if without_last {
        filled.pop();
    }
    for segment in filled {
        let file = open_segment(storage, segment)?.file;
        let carried = plans.last().and_then(|before| carry::read(storage, before.segment));
        plans.push(look(segment, file, &mut chain, carried));
    }
    if !without_last && let Some(plan) = plans.last_mut() {
        plan.is_last = true;
    }
    Ok(plans)
}

fn look(segment: SegmentName, file: Box<dyn LogFile>, chain: &mut Chain, carried: Option<u32>) -> Plan {
    let name = segment.file_name();
    let repeats = segment.first_seq <= chain.last_seq();
    chain.enter_segment(segment.first_seq, carried);
    let mut plan = Plan {
        segment,
        seen: ClosedSegment {
            name: name.clone(),
            first_seq: segment.first_seq,
            last_seq: chain.last_seq(),
            newest_ts_ms: 0,
        },
        first_crc: chain.last_crc().unwrap_or(0),
        last_crc: chain.last_crc().unwrap_or(0),
        is_last: false,
        damage: None,
        is_torn: false,
        repeats,
    };
    let mut source = LineSource::new(file);
    let mut verdicts = Vec::new();
    let mut is_first = true;
    loop {
        let next = source.next();
        let (line, offset) = source.handed();
        let place = Place { segment: name.clone(), line, offset };
        match next {
            Ok(Next::Line(range)) => {
                let bytes = source.bytes(range);
                if is_first && chain.last_seq() == 0 && chain.bad() == 0 {
                    plan.first_crc = Shape::read(bytes).map_or(0, |shape| shape.first_crc(bytes));
                }
                is_first = false;
                match chain.take_next(bytes) {
                    Some(shape) => {
                        plan.seen.last_seq = shape.head.seq;
                        plan.seen.newest_ts_ms = plan.seen.newest_ts_ms.max(shape.head.ts_ms);
                    }
                    None => {
                        if let Some(shape) = Shape::read(bytes) {
                            plan.seen.newest_ts_ms = plan.seen.newest_ts_ms.max(shape.head.ts_ms);
                        }
                        chain.judge(bytes, place, &mut verdicts);
                    }
                }
            }
            Ok(Next::TooLong) => chain.refuse(place, DamageKind::TooLong, &mut verdicts),
            Ok(Next::End(range)) => {
                plan.is_torn = !range.is_empty();
                break;
            }
            Err(error) => {
                chain.refuse(place, DamageKind::Unreadable(error.to_string()), &mut verdicts);
                if !source.skip_fault() {
                    break;
                }
            }
        }
    }
    plan.last_crc = chain.last_crc().unwrap_or(0);
    plan.damage = verdicts.into_iter().find_map(|verdict| match verdict {
        Verdict::Damage(damage) => Some(damage),
        Verdict::Line(..) => None,
    });
    // A line that waits for the next one to vouch for it is none that can be rewritten.
    if chain.bad() > 0 && plan.damage.is_none() {
        let place = Damage {
            segment: name,
            line: 1,
            offset: 0,
            seq: chain.last_seq() + 1,
            found: None,
            kind: DamageKind::Unverified,
        };
        plan.damage = Some(place);
    }
    plan
}

impl Plan {
    fn carry_out(
        &self,
        storage: &dyn Storage,
        change: &mut Change<'_>,
        note: &mut dyn FnMut() -> io::Result<()>,
        done: &mut Rewritten,
    ) -> Result<(), ClosedLogError> {
        let OpenedSegment { file, is_cold } = open_segment(storage, self.segment)?;
        let mut source = LineSource::new(file);
        let mut is_touched = false;
        while !is_touched && let Some(line) = next_line(&mut source)? {
            is_touched = changed(line, change)?.is_some();
        }
        if !is_touched {
            return Ok(());
        }
        if self.repeats {
            return Err(ClosedLogError::Repeats { name: self.seen.name.clone() });
        }
        let name = if is_cold { self.segment.cold_name() } else { self.segment.file_name() };
        let mut whole = Whole::begin(storage, &name)?;
        let mut packer = if is_cold { Some(Packer::new()?) } else { None };
        let mut source = LineSource::new(open_segment(storage, self.segment)?.file);
        let mut crc = self.first_crc;
        let mut lines = 0;
        let mut sealed = Vec::new();
        while let Some(line) = next_line(&mut source)? {
            let new = changed(line, change)?;
            lines += u64::from(new.is_some());
            sealed.clear();
            crc = seal(&mut sealed, line, new.as_deref(), crc)?;
            match &mut packer {
                Some(packer) => packer.push(&sealed, &mut whole)?,
                None => whole.push(&sealed)?,
            }
        }
        if let Some(packer) = packer {
            packer.finish(&mut whole)?;
        }
        whole.is_as_old_as(&*open_segment(storage, self.segment)?.file)?;
        let temp = whole.sync()?.to_owned();
        if !self.reads_back(storage, &temp, is_cold, crc)? {
            return Err(ClosedLogError::NotEqual { name });
        }
        if done.segments.is_empty() {
            note()?;
        }
        if !self.is_last {
            carry::keep(storage, self.segment, self.last_crc)?;
        }
        // The packed copy beside a plain file holds the old lines.
        if !is_cold {
            remove_if_there(storage, &self.segment.cold_name())?;
        }
        // Its offsets and crcs are those of the old lines.
        remove_if_there(storage, &self.segment.index_name())?;
        // A power cut that kept the new lines and brought these files back would bring back what was taken out.
        storage.sync_folder()?;
        whole.place(&name)?;
        done.segments.push(self.seen.name.clone());
        done.lines += lines;
        Ok(())
    }

    /// True when the new file is a chain from the first crc to the last one.
    fn reads_back(&self, storage: &dyn Storage, temp: &str, is_cold: bool, last: u32) -> io::Result<bool> {
        let file = storage.open(temp, false)?;
        let file = if is_cold { Box::new(Packed::new(temp, file)) } else { file };
        let mut source = LineSource::new(file);
        let (mut crc, mut seq) = (self.first_crc, 0);
        while let Some(line) = next_line(&mut source)? {
            match Shape::read(line).filter(|shape| shape.continues(crc, line)) {
                Some(shape) => (crc, seq) = (shape.crc, shape.head.seq),
                None => return Ok(false),
            }
        }
        Ok(crc == last && seq == self.seen.last_seq)
    }
}

fn next_line(source: &mut LineSource) -> io::Result<Option<&[u8]>> {
    match source.next()? {
        Next::Line(range) => Ok(Some(source.bytes(range))),
        Next::End(range) if range.is_empty() => Ok(None),
        Next::End(_) | Next::TooLong => Err(io::Error::other("the segment changed while it was read")),
    }
}

fn changed(line: &[u8], change: &mut Change<'_>) -> io::Result<Option<String>> {
    let no_line = || io::Error::other("a line is not as it was when the log was checked");
    let shape = Shape::read(line).ok_or_else(no_line)?;
    let text = std::str::from_utf8(line).map_err(io::Error::other)?;
    let payload = &text[shape.payload()];
    let Head { seq, ts_ms, kind, .. } = shape.head;
    let old = OldLine { seq, ts_ms, kind: &text[kind], payload };
    Ok(change(&old))
}

/// Appends a line with its payload, or with another one, and returns its crc.
fn seal(to: &mut Vec<u8>, line: &[u8], payload: Option<&str>, crc: u32) -> io::Result<u32> {
    let shape = Shape::read(line).ok_or_else(|| io::Error::other("not a line of a log"))?;
    let payload = payload.map_or(&line[shape.payload()], str::as_bytes);
    if !(payload.starts_with(b"{") && payload.ends_with(b"}"))
        || memchr::memchr2(b'\n', b'\r', payload).is_some()
    {
        return Err(io::Error::other(format!(
            "seq {}: the new payload is no object in one line",
            shape.head.seq
        )));
    }
    let start = to.len();
    to.extend_from_slice(&line[..shape.head.payload]);
    to.extend_from_slice(payload);
    Ok(end_line(to, start, crc))
}
