//! The spool: hook calls no daemon answered to, one file each, until the daemon takes them (overview D4).
//!
//! ```text
//! <state>/spool/BOOT-STAMP-START-DELIVERY   one frame, exactly as on the socket; written under `tmp-…`, then renamed
//! <state>/spool/tally                       bytes in the spool as far as the writers know; corrected by `entries`
//! <state>/spool/lost, told                  their lengths are the numbers of events lost, and of those owned up to
//! <state>/spool/bad/                        files that are no frames; moved here, never deleted
//! ```
//! Names are fixed-width hexadecimal: first 8 digits of the boot id, stamp in milliseconds since boot, start in Unix
//! milliseconds, delivery id. So names of one boot sort by stamp.
//!
//! Nothing is synced here: an agent waits for the hook. A file that was renamed survives the death of every process;
//! a power cut may take the last seconds, or leave an empty file, which then goes to `bad/`.

mod entry;
mod lost;
mod store;
mod tally;

pub use entry::{Entry, ReadError, any_entry, count, entries, read, recover_temps, remove};
pub use lost::{Lost, lost, own_up};
pub use store::{Writer, write};

#[cfg(test)]
mod tests;
