//! Whether the lines of a log are numbered one after the other.

use serde::{Deserialize, Serialize};

/// Holds the seq of each line against those before, so that a wrong one is named once: the line behind it may go on from
/// that number, or from the place where the wrong one stands.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Numbering {
    last: u64,
    /// What the next line may be instead of the one behind `last`.
    other: Option<u64>,
}

impl Numbering {
    /// The seq of the last line, 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The seq that the next line must have.
    pub fn due(&self) -> u64 {
        self.last.saturating_add(1)
    }

    /// Takes the seq of the next line.
    ///
    /// # Errors
    /// It must be another, which is returned.
    pub fn take(&mut self, seq: u64) -> Result<(), u64> {
        let due = self.due();
        let is_right = seq == due || self.other == Some(seq);
        // Either lines are missing or come again, or this one alone has a wrong number.
        self.other = (!is_right).then(|| due.saturating_add(1));
        if is_right || seq > due {
            self.last = seq;
        }
        if is_right { Ok(()) } else { Err(due) }
    }

    /// Takes a line whose seq cannot be told. It may be none of the log's, an empty one for instance.
    pub fn skip(&mut self) {
        (self.last, self.other) = (self.due(), Some(self.due()));
    }
}
