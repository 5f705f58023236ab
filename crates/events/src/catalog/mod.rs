//! The event catalog of session logs: 40 durable and 6 ephemeral types, their payloads and both envelopes.
//!
//! Each type is declared once: its fields in a file of its family, its name and class in `list.rs`. The Rust type, the
//! table that a payload is held against ([`faults`]) and whatever else is made of the catalog follow from that, so
//! a new field is one line. A type has a class or it does not exist.
//!
//! Closed lists of the reference are open here: a word that is not known is kept ([`Lists`]). So are unknown types
//! and members, which [`Members`] keeps in order, each with its text.

pub mod author;
mod barrier;
mod check;
mod envelope;
mod ephemeral;
mod list;
mod members;
mod parts;
mod session;
mod shape;
mod steps;
mod tools;
mod words;
mod work;

pub use check::{Fault, Lists, faults};
pub use envelope::{Durable, Ephemeral};
pub use ephemeral::*;
pub use list::{Class, Event, EventType};
pub use members::Members;
pub use parts::*;
pub use session::*;
pub use shape::{Attempt, Field, Filled, Json, Kind, Nullable, Position, Shaped};
pub use steps::*;
pub use tools::*;
pub use words::*;
pub use work::*;
