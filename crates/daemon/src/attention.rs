//! What the attention stream has to tell: recent transitions in memory, older ones out of the journal.
//!
//! Transitions are told in the order of the journal and only once they are written: a reader that resumes from an id
//! must find it there. Readers pull; one that is slow falls out of the memory and reads the journal instead, so
//! nobody waits for it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use herdbook_events::NormalizedEvent;
use herdbook_log::Reader;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

/// So many transitions, and so many bytes of them, are kept in memory.
const KEPT: usize = 4096;
const KEPT_BYTES: usize = 2 << 20;
/// One look into the journal reads at most so many lines, and gives at most so many transitions.
const LINES_A_PAGE: usize = 20_000;
const EVENTS_A_PAGE: usize = 256;

/// One transition that is in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub seq: u64,
    pub id: String,
    /// `stuck`, `unstuck`, `registered` or `ended`.
    pub kind: String,
    /// The normalized event.
    pub data: String,
}

/// A transition whose batch is on its way to the journal.
pub(crate) struct Pending {
    /// Its place in the batch.
    pub offset: u64,
    pub id: String,
    pub event: NormalizedEvent,
}

/// What comes after a seq.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Feed {
    Events(Vec<Told>),
    /// That seq fell out of the memory: read the journal from here on.
    Behind,
}

/// The recent transitions.
pub(crate) struct Ring {
    inner: Mutex<Inner>,
    changed: watch::Sender<()>,
}

struct Inner {
    entries: VecDeque<Entry>,
    /// Everything up to this seq is in the journal alone.
    evicted_seq: u64,
    bytes: usize,
}

struct Entry {
    batch: u64,
    offset: u64,
    /// Nothing while it is not written.
    seq: Option<u64>,
    id: String,
    event: NormalizedEvent,
}

impl Entry {
    fn told(&self, seq: u64) -> Told {
        let kind = self.event.kind().to_owned();
        // A normalized event has strings and numbers only, which always print.
        let data = serde_json::to_string(&self.event).unwrap_or_default();
        Told { seq, id: self.id.clone(), kind, data }
    }

    /// About how much memory it takes.
    fn bytes(&self) -> usize {
        let text = match &self.event {
            NormalizedEvent::Stuck { pane_id, cwd, transcript_path, message, .. } => {
                pane_id.len() + cwd.len() + transcript_path.len() + message.len()
            }
            NormalizedEvent::Registered { pane_id, cwd, transcript_path, .. } => {
                pane_id.len() + cwd.len() + transcript_path.len()
            }
            NormalizedEvent::Unstuck { .. } | NormalizedEvent::Ended { .. } => 0,
        };
        size_of::<Entry>() + self.id.len() + self.event.session_id().len() + text
    }
}

impl Ring {
    /// Begins after the journal's last record.
    pub(crate) fn new(last_seq: u64) -> Ring {
        let inner = Inner { entries: VecDeque::new(), evicted_seq: last_seq, bytes: 0 };
        Ring { inner: Mutex::new(inner), changed: watch::Sender::new(()) }
    }

    /// Notes the transitions of a batch, in the order in which batches are appended.
    pub(crate) fn push(&self, batch: u64, pending: Vec<Pending>) {
        let mut inner = self.lock();
        for Pending { offset, id, event } in pending {
            let entry = Entry { batch, offset, seq: None, id, event };
            inner.bytes += entry.bytes();
            inner.entries.push_back(entry);
        }
    }

    /// The batch is in the journal from this seq on, or (nothing) will never be.
    pub(crate) fn settle(&self, batch: u64, first_seq: Option<u64>) {
        let mut inner = self.lock();
        match first_seq {
            Some(first_seq) => {
                // Entries lie in the order of their batches, and this is called for each batch.
                let start = inner.entries.partition_point(|entry| entry.batch < batch);
                let own = inner.entries.range_mut(start..).take_while(|entry| entry.batch == batch);
                for entry in own {
                    entry.seq = Some(first_seq + entry.offset);
                }
            }
            None => {
                inner.entries.retain(|entry| entry.batch != batch);
                inner.bytes = inner.entries.iter().map(Entry::bytes).sum();
            }
        }
        while (inner.entries.len() > KEPT || inner.bytes > KEPT_BYTES)
            && let Some(seq) = inner.entries.front().and_then(|entry| entry.seq)
        {
            inner.evicted_seq = seq;
            inner.bytes -= inner.entries.pop_front().map_or(0, |entry| entry.bytes());
        }
        drop(inner);
        self.changed.send_replace(());
    }

    /// Returns the seq after which a reader that wants only what is new begins.
    pub(crate) fn newest_seq(&self) -> u64 {
        let inner = self.lock();
        inner.entries.iter().map_while(|entry| entry.seq).last().unwrap_or(inner.evicted_seq)
    }

    /// Returns what comes after a seq, as far as it is written.
    pub(crate) fn after(&self, seq: u64) -> Feed {
        let inner = self.lock();
        if seq < inner.evicted_seq {
            return Feed::Behind;
        }
        let start = inner.entries.partition_point(|entry| entry.seq.is_some_and(|written| written <= seq));
        let written = inner.entries.range(start..).map_while(|entry| Some((entry, entry.seq?)));
        let fresh = written.take(EVENTS_A_PAGE);
        Feed::Events(fresh.map(|(entry, seq)| entry.told(seq)).collect())
    }

    /// Returns a view that changes whenever [`Ring::after`] may have more.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn evicted_seq(&self) -> u64 {
        self.lock().evicted_seq
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of an event in the stream: `seq-ulid`, so that a reader of a log that lost its tail is noticed.
pub(crate) fn stream_id(told: &Told) -> String {
    format!("{}-{}", told.seq, told.id)
}

/// Reads a stream id: nothing where it cannot be one. `0` is the start of the journal.
pub(crate) fn parse_stream_id(text: &str) -> Option<(u64, String)> {
    if text == "0" {
        return Some((0, String::new()));
    }
    let (seq, id) = text.split_once('-')?;
    Some((seq.parse().ok()?, id.to_owned()))
}

/// Tells whether the record of that stream id is in the journal. Reads from disk.
pub(crate) fn is_in_journal(dir: &Path, seq: u64, id: &str) -> bool {
    seq == 0
        || Reader::open_from(dir, seq)
            .find_map(Result::ok)
            .is_some_and(|line| line.seq == seq && line.id == id)
}

/// Transitions out of the journal, page by page. Reads from disk: not for an asynchronous thread.
pub(crate) struct CatchUp {
    reader: Reader,
    /// The last seq that was looked at.
    pub seq: u64,
}

impl CatchUp {
    /// Begins after a seq.
    pub(crate) fn after(dir: &Path, seq: u64) -> CatchUp {
        CatchUp { reader: Reader::open_from(dir, seq + 1), seq }
    }

    /// Reads a page; true when the memory goes on from here.
    pub(crate) fn page(&mut self, ring: &Ring) -> (Vec<Told>, bool) {
        // Whatever was evicted before this moment is in the files, so their end is a good place to change over, even
        // where damage keeps the last of these lines from being read.
        let evicted = ring.evicted_seq();
        let mut page = Vec::new();
        for _ in 0..LINES_A_PAGE {
            match self.reader.next() {
                None => {
                    self.seq = self.seq.max(evicted);
                    return (page, true);
                }
                Some(Err(_)) => {}
                Some(Ok(line)) => {
                    self.seq = line.seq;
                    if line.kind == "transition"
                        && let Some((kind, data)) = event_of(&line.payload)
                    {
                        page.push(Told { seq: line.seq, id: line.id, kind, data });
                    }
                }
            }
            if page.len() == EVENTS_A_PAGE {
                break;
            }
        }
        (page, false)
    }
}

/// Returns type and text of the normalized event in a transition's payload.
fn event_of(payload: &str) -> Option<(String, String)> {
    #[derive(Deserialize)]
    struct Transition {
        event: Box<RawValue>,
    }
    #[derive(Deserialize)]
    struct Kind {
        r#type: String,
    }
    let transition: Transition = serde_json::from_str(payload).ok()?;
    let kind: Kind = serde_json::from_str(transition.event.get()).ok()?;
    Some((kind.r#type, transition.event.get().to_owned()))
}

/// Where the journal lies, with the memory of its end.
pub(crate) struct Source {
    pub dir: PathBuf,
    pub ring: Ring,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(offset: u64, session: &str) -> Pending {
        let event = NormalizedEvent::Ended { session_id: session.into(), timestamp: 1 };
        Pending { offset, id: format!("ID{session}"), event }
    }

    fn seqs(feed: Feed) -> Vec<u64> {
        match feed {
            Feed::Events(events) => events.into_iter().map(|told| told.seq).collect(),
            Feed::Behind => panic!("behind"),
        }
    }

    #[test]
    fn nothing_is_told_before_what_came_before_it_is_written() {
        let ring = Ring::new(10);
        ring.push(1, vec![pending(1, "a")]);
        ring.push(2, vec![pending(0, "b")]);
        ring.settle(2, Some(13));
        assert_eq!(seqs(ring.after(10)), [0u64; 0]);
        assert_eq!(ring.newest_seq(), 10);
        ring.settle(1, Some(11));
        assert_eq!(seqs(ring.after(10)), [12, 13]);
        assert_eq!(seqs(ring.after(12)), [13]);
        assert_eq!(ring.newest_seq(), 13);
    }

    #[test]
    fn what_was_refused_is_never_told() {
        let ring = Ring::new(0);
        ring.push(1, vec![pending(0, "a")]);
        ring.push(2, vec![pending(0, "b")]);
        ring.settle(2, Some(1));
        ring.settle(1, None);
        assert_eq!(seqs(ring.after(0)), [1]);
    }

    #[test]
    fn who_falls_behind_is_sent_to_the_journal() {
        let ring = Ring::new(0);
        for batch in 1..=(KEPT as u64 + 5) {
            ring.push(batch, vec![pending(0, "a")]);
            ring.settle(batch, Some(batch));
        }
        assert_eq!(ring.after(4), Feed::Behind);
        assert_eq!(seqs(ring.after(5))[0], 6);
    }

    #[test]
    fn stream_ids_are_read_back() {
        let told = Told { seq: 7, id: "01ARZ".into(), kind: String::new(), data: String::new() };
        assert_eq!(parse_stream_id(&stream_id(&told)), Some((7, "01ARZ".into())));
        assert_eq!(parse_stream_id("0"), Some((0, String::new())));
        assert_eq!(parse_stream_id("x"), None);
        assert_eq!(parse_stream_id("x-y"), None);
    }
}
