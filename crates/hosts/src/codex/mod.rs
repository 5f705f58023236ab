//! Codex.

mod table;

pub use table::TABLE;
