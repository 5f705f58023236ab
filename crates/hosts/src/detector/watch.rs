//! One pane over time.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::rules::Rules;

/// After a new size the program draws its screen anew, within this time.
const REDRAWN_MS: u64 = 3_000;

/// What a pane shows.
#[derive(Clone, Copy, Debug)]
pub struct Screen<'a> {
    /// The rows, with the blanks at their ends.
    pub text: &'a str,
    /// The cursor: column and row from 0.
    pub cursor: (u32, u32),
    /// Columns and rows.
    pub size: (u32, u32),
}

/// What a look changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It waits: quiet for so long at this prompt.
    Stuck {
        /// The text of the prompt.
        prompt: String,
    },
    /// It goes on.
    Unstuck,
}

/// One pane over time.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// The prompt it waits at.
    waits_at: Option<String>,
    /// The text of the screen; none before the first look and after one that proved nothing.
    seen: Option<Seen>,
    size: Option<(u32, u32)>,
    /// Until then the screen may be drawn anew.
    redrawn_ms: u64,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    text: u64,
    since_ms: u64,
    /// It was quiet for long enough, and what that means is said.
    is_judged: bool,
}

impl Watch {
    /// Goes on with a pane that waited at this prompt, or did not wait, when it was looked at last.
    pub fn resumed(waits_at: Option<String>) -> Watch {
        Watch { waits_at, ..Watch::default() }
    }

    /// True when it waits.
    pub fn is_stuck(&self) -> bool {
        self.waits_at.is_some()
    }

    /// True when the screen must be looked at even though nothing came out of the pane since the last look.
    pub fn is_due(&self, at_ms: u64, quiet_ms: u64) -> bool {
        self.seen.is_none_or(|seen| {
            !self.is_stuck() && !seen.is_judged && at_ms.saturating_sub(seen.since_ms) >= quiet_ms
        })
    }

    /// A look failed or proved nothing. The time of quiet begins anew with the next one.
    pub fn lost_sight(&mut self) {
        self.seen = None;
    }

    /// Takes a look at that time, in milliseconds of a clock that never falls.
    pub fn look(&mut self, at_ms: u64, rules: &Rules, screen: &Screen<'_>) -> Option<Said> {
        if self.size.replace(screen.size).is_some_and(|size| size != screen.size) {
            self.redrawn_ms = at_ms + REDRAWN_MS;
        }
        if at_ms < self.redrawn_ms {
            self.lost_sight();
            return None;
        }
        let text = fingerprint(screen.text);
        let Some(seen) = &mut self.seen else {
            self.seen = Some(Seen { text, since_ms: at_ms, is_judged: false });
            // What waited waits on at the same prompt, however much of it a narrow pane shows.
            let prompt = rules.prompt(screen);
            let is_same = |known: &String| {
                prompt.as_ref().is_some_and(|prompt| known.ends_with(prompt) || prompt.ends_with(known))
            };
            let is_over = self.waits_at.as_ref().is_some_and(|known| !is_same(known));
            return is_over.then(|| self.go_on());
        };
        if seen.text != text {
            *seen = Seen { text, since_ms: at_ms, is_judged: false };
            return self.is_stuck().then(|| self.go_on());
        }
        if !self.is_due(at_ms, rules.quiet_ms) {
            return None;
        }
        self.seen = Some(Seen { is_judged: true, ..*self.seen.as_ref()? });
        self.waits_at = rules.prompt(screen);
        self.waits_at.clone().map(|prompt| Said::Stuck { prompt })
    }

    fn go_on(&mut self) -> Said {
        self.waits_at = None;
        Said::Unstuck
    }
}

/// Blanks at the end of rows, and blank rows at the end, are padding.
fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut blank_rows = 0;
    for row in text.lines().map(str::trim_end) {
        if row.is_empty() {
            blank_rows += 1;
        } else {
            (std::mem::take(&mut blank_rows), row).hash(&mut hasher);
        }
    }
    hasher.finish()
}
