//! Hosts: one folder each with the host's contract as one declarative table, and its signals.
//!
//! Pure: bytes in, values out. Start with [`project`], then a host's folder.

pub mod project;

pub use project::{Projected, Salvage, project};
