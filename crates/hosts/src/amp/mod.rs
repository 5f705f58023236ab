//! Amp, the agent of Sourcegraph.

mod details;
pub mod signals;
mod table;

pub use table::TABLE;
