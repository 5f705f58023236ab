//! Damaged logs: lines taken back from a compressed copy.
//!
//! A damaged segment is never changed where it lies. Where its compressed copy lies beside it, a new file is put together out
//! of both: each line has the seq that comes next, and a crc that continues the line before. It takes the damaged one's
//! place only when all that was there before is in it, and the damaged bytes stay beside it.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::carry;
use crate::cold::{ClosedLogError, folder_of, take_lock};
use crate::damage::{Damage, DamageKind};
use crate::line::{self, Shape};
use crate::packed::Packed;
use crate::reader::Reader;
use crate::segment::{SegmentName, segments_of};
use crate::source::{LineSource, Next};
use crate::storage::{LogFile, Storage, read_full, remove_if_there};
use crate::whole::Whole;

/// What a look at a log found, and what a repair did or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The damaged places.
    pub damage: Vec<Damage>,
    /// All lines up to this seq can be read.
    pub readable_to: u64,
    /// The segments that can be, or were, put together again.
    pub mended: Vec<Mended>,
    /// What is still damaged after a repair. A look does not know.
    pub left: Vec<Damage>,
}

/// A segment that was put together out of itself and its compressed copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The segment's file.
    pub segment: String,
    /// How many lines come from the copy.
    pub lines: u64,
    /// The file that keeps the damaged bytes. A look does not make it.
    pub kept: Option<String>,
}

/// Says what is damaged and what a repair would do. Nothing is changed or locked.
///
/// # Errors
/// The folder cannot be read.
pub fn look(folder: &Path) -> Result<Repair, ClosedLogError> {
    Mender { storage: folder_of(folder), now_ms: None }.run().map_err(|error| error.in_folder(folder))
}

/// Puts damaged segments together again out of their compressed copies. The log's LOCK is held meanwhile.
///
/// # Errors
/// Somebody writes to the log, or the system refuses. No line that could be read is lost then.
pub fn repair(folder: &Path, now_ms: u64) -> Result<Repair, ClosedLogError> {
    let _lock = take_lock(folder, now_ms)?;
    repair_in(&folder_of(folder), now_ms).map_err(|error| error.in_folder(folder))
}

/// The same, on any storage, without a lock.
///
/// # Errors
/// As [`repair`].
pub fn repair_in(storage: &Arc<dyn Storage>, now_ms: u64) -> Result<Repair, ClosedLogError> {
    Mender { storage: Arc::clone(storage), now_ms: Some(now_ms) }.run()
}

struct Mender {
    storage: Arc<dyn Storage>,
    /// Names the kept files; nothing where it only looks.
    now_ms: Option<u64>,
}

/// Where a line of some seq stands: in the copy or not, at which offset, and how long it is.
#[derive(Clone, Copy)]
struct Candidate {
    of_copy: bool,
    offset: u64,
    length: usize,
}

/// How far the chain goes through a segment.
struct Merged {
    /// The lines, where the segment is to be mended.
    lines: Option<Vec<Candidate>>,
    /// The seq that comes next, and the crc that it continues.
    next: (u64, u32),
}

impl Mender {
    fn run(&self) -> Result<Repair, ClosedLogError> {
        let (damage, last_seq) = self.read();
        let mut done = Repair { readable_to: last_seq, damage, ..Repair::default() };
        let Some(first) = done.damage.first() else { return Ok(done) };
        done.readable_to = first.seq.saturating_sub(1);
        let names = self.storage.list()?;
        let segments = segments_of(&names);
        let Some(session) = self.session(&segments)? else { return Ok(done) };
        // What the next segment's first line has the seq and continues the crc of; nothing behind one that stays damaged.
        let mut next = Some((1, line::first_crc(&session)));
        for (place, segment) in segments.iter().enumerate() {
            let Some((seq, crc)) = next.filter(|(seq, _)| *seq == segment.first_seq) else { break };
            let ends = segments.get(place + 1).map(|after| after.first_seq);
            let name = segment.file_name();
            let of_this = done.damage.iter().filter(|damage| damage.segment == name);
            // A repeated line asks for no line that is not there.
            let asked = of_this.clone().filter(|damage| damage.kind != DamageKind::OutOfOrder);
            let least = asked.map(last_asked).max().unwrap_or(0);
            let is_damaged = of_this.count() > 0;
            let has_copy = names.contains(&segment.cold_name()) && names.contains(&name);
            let Merged { lines, next: (after_seq, last_crc) } =
                self.merge(*segment, (seq, crc), is_damaged && has_copy)?;
            let wanted = ends.unwrap_or(least.max(last_seq) + 1);
            // The copy of the last segment may have more than is left of it.
            let is_all = if ends.is_some() { after_seq == wanted } else { after_seq >= wanted };
            next = is_all.then(|| (after_seq, carry::read(&*self.storage, *segment).unwrap_or(last_crc)));
            if let Some(lines) = lines.filter(|_| next.is_some()) {
                let kept = match self.now_ms {
                    Some(now_ms) => Some(self.put(*segment, &lines, now_ms)?),
                    None => None,
                };
                let from_copy = lines.iter().filter(|line| line.of_copy).count() as u64;
                done.mended.push(Mended { segment: name, lines: from_copy, kept });
            }
        }
        if self.now_ms.is_some() {
            done.left = self.read().0;
        }
        Ok(done)
    }

    /// The damage, and the last seq that can be read.
    fn read(&self) -> (Vec<Damage>, u64) {
        let mut reader = Reader::with_storage(Arc::clone(&self.storage));
        let promised = reader.promised();
        let mut damage: Vec<Damage> = reader.by_ref().filter_map(Result::err).collect();
        damage.extend(reader.lost(promised));
        (damage, reader.last_seq())
    }

    /// The session of the first readable line, to begin the chain with.
    fn session(&self, segments: &[SegmentName]) -> io::Result<Option<String>> {
        for segment in segments {
            for of_copy in [false, true] {
                let Some(mut source) = self.open(*segment, of_copy)? else { continue };
                while let Some((_, line)) = next_line(&mut source)? {
                    if let Some(shape) = Shape::read(&line) {
                        return Ok(shape.head.session_id(&line));
                    }
                }
            }
        }
        Ok(None)
    }

    fn open(&self, segment: SegmentName, of_copy: bool) -> io::Result<Option<LineSource>> {
        Ok(self.file(segment, of_copy)?.map(LineSource::new))
    }

    fn file(&self, segment: SegmentName, of_copy: bool) -> io::Result<Option<Box<dyn LogFile>>> {
        let name = if of_copy { segment.cold_name() } else { segment.file_name() };
        match self.storage.open(&name, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file if of_copy => Ok(Some(Box::new(Packed::new(&name, file?)))),
            file => Ok(Some(file?)),
        }
    }

    /// Follows the chain through a segment, from the line with this seq that continues this crc, as far as it goes: the
    /// lines where it is to be mended, and the seq and crc that come next.
    fn merge(
        &self,
        segment: SegmentName,
        (mut seq, mut crc): (u64, u32),
        is_mended: bool,
    ) -> io::Result<Merged> {
        let mut candidates: HashMap<u64, Vec<Candidate>> = HashMap::new();
        let mut files = Vec::new();
        for of_copy in [false, true] {
            let file = self.file(segment, of_copy)?;
            files.push(self.file(segment, of_copy)?);
            // Without a need for the copy it is read where the plain file is not there.
            let Some(file) = file.filter(|_| !of_copy || is_mended || files[0].is_none()) else { continue };
            let mut source = LineSource::new(file);
            while let Some((offset, line)) = next_line(&mut source)? {
                if let Some(shape) = Shape::read(&line) {
                    let candidate = Candidate { of_copy, offset, length: line.len() };
                    candidates.entry(shape.head.seq).or_default().push(candidate);
                }
            }
        }
        let mut lines = Vec::new();
        while let Some(of_seq) = candidates.get(&seq) {
            let mut found = None;
            for candidate in of_seq {
                let Some(file) = &files[usize::from(candidate.of_copy)] else { continue };
                let line = bytes_of(&**file, *candidate)?;
                if let Some(shape) = Shape::read(&line).filter(|shape| shape.continues(crc, &line)) {
                    found = Some((*candidate, shape.crc));
                    break;
                }
            }
            let Some((candidate, next_crc)) = found else { break };
            lines.push(candidate);
            (seq, crc) = (seq + 1, next_crc);
        }
        Ok(Merged { lines: is_mended.then_some(lines), next: (seq, crc) })
    }

    /// Puts the lines in the damaged segment's place, and keeps its bytes. Returns where they are kept.
    fn put(&self, segment: SegmentName, lines: &[Candidate], now_ms: u64) -> io::Result<String> {
        let storage = &*self.storage;
        let name = segment.file_name();
        let files = [self.file(segment, false)?, self.file(segment, true)?];
        let mut whole = Whole::begin(storage, &name)?;
        for line in lines {
            if let Some(file) = &files[usize::from(line.of_copy)] {
                whole.push(&bytes_of(&**file, *line)?)?;
                whole.push(b"\n")?;
            }
        }
        if let [Some(damaged), _] = &files {
            whole.is_as_old_as(&**damaged)?;
        }
        whole.sync()?;
        let names = storage.list()?;
        let kept = (0..).map(|tries| segment.damaged_name(now_ms, tries)).find(|kept| !names.contains(kept));
        let kept = kept.unwrap_or_default();
        let mut copy = Whole::begin(storage, &kept)?;
        let mut buffer = vec![0; 256 << 10];
        let mut offset = 0;
        if let [Some(damaged), _] = &files {
            loop {
                match damaged.read_at(&mut buffer, offset)? {
                    0 => break,
                    count => copy.push(&buffer[..count])?,
                }
                offset = copy.length();
            }
        }
        copy.place(&kept)?;
        remove_if_there(storage, &segment.index_name())?;
        whole.place(&name)?;
        Ok(kept)
    }
}

/// The last seq that a damaged place misses.
fn last_asked(damage: &Damage) -> u64 {
    match damage.kind {
        DamageKind::Missing { to } | DamageKind::Lost { to } => to,
        _ => damage.seq,
    }
}

/// The next line, with its offset, passing over what cannot be read.
fn next_line(source: &mut LineSource) -> io::Result<Option<(u64, Vec<u8>)>> {
    loop {
        match source.next() {
            Ok(Next::Line(range)) => return Ok(Some((source.handed().1, source.bytes(range).to_vec()))),
            // A whole line may lack its line feed.
            Ok(Next::End(range)) if !range.is_empty() => {
                let line = source.bytes(range).to_vec();
                let offset = source.handed().1;
                return Ok(Shape::read(&line).map(|_| (offset, line)));
            }
            Ok(Next::End(_)) => return Ok(None),
            Ok(Next::TooLong) => {}
            Err(error) => {
                if !source.skip_fault() {
                    return Err(error);
                }
            }
        }
    }
}

fn bytes_of(file: &dyn LogFile, line: Candidate) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; line.length];
    let filled = read_full(file, &mut bytes, line.offset)?;
    bytes.truncate(filled);
    Ok(bytes)
}
