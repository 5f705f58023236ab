//! The engine's thread: inputs are folded one after another; what they give goes to the journal.

use std::any::Any;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herdbook_engine::record::Record;
use herdbook_engine::{Effect, Engine, Input, Now, UnreadablePayload};
use herdbook_events::Origin;
use herdbook_log::{Ack, AppendError, Durability, NewRecord, Store};
use herdbook_redact::Redactor;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::attention::{Pending, Source};
use crate::clock;
use crate::config::Notice;
use crate::core::{Command, Core, Counters, Look, Refused, Reply, Request};
use crate::holds::Holds;
use crate::journal::Ids;
use crate::processes::Watch;
use crate::service::Beat;
use crate::spool::{Drain, foreign_words, lock};

/// While so many bytes are on their way to the journal no further input is taken. It is less than what the journal
/// keeps in memory while nothing can be written, so that whatever the engine has folded can be kept.
const UNWRITTEN_BYTES: u64 = 12 << 20;
/// The spool is looked into at least this often (overview D4).
const SPOOL_EVERY_MS: u64 = 1_000;
/// The agents' processes are looked for so often: a small read for each, and for some the only word of their end.
const PROCESSES_EVERY_MS: u64 = 500;
/// So many refused deliveries are remembered. With more, hooks keep their events in the spool while the journal fails.
const REFUSED: usize = 65_536;
/// What is kept of an input that made the engine panic.
const PANIC_TEXT_BYTES: usize = 1 << 20;

/// What the engine's thread owns.
pub(crate) struct EngineLoop {
    pub engine: Engine,
    pub store: Arc<Store>,
    pub ids: Ids,
    pub redactor: Redactor,
    pub told: Arc<Source>,
    pub spool: Drain,
    pub processes: Watch,
    pub counters: Arc<Counters>,
    pub notice: Arc<dyn Fn(&Notice) + Send + Sync>,
    pub version: String,
    /// Names the boot of the machine; 0 where it is not known.
    pub boot: u32,
    /// [`crate::clock::now`]; another one in tests.
    pub clock: fn() -> Now,
    /// Tells the service manager that this loop goes round.
    pub beat: Beat,
    /// [`Engine::step`]; another one in tests.
    pub fold: fn(&mut Engine, Now, Input) -> Vec<Effect>,
    /// Deliveries the engine has folded and the journal refused: they must not be answered as repeats.
    pub refused: Arc<Mutex<HashSet<u128>>>,
    /// Hook calls that wait for the human: each step may end one.
    pub holds: Arc<Holds>,
    pub batch: u64,
}

impl EngineLoop {
    /// Starts the thread. Its first act is to note the start and to take what lies in the spool; inputs wait for that.
    pub(crate) fn start(self, runtime: &Handle) -> std::io::Result<Core> {
        let (core, receiver) = Core::channel();
        let waker = core.waker();
        self.spool.on_kept(move || {
            if let Some(commands) = waker.upgrade() {
                // A full channel has something to wake the loop already.
                drop(commands.try_send(Command::Wake));
            }
        });
        let runtime = runtime.clone();
        std::thread::Builder::new().name("engine".to_owned()).spawn(move || self.run(receiver, &runtime))?;
        Ok(core)
    }

    fn run(mut self, mut commands: mpsc::Receiver<Command>, runtime: &Handle) {
        let start = self.told("start");
        self.step(start, Durability::Written, Box::new(drop));
        self.drain_spool();
        self.own_up();
        self.miss_processes();
        let mut spool_due = clock::now().mono_ms + SPOOL_EVERY_MS;
        let mut processes_due = clock::now().mono_ms + PROCESSES_EVERY_MS;
        loop {
            let command = match commands.try_recv() {
                Ok(command) => Some(command),
                Err(mpsc::error::TryRecvError::Disconnected) => return,
                Err(mpsc::error::TryRecvError::Empty) => {
                    let due = self.engine.next_deadline_ms().unwrap_or(u64::MAX);
                    let due = due.min(spool_due).min(processes_due).min(self.beat.due_ms());
                    let pause = Duration::from_millis(due.saturating_sub(clock::now().mono_ms));
                    let next = async { tokio::time::timeout(pause, commands.recv()).await };
                    match runtime.block_on(next) {
                        Ok(Some(command)) => Some(command),
                        Ok(None) => return,
                        Err(_) => None,
                    }
                }
            };
            match command {
                Some(Command::Step(request)) => self.take(*request),
                Some(Command::Look(look)) => self.look(look),
                Some(Command::Wake) => self.spool.remove_kept(),
                Some(Command::Stop(done)) => return self.stop(commands, done),
                None => {}
            }
            let now = clock::now();
            self.beat.beat(now.mono_ms);
            if now.mono_ms >= spool_due {
                spool_due = now.mono_ms + SPOOL_EVERY_MS;
                self.spool.try_again();
                self.drain_spool();
                self.own_up();
            }
            if now.mono_ms >= processes_due {
                processes_due = now.mono_ms + PROCESSES_EVERY_MS;
                self.miss_processes();
            }
            if self.engine.next_deadline_ms().is_some_and(|due| due <= now.mono_ms) {
                self.step(Input::Tick, Durability::Written, Box::new(drop));
            }
        }
    }

    fn told(&self, what: &'static str) -> Input {
        let boot = (self.boot != 0).then_some(self.boot);
        Input::Daemon { what, version: self.version.clone(), boot }
    }

    /// Takes an input from outside: what was spooled before it comes first.
    fn take(&mut self, request: Request) {
        let Request { input, durability, reply, until_ms } = request;
        if matches!(input, Input::Hook(_) | Input::Pane(_)) {
            self.drain_spool();
        }
        if until_ms.is_some_and(|until| until <= clock::now().mono_ms) {
            return reply(Ok(0));
        }
        if let Input::Hook(call) = &input
            && self.is_refused(call.delivery)
        {
            return reply(Err(Refused::Journal("this event was refused before".to_owned())));
        }
        match self.journal_is_full(&input) {
            Some(reason) => reply(Err(Refused::Journal(reason))),
            None => self.step(input, durability, reply),
        }
    }

    fn look(&mut self, look: Look) {
        self.drain_spool();
        let now = (self.clock)();
        let engine = &self.engine;
        // The reply was dropped with the closure: whoever asked sees that it failed.
        drop(catch_unwind(AssertUnwindSafe(|| look(engine, now))));
    }

    fn stop(mut self, mut commands: mpsc::Receiver<Command>, done: oneshot::Sender<()>) {
        commands.close();
        while let Ok(command) = commands.try_recv() {
            match command {
                Command::Step(request) => self.take(*request),
                Command::Look(look) => self.look(look),
                Command::Wake => {}
                Command::Stop(other) => {
                    let _ = other.send(());
                }
            }
        }
        let stop = self.told("stop");
        self.step(stop, Durability::Synced, Box::new(drop));
        self.store.close();
        self.spool.remove_kept();
        let _ = done.send(());
    }

    /// Returns why no further input is taken now.
    fn journal_is_full(&self, input: &Input) -> Option<String> {
        let size = match input {
            Input::Hook(call) => call.body.len() as u64 * 2,
            Input::Normalized { body, .. } => body.len() as u64 * 2,
            _ => 0,
        };
        if matches!(input, Input::Hook(_))
            && let Some(reason) = self.is_to_spool()
        {
            return Some(reason);
        }
        let unwritten = self.counters.unwritten.load(Ordering::Relaxed);
        (unwritten > 0 && unwritten + size > UNWRITTEN_BYTES).then(|| {
            let health = self.store.health();
            health.error.unwrap_or_else(|| format!("{unwritten} bytes already wait for the disk"))
        })
    }

    /// Returns why a hook call must not even be folded: if it were refused, too, nobody could remember that.
    fn is_to_spool(&self) -> Option<String> {
        let refused = lock(&self.refused).len();
        too_many_refused(refused, || self.store.health().error)
    }

    fn is_refused(&self, delivery: u128) -> bool {
        lock(&self.refused).contains(&delivery)
    }

    /// Takes what lies in the spool, in the order in which the hooks ran.
    fn drain_spool(&mut self) {
        self.spool.remove_kept();
        let refused = |delivery| self.is_refused(delivery);
        if !self.spool.has_more(refused) {
            return;
        }
        for entry in self.spool.waiting(refused) {
            // A long spool is no reason to be taken for hung.
            self.beat.beat(clock::now().mono_ms);
            let unwritten = self.counters.unwritten.load(Ordering::Relaxed);
            if unwritten > 0 && unwritten + entry.bytes * 2 > UNWRITTEN_BYTES || self.is_to_spool().is_some()
            {
                return;
            }
            match self.spool.read(&entry) {
                Ok(call) => {
                    let kept = self.spool.keeping(entry);
                    self.step(
                        Input::Hook(call),
                        Durability::Written,
                        Box::new(move |result| kept(result.is_ok())),
                    );
                }
                Err(None) => self.note_foreign(),
                Err(Some(lost)) => {
                    (self.notice)(&Notice::Warning(lost.clone()));
                    let gap = Input::Gap { lost: 1, reason: lost };
                    self.step(gap, Durability::Written, Box::new(drop));
                }
            }
        }
    }

    /// Notes, and tells once, that there are entries this build does not read.
    fn note_foreign(&self) {
        let now @ (count, version) = self.spool.foreign();
        let before = std::mem::replace(&mut *lock(&self.counters.foreign), now);
        if count > 0 && before.0 == 0 {
            (self.notice)(&Notice::Warning(foreign_words(count, version)));
        }
    }

    /// Writes a gap record for what the spool could not take.
    fn own_up(&mut self) {
        if let Some(lost) = self.spool.lost() {
            let told = self.spool.telling(lost.total);
            let reason = "the spool was full or could not be written".to_owned();
            let gap = Input::Gap { lost: lost.new, reason };
            self.step(gap, Durability::Synced, Box::new(move |result| told(result.is_ok())));
        }
    }

    /// Tells the engine which agents ended without a word.
    fn miss_processes(&mut self) {
        for process in self.processes.gone(&self.engine.processes()) {
            self.step(
                Input::Process { process, machine: None, alive: false },
                Durability::Written,
                Box::new(drop),
            );
        }
    }

    /// Folds one input and carries out what it gives.
    fn step(&mut self, input: Input, durability: Durability, reply: Reply) {
        let now = (self.clock)();
        let shadow = Shadow::of(&input);
        let delivery = shadow.delivery;
        let (fold, engine) = (self.fold, &mut self.engine);
        let effects = match catch_unwind(AssertUnwindSafe(|| fold(engine, now, input))) {
            Ok(effects) => effects,
            Err(panic) => return self.note_panic(shadow, &*panic, durability, reply),
        };
        self.holds.review(&self.engine);
        let mut records = Vec::new();
        let mut pending = Vec::new();
        for effect in effects {
            match effect {
                Effect::Append(batch) => records.extend(batch.into_iter().map(new_record)),
                Effect::Publish { id, event } => pending.push((id, event)),
                Effect::Announce { sessions, .. } => {
                    self.counters.announced.fetch_add(sessions.len() as u64, Ordering::Relaxed);
                }
                Effect::Withdraw { .. } => {}
                Effect::Warn(text) => (self.notice)(&Notice::Warning(text)),
            }
        }
        let pending: Vec<Pending> = pending
            .into_iter()
            .filter_map(|(id, event)| {
                let offset = records.iter().position(|record| record.id == id)? as u64;
                Some(Pending { offset, id, event })
            })
            .collect();
        let batch = (!pending.is_empty()).then(|| {
            self.batch += 1;
            self.told.ring.push(self.batch, pending);
            self.batch
        });
        let (told, refused) = (Arc::clone(&self.told), Arc::clone(&self.refused));
        let count = records.len();
        self.append(records, durability, move |result| {
            if let Some(batch) = batch {
                told.ring.settle(batch, result.as_ref().ok().map(|ack| ack.first_seq));
            }
            if result.is_err()
                && let Some(delivery) = delivery
            {
                lock(&refused).insert(delivery);
            }
            reply(result.map(|_| count).map_err(refusal));
        });
    }

    /// Keeps an input that made the engine panic, so that the fault can be found and the event is not lost.
    fn note_panic(&mut self, shadow: Shadow, panic: &(dyn Any + Send), durability: Durability, reply: Reply) {
        let words = panic_words(panic);
        (self.notice)(&Notice::Warning(format!("the engine failed on one input: {words}")));
        let Some(text) = shadow.text else { return reply(Err(Refused::Panicked)) };
        let text = String::from_utf8_lossy(&text);
        let payload = UnreadablePayload {
            // The fold's clock is unknown here: 0 never moves it.
            clock: 0,
            delivery: format!("{:032x}", shadow.delivery.unwrap_or_default()),
            host: shadow.host,
            error: format!("panic: {}", self.redactor.text(&words)),
            session: None,
            native_event: None,
            cwd: None,
            salvaged: false,
            cut: false,
            origin: Origin::default(),
            text: self.redactor.text(&text).into_owned(),
        };
        // The payload has string keys and no failing serializers, so it always prints.
        let payload = serde_json::to_string(&payload).unwrap_or_default();
        let kind = "unreadable".to_owned();
        let record = NewRecord { id: self.ids.next(), ts_ms: clock::wall_ms(), kind, payload };
        let is_hook = shadow.delivery.is_some();
        self.append(vec![record], durability, move |result| match result {
            Ok(_) if is_hook => reply(Ok(1)),
            Ok(_) => reply(Err(Refused::Panicked)),
            Err(error) => reply(Err(refusal(error))),
        });
    }

    fn append(
        &self,
        records: Vec<NewRecord>,
        durability: Durability,
        done: impl FnOnce(Result<Ack, AppendError>) + Send + 'static,
    ) {
        let bytes: u64 = records.iter().map(|record| record.payload.len() as u64 + 256).sum();
        let counters = Arc::clone(&self.counters);
        counters.unwritten.fetch_add(bytes, Ordering::Relaxed);
        self.store.append(records, durability, move |result| {
            counters.unwritten.fetch_sub(bytes, Ordering::Relaxed);
            done(result);
        });
    }
}

fn too_many_refused(refused: usize, journal_error: impl FnOnce() -> Option<String>) -> Option<String> {
    // A journal that works again refuses nothing.
    if refused < REFUSED { None } else { journal_error() }
}

/// What is left of an input when the engine panics.
struct Shadow {
    delivery: Option<u128>,
    host: String,
    text: Option<Vec<u8>>,
}

impl Shadow {
    fn of(input: &Input) -> Shadow {
        let head = |bytes: &[u8]| Some(bytes[..bytes.len().min(PANIC_TEXT_BYTES)].to_vec());
        match input {
            Input::Hook(call) => {
                Shadow { delivery: Some(call.delivery), host: call.host.clone(), text: head(&call.body) }
            }
            Input::Normalized { body, .. } => {
                Shadow { delivery: None, host: "posted".to_owned(), text: head(body.as_bytes()) }
            }
            _ => Shadow { delivery: None, host: String::new(), text: None },
        }
    }
}

fn new_record(record: Record) -> NewRecord {
    NewRecord {
        id: record.id,
        ts_ms: record.ts_ms,
        kind: record.kind.to_owned(),
        payload: Box::<str>::from(record.payload).into_string(),
    }
}

fn refusal(error: AppendError) -> Refused {
    match error {
        AppendError::Closed => Refused::Stopping,
        other => Refused::Journal(other.to_string()),
    }
}

fn panic_words(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no words".to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use herdbook_engine::{Config, HookDelivery};
    use herdbook_log::Reader;
    use herdbook_machine::Proc;

    use super::*;
    use crate::attention::Ring;
    use crate::journal::Journal;
    use crate::service::Notify;

    fn call(delivery: u128, body: &str) -> Input {
        Input::Hook(HookDelivery {
            host: "claude".into(),
            native_event: None,
            delivery,
            stamp_ms: Some(1),
            started_at_ms: Some(1),
            origin: Origin::default(),
            body: body.as_bytes().to_vec(),
            cut: false,
            spooled: false,
            earlier_boot: false,
        })
    }

    /// Held while the engine shall hang.
    static HANG: Mutex<()> = Mutex::new(());

    fn fold_that_fails_on_boom(engine: &mut Engine, now: Now, input: Input) -> Vec<Effect> {
        match &input {
            Input::Hook(call) if call.body == b"boom" => panic!("no such luck"),
            Input::Hook(call) if call.body == b"hang" => {
                drop(HANG.lock());
                engine.step(now, input)
            }
            _ => engine.step(now, input),
        }
    }

    fn start(state: &Path, runtime: &Handle) -> Core {
        start_with(state, runtime, HashSet::new())
    }

    fn start_with(state: &Path, runtime: &Handle, refused: HashSet<u128>) -> Core {
        start_with_beat(state, runtime, refused, Beat::new(Notify::default(), None))
    }

    fn start_with_beat(state: &Path, runtime: &Handle, refused: HashSet<u128>, beat: Beat) -> Core {
        let journal = Journal::open(state, 7).unwrap();
        let told = Source { dir: journal.dir, ring: Ring::new(journal.opened.last_seq) };
        let engine_loop = EngineLoop {
            engine: Engine::new(Config::default()),
            store: journal.store,
            ids: journal.ids,
            redactor: Redactor::new(&[0; 32]),
            told: Arc::new(told),
            spool: Drain::new(state, 0),
            processes: Watch::new(Proc::system()),
            counters: Arc::default(),
            notice: Arc::new(|_| {}),
            version: "0.0.0-test".into(),
            boot: 0,
            clock: clock::now,
            beat,
            fold: fold_that_fails_on_boom,
            refused: Arc::new(Mutex::new(refused)),
            holds: Arc::new(Holds::new(state.to_owned())),
            batch: 0,
        };
        engine_loop.start(runtime).unwrap()
    }

    #[tokio::test]
    async fn a_panic_costs_one_request_and_its_input_is_kept() {
        let state = tempfile::tempdir().unwrap();
        let core = start(state.path(), &Handle::current());
        assert_eq!(core.step(call(1, "boom"), Durability::Written).await, Ok(()));
        assert_eq!(core.step(call(2, "{}"), Durability::Written).await, Ok(()));
        assert_eq!(core.look(|_, _| -> u32 { panic!("nor here") }).await, Err(Refused::Panicked));
        assert_eq!(core.look(|engine, _| engine.sessions().len()).await, Ok(0));
        core.stop().await;
        assert_eq!(core.look(|_, _| ()).await, Err(Refused::Stopping));
        let lines: Vec<_> = Reader::open(&state.path().join("journal")).map(Result::unwrap).collect();
        let note = lines.iter().find(|line| line.kind == "unreadable").unwrap();
        let payload: UnreadablePayload = serde_json::from_str(&note.payload).unwrap();
        assert_eq!((payload.error.as_str(), payload.text.as_str()), ("panic: no such luck", "boom"));
        assert_eq!(payload.delivery, format!("{:032x}", 1));
        // The next start folds it as any other record.
        let mut engine = Engine::new(Config::default());
        let journal = Journal::open(state.path(), 8).unwrap();
        assert_eq!(journal.replay(&mut engine, |reason| panic!("{reason}")), 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn while_the_engine_hangs_no_sign_of_life_is_given() {
        let state = tempfile::tempdir().unwrap();
        let address = state.path().join("notify");
        let manager = std::os::unix::net::UnixDatagram::bind(&address).unwrap();
        manager.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let heard = || {
            let mut bytes = [0; 64];
            manager.recv(&mut bytes).map(|len| bytes[..len].to_vec())
        };
        let beat = Beat::new(Notify::new(Some(&address.into())), Some(Duration::from_millis(20)));
        let core = start_with_beat(state.path(), &Handle::current(), HashSet::new(), beat);
        for _ in 0..3 {
            assert_eq!(heard().unwrap(), b"WATCHDOG=1");
        }
        let hang = HANG.lock().unwrap();
        let hanging = tokio::spawn({
            let core = core.clone();
            async move { core.step(call(1, "hang"), Durability::Written).await }
        });
        // Signs given before it hung are in the socket still; then there are none for thirty times the interval.
        manager.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        while heard().is_ok() {}
        manager.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        drop(hang);
        assert_eq!(hanging.await.unwrap(), Ok(()));
        assert_eq!(heard().unwrap(), b"WATCHDOG=1");
        core.stop().await;
    }

    #[test]
    fn refused_deliveries_are_remembered_up_to_a_number() {
        let full = || Some("the disk is full".to_owned());
        assert_eq!(too_many_refused(65_535, full), None);
        assert_eq!(too_many_refused(65_536, full), full());
        assert_eq!(too_many_refused(65_536, || None), None);
    }

    #[tokio::test]
    async fn a_journal_that_works_again_takes_new_calls_and_none_that_was_refused() {
        let state = tempfile::tempdir().unwrap();
        let core = start_with(state.path(), &Handle::current(), (0..REFUSED as u128).collect());
        assert_eq!(core.step(call(1 << 100, "{}"), Durability::Written).await, Ok(()));
        let refused = core.step(call(7, "{}"), Durability::Written).await;
        assert_eq!(refused, Err(Refused::Journal("this event was refused before".to_owned())));
        core.stop().await;
    }

    #[tokio::test]
    async fn what_is_asked_after_the_stop_is_refused_in_words() {
        let state = tempfile::tempdir().unwrap();
        let core = start(state.path(), &Handle::current());
        core.stop().await;
        let refused = core.step(call(1, "{}"), Durability::Written).await.unwrap_err();
        assert_eq!(refused.to_string(), "the daemon is stopping");
    }
}
