//! What passes between a hook and the daemon: the frame, the spool, the places where both lie, and the hook itself.
//!
//! A hook call becomes one [`Delivery`]. It goes over a unix socket as one [`frame`], or, when nobody answers in time,
//! into the [`spool`] as the same bytes with the same delivery id.
//!
//! It never looks into a payload, knows no host, starts no daemon and no thread, and depends on `std` and `rustix`
//! alone: `herdbook-hook` links nothing else, and an agent waits for it on every tool call.
//!
//! Start with [`delivery`], then [`hook`] for the client's side, [`frame`] and [`spool`] for the daemon's.

pub mod client;
pub mod clock;
pub mod delivery;
pub mod env;
pub mod frame;
pub mod hook;
mod input;
pub mod limits;
pub mod origin;
pub mod paths;
pub mod scan;
pub mod spool;

pub use delivery::{Answer, Delivery, Origin, Process, Tty};
pub use frame::FrameError;

/// The version of the frame. A server that speaks another answers [`Answer::Spool`].
pub const PROTOCOL_VERSION: u16 = 1;

/// The oldest version of the frame that is read. Spools outlive updates, and a running agent keeps the hook it was
/// started with, so a version that was released is read for ever; a frame of it is among the tests.
pub const OLDEST_PROTOCOL_VERSION: u16 = 1;
