//! What `GET /v1/stats` counts, out of the spans of the ledger.

use std::collections::{BTreeMap, HashSet};

use herdbook_api::stats::{LongWait, Row, Stats};
use herdbook_engine::book::{KeptSpan, Spans};
use herdbook_engine::{Doing, End};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// So many of the longest waits are told.
const LONGEST: usize = 5;

/// What the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Project,
    Host,
    Kind,
    /// Of this zone: the day on which a span ended.
    Day,
}

impl By {
    /// Returns the one of that name.
    pub(crate) fn of(word: &str) -> Option<By> {
        [By::Project, By::Host, By::Kind, By::Day].into_iter().find(|by| by.as_str() == word)
    }

    fn as_str(self) -> &'static str {
        match self {
            By::Project => "project",
            By::Host => "host",
            By::Kind => "kind",
            By::Day => "day",
        }
    }

    /// Returns the row that a span belongs to; work is of no kind.
    fn row(self, span: &KeptSpan, zone: &TimeZone) -> Option<String> {
        match (self, span.doing) {
            (By::Project, _) => Some(span.cwd.to_string()),
            (By::Host, _) => Some(span.host.to_string()),
            (By::Kind, Doing::Waiting(kind)) => Some(kind.as_str().to_owned()),
            (By::Kind, Doing::Working) => None,
            (By::Day, _) => Some(day(span.to_ms, zone)),
        }
    }
}

fn day(at_ms: u64, zone: &TimeZone) -> String {
    // A time beyond the year 9999 is none.
    let at = i64::try_from(at_ms).ok().and_then(|at_ms| Timestamp::from_millisecond(at_ms).ok());
    zone.to_datetime(at.unwrap_or_default()).date().to_string()
}

/// Counts.
pub(crate) fn stats(spans: &Spans, since_at: u64, until_at: u64, by: By, zone: &TimeZone) -> Stats {
    let mut total = Group::default();
    let mut groups: BTreeMap<String, Group<'_>> = BTreeMap::new();
    for span in &spans.spans {
        total.add(span);
        if let Some(name) = by.row(span, zone) {
            groups.entry(name).or_default().add(span);
        }
    }
    let mut longest: Vec<&KeptSpan> =
        spans.spans.iter().filter(|span| matches!(span.doing, Doing::Waiting(_))).collect();
    longest.sort_by_key(|span| std::cmp::Reverse(span.lasted_ms));
    let mut rows: Vec<Row> = groups.into_iter().map(|(name, group)| group.row(name)).collect();
    if by != By::Day {
        rows.sort_by_key(|row| std::cmp::Reverse(row.waiting_ms));
    }
    Stats {
        since_at,
        until_at,
        by: by.as_str().to_owned(),
        forgotten_at: spans.forgotten_ms,
        total: total.row(String::new()),
        rows,
        longest: longest.into_iter().take(LONGEST).filter_map(long).collect(),
    }
}

fn long(span: &KeptSpan) -> Option<LongWait> {
    let Doing::Waiting(kind) = span.doing else { return None };
    let outcome = match span.end {
        Some(End::Answered) => "answered",
        Some(End::Settled) => "settled",
        Some(End::Ended) => "ended",
        Some(End::Stale | End::Unseen) => "stale",
        None => "open",
    };
    Some(LongWait {
        session_id: span.session.to_string(),
        host: span.host.to_string(),
        cwd: span.cwd.to_string(),
        kind: kind.as_str().to_owned(),
        opened_at: span.from_ms,
        lasted_ms: span.lasted_ms,
        outcome: outcome.to_owned(),
    })
}

#[derive(Default)]
struct Group<'a> {
    row: Row,
    sessions: HashSet<&'a str>,
    answers_ms: Vec<u64>,
}

impl<'a> Group<'a> {
    fn add(&mut self, span: &'a KeptSpan) {
        let row = &mut self.row;
        self.sessions.insert(&span.session);
        if span.doing == Doing::Working {
            row.working_ms += span.lasted_ms;
            return;
        }
        row.waits += 1;
        row.waiting_ms += span.lasted_ms;
        row.longest_ms = row.longest_ms.max(span.lasted_ms);
        match span.end {
            Some(End::Answered) => {
                row.answered += 1;
                self.answers_ms.push(span.lasted_ms);
            }
            Some(End::Settled) => row.settled += 1,
            Some(End::Ended) => row.ended += 1,
            Some(End::Stale | End::Unseen) => row.stale += 1,
            None => row.open += 1,
        }
    }

    fn row(mut self, name: String) -> Row {
        self.answers_ms.sort_unstable();
        Row {
            name,
            sessions: self.sessions.len() as u64,
            answer_p50_ms: percentile(&self.answers_ms, 50),
            answer_p90_ms: percentile(&self.answers_ms, 90),
            ..self.row
        }
    }
}

/// The nearest rank: the least of these sorted values that so many percent of them do not exceed.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use herdbook_events::WaitKind;

    use super::*;

    const SECOND: u64 = 1_000;
    /// 2026-11-01 23:00 in UTC.
    const START_MS: u64 = 1_793_574_000_000;

    fn span(session: &str, doing: Doing, from_s: u64, lasted_s: u64, end: Option<End>) -> KeptSpan {
        KeptSpan {
            session: session.into(),
            host: if session == "b" { "codex" } else { "claude" }.into(),
            cwd: format!("/srv/{session}").as_str().into(),
            doing,
            from_ms: START_MS + from_s * SECOND,
            to_ms: START_MS + (from_s + lasted_s) * SECOND,
            lasted_ms: lasted_s * SECOND,
            end,
        }
    }

    /// Three permissions answered after 10, 20 and 90 s, one turn end of 5 min, one session that ended while it waited,
    /// one wait that goes on, and some work.
    fn spans() -> Spans {
        let permission = Doing::Waiting(WaitKind::Permission);
        let turn_end = Doing::Waiting(WaitKind::TurnEnd);
        let spans = vec![
            span("a", permission, 0, 10, Some(End::Answered)),
            span("a", Doing::Working, 10, 50, Some(End::Answered)),
            span("a", permission, 60, 20, Some(End::Answered)),
            span("b", permission, 0, 90, Some(End::Answered)),
            span("b", turn_end, 100, 300, Some(End::Answered)),
            span("b", permission, 3_570, 40, Some(End::Ended)),
            span("a", turn_end, 3_600, 60, None),
            span("c", Doing::Working, 3_600, 60, None),
        ];
        Spans { spans, forgotten_ms: None }
    }

    /// The total and each row: name, waits, answered, p50, p90, longest, waiting, working; times in seconds.
    fn by(by: By) -> Vec<String> {
        let stats = stats(&spans(), START_MS, START_MS + 3_660 * SECOND, by, &TimeZone::UTC);
        let some = |ms: Option<u64>| ms.map_or("-".to_owned(), |ms| (ms / SECOND).to_string());
        let words = |row: Row| {
            let times =
                [Some(row.longest_ms), Some(row.waiting_ms), Some(row.working_ms)].map(some).join(" ");
            let (p50, p90) = (some(row.answer_p50_ms), some(row.answer_p90_ms));
            format!("{} {} {} {p50} {p90} {times}", row.name, row.waits, row.answered)
        };
        std::iter::once(stats.total).chain(stats.rows).map(words).collect()
    }

    #[test]
    fn waits_are_counted_by_kind_host_project_and_day() {
        let total = " 6 4 20 300 300 520 110";
        assert_eq!(by(By::Kind), [total, "turn_end 2 1 300 300 300 360 0", "permission 4 3 20 90 90 160 0"]);
        assert_eq!(by(By::Host), [total, "codex 3 2 90 300 300 430 0", "claude 3 2 10 20 60 90 110"]);
        assert_eq!(
            by(By::Project),
            [total, "/srv/b 3 2 90 300 300 430 0", "/srv/a 3 2 10 20 60 90 50", "/srv/c 0 0 - - 0 0 60",]
        );
        // The night lies between: what ended after it is of the second day.
        assert_eq!(by(By::Day), [total, "2026-11-01 4 4 20 300 300 420 50", "2026-11-02 2 0 - - 60 100 60"]);
    }

    #[test]
    fn each_wait_counts_once_by_how_it_ended_and_the_longest_come_first() {
        let stats = stats(&spans(), START_MS, START_MS, By::Kind, &TimeZone::UTC);
        let Row { waits, answered, settled, ended, stale, open, sessions, .. } = stats.total;
        assert_eq!((answered, settled, ended, stale, open), (4, 0, 1, 0, 1));
        assert_eq!((waits, sessions), (answered + settled + ended + stale + open, 3));
        let longest: Vec<_> = stats
            .longest
            .iter()
            .map(|wait| (wait.session_id.as_str(), wait.lasted_ms / SECOND, wait.outcome.as_str()))
            .collect();
        assert_eq!(
            longest,
            [
                ("b", 300, "answered"),
                ("b", 90, "answered"),
                ("a", 60, "open"),
                ("b", 40, "ended"),
                ("a", 20, "answered")
            ]
        );
    }

    #[test]
    fn percentiles_are_values_that_were_there() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!((percentile(&hundred, 50), percentile(&hundred, 90)), (Some(50), Some(90)));
        assert_eq!((percentile(&[7], 50), percentile(&[7], 90)), (Some(7), Some(7)));
        assert_eq!(percentile(&[1, 2], 50), Some(1));
        assert_eq!(percentile(&[], 50), None);
    }
}
