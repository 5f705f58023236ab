//! What the listings know of a session: the answers of `/v1/sessions` and `/v1/queue` laid side by side.

use herdbook_events::WaitKind;
use herdbook_events::observation::PaneRef;

/// One session as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its key.
    pub key: String,
    /// The host's own id.
    pub native_id: String,
    /// The host.
    pub host: String,
    /// `registered`, `working`, `stuck`, `ended`, `unknown`.
    pub state: String,
    /// What it waits for.
    pub kind: Option<WaitKind>,
    /// In this state since, Unix milliseconds; for a wait: since it began.
    pub since_ms: u64,
    /// Text for the human.
    pub message: String,
    /// Working directory.
    pub cwd: String,
    /// The pane to jump to.
    pub pane: Option<PaneRef>,
    /// The pane is a hint only.
    pub pane_uncertain: bool,
    /// Place in the queue, none when it is not in it.
    pub entry: Option<Entry>,
}

/// Place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// From 1, as people count.
    pub number: usize,
    /// Behind the others until then, Unix milliseconds.
    pub cooldown_until_ms: Option<u64>,
    /// Kept at the front.
    pub pinned: bool,
}

impl Row {
    /// True when it is in cooldown (skipped or snoozed) at that time.
    pub fn is_resting(&self, now_ms: u64) -> bool {
        self.entry.and_then(|entry| entry.cooldown_until_ms).is_some_and(|until| until > now_ms)
    }

    /// True when it is held up in mid-turn.
    pub fn is_blocked(&self) -> bool {
        self.kind.is_some_and(is_blocking)
    }
}

/// True for the kinds of wait in the middle of a turn: the agent goes on as soon as it has its answer.
pub fn is_blocking(kind: WaitKind) -> bool {
    kind.reason() == herdbook_events::Reason::Permission
}

/// Why no session could be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unchosen {
    /// None has that name.
    #[error("no session is called '{0}'")]
    None(String),
    /// The queue is shorter.
    #[error("the queue has no entry {number}, it has {length}")]
    NoEntry {
        /// The number asked for.
        number: usize,
        /// How many entries there are.
        length: usize,
    },
    /// More than one has it.
    #[error("'{asked}' could be {}", .keys.join(", "))]
    Many {
        /// What was asked for.
        asked: String,
        /// Those it fits, at most [`MANY_SHOWN`] of them.
        keys: Vec<String>,
    },
}

/// How many candidates an error names.
const MANY_SHOWN: usize = 5;

/// Finds a session by key, native id, queue number, or the unique beginning of a key or native id, in this order.
///
/// # Errors
/// None or several fit.
pub fn find<'a>(rows: &'a [Row], asked: &str) -> Result<&'a Row, Unchosen> {
    if let Some(row) = rows.iter().find(|row| row.key == asked) {
        return Ok(row);
    }
    match only(rows, asked, |row| row.native_id == asked) {
        Err(Unchosen::None(_)) => {}
        decided => return decided,
    }
    // Ids of a few digits are queue numbers; nobody's session id is that short and nothing but digits by chance.
    if asked.len() <= 4 && asked.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = asked.parse().unwrap_or(0);
        let length = rows.iter().filter(|row| row.entry.is_some()).count();
        return rows
            .iter()
            .find(|row| row.entry.is_some_and(|entry| entry.number == number))
            .ok_or(Unchosen::NoEntry { number, length });
    }
    if asked.is_empty() {
        return Err(Unchosen::None(String::new()));
    }
    only(rows, asked, |row| row.key.starts_with(asked) || row.native_id.starts_with(asked))
}

fn only<'a>(rows: &'a [Row], asked: &str, fits: impl Fn(&Row) -> bool) -> Result<&'a Row, Unchosen> {
    let fitting: Vec<&Row> = rows.iter().filter(|row| fits(row)).collect();
    match fitting.as_slice() {
        [] => Err(Unchosen::None(asked.to_owned())),
        [row] => Ok(row),
        many => {
            let keys = many.iter().take(MANY_SHOWN).map(|row| row.key.clone()).collect();
            Err(Unchosen::Many { asked: asked.to_owned(), keys })
        }
    }
}

/// Returns for each row the shortest beginning of its native id, of at least eight letters, that no other row shares.
pub fn short_names(rows: &[Row]) -> Vec<String> {
    const LEAST: usize = 8;
    let mut sorted: Vec<&str> = rows.iter().map(|row| row.native_id.as_str()).collect();
    sorted.sort_unstable();
    let shared =
        |left: &str, right: &str| left.chars().zip(right.chars()).take_while(|(l, r)| l == r).count();
    rows.iter()
        .map(|row| {
            let id = row.native_id.as_str();
            let at = sorted.partition_point(|other| *other < id);
            let before = at.checked_sub(1).map_or(0, |place| shared(id, sorted[place]));
            let after = sorted.get(at + 1).map_or(0, |other| shared(id, other));
            id.chars().take(LEAST.max(before.max(after) + 1)).collect()
        })
        .collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A waiting session at that place of the queue (0: not in it).
    pub fn row(key: &str, number: usize) -> Row {
        let (host, native_id) = key.split_once('-').unwrap();
        Row {
            key: key.into(),
            native_id: native_id.into(),
            host: host.into(),
            state: if number > 0 { "stuck" } else { "working" }.into(),
            kind: (number > 0).then_some(WaitKind::TurnEnd),
            since_ms: 1_000,
            message: "done".into(),
            cwd: "/home/dev/shop".into(),
            pane: None,
            pane_uncertain: false,
            entry: (number > 0).then_some(Entry { number, cooldown_until_ms: None, pinned: false }),
        }
    }

    #[test]
    fn a_session_is_found_by_each_of_its_names() {
        let rows = [row("claude-4f1d-aa", 1), row("codex-4f1d-bb", 2), row("codex-019b", 0)];
        for (asked, key) in [
            ("claude-4f1d-aa", "claude-4f1d-aa"),
            ("4f1d-bb", "codex-4f1d-bb"),
            ("2", "codex-4f1d-bb"),
            ("cl", "claude-4f1d-aa"),
            ("4f1d-a", "claude-4f1d-aa"),
            ("019", "codex-019b"),
        ] {
            let found = find(&rows, asked).map(|row| row.key.as_str());
            if asked == "019" {
                // Three digits are a queue number, never a guess at an id.
                assert_eq!(found, Err(Unchosen::NoEntry { number: 19, length: 2 }));
            } else {
                assert_eq!(found, Ok(key), "{asked}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_one_session_is_told() {
        let rows = [row("claude-4f1d-aa", 1), row("codex-4f1d-bb", 2)];
        let words = |asked| find(&rows, asked).unwrap_err().to_string();
        assert_eq!(words("4f1d"), "'4f1d' could be claude-4f1d-aa, codex-4f1d-bb");
        assert_eq!(words("x"), "no session is called 'x'");
        assert_eq!(words("7"), "the queue has no entry 7, it has 2");
    }

    #[test]
    fn short_names_are_as_long_as_they_must_be() {
        let rows = [row("codex-019b7a10-55aa", 1), row("codex-019b7a10-55ab", 2), row("posted-nightly", 0)];
        assert_eq!(short_names(&rows), ["019b7a10-55aa", "019b7a10-55ab", "nightly"]);
    }
}
