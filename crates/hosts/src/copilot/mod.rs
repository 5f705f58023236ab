//! GitHub Copilot CLI.

pub mod signals;
mod table;

pub use table::TABLE;
