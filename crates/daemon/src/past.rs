//! The herd as it was: the journal folded again, up to a moment. It only reads, beside a running daemon or without one.

use std::path::PathBuf;

use herdbook_api::v1;
use herdbook_engine::{Config, Engine, Now};
use herdbook_events::SessionKey;
use herdbook_log::{Line, Reader};

use crate::config::DaemonConfig;
use crate::{convert, journal};

/// Why the herd of a moment cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PastError {
    /// No record was read.
    #[error("{} holds no record", dir.display())]
    Empty {
        /// The journal's folder.
        dir: PathBuf,
    },
    /// Nothing is known of what was before the first record.
    #[error("the journal begins later")]
    Before {
        /// Unix milliseconds of the first record.
        first_ms: u64,
    },
}

/// The herd as it was at a moment, as far as the journal tells. It does not tell where agents sat and which of them ran
/// without hooks, so a pane that is a hint is called a guess.
pub struct Past {
    engine: Engine,
    now: Now,
    /// Records up to that moment that could not be read or folded.
    pub unread: u64,
}

impl Past {
    /// Folds the journal up to the last record that was written at or before a moment (Unix milliseconds), with the
    /// rules of this version, and lets the time from there to the moment pass. The journal is read twice, since the
    /// clock may have been set back; one record is in memory at a time.
    ///
    /// # Errors
    /// There is no record at or before that moment.
    pub fn at(config: &DaemonConfig, at_ms: u64) -> Result<Past, PastError> {
        let dir = journal::dir(&config.state_dir);
        let mut first_ms = None;
        let mut last_seq = 0;
        for line in Reader::open(&dir).flatten() {
            first_ms.get_or_insert(line.ts_ms);
            if line.ts_ms <= at_ms {
                last_seq = line.seq;
            }
        }
        let first_ms = first_ms.ok_or(PastError::Empty { dir: dir.clone() })?;
        if last_seq == 0 {
            return Err(PastError::Before { first_ms });
        }
        let mut settings = Config { panes: config.panes, ..Config::default() };
        settings.grace_ms = config.grace_ms.unwrap_or(settings.grace_ms);
        let mut past = Past { engine: Engine::new(settings), now: Now::default(), unread: 0 };
        let mut next: Option<Line> = None;
        for line in Reader::open(&dir) {
            match line {
                Ok(line) if line.seq > last_seq => {
                    next = Some(line);
                    break;
                }
                Ok(line) => past.unread += u64::from(journal::fold(&mut past.engine, &line).is_err()),
                Err(_) => past.unread += 1,
            }
        }
        past.now = past.engine.rest_until(at_ms, next.as_ref().map(journal::view).as_ref());
        Ok(past)
    }

    /// Returns the queue, as `GET /v1/queue` lists it.
    pub fn queue(&self) -> Vec<v1::Item> {
        self.engine.queue(self.now).into_iter().map(convert::item).collect()
    }

    /// Returns the sessions, as `GET /v1/sessions` lists them.
    pub fn sessions(&self) -> Vec<v1::Session> {
        self.engine.sessions().iter().map(convert::session).collect()
    }

    /// Returns what a session's state rested on, as `GET /v1/sessions/{key}/why` does.
    pub fn why(&self, key: &str) -> Option<v1::Why> {
        let why = self.engine.why(self.now, &SessionKey::posted(key)?)?;
        Some(convert::why(&why))
    }
}
