//! Checks against the real binaries: scratch folders, a daemon, stand-in agents, and what the product says afterwards.

pub mod afterwards;
pub mod agent;
pub mod answer;
pub mod bench;
pub mod daemon;
pub mod entries;
pub mod hook_bytes;
pub mod http;
pub mod process;
pub mod scratch;
pub mod script;
pub mod settings;
pub mod stdin;
pub mod tools;

pub use tools::Tools;
