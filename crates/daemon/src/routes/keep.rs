//! The routes that the daemon runs: loaded, and looked at again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use herdbook_events::CanonicalEvent;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::limits::EntryLimits;
use super::load::{Cache, Loaded, LoadedRoute, RouteState};
use crate::config::until_stopped;
use crate::spool::lock;

/// The folders are looked at again so often; and before each run, so that nothing is run that is not trusted as it is.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What was found at one look.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub loaded: Loaded,
    /// Those that are run, in their order.
    pub active: Vec<Arc<LoadedRoute>>,
    pub limits: EntryLimits,
}

impl Found {
    /// Returns the routes that see an event.
    pub(crate) fn matching(&self, event: &CanonicalEvent) -> Vec<Arc<LoadedRoute>> {
        self.active.iter().filter(|loaded| loaded.route.matches(event)).map(Arc::clone).collect()
    }
}

/// The routes, as they are now.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The settings folder and the state folder; nothing where the human has no settings.
    places: Option<(PathBuf, PathBuf)>,
    /// Whether any is active: all that a hook call costs where there is none.
    is_any: AtomicBool,
    found: RwLock<Arc<Found>>,
    cache: Mutex<Cache>,
}

impl Kept {
    /// Looks for the first time.
    pub(crate) fn new(config_dir: Option<PathBuf>, state_dir: PathBuf) -> Kept {
        let kept = Kept {
            places: config_dir.map(|config_dir| (config_dir, state_dir)),
            is_any: AtomicBool::new(false),
            found: RwLock::default(),
            cache: Mutex::default(),
        };
        kept.look_again();
        kept
    }

    /// Whether any route is active.
    pub(crate) fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Relaxed)
    }

    /// Returns what was found at the last look.
    pub(crate) fn found(&self) -> Arc<Found> {
        Arc::clone(&self.found.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Looks again. It waits for the disk.
    pub(crate) fn look_again(&self) -> Arc<Found> {
        let Some((config_dir, state_dir)) = &self.places else { return self.found() };
        let asked = Instant::now();
        // Looks are one after another, so that an older one never takes the place of a later.
        let mut cache = lock(&self.cache);
        // Of many that ask at once all but the first are told by one look.
        if cache.begun.is_some_and(|begun| begun > asked) {
            return self.found();
        }
        cache.begun = Some(Instant::now());
        let loaded = cache.load(config_dir, state_dir);
        let active = loaded.routes.iter().filter(|loaded| loaded.state == RouteState::Active);
        let active: Vec<_> = active.map(|loaded| Arc::new(loaded.clone())).collect();
        let limits = if active.is_empty() { EntryLimits::default() } else { EntryLimits::read(state_dir) };
        self.is_any.store(!active.is_empty(), Ordering::Relaxed);
        let found = Arc::new(Found { loaded, active, limits });
        *self.found.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::clone(&found);
        found
    }
}

/// Looks again all the time, until the daemon ends.
pub(crate) async fn follow(kept: Arc<Kept>, stop: watch::Receiver<bool>) {
    if kept.places.is_none() {
        return;
    }
    let look = async {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let kept = Arc::clone(&kept);
            drop(tokio::task::spawn_blocking(move || kept.look_again()).await);
        }
    };
    until_stopped(look, stop).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waited_for_a_look_that_began_after_he_asked_needs_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::new(Some(folder.path().join("config")), folder.path().join("state"));
        let first = kept.found();
        let second = kept.look_again();
        assert!(!Arc::ptr_eq(&first, &second), "the first one began before");
        lock(&kept.cache).begun = Some(Instant::now() + Duration::from_secs(600));
        assert!(Arc::ptr_eq(&second, &kept.look_again()));
    }
}
