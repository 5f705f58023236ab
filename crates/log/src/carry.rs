//! `<segment>.carry`: what the segment after a rewritten one continues.
//!
//! A rewritten segment has other lines and so another last crc, while the next segment's first line continues the one that
//! stood there before. That one lies in a file beside the segment, as 8 hex digits and a line feed, so that only the touched
//! segment is rewritten. The file is made before the segment is replaced: as long as the old segment is there it says
//! nothing new, so a crash in between changes nothing.

use std::io;

use crate::segment::SegmentName;
use crate::storage::{Storage, read_full};
use crate::whole;

/// Reads which crc the segment after this one continues; nothing where this one was never rewritten. A file that says
/// something else counts as none: the next segment then is damage, which is named.
pub(crate) fn read(storage: &dyn Storage, segment: SegmentName) -> Option<u32> {
    let file = storage.open(&segment.carry_name(), false).ok()?;
    let mut bytes = [0; 16];
    let filled = read_full(&*file, &mut bytes, 0).ok()?;
    let digits = bytes[..filled].strip_suffix(b"\n")?;
    let is_crc = digits.len() == 8 && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    u32::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| is_crc)?, 16).ok()
}

/// Writes it, durably, unless it is there: what the next segment continues never changes.
///
/// # Errors
/// Whatever the system says.
pub(crate) fn keep(storage: &dyn Storage, segment: SegmentName, crc: u32) -> io::Result<()> {
    if read(storage, segment).is_some() {
        return Ok(());
    }
    whole::replace(storage, &segment.carry_name(), format!("{crc:08x}\n").as_bytes())
}
