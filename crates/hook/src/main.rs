//! herdbook-hook.
fn main() {}
