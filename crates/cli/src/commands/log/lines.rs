//! The lines of a log, whether it is a file or a session's folder of segments, and what is wrong with its checksums.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use herdbook_log::{Damage, DamageKind, Head, Line, Reader, Seals};

use super::file::{FileLine, LogFile};
use crate::error::Problem;

/// Reads a log line by line, in memory that grows to its longest line.
pub enum Lines {
    /// A file, whatever stands in it.
    File(LogFile),
    /// A log of ours. Lines that are damaged are not handed out: the [`Seal`] has them.
    Log(Box<LogLines>),
}

/// Lines of a log of ours.
pub struct LogLines {
    reader: Reader,
    line: Option<Line>,
    damage: Rc<RefCell<Vec<Damage>>>,
    /// The last seq that was synced when the reading began; 0 once it was looked for.
    promised: u64,
}

impl Lines {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn of_file(path: &Path) -> Result<(Lines, Seal), Problem> {
        Ok((Lines::File(LogFile::open(path)?), Seal::of_file(&path.to_string_lossy())))
    }

    /// Reads on from where a reader is.
    pub fn of_log(reader: Reader) -> (Lines, Seal) {
        let damage = Rc::new(RefCell::new(Vec::new()));
        let promised = reader.promised();
        let lines = LogLines { reader, line: None, damage: Rc::clone(&damage), promised };
        (Lines::Log(Box::new(lines)), Seal::Log { damage, is_sealed: false })
    }

    /// Returns the next line, nothing at the end of the log. Of a log of ours its number is its seq; after the end,
    /// calling again reads what was appended since.
    ///
    /// # Errors
    /// The file cannot be read, or the line is longer than a line may be.
    pub fn next(&mut self) -> Result<Option<FileLine<'_>>, Problem> {
        match self {
            Lines::File(file) => file.next(),
            Lines::Log(log) => Ok(log.next()),
        }
    }
}

impl LogLines {
    fn next(&mut self) -> Option<FileLine<'_>> {
        loop {
            let Some(next) = self.reader.next() else {
                let lost = self.reader.lost(std::mem::take(&mut self.promised));
                self.damage.borrow_mut().extend(lost);
                return None;
            };
            match next {
                Ok(line) => {
                    let line = self.line.insert(line);
                    let bytes = line.raw.as_bytes();
                    return Some(FileLine { number: line.seq, bytes, is_ended: true });
                }
                Err(damage) => self.damage.borrow_mut().push(damage),
            }
        }
    }
}

/// What is wrong with the checksums of a log, in step with its [`Lines`].
pub enum Seal {
    /// Of a file: it is checked line by line as they are pushed.
    File(Box<Seals>),
    /// Of a log of ours: its reader has checked it.
    Log {
        /// What was found and not yet told.
        damage: Rc<RefCell<Vec<Damage>>>,
        /// A line was read.
        is_sealed: bool,
    },
}

impl Seal {
    /// Starts before the first line of a file; damage is told under this name.
    pub fn of_file(name: &str) -> Seal {
        Seal::File(Box::new(Seals::new(name)))
    }

    /// True for a log with checksums, once a line was seen.
    pub fn is_sealed(&self) -> bool {
        match self {
            Seal::File(seals) => seals.is_sealed(),
            Seal::Log { is_sealed, .. } => *is_sealed,
        }
    }

    /// Returns the test for damage that whoever looks at the envelopes of the lines does not see by himself.
    pub fn is_news(&self) -> fn(&Damage) -> bool {
        use DamageKind::{Missing, NewerVersion, OutOfOrder};
        match self {
            Seal::File(_) => |damage| !matches!(damage.kind, Missing { .. } | OutOfOrder | NewerVersion(_)),
            // The reader keeps the other two back.
            Seal::Log { .. } => |damage| !matches!(damage.kind, Missing { .. }),
        }
    }

    /// Takes the line that was read last, and returns the damage found up to it.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Damage> {
        match self {
            Seal::File(seals) => seals.push(bytes),
            Seal::Log { damage, is_sealed } => {
                *is_sealed = true;
                std::mem::take(&mut *damage.borrow_mut())
            }
        }
    }

    /// Takes the head of the line that was pushed last, where that was read on the way.
    pub fn take_head(&mut self) -> Option<Head> {
        match self {
            Seal::File(seals) => seals.take_head(),
            Seal::Log { .. } => None,
        }
    }

    /// Returns the damage that a reader of ours has found since it was last asked; nothing for a file.
    pub fn told(&self) -> Vec<Damage> {
        match self {
            Seal::File(_) => Vec::new(),
            Seal::Log { damage, .. } => std::mem::take(&mut *damage.borrow_mut()),
        }
    }

    /// Ends the log, and returns the damage found at its end.
    pub fn finish(self) -> Vec<Damage> {
        match self {
            Seal::File(seals) => seals.finish(),
            Seal::Log { damage, .. } => std::mem::take(&mut *damage.borrow_mut()),
        }
    }
}
