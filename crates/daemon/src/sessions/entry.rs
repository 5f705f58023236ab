//! A session that somebody writes or reads, or did a moment ago.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use herdbook_api::v1::LogTrouble;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use super::live::Live;
use super::refused::Refused;
use super::shown::Ring;
use super::told::Told;
use crate::spool::lock;

pub(crate) struct Entry {
    pub key: String,
    pub folder: PathBuf,
    /// Its log, while it is open; who has the turn may use it.
    pub live: Arc<Turn<Option<Live>>>,
    pub told: Told,
    pub shown: Ring,
    /// Why it could not be opened last.
    trouble: Mutex<Option<Trouble>>,
}

struct Trouble {
    words: String,
    /// When something in its folder was made or renamed last: a repair does both.
    changed: Option<SystemTime>,
}

impl Entry {
    pub(crate) fn new(key: &str, folder: PathBuf) -> Entry {
        let (told, shown) = (Told::new(), Ring::default());
        Entry { key: key.to_owned(), folder, live: Arc::default(), told, shown, trouble: Mutex::default() }
    }

    /// Notes what became of opening it.
    pub(crate) fn note(&self, opened: &Result<Live, Refused>) {
        *lock(&self.trouble) = match opened {
            Err(Refused::Unusable(words)) => {
                Some(Trouble { words: words.clone(), changed: changed(&self.folder) })
            }
            _ => None,
        };
    }

    /// Says what is wrong with its log.
    pub(crate) fn trouble(&self) -> Option<LogTrouble> {
        let session_id = self.key.clone();
        let now = self.live.try_lock().ok().and_then(|live| live.as_ref().and_then(Live::trouble));
        if let Some(trouble) = now {
            let error = format!("the log of session '{session_id}': {trouble}");
            return Some(LogTrouble { session_id, error, is_unusable: false });
        }
        let mut trouble = lock(&self.trouble);
        // What was mended is known when somebody appends again; until then there is nothing to tell.
        drop(trouble.take_if(|trouble| trouble.changed != changed(&self.folder)));
        let error = trouble.as_ref()?.words.clone();
        Some(LogTrouble { session_id, error, is_unusable: true })
    }

    /// Nobody reads or writes it, and there is nothing to tell.
    pub(crate) fn is_forgotten(self: &Arc<Self>) -> bool {
        let is_closed = self.live.try_lock().is_ok_and(|live| live.is_none());
        Arc::strong_count(self) == 1 && is_closed && lock(&self.trouble).is_none()
    }
}

/// Closes a session's log. It takes as long as the disk does. `remembers` where what its checker knows may be kept.
pub(crate) fn close(mut held: OwnedMutexGuard<Option<Live>>, remembers: bool) {
    if let Some(live) = held.take() {
        live.close(remembers);
    }
}

fn changed(folder: &Path) -> Option<SystemTime> {
    std::fs::metadata(folder).and_then(|found| found.modified()).ok()
}
