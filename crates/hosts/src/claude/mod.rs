//! Claude Code.

mod table;

pub use table::TABLE;
