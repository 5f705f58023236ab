//! How far a log is written, told to who follows it; and what is shown to them besides.

use tokio::sync::watch;

/// Wakes who follows a log. Clones tell the same.
#[derive(Clone, Debug)]
pub(crate) struct Told(watch::Sender<Progress>);

/// What changed last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The last seq that is written, as far as this daemon wrote it.
    pub written_seq: u64,
    /// How many ephemeral events were shown.
    pub shown: u64,
    /// How often it was opened: it may be another log than before under the same key.
    pub begun: u64,
    /// This daemon closed it, and all of it survives a power cut.
    pub is_settled: bool,
}

impl Told {
    pub(crate) fn new() -> Told {
        Told(watch::Sender::new(Progress::default()))
    }

    /// A log was opened, and ends at this seq: it may be another one than before under the same key.
    pub(crate) fn begins_at(&self, seq: u64) {
        self.0.send_modify(|progress| {
            *progress =
                Progress { written_seq: seq, begun: progress.begun + 1, is_settled: false, ..*progress };
        });
    }

    /// A log was closed.
    pub(crate) fn is_closed(&self, is_settled: bool) {
        // Whoever follows has nothing more to read.
        self.0.send_if_modified(|progress| {
            progress.is_settled = is_settled;
            false
        });
    }

    pub(crate) fn is_written(&self, seq: u64) {
        self.0.send_if_modified(|progress| {
            let is_more = seq > progress.written_seq;
            progress.written_seq = progress.written_seq.max(seq);
            is_more
        });
    }

    pub(crate) fn is_shown(&self, count: u64) {
        self.0.send_modify(|progress| progress.shown = progress.shown.max(count));
    }

    /// True while somebody follows.
    pub(crate) fn is_watched(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Progress> {
        self.0.subscribe()
    }

    pub(crate) fn now(&self) -> Progress {
        *self.0.borrow()
    }
}
