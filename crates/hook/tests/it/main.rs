//! The real binary, as hosts run it.
#![expect(clippy::disallowed_methods, reason = "these tests start the hook and write scratch files")]

mod bench;
mod channels;
mod herd;
mod input;
mod large;
mod tree;
