//! Checks against the real binaries: scratch folders, a daemon, stand-in agents, and what the product says afterwards.

pub mod hook_bytes;
pub mod http;
pub mod script;
