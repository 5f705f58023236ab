//! Hook calls that wait for the human: held while what they ask for is open, and answered by him from elsewhere.
//!
//! Only where he switched that on, and only at an event whose host shows its own dialog meanwhile. Whatever ends the
//! wait ends the hold: the hook goes home and prints nothing. Whether a hold is open is decided on the engine's thread,
//! so that of many answers one wins, and none comes after the end of its wait.

mod hold;
mod subject;
mod switch;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herdbook_engine::Engine;
use herdbook_wire::Delivery;
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::{Instant, sleep_until};

pub(crate) use hold::{Claim, Ending, Hold};
pub(crate) use subject::Subject;

use crate::config::stopped;
use crate::core::Core;
use crate::frames::hung_up;
use crate::peer::Peer;
use crate::spool::lock;
use hold::State;
use switch::Switches;

/// So many hooks are held at once; they take no place of other connections. What comes beyond is not held.
const HOLDS: usize = 64;
/// So many holds that are over are remembered, to say what became of them.
const REMEMBERED: usize = 256;
/// A hold ends so long before its hook's patience.
const SLACK_MS: u64 = 300;
/// The answer that a human gave is written down within this time, or not given.
const CLAIMED_TIME: Duration = Duration::from_secs(3);

/// All holds.
pub(crate) struct Holds {
    switches: Switches,
    places: Arc<Semaphore>,
    open: Mutex<Vec<Arc<Hold>>>,
    /// How many there are, so that a step of the engine costs nothing where there is none.
    count: AtomicUsize,
    over: Mutex<VecDeque<Arc<Hold>>>,
    /// Who was refused last, about which wait and why.
    refused: Mutex<VecDeque<(String, Peer, String)>>,
}

/// A hook that is held: its hold, how it ends, and its place.
pub(crate) struct Held {
    pub hold: Arc<Hold>,
    ending: oneshot::Receiver<Ending>,
    until: Instant,
    is_patient: bool,
    _place: OwnedSemaphorePermit,
}

impl Held {
    /// How long the hook is asked to wait, in milliseconds; nothing where it was asked before.
    pub(crate) fn wait_ms(&self) -> Option<u32> {
        let left = self.until.saturating_duration_since(Instant::now());
        let wait_ms = u32::try_from(left.as_millis() as u64 + SLACK_MS).unwrap_or(u32::MAX);
        (!self.is_patient).then_some(wait_ms)
    }
}

impl Holds {
    pub(crate) fn new(state_dir: std::path::PathBuf) -> Holds {
        Holds {
            switches: Switches::new(state_dir),
            places: Arc::new(Semaphore::new(HOLDS)),
            open: Mutex::default(),
            count: AtomicUsize::new(0),
            over: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    /// Reads what a call asks for before its bytes go to the engine; nothing where it would not be held.
    pub(crate) fn subject(&self, delivery: &Delivery) -> Option<Subject> {
        let switch = self.switches.of(&delivery.host)?;
        Subject::read(delivery, &switch)
    }

    /// Begins to hold a call that is kept by now, if it opened a wait for a permission. A hook that was asked to wait
    /// waits until then, and can be asked no more.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        core: &Core,
        subject: Subject,
        patient_until: Option<Instant>,
    ) -> Option<Held> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let now = Instant::now();
        let slack = Duration::from_millis(SLACK_MS);
        let until = now + Duration::from_millis(subject.hold_ms());
        let until = patient_until.map_or(until, |patient_until| until.min(patient_until));
        let until = until.checked_sub(slack).filter(|until| *until > now)?;
        let holds = Arc::clone(self);
        let looked = core.look(move |engine, now| {
            let wait = engine.wait_of(subject.delivery)?;
            let (hold, ending) = Hold::of(subject, wait, now.wall_ms)?;
            let hold = Arc::new(hold);
            lock(&holds.open).push(Arc::clone(&hold));
            holds.count.fetch_add(1, Ordering::Relaxed);
            Some((hold, ending))
        });
        let (hold, ending) = looked.await.ok()??;
        Some(Held { hold, ending, until, is_patient: patient_until.is_some(), _place: place })
    }

    /// Waits for the end of a hold, whatever brings it about.
    pub(crate) async fn wait(
        &self,
        held: &mut Held,
        stream: &mut UnixStream,
        stop: &mut watch::Receiver<bool>,
    ) -> Ending {
        let state = tokio::select! {
            ending = &mut held.ending => return self.ended(&held.hold, ending.unwrap_or(Ending::Over)),
            () = hung_up(stream) => State::HungUp,
            () = sleep_until(held.until) => State::TimeUp,
            () = stopped(stop) => State::Stopped,
        };
        if held.hold.end(state) || state == State::HungUp {
            self.forget(&held.hold);
            return Ending::Over;
        }
        // Somebody has just answered: what he said is on its way into the journal.
        let ending = tokio::time::timeout(CLAIMED_TIME, &mut held.ending).await;
        self.ended(&held.hold, ending.ok().and_then(Result::ok).unwrap_or(Ending::Over))
    }

    fn ended(&self, hold: &Arc<Hold>, ending: Ending) -> Ending {
        self.forget(hold);
        ending
    }

    /// Ends the holds whose wait is over; called after each step of the engine.
    pub(crate) fn review(&self, engine: &Engine) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let over = |hold: &&Arc<Hold>| !engine.is_open(&hold.wait.session, &hold.wait.id);
        let ended: Vec<Arc<Hold>> = lock(&self.open).iter().filter(over).cloned().collect();
        for hold in ended {
            hold.end_over();
        }
    }

    /// The holds that can be answered.
    pub(crate) fn open(&self) -> Vec<Arc<Hold>> {
        lock(&self.open).iter().filter(|hold| hold.is_open()).cloned().collect()
    }

    /// Finds the hold of a wait: one that can be answered, else the last that is known.
    pub(crate) fn find(&self, wait: &str) -> Option<Arc<Hold>> {
        let open = lock(&self.open);
        let mut of_wait = open.iter().filter(|hold| hold.wait.id == wait);
        let found = of_wait.clone().find(|hold| hold.is_open()).or_else(|| of_wait.next()).cloned();
        drop(open);
        found.or_else(|| lock(&self.over).iter().rfind(|hold| hold.wait.id == wait).cloned())
    }

    /// True when the same was not refused to the same process just now: who tries a thousand times is told of once.
    pub(crate) fn is_new_refusal(&self, wait: &str, peer: Peer, why: &str) -> bool {
        let mut refused = lock(&self.refused);
        let is_same = |(of, by, words): &(String, Peer, String)| of == wait && *by == peer && words == why;
        let is_new = !refused.iter().any(is_same);
        if is_new {
            if refused.len() == REMEMBERED {
                refused.pop_front();
            }
            refused.push_back((wait.to_owned(), peer, why.to_owned()));
        }
        is_new
    }

    fn forget(&self, hold: &Arc<Hold>) {
        let mut open = lock(&self.open);
        let before = open.len();
        open.retain(|other| !Arc::ptr_eq(other, hold));
        self.count.fetch_sub(before - open.len(), Ordering::Relaxed);
        drop(open);
        let mut over = lock(&self.over);
        if over.len() == REMEMBERED {
            over.pop_front();
        }
        hold.drop_input();
        over.push_back(Arc::clone(hold));
    }
}
