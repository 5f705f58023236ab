//! Tests of the store through its public interface.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod basics;
mod cold;
mod damage;
mod disk;
mod faults;
mod limit;
mod model;
mod repair;
mod session_damage;
mod session_model;
mod support;
