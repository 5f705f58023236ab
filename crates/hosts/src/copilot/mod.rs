//! GitHub Copilot CLI.

mod details;
pub mod signals;
mod table;

pub use table::TABLE;
