//! Droid, the agent of Factory.

pub mod signals;
mod table;

pub use table::TABLE;
