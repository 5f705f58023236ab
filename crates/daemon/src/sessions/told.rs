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
}

impl Told {
    pub(crate) fn new() -> Told {
        Told(watch::Sender::new(Progress::default()))
    }

    /// A log was opened, and ends at this seq: it may be another one than before under the same key.
    pub(crate) fn begins_at(&self, seq: u64) {
        self.0.send_modify(|progress| progress.written_seq = seq);
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
