//! Tests of the store through its public interface.

#![expect(clippy::expect_used, reason = "a helper that fails fails its test")]

mod basics;
mod support;
