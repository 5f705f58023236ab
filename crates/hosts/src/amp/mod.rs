//! Amp, the agent of Sourcegraph.

pub mod signals;
mod table;

pub use table::TABLE;
