//! Claude Code.

pub mod agents;
pub mod signals;
mod table;

pub use table::TABLE;
