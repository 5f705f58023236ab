//! What a pane showed, kept while nothing can have come out of it since.

use herdbook_machine::PaneRow;

/// So long after the look that found it first a second is over, whatever the clocks say.
const SECOND_MS: u64 = 1_100;

/// What a pane showed last, to be taken again while nothing can have come out of it.
#[derive(Default)]
pub(super) struct Shown {
    /// Nothing: it is to be looked at.
    pub text: Option<String>,
    size: (u32, u32),
    /// The second in which something came out of its window last, and the look that found it first.
    activity: Option<(u64, u64)>,
}

impl Shown {
    /// Forgets it where something may have come out of its window since.
    pub fn drop_unless_same(&mut self, row: &PaneRow) {
        let is_same =
            self.activity.is_some_and(|(second, _)| second == row.activity_s) && self.size == row.size;
        self.text = self.text.take().filter(|_| is_same && !row.is_dead);
    }

    /// Keeps what a look showed. tmux tells by the second when something came last: in that second more may follow.
    pub fn keep(&mut self, row: &PaneRow, text: Option<&str>, now_ms: u64) {
        let known = self.activity.filter(|(second, _)| *second == row.activity_s);
        let (_, first_ms) = *self.activity.insert(known.unwrap_or((row.activity_s, now_ms)));
        self.size = row.size;
        self.text = text.filter(|_| now_ms >= first_ms + SECOND_MS).map(str::to_owned);
    }
}
