//! herdbook-conformance.
fn main() {}
