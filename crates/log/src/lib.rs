//! The append-only store of Herdbook: JSON lines with a chained checksum, in segments, written by one thread.
//!
//! It knows bytes, seq and crc, and no types: a payload is one JSON object as text. What was acknowledged `written`
//! survives a killed process, what was acknowledged `synced` a power cut; each exactly once, in order. Damage is named
//! and never cut; a torn end is cut off and kept beside the log; a full disk is waited out in memory and owned up to.
//!
//! It never reads a wall clock, never touches files outside its folder and its LOCK, never prints, and never changes a
//! line once it is acknowledged.
//!
//! Start reading at [`Store`] (open, append), then `writer` (batches, failures), `chain` (what damage is), `recover`
//! (opening), `opening` (a session's log, by its `index`), and [`Reader`] (reading and following without locks).

mod batch;
mod carry;
mod chain;
mod cold;
mod continued;
mod damage;
mod glance;
mod index;
mod line;
mod lock;
mod memo;
mod moved;
mod opening;
mod packed;
mod queue;
mod reader;
mod recover;
mod refused;
mod repair;
mod rewrite;
mod scrub;
mod seals;
mod segment;
mod sessions;
mod signals;
mod source;
mod storage;
mod store;
mod syncer;
mod waiters;
mod whole;
mod writer;

pub use cold::{ClosedLogError, Compressed, compress, compress_in, take_lock};
pub use continued::{Continued, RepairError, continue_as, link_of};
pub use damage::{Damage, DamageKind, Torn};
pub use glance::{Glance, glance};
pub use line::{Head, LINE_VERSION, MAX_LINE_BYTES, NewRecord, is_name, unsealed};
pub use lock::{Lock, LockOwner};
pub use memo::{forget_memo, keep_memo, memo};
pub use reader::{Line, Reader};
pub use refused::{AppendError, OpenError};
pub use repair::{Mended, Repair, look, repair, repair_in};
pub use rewrite::{Change, ClosedSegment, OldLine, Rewritten, rewrite, rewrite_closed, rewrite_in};
pub use scrub::{Scrubbed, has_bytes, is_scrubbed, scrub};
pub use seals::Seals;
pub use sessions::{Expected, Misplaced, Placed, SessionLog, Sessions};
pub use signals::ignore_sigxfsz;
pub use storage::{Folder, LogFile, Storage};
pub use store::{Ack, Durability, GapRecord, Health, Lost, OnDamage, Opened, Options, Store};
