//! The store: what a program opens, appends to and asks about its health.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::damage::{Damage, Torn};
use crate::line::{MAX_SESSION_ID_BYTES, NewRecord};
use crate::lock::{self, Lock, LockError};
use crate::opening;
use crate::queue::{Job, Queue, Reply};
use crate::recover::{self, FileError};
use crate::refused::{AppendError, OpenError};
use crate::storage::{Folder, Storage};
use crate::writer::Writer;

/// When an append is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// After the write: it survives a killed process. It is synced within [`Options::sync_within`].
    Written,
    /// After fdatasync: it survives a power cut.
    Synced,
}

/// What a damaged log is opened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDamage {
    /// Every line is read, damage is named, and what is appended goes to a new segment: the journal, where the next
    /// record must not be lost.
    GoOn,
    /// It is not opened, and nothing of it is touched: a session's log, whose lines build on each other. Such a log has
    /// an index beside each segment, and only what lies behind the last synced places is read.
    Refuse,
}

/// How a store is opened.
pub struct Options {
    /// The log's session id, 1 to 1,024 bytes; `journal` for the journal. It stands in each line.
    pub session_id: String,
    /// The file that keeps a second writer out. Nothing only where no other process can see the storage.
    pub lock: Option<PathBuf>,
    /// Unix milliseconds now; names the files that keep torn bytes.
    pub now_ms: u64,
    /// A new segment begins before one would grow beyond this (64 MiB). One append is never split.
    pub segment_bytes: u64,
    /// How many bytes wait in memory while nothing can be written (16 MiB, and the batch that failed first); further
    /// appends are refused with [`AppendError::Full`].
    pub pending_bytes: u64,
    /// How many records wait for the writer (8,192); further appends are refused with [`AppendError::Busy`].
    pub queue_records: usize,
    /// How many bytes wait for the writer (64 MiB). A larger append is taken when nothing else waits.
    pub queue_bytes: usize,
    /// How long written records stay unsynced when nobody asks for a sync (100 ms). Nothing: until someone asks, the
    /// segment is full, 16 MiB are unsynced, or the store is closed; until then only the system's own habit saves them.
    pub sync_within: Option<Duration>,
    /// How long the writer waits before it tries a failed write again (250 ms). An append makes it try at once.
    pub retry_every: Duration,
    /// Makes the record that owns up to refused ones, once there is room again. It is called on the writer thread.
    pub gap: Option<GapRecord>,
    /// What happens where the log is damaged ([`OnDamage::GoOn`]).
    pub on_damage: OnDamage,
    /// Where the files are; nothing for the real folder.
    pub storage: Option<Arc<dyn Storage>>,
}

/// Makes a record out of what was lost.
pub type GapRecord = Box<dyn Fn(&Lost) -> NewRecord + Send>;

impl Options {
    /// The usual options.
    pub fn new(session_id: &str, lock: &Path, now_ms: u64) -> Options {
        Options {
            session_id: session_id.to_owned(),
            lock: Some(lock.to_owned()),
            now_ms,
            segment_bytes: 64 << 20,
            pending_bytes: 16 << 20,
            queue_records: 8192,
            queue_bytes: 64 << 20,
            sync_within: Some(Duration::from_millis(100)),
            retry_every: Duration::from_millis(250),
            gap: None,
            on_damage: OnDamage::GoOn,
            storage: None,
        }
    }

    /// The options of a session's log, for [`Sessions::open`](crate::Sessions::open). Nothing is refused there and owned
    /// up to later: whoever appends is told. A damaged log is refused.
    pub fn of_session(now_ms: u64) -> Options {
        Options { lock: None, on_damage: OnDamage::Refuse, ..Options::new("", Path::new(""), now_ms) }
    }
}

/// What was refused with [`AppendError::Full`] since the last gap record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// How many records.
    pub records: u64,
    /// About how many bytes.
    pub bytes: u64,
    /// The lowest `ts_ms` among them.
    pub first_ts_ms: u64,
    /// The highest.
    pub last_ts_ms: u64,
}

impl Lost {
    pub(crate) fn add(&mut self, other: &Lost) {
        if other.records == 0 {
            return;
        }
        let first =
            if self.records == 0 { other.first_ts_ms } else { self.first_ts_ms.min(other.first_ts_ms) };
        *self = Lost {
            records: self.records + other.records,
            bytes: self.bytes + other.bytes,
            first_ts_ms: first,
            last_ts_ms: self.last_ts_ms.max(other.last_ts_ms),
        };
    }
}

/// The answer to an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The seq of its first record; of an append without records, the seq of the next record.
    pub first_seq: u64,
    /// The seq of its last record.
    pub last_seq: u64,
    /// What is promised about it.
    pub durability: Durability,
}

/// What opening found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// The highest seq that is taken, 0 in a new log.
    pub last_seq: u64,
    /// The id of the last readable record.
    pub last_id: Option<String>,
    /// Torn bytes that were cut off the end.
    pub torn: Vec<Torn>,
    /// Damaged places, the first 1,000. They stay as they are.
    pub damage: Vec<Damage>,
}

/// How a store is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// The highest seq that is written.
    pub written_seq: u64,
    /// The highest seq that is synced.
    pub synced_seq: u64,
    /// What keeps records from being written, and what happens about it; nothing when all is well.
    pub error: Option<String>,
    /// Nothing is written any more until the store is opened again.
    pub read_only: bool,
    /// How many bytes wait in memory for the disk.
    pub pending_bytes: u64,
    /// How many records wait in memory for the disk.
    pub pending_records: u64,
    /// How many records were refused with [`AppendError::Full`] since the store was opened.
    pub lost: u64,
    /// How often a sync failed and the log went on in a new segment.
    pub failed_syncs: u64,
    /// How many batches were refused because the code failed inside them.
    pub panics: u64,
    /// The name of the segment that is written to.
    pub segment: Option<String>,
    /// What opening found.
    pub torn: Vec<Torn>,
    /// What opening found; the first 1,000 places.
    pub damage: Vec<Damage>,
}

/// An open log with its one writer thread.
pub struct Store {
    queue: Arc<Queue>,
    running: Mutex<Option<Running>>,
}

struct Running {
    thread: JoinHandle<()>,
    /// Gives the lock back when it is dropped.
    _lock: Option<Lock>,
}

impl Store {
    /// Opens the log in a folder, which is made if it is not there: takes the lock, checks its lines, cuts a torn
    /// end off (its bytes are kept) and starts the writer. [`Options::on_damage`] says what happens where it is damaged.
    ///
    /// # Errors
    /// When another process has it, the folder is not safe, it is another session's log, of a newer format or damaged, or
    /// a file cannot be opened.
    pub fn open(dir: &Path, options: Options) -> Result<(Store, Opened), OpenError> {
        let bytes = options.session_id.len();
        if !(1..=MAX_SESSION_ID_BYTES).contains(&bytes) {
            return Err(OpenError::SessionId { bytes });
        }
        let lock = match &options.lock {
            Some(path) => Some(lock::take(path, options.now_ms).map_err(|error| match error {
                LockError::Held(owner) => OpenError::Locked {
                    path: path.clone(),
                    pid: owner.as_ref().map(|owner| owner.pid),
                    owner,
                },
                LockError::Io(source) => OpenError::Io { path: path.clone(), source },
            })?),
            None => None,
        };
        let at = |source| OpenError::Io { path: dir.to_owned(), source };
        let storage = options.storage.clone().unwrap_or_else(|| Arc::new(Folder::new(dir)));
        storage.prepare().map_err(at)?;
        let recover = match options.on_damage {
            OnDamage::GoOn => recover::recover,
            OnDamage::Refuse => opening::recover,
        };
        let found = recover(&*storage, &options.session_id, options.now_ms)
            .map_err(|FileError { name, source }| OpenError::Io { path: dir.join(name), source })?;
        if let Some(session) = found.other_session {
            let wanted = options.session_id;
            return Err(OpenError::OtherSession { path: dir.to_owned(), found: session, wanted });
        }
        if let Some(version) = found.newer {
            return Err(OpenError::NewerFormat { path: dir.to_owned(), found: version });
        }
        if options.on_damage == OnDamage::Refuse && !found.damage.is_empty() {
            return Err(OpenError::Damaged { path: dir.to_owned(), damage: found.damage });
        }
        let opened = Opened {
            last_seq: found.last_seq,
            last_id: found.last_id.clone(),
            torn: found.torn.clone(),
            damage: found.damage.clone(),
        };
        let queue = Arc::new(Queue::new(options.queue_records, options.queue_bytes));
        let writer = Writer::new(Arc::clone(&queue), storage, options, found).map_err(at)?;
        let thread =
            std::thread::Builder::new().name("log-writer".to_owned()).spawn(|| writer.run()).map_err(at)?;
        Ok((Store { queue, running: Mutex::new(Some(Running { thread, _lock: lock })) }, opened))
    }

    /// Appends records as one batch, all or none, and calls `reply` when it is done or refused. It never waits: a
    /// refusal that is known at once is answered on the caller's thread, everything else on the writer's, where
    /// `reply` must not take long.
    ///
    /// While nothing can be written the answer stays out until the batch really is written, so a caller keeps a
    /// time limit of its own. An append without records is answered when all before it is written or synced.
    pub fn append(
        &self,
        records: Vec<NewRecord>,
        durability: Durability,
        reply: impl FnOnce(Result<Ack, AppendError>) + Send + 'static,
    ) {
        self.append_at(None, records, durability, reply);
    }

    /// The same, for records that were told where the first of them stands: elsewhere they are not written.
    pub(crate) fn append_at(
        &self,
        first_seq: Option<u64>,
        records: Vec<NewRecord>,
        durability: Durability,
        reply: impl FnOnce(Result<Ack, AppendError>) + Send + 'static,
    ) {
        let reply = Reply::new(Box::new(reply));
        let fault = records.iter().enumerate().find_map(|(index, record)| Some((index, record.fault()?)));
        match fault {
            Some((index, fault)) => reply.send(Err(AppendError::BadRecord { index, fault })),
            None => self.queue.push(Job::new(records, first_seq, durability, reply)),
        }
    }

    /// Tells how the store is doing, as of the last batch.
    pub fn health(&self) -> Health {
        self.queue.health()
    }

    /// Writes and syncs what was appended before, stops the writer and gives the lock back. What cannot be written
    /// is answered with [`AppendError::Closed`]. Closing again changes nothing.
    pub fn close(&self) -> Health {
        self.queue.close();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The last handle may be dropped inside an answer, on the writer's own thread, which cannot wait for itself.
        let joinable = running.filter(|running| running.thread.thread().id() != std::thread::current().id());
        if let Some(running) = joinable {
            // The thread answers for its own panics; there is nothing more to learn from the join.
            drop(running.thread.join());
        }
        self.health()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}
