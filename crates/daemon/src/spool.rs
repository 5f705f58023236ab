//! Draining the spool: read in order, fold, and remove what is in the journal (overview D4).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use herdbook_engine::HookDelivery;
use herdbook_wire::spool::{self, Entry, Lost, ReadError};

use crate::clock;
use crate::convert;

/// A temp file that did not change for so long belongs to a hook that was killed.
const TEMP_AGE_MS: u64 = 10_000;

/// The spool as its one reader sees it.
pub(crate) struct Drain {
    dir: PathBuf,
    /// This boot, as the names of entries tell it.
    boot: u32,
    kept: Arc<Kept>,
    /// A gap record about lost events is on its way.
    telling: Arc<AtomicBool>,
}

/// Entries that were folded, by what became of their records.
struct Kept {
    /// Their records are on the way to the journal.
    flying: Mutex<HashSet<u128>>,
    /// Their records are written: the files can go.
    landed: Mutex<Vec<Entry>>,
    wake: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Drain {
    pub(crate) fn new(state_dir: &Path) -> Drain {
        let kept = Kept {
            flying: Mutex::new(HashSet::new()),
            landed: Mutex::new(Vec::new()),
            wake: Mutex::new(None),
        };
        let dir = state_dir.join(herdbook_wire::paths::SPOOL);
        // Whatever cannot be recovered stays; the folder may not be there at all.
        drop(spool::recover_temps(&dir, clock::wall_ms(), TEMP_AGE_MS));
        Drain {
            dir,
            boot: clock::boot_prefix(),
            kept: Arc::new(kept),
            telling: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Sets what is called, on the journal's thread, when files can be removed.
    pub(crate) fn on_kept(&self, wake: impl Fn() + Send + 'static) {
        *lock(&self.kept.wake) = Some(Box::new(wake));
    }

    /// A cheap look, made before every hook call: true when something may lie there that is not on its way already.
    pub(crate) fn has_more(&self) -> bool {
        let flying = lock(&self.kept.flying).len() as u64;
        spool::count(&self.dir).is_ok_and(|count| count != flying)
    }

    /// Lists what waits and is not on its way already, in the order in which the hooks ran.
    ///
    /// A listing is no snapshot: of files that are made meanwhile it may show a later one and not an earlier one. Hooks
    /// of a session run one after another, so whatever started before the listing has its predecessors in it; what
    /// started later is left for the next listing.
    pub(crate) fn waiting(&self) -> Vec<Entry> {
        let begun_us = clock::boot_us();
        // A folder that cannot be read is tried again in a second.
        let mut entries = spool::entries(&self.dir).unwrap_or_default();
        let flying = lock(&self.kept.flying);
        entries.retain(|entry| !flying.contains(&entry.delivery) && self.started_before(entry, begun_us));
        entries
    }

    fn started_before(&self, entry: &Entry, boot_us: u64) -> bool {
        // The upper 10 bits of a delivery id are the microseconds within its stamp.
        let started_us = entry.stamp_ms.saturating_mul(1_000) + (entry.delivery >> 118) as u64;
        entry.boot != self.boot || started_us < boot_us
    }

    /// Reads one entry. The error is nothing when it stays for later, or words about an event that is lost.
    pub(crate) fn read(&self, entry: &Entry) -> Result<HookDelivery, Option<String>> {
        match spool::read(&self.dir, entry) {
            Ok(delivery) => Ok(convert::delivery(delivery, true)),
            Err(error @ ReadError::Bad(..)) => Err(Some(error.to_string())),
            Err(ReadError::Io(..) | ReadError::Version(..)) => Err(None),
        }
    }

    /// Notes that an entry's record is on its way. The result is called with true once that is written.
    pub(crate) fn keeping(&self, entry: Entry) -> impl FnOnce(bool) + Send + 'static {
        lock(&self.kept.flying).insert(entry.delivery);
        let kept = Arc::clone(&self.kept);
        move |written| {
            if written {
                lock(&kept.landed).push(entry);
                if let Some(wake) = &*lock(&kept.wake) {
                    wake();
                }
            } else {
                lock(&kept.flying).remove(&entry.delivery);
            }
        }
    }

    /// Removes the files whose records are written.
    pub(crate) fn remove_kept(&self) {
        let landed = std::mem::take(&mut *lock(&self.kept.landed));
        if landed.is_empty() {
            return;
        }
        for entry in landed {
            if spool::remove(&self.dir, &entry).is_ok() {
                lock(&self.kept.flying).remove(&entry.delivery);
            } else {
                // It is in the journal, so it must not be folded again: try to remove it later.
                lock(&self.kept.landed).push(entry);
            }
        }
    }

    /// Returns what was lost and not told yet.
    pub(crate) fn lost(&self) -> Option<Lost> {
        if self.telling.load(Ordering::Acquire) {
            return None;
        }
        spool::lost(&self.dir).ok().flatten()
    }

    /// Notes that a gap record about `total` lost events is on its way; call the result with true once it is synced.
    pub(crate) fn telling(&self, total: u64) -> impl FnOnce(bool) + Send + 'static {
        self.telling.store(true, Ordering::Release);
        let (telling, dir) = (Arc::clone(&self.telling), self.dir.clone());
        move |synced| {
            if synced {
                // If the number cannot be written it is told once more, which is better than never.
                drop(spool::own_up(&dir, total));
            }
            telling.store(false, Ordering::Release);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
