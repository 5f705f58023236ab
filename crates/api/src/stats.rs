//! The answer of `GET /v1/stats`: how long sessions waited and worked.
//!
//! Durations are on the daemon's own clock, which stands still while the machine sleeps. A span counts in full where it
//! ended; one that goes on counts up to now.

use serde::{Deserialize, Serialize};

/// Answer of `GET /v1/stats?since=MS&by=project|host|kind|day`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// What ended at or after this time is counted, and what goes on, Unix milliseconds.
    pub since_at: u64,
    /// When it was counted, Unix milliseconds.
    pub until_at: u64,
    /// What the rows are: `project`, `host`, `kind` or `day`.
    pub by: String,
    /// What ended up to this time is not known any more and is missing here, Unix milliseconds; null if nothing is.
    pub forgotten_at: Option<u64>,
    /// Everything together.
    pub total: Row,
    /// The rows that are not empty: days in order, else those first that waited longest.
    pub rows: Vec<Row>,
    /// The longest waits, the longest first; at most 5.
    pub longest: Vec<LongWait>,
}

/// What was counted of one project, host, kind or day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Directory (empty if unknown), host, kind, or day as `2026-11-01`; empty for the total.
    pub name: String,
    /// How many sessions worked or waited.
    pub sessions: u64,
    /// How many waits there were: the sum of the five numbers below.
    pub waits: u64,
    /// Waits that ended since their session went on.
    pub answered: u64,
    /// Waits that the human settled.
    pub settled: u64,
    /// Waits that ended with their session or its pane.
    pub ended: u64,
    /// Waits that aged out: nothing was left to look at.
    pub stale: u64,
    /// Waits that go on.
    pub open: u64,
    /// Half of the answered waits were answered within this time: an exact value, that of the wait in the middle
    /// (nearest rank). Null where none was answered.
    pub answer_p50_ms: Option<u64>,
    /// Nine of ten answered waits were answered within this time, as above.
    pub answer_p90_ms: Option<u64>,
    /// The longest wait, however it ended.
    pub longest_ms: u64,
    /// All waits together.
    pub waiting_ms: u64,
    /// All work together, of sessions that wait for a human now and then: headless ones are not counted. 0 in the rows of
    /// kinds.
    pub working_ms: u64,
}

/// One long wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongWait {
    /// Session key.
    pub session_id: String,
    /// Host, or `posted`.
    pub host: String,
    /// Working directory, empty if unknown. As it was received: clean it before it reaches a terminal.
    pub cwd: String,
    /// Kind of the wait.
    pub kind: String,
    /// When it opened, Unix milliseconds.
    pub opened_at: u64,
    /// How long it lasted.
    pub lasted_ms: u64,
    /// `answered`, `settled`, `ended`, `stale` or `open`.
    pub outcome: String,
}
