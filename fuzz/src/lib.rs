//! Fuzz targets: bytes from outside, and what must hold whatever they are.
//!
//! A module a target. Each reads its input as a person can write it, so that the corpora in `corpus/` are text wherever
//! what is fuzzed is text, and panics where something does not hold.

/// What the daemon makes of a producer's body: its own file, without the daemon and its runtime.
#[path = "../../crates/daemon/src/sessions/asked.rs"]
mod asked;
pub mod cj1;
pub mod frame;
pub mod http;
pub mod log;
mod producer;
