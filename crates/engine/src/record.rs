//! Journal records: what the engine writes, and what it folds again after a restart.

use herdbook_attention::Moment;
use serde_json::value::RawValue;

/// Kinds of journal records (overview section 1).
pub const KINDS: [&str; 9] =
    ["hook", "unreadable", "normalized", "observation", "human", "decision", "transition", "gap", "daemon"];

/// One journal record. `log` puts it into the durable envelope (`v`, `id`, `sessionId`, `seq`, `ts`, `type`,
/// `payload`, `crc`).
#[derive(Clone, Debug)]
pub struct Record {
    /// ULID of the record.
    pub id: String,
    /// Unix milliseconds at which the engine took it.
    pub ts_ms: u64,
    /// One of [`KINDS`].
    pub kind: &'static str,
    /// The payload object, compact JSON without raw line feeds.
    pub payload: Box<RawValue>,
}

impl Record {
    pub(crate) fn new(id: &str, at: Moment, kind: &'static str, payload: Box<RawValue>) -> Record {
        Record { id: id.to_owned(), ts_ms: at.wall_ms, kind, payload }
    }
}

/// A journal record read back.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    /// ULID of the record.
    pub id: &'a str,
    /// Unix milliseconds.
    pub ts_ms: u64,
    /// Its kind; unknown ones are passed over.
    pub kind: &'a str,
    /// The payload as raw JSON text.
    pub payload: &'a str,
}

/// A record that could not be folded: it is passed over and counted.
#[derive(Debug, thiserror::Error)]
#[error("journal record {id} of kind {kind} could not be read: {reason}")]
pub struct ReplayError {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// What is wrong.
    pub reason: String,
}
