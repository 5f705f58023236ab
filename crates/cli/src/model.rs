//! What the listings know of a session: the answers of `/v1/sessions` and `/v1/queue` laid side by side.

use std::collections::HashMap;

use herdbook_api::v1::{Agent, Item, Pane, Session};
use herdbook_hosts::HostTable;

/// One session as a person sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The session.
    pub session: Session,
    /// Its entry of the queue; none when it is not in it.
    pub entry: Option<Item>,
    /// It can be answered from here.
    pub is_held: bool,
}

impl Row {
    /// Returns its key.
    pub fn key(&self) -> &str {
        &self.session.session_id
    }

    /// Returns its place in the queue, from 1 as people count.
    pub fn number(&self) -> Option<usize> {
        self.entry.as_ref().map(|entry| entry.order + 1)
    }

    /// Returns the time since which it is in its state, Unix milliseconds. It counts from when we were told: `stuck_at`
    /// of a posted session is its producer's clock.
    pub fn since(&self) -> u64 {
        self.session.since_at
    }

    /// Returns the pane to go to: that of the wait, else the session's.
    pub fn pane(&self) -> Option<&Pane> {
        self.entry.as_ref().and_then(|entry| entry.pane.as_ref()).or(self.session.pane.as_ref())
    }

    /// True when its pane is a hint only.
    pub fn is_pane_guess(&self) -> bool {
        self.entry.as_ref().map_or(self.session.pane_uncertain, |entry| entry.pane_uncertain)
    }
}

/// True when an entry is in cooldown (skipped or snoozed) at that time.
pub fn is_resting(entry: &Item, now_ms: u64) -> bool {
    entry.skip_cooldown_until.is_some_and(|until| until > now_ms)
}

/// Lays queue and sessions side by side. An entry whose session is not listed (it came in between) stands alone.
pub fn rows(queue: Vec<Item>, sessions: Vec<Session>) -> Vec<Row> {
    let mut entries: HashMap<String, Item> =
        queue.into_iter().map(|item| (item.session_id.clone(), item)).collect();
    let mut rows: Vec<Row> = sessions
        .into_iter()
        .map(|session| Row { entry: entries.remove(&session.session_id), session, is_held: false })
        .collect();
    rows.extend(entries.into_values().map(|item| Row {
        session: Session {
            native_id: native_id(&item).to_owned(),
            session_id: item.session_id.clone(),
            host: item.host.clone(),
            state: "stuck".to_owned(),
            kind: Some(item.kind.clone()),
            since_at: item.stuck_at,
            message: item.last_message.clone(),
            cwd: item.cwd.clone(),
            pane: item.pane.clone(),
            pane_uncertain: item.pane_uncertain,
            machine: item.machine.clone(),
            ..Session::default()
        },
        entry: Some(item),
        is_held: false,
    }));
    rows
}

/// What stands where a session's message would, for an agent that no hook was seen of.
pub const NO_HOOK: &str = "no hook yet: restart it, or /hooks";

/// The same, for an agent that `install` has no hooks for.
pub const NO_TABLE: &str = "there are no hooks for this agent";

/// True when `install` has hooks for such an agent.
pub fn is_hookable(agent: &Agent) -> bool {
    herdbook_hosts::table(&agent.host).is_some_and(HostTable::is_installable)
}

/// Rows of agents that no hook was seen of: nothing is known but that they run, and since when.
pub fn agent_rows(agents: Vec<Agent>, now_ms: u64) -> impl Iterator<Item = Row> {
    agents.into_iter().map(move |agent| {
        let message = if is_hookable(&agent) { NO_HOOK } else { NO_TABLE };
        let session = Session {
            native_id: format!("pid {}", agent.pid),
            host: agent.host,
            state: "unknown".to_owned(),
            since_at: agent.started_at.unwrap_or(now_ms),
            message: message.to_owned(),
            cwd: agent.cwd,
            pane: agent.pane,
            ..Session::default()
        };
        Row { session, entry: None, is_held: false }
    })
}

/// Sorts rows as people read them: the queue in its order, then by state, the newest first.
pub fn sort(rows: &mut [Row]) {
    let rank = |row: &Row| match (row.number(), row.session.state.as_str()) {
        (Some(number), _) => (0, number),
        (None, "stuck") => (1, 0),
        (None, "working") => (2, 0),
        (None, "registered") => (3, 0),
        (None, "unknown") => (4, 0),
        (None, _) => (5, 0),
    };
    rows.sort_by(|left, right| {
        let newest = right.session.since_at.cmp(&left.session.since_at);
        rank(left).cmp(&rank(right)).then(newest).then_with(|| left.key().cmp(right.key()))
    });
}

fn native_id(item: &Item) -> &str {
    let tail = item.session_id.strip_prefix(item.host.as_str()).and_then(|tail| tail.strip_prefix('-'));
    tail.unwrap_or(&item.session_id)
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

/// What stands at the end of a name that was cut.
const CUT: char = '…';

/// How many candidates an error names.
const MANY_SHOWN: usize = 5;

/// Finds a session by key, native id, queue number, or the unique beginning of a key or native id, in this order.
///
/// # Errors
/// None or several fit.
pub fn find<'a>(rows: &'a [Row], asked: &str) -> Result<&'a Row, Unchosen> {
    if let Some(row) = rows.iter().find(|row| row.key() == asked) {
        return Ok(row);
    }
    match only(rows, asked, |row| row.session.native_id == asked) {
        Err(Unchosen::None(_)) => {}
        decided => return decided,
    }
    // A few digits are a queue number; the beginning of an id only where the queue is not so long.
    let is_number = (1..=4).contains(&asked.len()) && asked.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_number { asked.parse::<usize>().ok() } else { None };
    if let Some(row) = rows.iter().find(|row| number.is_some() && row.number() == number) {
        return Ok(row);
    }
    // A listing shows that it has cut an id.
    let start = asked.strip_suffix(CUT).unwrap_or(asked);
    if start.is_empty() {
        return Err(Unchosen::None(asked.to_owned()));
    }
    let found =
        only(rows, asked, |row| row.key().starts_with(start) || row.session.native_id.starts_with(start));
    match (found, number) {
        (Err(Unchosen::None(_)), Some(number)) => {
            let length = rows.iter().filter(|row| row.entry.is_some()).count();
            Err(Unchosen::NoEntry { number, length })
        }
        (found, _) => found,
    }
}

fn only<'a>(rows: &'a [Row], asked: &str, fits: impl Fn(&Row) -> bool) -> Result<&'a Row, Unchosen> {
    let fitting: Vec<&Row> = rows.iter().filter(|row| fits(row)).collect();
    match fitting.as_slice() {
        [] => Err(Unchosen::None(asked.to_owned())),
        [row] => Ok(row),
        many => {
            let keys = many.iter().take(MANY_SHOWN).map(|row| row.key().to_owned()).collect();
            Err(Unchosen::Many { asked: asked.to_owned(), keys })
        }
    }
}

/// Returns for each row a name that [`find`] takes: a short id whole, of a long one the shortest beginning of at least
/// eight letters that no other row shares, marked as cut.
pub fn short_names(rows: &[Row]) -> Vec<String> {
    const LEAST: usize = 8;
    const WHOLE: usize = 16;
    let mut sorted: Vec<&str> = rows.iter().map(|row| row.session.native_id.as_str()).collect();
    sorted.sort_unstable();
    let shared =
        |left: &str, right: &str| left.chars().zip(right.chars()).take_while(|(l, r)| l == r).count();
    rows.iter()
        .map(|row| {
            let id = row.session.native_id.as_str();
            if id.chars().count() <= WHOLE {
                return id.to_owned();
            }
            let at = sorted.partition_point(|other| *other < id);
            let before = at.checked_sub(1).map_or(0, |place| shared(id, sorted[place]));
            let after = sorted.get(at + 1).map_or(0, |other| shared(id, other));
            let length = LEAST.max(before.max(after) + 1);
            if id.chars().count() <= length {
                return id.to_owned();
            }
            id.chars().take(length).chain([CUT]).collect()
        })
        .collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A session; at that place of the queue (from 1), or working when it is 0.
    pub fn row(key: &str, number: usize) -> Row {
        let (host, native_id) = key.split_once('-').unwrap();
        let session = Session {
            session_id: key.into(),
            native_id: native_id.into(),
            host: host.into(),
            state: if number > 0 { "stuck" } else { "working" }.into(),
            since_at: 1_000,
            ..Session::default()
        };
        let entry = (number > 0).then(|| Item {
            session_id: key.into(),
            host: host.into(),
            kind: "turn_end".into(),
            reason: "stopped".into(),
            order: number - 1,
            ..Item::default()
        });
        Row { session, entry, is_held: false }
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
            ("019b", "codex-019b"),
        ] {
            assert_eq!(find(&rows, asked).map(Row::key), Ok(key), "{asked}");
        }
    }

    #[test]
    fn what_does_not_fit_one_session_is_told() {
        let rows = [row("claude-4f1d-aa", 1), row("codex-4f1d-bb", 2)];
        let words = |asked| find(&rows, asked).unwrap_err().to_string();
        assert_eq!(words("4f1d"), "'4f1d' could be claude-4f1d-aa, codex-4f1d-bb");
        assert_eq!(words("x"), "no session is called 'x'");
        assert_eq!(words(""), "no session is called ''");
        assert_eq!(words("7"), "the queue has no entry 7, it has 2");
        assert_eq!(words("…"), "no session is called '…'");
    }

    #[test]
    fn a_number_beyond_the_queue_may_begin_an_id() {
        let rows = [
            row("claude-2a", 1),
            row("codex-4f1d-bb", 2),
            row("codex-73aa", 0),
            row("codex-91", 0),
            row("codex-92", 0),
        ];
        let key = |asked| find(&rows, asked).map(Row::key);
        assert_eq!(key("73"), Ok("codex-73aa"));
        assert_eq!(key("2"), Ok("codex-4f1d-bb"));
        assert_eq!(find(&rows, "9").unwrap_err().to_string(), "'9' could be codex-91, codex-92");
    }

    #[test]
    fn short_names_are_as_long_as_they_must_be() {
        let rows = [
            row("codex-019b7a10-55aa-7c3e", 1),
            row("codex-019b7a10-55ab-7c3e", 2),
            row("claude-4f1d7c52-8a36-4be0", 3),
            row("posted-nightly-checks", 0),
        ];
        assert_eq!(short_names(&rows), ["019b7a10-55aa…", "019b7a10-55ab…", "4f1d7c52…", "nightly-checks"]);
        assert_eq!(find(&rows, "019b7a10-55ab…").map(Row::key), Ok("codex-019b7a10-55ab-7c3e"));
    }

    #[test]
    fn the_queue_comes_first_then_who_works() {
        let mut ended = row("claude-old", 0);
        ended.session.state = "ended".into();
        let mut rows = [ended, row("codex-b", 2), row("claude-w", 0), row("claude-a", 1)];
        sort(&mut rows);
        assert_eq!(rows.map(|row| row.key().to_owned()), ["claude-a", "codex-b", "claude-w", "claude-old"]);
    }

    #[test]
    fn an_entry_without_its_session_is_shown_all_the_same() {
        let entry = row("claude-new", 1).entry.unwrap();
        let rows = rows(vec![entry], vec![row("codex-w", 0).session]);
        assert_eq!(rows.len(), 2);
        let alone = find(&rows, "claude-new").unwrap();
        assert_eq!((alone.session.native_id.as_str(), alone.session.state.as_str()), ("new", "stuck"));
    }
}
