//! Tests of the store through its public interface.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a helper that fails fails its test, and says with what"
)]

mod aftercare;
mod basics;
mod cold;
mod damage;
mod disk;
mod faults;
mod full;
mod kills;
mod limit;
mod model;
mod repair;
mod session_damage;
mod session_model;
mod sessions;
mod shifting;
mod support;
