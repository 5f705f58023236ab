//! The engine.

use std::collections::HashMap;

use herdbook_events::SessionKey;

use crate::record::{RecordView, ReplayError};
use crate::types::{Config, Effect, Input, Now};
use crate::view::{QueueEntry, SessionView};

/// The engine: all state of the attention layer, and the rules that move it.
pub struct Engine {
    config: Config,
    sessions: HashMap<SessionKey, SessionView>,
}

impl Engine {
    /// Makes an engine with nothing in it.
    pub fn new(config: Config) -> Engine {
        Engine { config, sessions: HashMap::new() }
    }

    /// Folds one input and returns what shall happen.
    pub fn step(&mut self, _now: Now, _input: Input) -> Vec<Effect> {
        let _ = self.config.seed;
        Vec::new()
    }

    /// Folds one journal record again after a start; nothing is written or announced.
    ///
    /// # Errors
    /// The record is damaged in a way its crc does not show; the state is as before.
    pub fn replay(&mut self, _record: &RecordView<'_>) -> Result<(), ReplayError> {
        Ok(())
    }

    /// Returns the monotonic time at which [`Input::Tick`] should come at the latest.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        None
    }

    /// Returns every entry of the queue in order; those in cooldown come last.
    pub fn queue(&self, _now: Now) -> Vec<QueueEntry> {
        Vec::new()
    }

    /// Returns all sessions, ended ones last.
    pub fn sessions(&self) -> Vec<SessionView> {
        self.sessions.values().cloned().collect()
    }

    /// Returns one session.
    pub fn session(&self, key: &SessionKey) -> Option<SessionView> {
        self.sessions.get(key).cloned()
    }
}
