//! What is wrong with a log, in words a person can act on.

use std::fmt;

/// One damaged place of a log. It is named and left as it is; the lines around it stay readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The segment file's name, such as `0000000001.jsonl`.
    pub segment: String,
    /// The line in that file, from 1.
    pub line: u64,
    /// Where that line starts in the file, in bytes.
    pub offset: u64,
    /// The seq that was expected at this place.
    pub seq: u64,
    /// The seq that the line itself gives, where it could be read.
    pub found: Option<u64>,
    /// What is wrong.
    pub kind: DamageKind,
}

/// What is wrong with a damaged line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The bytes are not a line of a log: garbage, half a line, two lines in one, an empty line, zero bytes.
    Malformed,
    /// The line has the shape of one, but its bytes or those of its crc were changed, or it is from another log.
    WrongCrc,
    /// The lines from the expected seq to this one (inclusive) are not there; the line that was found is.
    Missing {
        /// The last seq that is missing.
        to: u64,
    },
    /// The log ends before this place, and its index says that the lines up to this seq (inclusive) were synced.
    Lost {
        /// The last seq that is lost.
        to: u64,
    },
    /// The line's seq was already read before: a repeated line, or one moved down.
    OutOfOrder,
    /// The line before this one is missing or damaged and the line after it does not continue this one either,
    /// so nothing vouches for it.
    Unverified,
    /// The line is longer than [`MAX_LINE_BYTES`](crate::MAX_LINE_BYTES); it was passed over unread.
    TooLong,
    /// The line was written by a newer version of the format.
    NewerVersion(u64),
    /// The operating system refused to read the file, for this reason.
    Unreadable(String),
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { segment, line, seq, .. } = self;
        write!(formatter, "{segment} line {line} (seq {seq}): ")?;
        match &self.kind {
            DamageKind::Malformed => formatter.write_str("not a line of a log"),
            DamageKind::WrongCrc => formatter.write_str("the checksum does not fit"),
            DamageKind::Missing { to } if to == seq => formatter.write_str("this record is missing"),
            DamageKind::Missing { to } => write!(formatter, "the records up to seq {to} are missing"),
            DamageKind::Lost { to } if to == seq => formatter.write_str("this record was kept and is lost"),
            DamageKind::Lost { to } => write!(formatter, "the records up to seq {to} were kept and are lost"),
            DamageKind::OutOfOrder => match self.found {
                Some(found) => write!(formatter, "a second line with seq {found}"),
                None => formatter.write_str("a repeated line"),
            },
            DamageKind::Unverified => {
                formatter.write_str("its neighbours are missing, so it cannot be checked")
            }
            DamageKind::TooLong => formatter.write_str("longer than a line may be"),
            DamageKind::NewerVersion(version) => {
                write!(formatter, "written in format {version}, newer than this build")
            }
            DamageKind::Unreadable(reason) => write!(formatter, "could not be read: {reason}"),
        }
    }
}

/// A torn end of a log: bytes after the last whole line, cut off when the store was opened and kept beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The segment file's name.
    pub segment: String,
    /// Where the cut was made, in bytes: the length of the segment now.
    pub offset: u64,
    /// How many bytes were cut.
    pub bytes: u64,
    /// The seq of the first record that may have been among them.
    pub seq: u64,
    /// The file that keeps the bytes, such as `0000000001.torn-1767225603000`. Nothing when they could not be kept
    /// (a full disk): then nothing was cut and the log goes on in a new segment.
    pub kept: Option<String>,
}

impl fmt::Display for Torn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Torn { segment, offset, bytes, seq, .. } = self;
        match &self.kept {
            Some(kept) => {
                write!(formatter, "{segment} ended in {bytes} torn bytes (from seq {seq}), moved to {kept}")
            }
            None => write!(
                formatter,
                "{segment} ends in {bytes} torn bytes at {offset} (from seq {seq}), left there"
            ),
        }
    }
}
