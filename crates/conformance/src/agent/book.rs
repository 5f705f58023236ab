//! Where an agent writes.

use herdbook_events::catalog::EventType;

/// One event to append: what a producer says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// A ULID, above all ids before. An append that is sent again with the same ids stands in the log once.
    pub id: String,
    /// Its type.
    pub event_type: EventType,
    /// Its payload, canonical text.
    pub payload: String,
}

/// One append: all of it is refused, or all of it is written in one go. A crash of the machine may tear it.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The key of the session.
    pub session: &'a str,
    /// The seq that the log ends with; another one means that somebody else writes.
    pub expected: u64,
    /// Which step of the script this is, for those who make the agent die there.
    pub label: &'a str,
    /// The events.
    pub entries: &'a [Entry],
}

/// Why a book could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The agent dies here: a test wants it so.
    #[error("killed at {0}")]
    Killed(String),
    /// The book says no. The agent has a fault, or the log is not its own any more.
    #[error("refused: {0}")]
    Refused(String),
    /// Nobody answers.
    #[error("no answer: {0}")]
    Unreachable(String),
}

/// The logs of an agent's sessions.
pub trait Book {
    /// Returns all lines of a session, none where it has no log.
    ///
    /// # Errors
    /// See [`Trouble`].
    fn read(&mut self, session: &str) -> Result<Vec<String>, Trouble>;

    /// Appends, and returns the lines as they stand in the log now: id, seq and payload are those that were kept.
    ///
    /// # Errors
    /// See [`Trouble`]. After [`Trouble::Killed`] and [`Trouble::Unreachable`] the events may be written or not.
    fn append(&mut self, page: &Page<'_>) -> Result<Vec<String>, Trouble>;

    /// Tells events that are only live. They may be lost.
    ///
    /// # Errors
    /// See [`Trouble`].
    fn tell(&mut self, session: &str, events: &[(EventType, String)]) -> Result<(), Trouble>;
}
