//! What lies between the callers and the writer thread: the bounded queue, the answers, and the health.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::line::NewRecord;
use crate::refused::AppendError;
use crate::store::{Ack, Durability, Health};

/// At most this many records are taken as one batch (eventlog 1.3) …
const BATCH_RECORDS: usize = 512;
/// … or this many bytes; one append is never split.
const BATCH_BYTES: usize = 1 << 20;

type Callback = Box<dyn FnOnce(Result<Ack, AppendError>) + Send>;

/// A caller that waits for its answer. It gets one, whatever happens to the job.
pub(crate) struct Reply(Option<Callback>);

impl Reply {
    pub(crate) fn new(callback: Callback) -> Reply {
        Reply(Some(callback))
    }

    pub(crate) fn send(mut self, answer: Result<Ack, AppendError>) {
        self.call(answer);
    }

    fn call(&mut self, answer: Result<Ack, AppendError>) {
        if let Some(callback) = self.0.take() {
            // A caller's panic is its own: the writer goes on.
            drop(catch_unwind(AssertUnwindSafe(|| callback(answer))));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.call(Err(AppendError::Closed));
    }
}

/// One append.
pub(crate) struct Job {
    pub records: Vec<NewRecord>,
    /// Where its first record was said to stand; nothing where it may stand anywhere.
    pub first_seq: Option<u64>,
    pub durability: Durability,
    pub reply: Reply,
    pub weight: usize,
}

impl Job {
    pub(crate) fn new(
        records: Vec<NewRecord>,
        first_seq: Option<u64>,
        durability: Durability,
        reply: Reply,
    ) -> Job {
        let weight = records.iter().map(NewRecord::weight).sum();
        Job { records, first_seq, durability, reply, weight }
    }
}

/// The outcome of a sync: how far it reached, or why it failed.
pub(crate) type SyncDone = Result<SyncedTo, String>;

/// How far a sync reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyncedTo {
    pub seq: u64,
    /// The crc of that line.
    pub crc: u32,
    /// Length of the file then.
    pub length: u64,
}

#[derive(Default)]
struct Inner {
    jobs: VecDeque<Job>,
    records: usize,
    bytes: usize,
    closing: bool,
    sync_done: Option<SyncDone>,
    health: Health,
}

/// What the writer was woken for.
pub(crate) struct Woken {
    pub jobs: Vec<Job>,
    pub sync_done: Option<SyncDone>,
    /// The store is being closed, and these are the last jobs.
    pub last: bool,
}

pub(crate) struct Queue {
    inner: Mutex<Inner>,
    wake: Condvar,
    max_records: usize,
    max_bytes: usize,
}

impl Queue {
    pub(crate) fn new(max_records: usize, max_bytes: usize) -> Queue {
        Queue { inner: Mutex::default(), wake: Condvar::new(), max_records, max_bytes }
    }

    pub(crate) fn push(&self, job: Job) {
        let mut inner = self.lock();
        let fits = inner.records + job.records.len() <= self.max_records
            && inner.bytes + job.weight <= self.max_bytes;
        let refused = if inner.closing {
            AppendError::Closed
        } else if !fits && !inner.jobs.is_empty() {
            AppendError::Busy { records: inner.records, bytes: inner.bytes }
        } else {
            inner.records += job.records.len();
            inner.bytes += job.weight;
            inner.jobs.push_back(job);
            drop(inner);
            self.wake.notify_all();
            return;
        };
        drop(inner);
        job.reply.send(Err(refused));
    }

    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.wake.notify_all();
    }

    /// Ends the queue from the writer's side: what still waits is answered, what comes later is refused.
    pub(crate) fn end(&self) {
        let mut inner = self.lock();
        inner.closing = true;
        let jobs = std::mem::take(&mut inner.jobs);
        drop(inner);
        drop(jobs);
    }

    /// Waits until there is something to do, and takes one batch.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Woken {
        let mut inner = self.lock();
        loop {
            let due = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if !inner.jobs.is_empty() || inner.sync_done.is_some() || inner.closing || due {
                break;
            }
            inner = match deadline {
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    self.wake.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.wake.wait(inner).unwrap_or_else(PoisonError::into_inner),
            };
        }
        let mut jobs = Vec::new();
        let (mut records, mut bytes) = (0, 0);
        while let Some(job) = inner.jobs.front() {
            let more = (records + job.records.len(), bytes + job.weight);
            if !jobs.is_empty() && (more.0 > BATCH_RECORDS || more.1 > BATCH_BYTES) {
                break;
            }
            (records, bytes) = more;
            jobs.extend(inner.jobs.pop_front());
        }
        inner.records -= records;
        inner.bytes -= bytes;
        Woken { jobs, sync_done: inner.sync_done.take(), last: inner.closing && inner.jobs.is_empty() }
    }

    /// Waits for the sync that is under way.
    pub(crate) fn wait_sync(&self) -> SyncDone {
        let mut inner = self.lock();
        loop {
            if let Some(done) = inner.sync_done.take() {
                return done;
            }
            inner = self.wake.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn sync_is_done(&self, done: SyncDone) {
        self.lock().sync_done = Some(done);
        self.wake.notify_all();
    }

    pub(crate) fn health(&self) -> Health {
        self.lock().health.clone()
    }

    pub(crate) fn set_health(&self, change: impl FnOnce(&mut Health)) {
        change(&mut self.lock().health);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
