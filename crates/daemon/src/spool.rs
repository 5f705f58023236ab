//! Draining the spool: read in order, fold, and remove what is in the journal (overview D4).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use herdbook_engine::HookDelivery;
use herdbook_wire::PROTOCOL_VERSION;
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
    /// Deliveries that another version of the hook wrote: they wait for a daemon that can read them.
    foreign: HashMap<u128, u16>,
    /// Deliveries that could not be read, until [`Drain::try_again`].
    later: HashSet<u128>,
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
    pub(crate) fn new(state_dir: &Path, boot: u32) -> Drain {
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
            boot,
            kept: Arc::new(kept),
            foreign: HashMap::new(),
            later: HashSet::new(),
            telling: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Sets what is called, on the journal's thread, when files can be removed.
    pub(crate) fn on_kept(&self, wake: impl Fn() + Send + 'static) {
        *lock(&self.kept.wake) = Some(Box::new(wake));
    }

    /// A cheap look at the names alone, made before every hook call: true when something lies there that is not on its
    /// way already and that a try may take. `passed_over` names what the caller does not take either.
    pub(crate) fn has_more(&self, passed_over: impl Fn(u128) -> bool) -> bool {
        let flying = lock(&self.kept.flying);
        let wanted = |entry: &Entry| self.is_wanted(entry, &flying) && !passed_over(entry.delivery);
        spool::any_entry(&self.dir, wanted).unwrap_or_default()
    }

    /// Lists what [`Drain::has_more`] sees, in the order in which the hooks ran.
    ///
    /// A listing is no snapshot: of files that are made meanwhile it may show a later one and not an earlier one. Hooks
    /// of a session run one after another, so whatever started before the listing has its predecessors in it; what
    /// started later is left for the next listing.
    pub(crate) fn waiting(&self, passed_over: impl Fn(u128) -> bool) -> Vec<Entry> {
        let begun_us = clock::boot_us();
        // A folder that cannot be read is tried again in a second.
        let mut entries = spool::entries(&self.dir).unwrap_or_default();
        let flying = lock(&self.kept.flying);
        entries.retain(|entry| {
            self.is_wanted(entry, &flying)
                && !passed_over(entry.delivery)
                && self.started_before(entry, begun_us)
        });
        entries
    }

    fn is_wanted(&self, entry: &Entry, flying: &HashSet<u128>) -> bool {
        let known = [flying, &self.later];
        !known.iter().any(|known| known.contains(&entry.delivery))
            && !self.foreign.contains_key(&entry.delivery)
    }

    fn started_before(&self, entry: &Entry, boot_us: u64) -> bool {
        // The upper 10 bits of a delivery id are the microseconds within its stamp.
        let started_us = entry.stamp_ms.saturating_mul(1_000) + (entry.delivery >> 118) as u64;
        entry.boot != self.boot || started_us < boot_us
    }

    /// Lets what could not be read be tried once more.
    pub(crate) fn try_again(&mut self) {
        self.later.clear();
    }

    /// Reads one entry. The error is nothing when it stays for later, or words about an event that is lost.
    pub(crate) fn read(&mut self, entry: &Entry) -> Result<HookDelivery, Option<String>> {
        match spool::read(&self.dir, entry) {
            Ok(delivery) => {
                let call = convert::delivery(delivery, true);
                // The spool of a home that machines share may hold events of another one.
                let is_ours = call.origin.machine.is_none() && entry.boot != 0 && self.boot != 0;
                return Ok(HookDelivery { earlier_boot: is_ours && entry.boot != self.boot, ..call });
            }
            Err(error @ ReadError::Bad(..)) => return Err(Some(error.to_string())),
            Err(ReadError::Io(..)) => drop(self.later.insert(entry.delivery)),
            Err(ReadError::Version(_, version)) => drop(self.foreign.insert(entry.delivery, version)),
        };
        Err(None)
    }

    /// Returns how many entries another version of the hook wrote, and the latest of these versions.
    pub(crate) fn foreign(&self) -> (u64, u16) {
        (self.foreign.len() as u64, self.foreign.values().copied().max().unwrap_or_default())
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

/// Says that entries of another protocol version wait, and for whom.
pub(crate) fn foreign_words(count: u64, version: u16) -> String {
    let who = if version > PROTOCOL_VERSION { "a newer herdbook" } else { "the herdbook that wrote them" };
    format!(
        "hook events of protocol version {version} are kept in the spool ({count}): this daemon does not read them, {who} does"
    )
}

/// A lock whose holder panicked guards plain values: they are whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use herdbook_wire::Delivery;
    use herdbook_wire::clock::boot_prefix;

    use super::*;

    fn spooled(dir: &Path, delivery: u128) -> Entry {
        let call = Delivery { host: "claude".into(), delivery, stamp_ms: 1, ..Delivery::default() };
        spool::write(dir, &call).unwrap();
        spool::entries(dir).unwrap().into_iter().find(|entry| entry.delivery == delivery).unwrap()
    }

    fn listed(drain: &Drain) -> (bool, Vec<u128>) {
        let nobody = |_| false;
        (drain.has_more(nobody), drain.waiting(nobody).iter().map(|entry| entry.delivery).collect())
    }

    #[test]
    fn what_another_version_wrote_is_opened_once_and_stays() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path().join("spool");
        let foreign = spooled(&dir, 1);
        // The version stands behind the magic bytes.
        let file = std::fs::File::options().write(true).open(dir.join(foreign.name())).unwrap();
        file.write_at(&[9], 4).unwrap();
        let mut drain = Drain::new(state.path(), boot_prefix());
        assert_eq!(listed(&drain), (true, vec![1]));
        assert_eq!(drain.read(&foreign).unwrap_err(), None);
        assert_eq!((listed(&drain), drain.foreign()), ((false, vec![]), (1, 9)));
        let own = spooled(&dir, 2);
        assert_eq!(listed(&drain), (true, vec![2]), "what comes later is seen beside it");
        assert_eq!(drain.read(&own).unwrap().delivery, 2);
        drop(drain.keeping(own));
        drain.try_again();
        assert_eq!(listed(&drain), (false, vec![]));
        assert_eq!(
            listed(&Drain::new(state.path(), boot_prefix())).1,
            [1, 2],
            "the next daemon tries them all"
        );
    }

    #[test]
    fn what_cannot_be_read_waits_for_the_next_try() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path().join("spool");
        let entry = spooled(&dir, 1);
        let mut drain = Drain::new(state.path(), boot_prefix());
        spool::remove(&dir, &entry).unwrap();
        assert_eq!(drain.read(&entry).unwrap_err(), None);
        spooled(&dir, 1);
        assert_eq!(listed(&drain), (false, vec![]));
        drain.try_again();
        assert_eq!(listed(&drain), (true, vec![1]));
        assert!(
            !drain.has_more(|delivery| delivery == 1),
            "what the caller passes over is no reason to look"
        );
    }
}
