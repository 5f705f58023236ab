//! A log as people read it: turns, tools, diffs, waits, phases, checks, usage, one row a step.
//!
//! It never refuses: what is not known, or does not fit what came before, gets a row of its own.

mod row;
mod steps;
mod teller;
mod tools;
mod totals;
mod words;

pub use row::{Piece, Row, RowKind, Tone};
pub use teller::{Teller, Telling};
