//! The clocks. The daemon is an edge: here, and nowhere else in it, they are read.

use std::time::{SystemTime, UNIX_EPOCH};

use herdbook_engine::Now;
use rustix::time::{ClockId, clock_gettime};

/// Reads wall and monotonic time.
pub fn now() -> Now {
    Now { wall_ms: wall_ms(), mono_ms: milliseconds(ClockId::Monotonic).max(1) }
}

/// Reads Unix milliseconds.
#[expect(clippy::disallowed_methods, reason = "the daemon's one look at the wall clock")]
pub(crate) fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Reads milliseconds since boot, sleep included: the clock that stamps hook calls.
pub(crate) fn boot_ms() -> u64 {
    milliseconds(ClockId::Boottime)
}

/// Reads microseconds since boot, sleep included.
pub(crate) fn boot_us() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_nsec.unsigned_abs() / 1_000
}

fn milliseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * 1_000 + time.tv_nsec.unsigned_abs() / 1_000_000
}
