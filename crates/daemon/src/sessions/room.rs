//! Room for logs that are open, and for long appends in memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, SemaphorePermit};
use tokio::time::timeout;

use super::entry::close;
use super::live::Live;
use super::logs::{KEEP_TIME, OPEN, SessionLogs, TURN_TIME};
use super::refused::Refused;

/// So much of long appends is in memory at once, in KiB of their bodies: each takes over ten times that while it is read,
/// checked and written.
pub(super) const LONG_KIB: usize = 16 << 10;
/// Between two looks for a place for an open log.
const MOMENT: Duration = Duration::from_millis(20);

impl SessionLogs {
    /// Waits for room for a long append.
    pub(crate) async fn room_for(&self, bytes: u64) -> Result<SemaphorePermit<'_>, Refused> {
        let busy = || Refused::Away("many long appends are under way; try again".to_owned());
        let kib = bytes.div_ceil(1 << 10).min(LONG_KIB as u64) as u32;
        let room = timeout(TURN_TIME, self.long.acquire_many(kib)).await.map_err(|_| busy())?;
        room.map_err(|_| busy())
    }

    /// Takes a place for an open log, and closes others for it.
    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, Refused> {
        let until = Instant::now() + KEEP_TIME;
        while Instant::now() < until {
            if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
                return Ok(place);
            }
            if !self.make_room() {
                // All are used or being closed: one is free in a moment. Somebody else may get it first.
                let freed = timeout(MOMENT, Arc::clone(&self.places).acquire_owned());
                if let Ok(Ok(place)) = Handle::current().block_on(freed) {
                    return Ok(place);
                }
            }
        }
        Err(Refused::Away(format!("{OPEN} session logs are in use; try again")))
    }

    /// Closes the log that was used least lately, of those that nobody uses now. False where there is none.
    fn make_room(&self) -> bool {
        let free = self.all().into_iter().filter_map(|entry| Arc::clone(&entry.live).try_lock_owned().ok());
        let open = free.filter(|held| held.is_some());
        let used = |held: &OwnedMutexGuard<Option<Live>>| held.as_ref().map(|live| live.used);
        let oldest = open.min_by_key(|held| used(held).unwrap_or_else(Instant::now));
        oldest.map(|held| close(held, true)).is_some()
    }
}
