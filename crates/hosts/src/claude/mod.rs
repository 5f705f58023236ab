//! Claude Code.

pub mod signals;
mod table;

pub use table::TABLE;
