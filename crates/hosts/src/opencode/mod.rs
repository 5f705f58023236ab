//! OpenCode.

mod details;
pub mod signals;
mod table;

pub use table::TABLE;

/// The plugin that forwards OpenCode's events, as its file stands in the settings folder. `@@COMMAND@@` stands for the
/// guarded command as a JSON string.
pub const PLUGIN: &str = include_str!("plugin.js");
