//! All session logs: which are open, who appends, what is closed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herdbook_api::events::{Appended, AppendedEvent};
use herdbook_api::v1::LogTrouble;
use herdbook_engine::Now;
use herdbook_events::UlidGenerator;
use herdbook_log::{Ack, AppendError, Durability, Sessions};
use herdbook_redact::Redactor;
use serde_json::value::RawValue;
use tokio::sync::{OwnedMutexGuard, Semaphore, oneshot, watch};
use tokio::time::timeout;

use super::asked::{self, Asked};
use super::entry::{Entry, close};
use super::live::{self, Begun, Live};
use super::refused::Refused;
use super::room::LONG_KIB;
use crate::config::{Notice, stopped};
use crate::settings::Policy;
use crate::spool::lock;

/// So many logs are open at once.
pub(super) const OPEN: usize = 64;
/// So many are opened, or appended to, at the same moment; the others wait for their turn.
pub(crate) const AT_ONCE: usize = 8;
/// So many read at once.
const READERS: usize = 64;
/// A log that nobody appended to for so long is closed …
const IDLE: Duration = Duration::from_secs(10);
/// … or for so many times as long as opening it took: reading a long log again costs at most a hundredth of the time.
const IDLE_TIMES: u32 = 100;
/// Between two looks for idle ones.
const LOOK: Duration = Duration::from_secs(1);
/// The disk has this long to answer; what becomes of the append afterwards is not known to who asked.
pub(super) const KEEP_TIME: Duration = Duration::from_secs(5);
/// Others have this long: a long log is read first.
pub(super) const TURN_TIME: Duration = Duration::from_secs(25);

/// A session that is kept from appends until this is dropped.
pub(crate) struct Alone(#[expect(dead_code, reason = "held, not read")] OwnedMutexGuard<Option<Live>>);

/// All session logs.
pub(crate) struct SessionLogs {
    sessions: Sessions,
    redactor: Redactor,
    policy: Policy,
    clock: fn() -> Now,
    seed: AtomicU64,
    entries: Mutex<HashMap<String, Arc<Entry>>>,
    pub(super) places: Arc<Semaphore>,
    /// Turns for what takes a thread: logs that are opened and appends that are checked.
    turns: Semaphore,
    /// Room for long appends, in KiB.
    pub(super) long: Semaphore,
    /// Ids of ephemeral events.
    ids: Mutex<UlidGenerator>,
    /// Places for who reads a log.
    pub readers: Arc<Semaphore>,
    notice: Arc<dyn Fn(&Notice) + Send + Sync>,
}

impl SessionLogs {
    pub(crate) fn new(
        state_dir: &Path,
        redactor: Redactor,
        policy: Policy,
        (clock, seed): (fn() -> Now, u64),
        notice: Arc<dyn Fn(&Notice) + Send + Sync>,
    ) -> SessionLogs {
        SessionLogs {
            sessions: Sessions::new(state_dir),
            redactor,
            policy,
            clock,
            seed: AtomicU64::new(seed),
            entries: Mutex::default(),
            places: Arc::new(Semaphore::new(OPEN)),
            turns: Semaphore::new(AT_ONCE),
            long: Semaphore::new(LONG_KIB),
            ids: Mutex::new(UlidGenerator::new(seed.rotate_left(32), None)),
            readers: Arc::new(Semaphore::new(READERS)),
            notice,
        }
    }

    /// Reads the body of an append. The error names the member.
    pub(crate) fn read_append(&self, body: &[u8]) -> Result<Asked, String> {
        asked::append(body, &self.redactor)
    }

    /// Returns a session that has a log, nothing where it has none.
    ///
    /// # Errors
    /// No log can be read: why, in words.
    pub(crate) fn find(&self, key: &str) -> Result<Option<Arc<Entry>>, String> {
        if self.sessions.has(key) {
            return Ok(Some(self.entry(key)));
        }
        let checked = self.sessions.check();
        checked.map(|()| None).map_err(|error| format!("the logs of sessions cannot be read: {error}"))
    }

    /// Appends, and answers once that is as durable as the policy says.
    pub(crate) async fn append(self: &Arc<Self>, key: &str, asked: Asked) -> Result<Appended, Refused> {
        let entry = self.entry(key);
        let logs = Arc::clone(self);
        let (asked, begun) = self
            .with_live(&entry, move |entry, live| {
                let now_ms = (logs.clock)().wall_ms;
                if live.is_none() && !logs.sessions.has(&entry.key) {
                    live::rehearse(&entry.key, now_ms, &asked)?;
                }
                let live = logs.opened(entry, live)?;
                let begun = live.append(&entry.key, now_ms, logs.policy, &asked)?;
                Ok((asked, begun))
            })
            .await?;
        let Begun { answer, placed, ids, last_seq, warnings } = begun;
        let ack = self.answered(&entry, answer).await?;
        let events = placed.seqs.iter().zip(ids).zip(&asked.events).enumerate();
        let events = events.map(|(at, ((seq, id), event))| AppendedEvent {
            seq: *seq,
            id,
            duplicate: placed.duplicates.contains(&at),
            payload: event.is_changed.then(|| RawValue::from_string(event.payload.clone()).ok()).flatten(),
        });
        let ack = match ack.durability {
            Durability::Written => Appended::WRITTEN,
            Durability::Synced => Appended::SYNCED,
        };
        Ok(Appended { events: events.collect(), last_seq, ack: ack.to_owned(), warnings })
    }

    /// Waits until a seq survives a power cut, and says up to which all do.
    pub(crate) async fn synced(self: &Arc<Self>, entry: &Arc<Entry>, seq: u64) -> Result<u64, Refused> {
        let logs = Arc::clone(self);
        let answer = self
            .with_live(entry, move |entry, live| {
                let live = logs.opened(entry, live)?;
                match live.last_seq() {
                    last_seq if seq > last_seq => Err(Refused::WrongSeq { last_seq }),
                    _ => Ok(live.sync()),
                }
            })
            .await?;
        self.answered(entry, answer).await.map(|ack| ack.last_seq)
    }

    /// Reads the body of events that are only shown. The error names the member.
    pub(crate) fn read_shown(&self, body: &[u8]) -> Result<Vec<asked::Event>, String> {
        asked::shown(body, &self.redactor)
    }

    /// Shows events to who reads live.
    pub(crate) fn show(&self, entry: &Entry, events: Vec<asked::Event>) {
        if !entry.told.is_watched() {
            return;
        }
        let ts_ms = (self.clock)().wall_ms;
        let key = live::quoted(&entry.key);
        let line = |event: asked::Event| {
            let id = lock(&self.ids).generate(ts_ms);
            let (kind, payload) = (event.event_type, event.payload);
            let data = format!(
                r#"{{"id":"{id}","sessionId":{key},"ts":{ts_ms},"type":"{kind}","payload":{payload}}}"#
            );
            (kind, data)
        };
        let events = events.into_iter().map(line).collect();
        let count = entry.shown.add(entry.told.now().written_seq, events);
        entry.told.is_shown(count);
    }

    /// The last seq that survives a power cut. A log that was not opened here yet is: whoever wrote it may have been
    /// killed before a sync.
    pub(crate) async fn synced_seq(self: &Arc<Self>, entry: &Arc<Entry>) -> u64 {
        let open = entry.live.lock().await.as_ref().map(Live::synced_seq);
        match open {
            Some(seq) => seq,
            None if entry.told.now().is_settled => u64::MAX,
            None => match self.synced(entry, 0).await {
                Ok(seq) => seq,
                // Nobody appends to it; what can be read of it is told.
                Err(Refused::Unusable(_)) => u64::MAX,
                Err(_) => 0,
            },
        }
    }

    /// Keeps a session for somebody who changes its files while it is not open here: appends wait for that. Nothing where
    /// it is open, or in use.
    pub(crate) fn alone(&self, key: &str) -> Option<Alone> {
        let held = Arc::clone(&self.entry(key).live).try_lock_owned().ok();
        held.filter(|live| live.is_none()).map(Alone)
    }

    /// The last seq that was given to an append, 0 where the log is not open here: what the files say is all of it then.
    pub(crate) async fn given_seq(&self, entry: &Entry) -> u64 {
        entry.live.lock().await.as_ref().map_or(0, Live::last_seq)
    }

    /// Closes what nobody uses; at the stop, everything.
    pub(crate) async fn keep(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = stopped(&mut stop) => return,
            }
            self.close_idle(IDLE);
        }
    }

    /// Closes the logs that nobody used for so long, and forgets sessions that nobody writes or reads. Closing goes on by
    /// itself.
    fn close_idle(&self, idle: Duration) {
        for entry in self.all() {
            let Ok(held) = Arc::clone(&entry.live).try_lock_owned() else { continue };
            let is_idle = |live: &Live| live.used.elapsed() >= idle.max(live.opening * IDLE_TIMES);
            if held.as_ref().is_some_and(is_idle) {
                tokio::task::spawn_blocking(move || close(held, true));
            }
        }
        lock(&self.entries).retain(|_, entry| !entry.is_forgotten());
    }

    /// Writes and syncs the rest of all logs. `remembers` where there is room for what their checkers know, too: it must not
    /// take that of lines.
    pub(crate) async fn close(&self, remembers: bool) {
        // All at once: each waits for the disk.
        let closing: Vec<_> = self
            .all()
            .into_iter()
            .map(|entry| async move {
                let held = Arc::clone(&entry.live).lock_owned().await;
                // A panic there leaves nothing open either.
                drop(tokio::task::spawn_blocking(move || close(held, remembers)).await);
            })
            .map(tokio::spawn)
            .collect();
        for closed in closing {
            drop(closed.await);
        }
    }

    /// Says which logs have trouble, in the order of their keys.
    pub(crate) fn troubles(&self) -> Vec<LogTrouble> {
        let mut troubles: Vec<LogTrouble> = self.all().iter().filter_map(|entry| entry.trouble()).collect();
        troubles.sort_by(|one, other| one.session_id.cmp(&other.session_id));
        troubles
    }

    /// True while lines of a log cannot be written. A damaged one takes none, and needs no room.
    pub(crate) fn waits_for_disk(&self) -> bool {
        self.troubles().iter().any(|trouble| !trouble.is_unusable)
    }

    fn entry(&self, key: &str) -> Arc<Entry> {
        let mut entries = lock(&self.entries);
        let made = || Arc::new(Entry::new(key, self.sessions.folder(key)));
        let entry = entries.entry(key.to_owned()).or_insert_with(made);
        Arc::clone(entry)
    }

    pub(super) fn all(&self) -> Vec<Arc<Entry>> {
        lock(&self.entries).values().map(Arc::clone).collect()
    }

    /// Does something with a session's log, alone, on a thread that may block.
    async fn with_live<T: Send + 'static>(
        &self,
        entry: &Arc<Entry>,
        work: impl FnOnce(&Entry, &mut Option<Live>) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let busy = |_| Refused::Away(format!("the log of session '{}' is busy; try again", entry.key));
        let turn = async {
            let held = Arc::clone(&entry.live).lock_owned().await;
            (held, self.turns.acquire().await)
        };
        let (held, _turn) = timeout(TURN_TIME, turn).await.map_err(busy)?;
        let entry = Arc::clone(entry);
        let worked = tokio::task::spawn_blocking(move || {
            let mut held = held;
            // Taken out meanwhile: a panic drops it.
            let mut live = held.take();
            let done = work(&entry, &mut live);
            *held = live;
            done
        });
        worked.await.map_err(|_| Refused::Panicked)?
    }

    /// Returns a session's log, opened again where it has to be.
    fn opened<'a>(&self, entry: &Entry, live: &'a mut Option<Live>) -> Result<&'a mut Live, Refused> {
        if let Some(spent) = live.take_if(|live| live.is_spent()) {
            spent.close(true);
        }
        let opened = match live.take() {
            Some(live) => live,
            None => {
                let opened = self.open(entry);
                entry.note(&opened);
                opened?
            }
        };
        Ok(live.insert(opened))
    }

    fn open(&self, entry: &Entry) -> Result<Live, Refused> {
        let place = self.place()?;
        let seed = self.seed.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let now_ms = (self.clock)().wall_ms;
        let opened =
            Live::open(&self.sessions, &entry.key, (now_ms, seed), self.policy, (entry.told.clone(), place))?;
        for torn in &opened.torn {
            (self.notice)(&Notice::Warning(format!("the log of session '{}' was torn: {torn}", entry.key)));
        }
        Ok(opened)
    }

    async fn answered(
        &self,
        entry: &Entry,
        answer: oneshot::Receiver<Result<Ack, AppendError>>,
    ) -> Result<Ack, Refused> {
        let key = &entry.key;
        match timeout(KEEP_TIME, answer).await {
            Ok(Ok(Ok(ack))) => Ok(ack),
            Ok(Ok(Err(error))) => Err(Refused::Away(format!("the log of session '{key}': {error}"))),
            Ok(Err(_)) => Err(Refused::Panicked),
            Err(_) => Err(Refused::Away(format!(
                "the log of session '{key}' is not written yet, the disk is full or slow; it is not known whether the \
                 events will be there: send the same again, with the same ids"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "damages a test's own log")]
    async fn a_panic_costs_one_request_and_an_idle_log_is_closed() {
        let state = tempfile::tempdir().unwrap();
        let redactor = Redactor::new(&[7; 32]);
        let clocks: (fn() -> Now, u64) = (crate::clock::now, 1);
        let logs = SessionLogs::new(state.path(), redactor, Policy::Barrier, clocks, Arc::new(|_| {}));
        let logs = Arc::new(logs);
        let started = r#"{"events":[{"type":"session.started","payload":{"title":"t","projectHash":"p",
            "workingDirectory":"/w","gitBranch":null,"model":"m","auxModel":"a","khaelorVersion":"1"}}]}"#;
        let renamed = r#"{"events":[{"type":"session.renamed","payload":{"title":"x"}}]}"#;
        let read = |body: &str| logs.read_append(body.as_bytes()).unwrap();
        assert_eq!(logs.append("s", read(started)).await.unwrap().last_seq, 1);
        let entry = logs.find("s").unwrap().unwrap();
        let failed = logs.with_live(&entry, |_, live| -> Result<(), Refused> {
            assert!(live.is_none(), "the code fails here");
            Ok(())
        });
        assert_eq!(failed.await, Err(Refused::Panicked));
        assert_eq!(logs.append("s", read(renamed)).await.unwrap().last_seq, 2);

        // After an append failed, the log is opened and read again.
        if let Some(live) = entry.live.lock().await.as_ref() {
            live.fail();
        }
        assert_eq!(logs.append("s", read(renamed)).await.unwrap().last_seq, 3);
        assert!(!entry.live.lock().await.as_ref().unwrap().is_spent());

        // One that nobody uses is closed, and then forgotten once nobody reads it either.
        logs.close_idle(Duration::from_secs(3600));
        assert!(entry.live.lock().await.is_some());
        if let Some(live) = entry.live.lock().await.as_mut() {
            live.opening = Duration::ZERO;
        }
        logs.close_idle(Duration::ZERO);
        assert!(entry.live.lock().await.is_none());
        assert_eq!(logs.all().len(), 1);
        drop(entry);
        logs.close_idle(Duration::ZERO);
        assert_eq!(logs.all().len(), 0);
        assert_eq!(logs.append("s", read(renamed)).await.unwrap().last_seq, 4);
        logs.close(true).await;

        // A damaged log is trouble, but none that room on the disk would end.
        let segment = logs.sessions.folder("s").join("0000000001.jsonl");
        let text = std::fs::read_to_string(&segment).unwrap();
        std::fs::write(&segment, text.replacen("\"title\":\"t\"", "\"title\":\"u\"", 1)).unwrap();
        assert!(matches!(logs.append("s", read(renamed)).await, Err(Refused::Unusable(_))));
        assert_eq!((logs.troubles().len(), logs.waits_for_disk()), (1, false));
    }
}
