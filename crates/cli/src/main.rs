//! herdbook.
fn main() {}
