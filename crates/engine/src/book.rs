//! The book of spans: the last ones one by one, all of them as totals.
//!
//! Folded from the journal like everything else, so a restart brings it back. Its size is bounded whatever comes in.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use herdbook_attention::{Doing, End, Span};
use herdbook_events::WaitKind;

/// So many spans are kept one by one: some months of a busy herd, and some 6 MB.
const SPANS: usize = 65_536;

/// Upper bounds of the buckets in which answered waits are counted, in seconds.
pub const BUCKETS_S: [u64; 12] = [5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 14_400, 28_800, 86_400];

/// One span of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptSpan {
    /// Session key.
    pub session: Arc<str>,
    /// Its host, or `posted`.
    pub host: Arc<str>,
    /// Its working directory, empty if unknown.
    pub cwd: Arc<str>,
    /// What the session did.
    pub doing: Doing,
    /// Since when, Unix milliseconds.
    pub from_ms: u64,
    /// Until when, Unix milliseconds: now, where it goes on.
    pub to_ms: u64,
    /// How long it lasted on the fold's clock, milliseconds.
    pub lasted_ms: u64,
    /// How it ended; none while it goes on.
    pub end: Option<End>,
}

/// The spans of the ledger since some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// Those that ended since then, in the order in which they ended, and at last those that go on.
    pub spans: Vec<KeptSpan>,
    /// Spans that ended up to this time are not kept one by one any more, Unix milliseconds. None: all are.
    pub forgotten_ms: Option<u64>,
}

/// The waits of one kind and host since the journal began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitTotals {
    /// Answered ones by the least bucket of [`BUCKETS_S`] that holds them; longer ones are in `answered` alone.
    pub buckets: [u64; BUCKETS_S.len()],
    /// How many were answered.
    pub answered: u64,
    /// How long the answered ones lasted in all, milliseconds.
    pub answered_ms: u64,
    /// How many the human settled.
    pub settled: u64,
    /// How many ended with their session.
    pub ended: u64,
    /// How many aged out.
    pub stale: u64,
}

/// What was counted since the journal began. Hosts without a table are one, `other`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Waits by host and kind.
    pub waits: BTreeMap<(&'static str, WaitKind), WaitTotals>,
    /// Milliseconds of work by host.
    pub worked_ms: BTreeMap<&'static str, u64>,
    /// Events that are known to be lost.
    pub lost: u64,
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Book {
    spans: VecDeque<KeptSpan>,
    forgotten_ms: Option<u64>,
    /// Each text once.
    texts: HashSet<Arc<str>>,
    pub totals: Totals,
}

impl Book {
    pub(crate) fn add(&mut self, span: &Span) {
        self.totals.count(span);
        if self.spans.len() == SPANS
            && let Some(oldest) = self.spans.pop_front()
        {
            self.forgotten_ms = self.forgotten_ms.max(Some(oldest.to_ms));
        }
        let kept = kept(span, |text| self.shared(text));
        self.spans.push_back(kept);
    }

    /// Returns what ended at or after a time, and what goes on.
    pub(crate) fn since(&self, since_ms: u64, open: impl Iterator<Item = Span>) -> Spans {
        let ended = self.spans.iter().filter(|span| span.to_ms >= since_ms).cloned();
        let open = open.map(|span| kept(&span, |text| Arc::from(text)));
        Spans {
            spans: ended.chain(open).collect(),
            forgotten_ms: self.forgotten_ms.filter(|until| *until >= since_ms),
        }
    }

    fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        if self.texts.len() > 3 * SPANS {
            self.texts.retain(|text| Arc::strong_count(text) > 1);
        }
        let text: Arc<str> = Arc::from(text);
        self.texts.insert(Arc::clone(&text));
        text
    }
}

fn kept(span: &Span, mut shared: impl FnMut(&str) -> Arc<str>) -> KeptSpan {
    KeptSpan {
        session: shared(span.session.as_str()),
        host: shared(&span.host),
        cwd: shared(&span.cwd),
        doing: span.doing,
        from_ms: span.from.wall_ms,
        to_ms: span.to.wall_ms,
        lasted_ms: span.lasted_ms(),
        end: span.end,
    }
}

impl Totals {
    fn count(&mut self, span: &Span) {
        let host = match span.host.as_str() {
            "posted" => "posted",
            host => herdbook_hosts::table(host).map_or("other", |table| table.host),
        };
        let lasted_ms = span.lasted_ms();
        let Doing::Waiting(kind) = span.doing else {
            *self.worked_ms.entry(host).or_default() += lasted_ms;
            return;
        };
        let waits = self.waits.entry((host, kind)).or_default();
        match span.end {
            Some(End::Answered) => {
                waits.answered += 1;
                waits.answered_ms += lasted_ms;
                let bucket = BUCKETS_S.iter().position(|bound| lasted_ms <= bound * 1_000);
                if let Some(count) = bucket.and_then(|bucket| waits.buckets.get_mut(bucket)) {
                    *count += 1;
                }
            }
            Some(End::Settled) => waits.settled += 1,
            Some(End::Ended) => waits.ended += 1,
            Some(End::Stale | End::Unseen) => waits.stale += 1,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use herdbook_attention::Moment;
    use herdbook_events::SessionKey;

    use super::*;

    fn span(number: u64, end: End) -> Span {
        let at = |at_ms| Moment { at_ms, wall_ms: at_ms };
        Span {
            session: SessionKey::posted(&format!("s{number}")).unwrap(),
            host: "claude".into(),
            cwd: "/srv/demo".into(),
            doing: Doing::Waiting(WaitKind::Permission),
            from: at(number),
            to: at(number + 5_000),
            end: Some(end),
        }
    }

    #[test]
    fn the_oldest_spans_make_room_and_stay_in_the_totals() {
        let mut book = Book::default();
        for number in 0..SPANS as u64 + 3 {
            book.add(&span(number, End::Answered));
        }
        let all = book.since(0, std::iter::empty());
        assert_eq!((all.spans.len(), all.forgotten_ms), (SPANS, Some(5_002)));
        assert_eq!(&*all.spans[0].session, "s3");
        assert_eq!(book.since(5_003, std::iter::empty()).forgotten_ms, None);
        assert_eq!(book.since(5_005, std::iter::empty()).spans.len(), SPANS - 2);
        assert_eq!(book.totals.waits[&("claude", WaitKind::Permission)].answered, SPANS as u64 + 3);
    }

    #[test]
    fn a_wait_is_in_the_least_bucket_that_holds_it() {
        let mut totals = Totals::default();
        totals.count(&span(1, End::Answered));
        totals.count(&Span { to: Moment { at_ms: 5_002, wall_ms: 0 }, ..span(1, End::Answered) });
        totals.count(&Span { to: Moment { at_ms: 86_400_002, wall_ms: 0 }, ..span(1, End::Answered) });
        totals.count(&span(1, End::Settled));
        let waits = totals.waits[&("claude", WaitKind::Permission)];
        assert_eq!(waits.buckets[..2], [1, 1]);
        assert_eq!(waits.buckets.iter().sum::<u64>(), 2);
        assert_eq!((waits.answered, waits.answered_ms, waits.settled), (3, 86_410_002, 1));
    }
}
