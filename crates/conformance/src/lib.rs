//! Runs case folders against the product: replays in virtual time against the engine, everything else against the
//! real binaries.
//!
//! It knows no case by name, and it changes nothing outside its scratch folders. Start with [`Runner`], then
//! [`case::Case`] for the format and [`expect`] for the language of expected values.

pub mod agent;
pub mod case;
pub mod expect;
pub mod journal;
pub mod needs;
pub mod node;
pub mod path;
pub mod real;
pub mod replay;
pub mod report;
pub mod roles;
mod run;
pub mod screen_kind;
pub mod store_kind;
pub mod table;
pub mod transcript_kind;

pub use run::{Runner, find_cases, transcript_check};
