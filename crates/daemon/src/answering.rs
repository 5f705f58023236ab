//! What a hook call is answered with once its event is kept: here the routes are asked, all at once and within the time
//! that the host's own entry leaves.
//!
//! A call for which nobody is asked costs one look at a flag.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herdbook_engine::{Decided, DecidedBy, Input, RouteRun};
use herdbook_events::{CanonicalEvent, SessionKey};
use herdbook_hosts::{Decision, HostTable, NativeEvent, Output, Projected, project, table};
use herdbook_log::Durability;
use herdbook_machine::Halt;
use herdbook_redact::clip;
use herdbook_wire::{Answer, Delivery};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout, timeout_at};

use crate::clock;
use crate::config::Notice;
use crate::core::{Core, Counters};
use crate::routes::{Kept, LoadedRoute, Run, Tally, input, run};
use crate::spool::lock;

/// So many routes run at once; each has a thread that waits for it.
pub(crate) const RUNS: usize = 48;
/// So many of these may be the same route: one that hangs must leave room for the others.
const RUNS_OF_ONE: usize = 16;
/// The host gets its answer so long before its own time is over.
const RESERVE_MS: u64 = 1_000;
/// What remains after the routes had their time, for the journal and for the way.
const SAY_MS: u64 = 100;
/// The hook waits so much longer than our answer may take.
const SLACK_MS: u64 = 200;
/// A decision that the journal has not taken by then is given all the same.
const JOURNAL_TIME: Duration = Duration::from_millis(80);
/// So much of each route's reason is written down beside what the host was told.
const WHY_COLUMNS: usize = 4_096;
/// Why a run has no answer where the code failed on it.
const BROKE_DAEMON: &str = "made the daemon fail";
/// Longer bodies are read on a thread that may wait.
const SHORT_BYTES: usize = 64 << 10;

/// Asks whoever may answer hook calls.
pub(crate) struct Answering {
    pub kept: Arc<Kept>,
    pub tally: Tally,
    core: Core,
    counters: Arc<Counters>,
    notice: Arc<dyn Fn(&Notice) + Send + Sync>,
    places: Arc<Semaphore>,
    places_of: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// Ends the asking before its time, for a reason in words. Clones end the same.
#[derive(Clone)]
pub(crate) struct Ending {
    /// Nothing where there were no descriptors left: then their own limits end them.
    halt: Option<Halt>,
    why: watch::Sender<Option<&'static str>>,
}

impl Ending {
    pub(crate) fn new() -> Ending {
        Ending { halt: Halt::new().ok(), why: watch::Sender::new(None) }
    }

    /// Kills what runs and lets nothing more begin.
    pub(crate) fn end(&self, why: &'static str) {
        self.why.send_replace(Some(why));
        if let Some(halt) = &self.halt {
            halt.halt();
        }
    }

    fn why(&self) -> Option<&'static str> {
        *self.why.borrow()
    }

    async fn ended(&self) {
        // It lives as long as we do.
        drop(self.why.subscribe().wait_for(Option::is_some).await);
    }
}

/// What is kept of a call while its event goes to the engine.
pub(crate) struct Question {
    asked: Asking,
    table: &'static HostTable,
    delivery: u128,
    stamp_ms: u64,
}

enum Asking {
    Short(Box<Delivery>),
    Long(JoinHandle<Option<About>>),
}

/// A call that somebody may answer: the event, its row in the host's table, and who is asked.
pub(crate) struct About {
    event: CanonicalEvent,
    table: &'static HostTable,
    native: &'static NativeEvent,
    entry_ms: u64,
}

/// A call whose hook waits for an answer.
pub(crate) struct Waiting {
    about: About,
    delivery: u128,
    begun: Instant,
    /// The answer must be on its way by then.
    until: Instant,
}

/// What was decided, and the answer that says so.
pub(crate) struct Verdict {
    pub decided: Decided,
    pub answer: Answer,
}

impl Verdict {
    /// The host did not wait for it: nothing was told.
    pub(crate) fn unheard(mut self) -> Decided {
        self.decided.told = None;
        self.decided
    }
}

impl Answering {
    pub(crate) fn new(
        kept: Arc<Kept>,
        core: Core,
        counters: Arc<Counters>,
        notice: Arc<dyn Fn(&Notice) + Send + Sync>,
    ) -> Answering {
        let places = Arc::new(Semaphore::new(RUNS));
        Answering {
            kept,
            tally: Tally::default(),
            core,
            counters,
            notice,
            places,
            places_of: Mutex::default(),
        }
    }

    /// Keeps what is needed of a call before its bytes go to the engine; nothing where nobody would be asked.
    pub(crate) fn question(self: &Arc<Self>, delivery: &Delivery) -> Option<Question> {
        if !self.kept.is_any() || delivery.cut {
            return None;
        }
        let table = table(&delivery.host)?;
        let (id, stamp_ms) = (delivery.delivery, delivery.stamp_ms);
        let call = Delivery {
            host: delivery.host.clone(),
            native_event: delivery.native_event.clone(),
            body: delivery.body.clone(),
            ..Delivery::default()
        };
        let asked = if call.body.len() <= SHORT_BYTES {
            Asking::Short(Box::new(call))
        } else {
            let answering = Arc::clone(self);
            Asking::Long(spawn_blocking(move || answering.about(&call)))
        };
        Some(Question { asked, table, delivery: id, stamp_ms })
    }

    /// Says whether somebody is asked about a call, and for how long.
    pub(crate) async fn waiting(&self, question: Question) -> Option<Waiting> {
        let about = match question.asked {
            Asking::Short(call) => self.about(&call)?,
            Asking::Long(reading) => reading.await.ok()??,
        };
        let begun = Instant::now();
        let until = begun + left(about.entry_ms, question.stamp_ms);
        Some(Waiting { about, delivery: question.delivery, begun, until })
    }

    /// Returns what the hook is asked to wait where nobody knows yet whether it must, in milliseconds.
    pub(crate) fn most_ms(&self, question: &Question) -> u32 {
        let most_ms = self.kept.found().limits.most(question.table);
        wait_ms(left(most_ms, question.stamp_ms))
    }

    fn about(&self, call: &Delivery) -> Option<About> {
        let Projected::Event(event) = project(&call.host, call.native_event.as_deref(), &call.body) else {
            return None;
        };
        let found = self.kept.found();
        if found.matching(&event).is_empty() {
            return None;
        }
        let (table, native) = row(&event.host, &event)?;
        // The entry stands in the settings of the host whose hook was called, which may be another's that this one reads.
        let called = row(&call.host, &event).map(|(table, native)| found.limits.of(table, native));
        let own = found.limits.of(table, native);
        let entry_ms = called.map_or(own, |called| called.min(own));
        Some(About { event: *event, table, native, entry_ms })
    }

    /// Asks the routes, and folds what they say.
    pub(crate) async fn decide(self: &Arc<Self>, waiting: Waiting, ending: &Ending) -> Option<Verdict> {
        let Waiting { about, delivery, begun, until } = waiting;
        let About { event, table, native, .. } = about;
        let kept = Arc::clone(&self.kept);
        // What is run is what is trusted now, not what was a second ago.
        let (answering, halt) = (Arc::clone(self), ending.halt.clone());
        let asked = spawn_blocking(move || {
            let routes = kept.look_again().matching(&event);
            let given: Arc<[u8]> =
                routes.first().map(|first| input(&event, first.route.family).into()).unwrap_or_default();
            // Most calls have but one route: it is run right here.
            let ran = match routes.as_slice() {
                [only] => answering.places_now(only).map(|places| {
                    let ran = within(only, (table, native), Arc::clone(&given), halt.as_ref(), until);
                    drop(places);
                    ran
                }),
                _ => None,
            };
            (event, routes, given, ran)
        });
        let (event, routes, given, ran) = asked.await.ok()?;
        if routes.is_empty() {
            return None;
        }
        let running: Vec<_> = match ran {
            Some(ran) => vec![Running::Over(ran)],
            None => {
                let run = |loaded: &Arc<LoadedRoute>| {
                    let (loaded, given) = (Arc::clone(loaded), Arc::clone(&given));
                    let run = Arc::clone(self).run(loaded, (table, native), given, ending.clone(), until);
                    Running::Task(tokio::spawn(run))
                };
                routes.iter().map(run).collect()
            }
        };
        let mut decisions = Vec::new();
        let mut runs = Vec::new();
        for (loaded, running) in routes.iter().zip(running) {
            let mut ran = running.over().await;
            let cut_short = ending.why().filter(|_| ran.answer.is_err());
            if let Some(cut_short) = cut_short {
                ran.answer = Err(cut_short.to_owned());
            }
            let told = self.tally.count(loaded, &ran, cut_short.is_some(), clock::wall_ms());
            if let Some(told) = told {
                (self.notice)(&Notice::Warning(told));
            }
            runs.push(journalled(loaded, &ran));
            decisions.push(ran.answer.unwrap_or_else(|why| loaded.failed(&why)));
        }
        let decision = Decision::fold(decisions);
        let said = table.say(native, &decision);
        let given = said.outcome().as_str();
        let (told, answer) = match said.output {
            Output::Nothing => (None, Answer::Done),
            Output::Stdout(text) => (Some(text.clone()), Answer::Decision(text.into_bytes())),
            Output::ExitTwo(text) => (Some(text.clone()), Answer::Refusal(text.into_bytes())),
        };
        let left_out =
            said.left_out.iter().map(|(answer, refusal)| format!("{}: {}", answer.as_str(), refusal.why));
        let decided = Decided {
            delivery,
            host: event.host.clone(),
            native_event: native.name.to_owned(),
            session: event.session.as_deref().and_then(|session| SessionKey::hooked(&event.host, session)),
            by: DecidedBy::Routes(runs),
            outcome: decision.outcome.as_str(),
            given,
            reason: decision.reason,
            told,
            left_out: left_out.collect(),
            took_ms: milliseconds(begun.elapsed()),
        };
        Some(Verdict { decided, answer })
    }

    async fn run(
        self: Arc<Self>,
        loaded: Arc<LoadedRoute>,
        row: (&'static HostTable, &'static NativeEvent),
        given: Arc<[u8]>,
        ending: Ending,
        until: Instant,
    ) -> Run {
        let own = self.places_of(&loaded);
        let places = async { (own.acquire_owned().await, Arc::clone(&self.places).acquire_owned().await) };
        let places = tokio::select! {
            places = timeout_at(said_by(until), places) => places,
            () = ending.ended() => return Run::failed("was not run"),
        };
        let Ok(places) = places else {
            return Run::failed("was not run: too many routes ran at once");
        };
        let running = spawn_blocking(move || {
            let run = within(&loaded, row, given, ending.halt.as_ref(), until);
            drop(places);
            run
        });
        running.await.unwrap_or_else(|_| Run::failed(BROKE_DAEMON))
    }

    fn places_of(&self, loaded: &LoadedRoute) -> Arc<Semaphore> {
        let mut places = lock(&self.places_of);
        let own = places.entry(loaded.route.id.clone());
        Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(RUNS_OF_ONE))))
    }

    /// Takes the places for a run, where they are free.
    fn places_now(&self, loaded: &LoadedRoute) -> Option<[OwnedSemaphorePermit; 2]> {
        let own = self.places_of(loaded).try_acquire_owned().ok()?;
        Some([own, Arc::clone(&self.places).try_acquire_owned().ok()?])
    }

    /// Writes a decision down, before the host is told. Where that cannot be, the host is told all the same.
    pub(crate) async fn note(&self, decided: Decided) {
        let noted = timeout(JOURNAL_TIME, self.core.step(Input::Decided(decided), Durability::Written)).await;
        if !matches!(noted, Ok(Ok(()))) {
            self.counters.unnoted.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// One run of a route, on its way.
enum Running {
    Over(Run),
    Task(JoinHandle<Run>),
}

impl Running {
    async fn over(self) -> Run {
        match self {
            Running::Over(run) => run,
            Running::Task(task) => task.await.unwrap_or_else(|_| Run::failed(BROKE_DAEMON)),
        }
    }
}

/// Runs a route within its own limit and what is left of the host's time. The caller's thread waits.
fn within(
    loaded: &LoadedRoute,
    row: (&HostTable, &NativeEvent),
    given: Arc<[u8]>,
    halt: Option<&Halt>,
    until: Instant,
) -> Run {
    let own = Duration::from_millis(loaded.route.timeout_ms);
    let limit = own.min(said_by(until).saturating_duration_since(Instant::now()));
    match limit.is_zero() {
        true => Run::failed("was not run: no time was left"),
        false => run(loaded, row, given, limit, halt),
    }
}

/// Routes must have answered by then.
fn said_by(until: Instant) -> Instant {
    until.checked_sub(Duration::from_millis(SAY_MS)).unwrap_or(until)
}

impl Waiting {
    /// Returns what the hook is asked to wait, in milliseconds.
    pub(crate) fn wait_ms(&self) -> u32 {
        wait_ms(self.until.saturating_duration_since(Instant::now()))
    }
}

fn wait_ms(left: Duration) -> u32 {
    u32::try_from(milliseconds(left) + SLACK_MS).unwrap_or(u32::MAX)
}

/// Returns what is left of the time-out of an entry for us, of a hook that began at that time since boot.
fn left(entry_ms: u64, stamp_ms: u64) -> Duration {
    // A stamp of the future is none of this boot.
    let passed_ms = clock::boot_ms().saturating_sub(stamp_ms);
    Duration::from_millis(entry_ms.saturating_sub(RESERVE_MS + passed_ms))
}

/// Returns the row of an event in a host's table.
fn row(host: &str, event: &CanonicalEvent) -> Option<(&'static HostTable, &'static NativeEvent)> {
    let table = table(host)?;
    Some((table, table.event(event.native_event.as_deref()?)?))
}

fn journalled(loaded: &LoadedRoute, ran: &Run) -> RouteRun {
    let decision = ran.answer.as_ref().ok();
    RouteRun {
        route: loaded.route.id.clone(),
        trusted: loaded.sha256.clone(),
        outcome: decision.map(|decision| decision.outcome.as_str()),
        reason: decision.and_then(|decision| Some(clip(decision.reason.as_deref()?, WHY_COLUMNS))),
        error: ran.answer.as_ref().err().cloned(),
        took_ms: milliseconds(ran.took),
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
