//! The real binary, as hosts run it.
#![expect(clippy::disallowed_methods, reason = "these tests start the hook and write scratch files")]
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not take for tests, may fail loudly too"
)]

mod bench;
mod channels;
mod herd;
mod input;
mod large;
mod routes;
mod tree;
