//! The clocks of a hook call. The hook is an edge: it may look at them.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// When a hook process started, on all clocks that are needed.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// For deadlines.
    pub at: Instant,
    /// Microseconds since boot, sleep included (`CLOCK_BOOTTIME`).
    pub boot_us: u64,
    /// Unix milliseconds.
    pub unix_ms: u64,
}

impl Start {
    /// Reads the clocks; call it first thing.
    #[expect(clippy::disallowed_methods, reason = "the hook stamps its event: it is the edge")]
    pub fn now() -> Start {
        let boot = clock_gettime(ClockId::Boottime);
        let boot_us = (boot.tv_sec as u64) * 1_000_000 + (boot.tv_nsec as u64) / 1_000;
        Start { at: Instant::now(), boot_us, unix_ms: unix_ms_of(SystemTime::now()) }
    }

    /// Returns the delivery's stamp: whole milliseconds since boot.
    pub fn stamp_ms(&self) -> u64 {
        self.boot_us / 1_000
    }

    /// Makes a delivery id of 128 random bits: the upper 10 give way to the microseconds within the stamp.
    pub fn delivery_id(&self, random: u128) -> u128 {
        (random >> 10) | (u128::from(self.boot_us % 1_000) << 118)
    }
}

/// Returns Unix milliseconds, 0 before 1970.
pub(crate) fn unix_ms_of(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Returns the first 32 bits of the boot id, or 0 where the system tells none.
pub fn boot_prefix() -> u32 {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_millisecond_sort_by_time() {
        let at = |boot_us| Start { boot_us, ..Start::now() };
        let (early, late) = (at(5_000_017), at(5_000_999));
        assert_eq!((early.stamp_ms(), late.stamp_ms()), (5_000, 5_000));
        assert!(early.delivery_id(u128::MAX) < late.delivery_id(0));
        assert_ne!(early.delivery_id(1 << 20), early.delivery_id(2 << 20));
    }
}
