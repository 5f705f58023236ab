//! The logs of sessions to which producers append: opened when somebody does, closed when nobody did for a while.
//!
//! One append at a time goes through a session: read, checked against everything before it, placed, handed to the log's
//! writer. The answer of the disk is waited for outside, so the next append need not wait for it. What blocks is done on
//! threads that may. A panic costs one request: its session is read again for the next one.
//!
//! Start with `logs.rs`, then `live.rs`.

mod asked;
mod entry;
mod known;
mod live;
mod logs;
mod pages;
mod refused;
mod room;
mod shown;
mod told;

pub(crate) use entry::Entry;
pub(crate) use logs::{AT_ONCE, Alone, SessionLogs};
pub(crate) use pages::{Item, Pages};
pub(crate) use refused::Refused;
pub(crate) use shown::Shown;
