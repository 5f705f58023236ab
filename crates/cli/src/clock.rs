//! The wall clock, read at the edge.

/// Returns Unix milliseconds.
#[expect(clippy::disallowed_methods, reason = "ages of a listing are counted from now")]
pub fn now_ms() -> u64 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
