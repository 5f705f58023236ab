//! Codex.

mod details;
pub mod signals;
mod table;

pub use table::TABLE;
