//! Opening the journal and folding it again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use herdbook_engine::Engine;
use herdbook_engine::record::RecordView;
use herdbook_events::{Ulid, UlidGenerator};
use herdbook_log::{Line, Lost, NewRecord, OpenError, Opened, Options, Reader, Store};

use crate::clock;
use crate::error::DaemonError;

/// The session id of the journal's lines.
const SESSION_ID: &str = "journal";

/// The open journal.
pub(crate) struct Journal {
    pub store: Arc<Store>,
    pub dir: PathBuf,
    pub opened: Opened,
    /// Ids of the few records the engine does not make itself.
    pub ids: Ids,
}

/// Makes ids of records; shared with the writer's thread, which makes gap records.
#[derive(Clone)]
pub(crate) struct Ids(Arc<Mutex<UlidGenerator>>);

impl Ids {
    pub(crate) fn next(&self) -> String {
        let mut generator = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        generator.generate(clock::wall_ms()).to_string()
    }
}

impl Journal {
    /// Takes the store's LOCK and opens the journal. Until the lock is ours nothing is touched (case F-087).
    pub(crate) fn open(state_dir: &Path, seed: u64) -> Result<Journal, DaemonError> {
        let dir = dir(state_dir);
        let ids = Ids(Arc::new(Mutex::new(UlidGenerator::new(seed, None))));
        let mut options = Options::new(SESSION_ID, &state_dir.join("LOCK"), clock::wall_ms());
        let gap_ids = ids.clone();
        options.gap = Some(Box::new(move |lost| gap_record(&gap_ids, lost)));
        let (store, opened) = Store::open(&dir, options).map_err(|error| match error {
            OpenError::Locked { pid, .. } => {
                DaemonError::AlreadyRunning { state_dir: state_dir.to_owned(), pid }
            }
            other => DaemonError::Journal(other),
        })?;
        if let Some(last) = opened.last_id.as_deref().and_then(Ulid::parse) {
            ids.0.lock().unwrap_or_else(PoisonError::into_inner).start_above(last);
        }
        Ok(Journal { store: Arc::new(store), dir, opened, ids })
    }

    /// Folds every record again. Returns how many could not be folded: they are passed over.
    pub(crate) fn replay(&self, engine: &mut Engine, mut tell: impl FnMut(String)) -> u64 {
        let mut unfolded = 0;
        for line in Reader::open(&self.dir) {
            // Damage is told by the store's health; the lines around it are folded.
            let Ok(line) = line else { continue };
            let Err(reason) = fold(engine, &line) else { continue };
            if unfolded == 0 {
                tell(reason);
            }
            unfolded += 1;
        }
        unfolded
    }
}

/// Where the journal of a state folder is.
pub(crate) fn dir(state_dir: &Path) -> PathBuf {
    state_dir.join("journal")
}

/// Folds one record again. The error says in words why it could not be folded.
pub(crate) fn fold(engine: &mut Engine, line: &Line) -> Result<(), String> {
    let folded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| engine.replay(&view(line))));
    match folded {
        Ok(folded) => folded.map_err(|error| error.to_string()),
        Err(_) => Err(format!("journal record {} of kind {} made the fold fail", line.id, line.kind)),
    }
}

/// A line of the journal as the engine reads it.
pub(crate) fn view(line: &Line) -> RecordView<'_> {
    RecordView { id: &line.id, ts_ms: line.ts_ms, kind: &line.kind, payload: &line.payload }
}

/// The record that owns up to what the journal could not take. The fold's clock is unknown here: 0 never moves it.
fn gap_record(ids: &Ids, lost: &Lost) -> NewRecord {
    let reason = format!("the journal could not be written: {} records, {} bytes", lost.records, lost.bytes);
    let payload = serde_json::json!({ "clock": 0, "lost": lost.records, "reason": reason });
    NewRecord {
        id: ids.next(),
        ts_ms: clock::wall_ms(),
        kind: "gap".to_owned(),
        payload: payload.to_string(),
    }
}
