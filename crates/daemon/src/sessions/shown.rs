//! Events that are only shown: kept for a moment, for who reads live.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::spool::lock;

/// So many events, and so many bytes of them, are kept for readers that come to them late. Older ones are lost.
const KEPT: usize = 1024;
const KEPT_BYTES: usize = 1 << 20;

/// One ephemeral event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// How many were shown before it.
    pub number: u64,
    /// The last seq that was written when it came: it stands behind that one.
    pub after_seq: u64,
    pub kind: String,
    /// The event as JSON, on one line.
    pub data: String,
}

/// The latest ephemeral events of a session.
#[derive(Debug, Default)]
pub(crate) struct Ring(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<Arc<Shown>>,
    bytes: usize,
    next: u64,
}

impl Ring {
    /// Adds events of a kind each, and returns how many there were so far.
    pub(crate) fn add(&self, after_seq: u64, events: Vec<(String, String)>) -> u64 {
        let mut kept = lock(&self.0);
        for (kind, data) in events {
            let number = kept.next;
            kept.next += 1;
            kept.bytes += data.len();
            kept.events.push_back(Arc::new(Shown { number, after_seq, kind, data }));
            while kept.events.len() > KEPT || (kept.bytes > KEPT_BYTES && kept.events.len() > 1) {
                let lost = kept.events.pop_front();
                kept.bytes -= lost.map_or(0, |lost| lost.data.len());
            }
        }
        kept.next
    }

    /// Returns what is kept, from the nth event on.
    pub(crate) fn from(&self, number: u64) -> Vec<Arc<Shown>> {
        let kept = lock(&self.0);
        kept.events.iter().filter(|event| event.number >= number).map(Arc::clone).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_lost_first_by_number_and_by_size() {
        let ring = Ring::default();
        let event = |text: &str| vec![("tool.output".to_owned(), text.to_owned())];
        for at in 0..1030u64 {
            assert_eq!(ring.add(at / 10, event("x")), at + 1);
        }
        let kept = ring.from(0);
        assert_eq!((kept.len(), kept[0].number, kept[0].after_seq), (1024, 6, 0));
        assert_eq!(ring.from(1029).len(), 1);
        ring.add(200, event(&"x".repeat(KEPT_BYTES)));
        let kept = ring.from(0);
        assert_eq!((kept.len(), kept[0].number), (1, 1030), "one is kept however long it is");
    }
}
