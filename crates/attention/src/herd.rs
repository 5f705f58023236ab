//! All sessions together: transitions, deadlines, announcements, links.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use herdbook_events::observation::PaneRef;
use herdbook_events::{NormalizedEvent, SessionKey, WaitKind};

use crate::ledger::Span;
use crate::session::{Cause, Moment, Phase, Place, Session, Transition, Wait};

/// Times of the fold, in milliseconds of its own clock.
#[derive(Clone, Debug)]
pub struct Limits {
    /// A new wait is announced after this time, and leaves no trace when it is over sooner.
    pub grace_ms: u64,
    /// Waits that become due within this time are announced in one call (case F-100).
    pub group_ms: u64,
    /// A skipped entry stays behind the others this long.
    pub skip_cooldown_ms: u64,
    /// `working` without a process to look at becomes `unknown` after this time (case F-094).
    pub working_expiry_ms: u64,
    /// A wait without a process or pane leaves the queue after this time (case F-094).
    pub stale_wait_ms: u64,
    /// Ended sessions are remembered this long.
    pub tombstone_ms: u64,
    /// A look at a pane counts this long after the client was last used (case F-101).
    pub focus_ms: u64,
}

/// One call to the human, for one or more sessions at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Sessions that wait, what blocks first.
    pub sessions: Vec<SessionKey>,
    /// One line: the session's own message, or how many wait.
    pub message: String,
}

/// The state of the whole herd.
#[derive(Debug)]
pub struct Attention {
    pub(crate) limits: Limits,
    pub(crate) sessions: BTreeMap<SessionKey, Session>,
    pub(crate) arrivals: u64,
    pub(crate) last_order_ms: u64,
    /// Ended sessions that left memory, or whose end is all that was heard of them.
    pub(crate) tombstones: HashMap<SessionKey, Tombstone>,
    pub(crate) sweep_at_ms: Option<u64>,
    pub(crate) focus: Option<(String, u64)>,
    /// Sessions that only run a subagent of another one.
    pub(crate) child_sessions: BTreeMap<SessionKey, Child>,
    /// Where agents sit, once that was looked at.
    pub(crate) seats: Option<Vec<herdbook_events::observation::Seat>>,
    withdrawn: Vec<SessionKey>,
    /// What sessions did, since it was taken last.
    pub(crate) spans: Vec<Span>,
    /// Sessions that only a pane told of.
    pub(crate) found: BTreeSet<SessionKey>,
    /// Sessions that only a program's own reports tell of.
    pub(crate) reporters: BTreeSet<SessionKey>,
    /// Nothing is due before this time: a lower bound, made exact each time it is reached. All that time changes
    /// obeys it, so that nothing but the journal and the clock decides when it happens.
    pub(crate) due_hint_ms: Option<u64>,
    /// Live sessions that hooks feed.
    pub(crate) hooked: BTreeSet<SessionKey>,
    /// Something changed that decides which posted session stands behind which hook-fed one.
    pub(crate) links_changed: bool,
}

/// What is remembered of a session that is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tombstone {
    /// Fold time of the end.
    pub at_ms: u64,
    /// Stamp of the last hook that moved it: older ones come late.
    pub stamp_ms: Option<u64>,
}

/// Whose child a session is.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    /// The session it counts for, which may be heard of later than its child.
    pub root: SessionKey,
    /// Fold time at which that was learned last.
    pub since_ms: u64,
}

/// Ended sessions kept in full; older ones become tombstones.
const ENDED_KEPT: usize = 500;

impl Attention {
    /// Makes an empty herd.
    pub fn new(limits: Limits) -> Attention {
        Attention {
            limits,
            sessions: BTreeMap::new(),
            arrivals: 0,
            last_order_ms: 0,
            tombstones: HashMap::new(),
            sweep_at_ms: None,
            focus: None,
            child_sessions: BTreeMap::new(),
            seats: None,
            withdrawn: Vec::new(),
            spans: Vec::new(),
            found: BTreeSet::new(),
            reporters: BTreeSet::new(),
            due_hint_ms: None,
            hooked: BTreeSet::new(),
            links_changed: false,
        }
    }

    /// Returns a session, ghosts included.
    pub fn session(&self, key: &SessionKey) -> Option<&Session> {
        self.sessions.get(key)
    }

    /// Iterates over all listed sessions; ghosts inside another session's process are not listed.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.values().filter(|session| session.parent.is_none())
    }

    /// Iterates over the keys of all sessions whose words may be shown: of sessions in memory, ghosts included, and of
    /// those that only run a subagent of another one.
    pub fn heard(&self) -> impl Iterator<Item = &SessionKey> {
        self.sessions.keys().chain(self.child_sessions.keys())
    }

    /// True when the session ended and has not registered since.
    pub fn is_ended(&self, key: &SessionKey) -> bool {
        self.tombstones.contains_key(key) || self.sessions.get(key).is_some_and(|session| !session.is_live())
    }

    /// Takes and empties the list of sessions whose announced wait is over.
    pub fn take_withdrawn(&mut self) -> Vec<SessionKey> {
        std::mem::take(&mut self.withdrawn)
    }

    /// Learns which pane the human looks at, and how long ago that client was used.
    pub fn focus(&mut self, at: Moment, pane: String, client_active_ms_ago: u64) {
        self.focus = Some((pane, at.at_ms.saturating_sub(client_active_ms_ago)));
    }

    /// After a sleep or a stop: pending announcements get their whole grace period again (case F-092).
    pub fn restart_grace(&mut self, at: Moment) {
        let grace = self.limits.grace_ms;
        for wait in self.sessions.values_mut().flat_map(|session| &mut session.waits) {
            if wait.announce_at_ms.is_some() {
                wait.announce_at_ms = Some(at.at_ms + grace);
            }
        }
        self.sweep_at_ms = None;
        self.settle_deadline();
    }

    /// Takes everything that waits as announced: for waits that were there before the daemon was.
    pub fn silence_pending(&mut self) {
        for session in self.sessions.values_mut() {
            for wait in &mut session.waits {
                wait.announce_at_ms = None;
            }
            if let Some(place) = &mut session.place {
                place.called = true;
            }
        }
        self.sweep_at_ms = None;
    }

    /// Forgets when hooks started: those times count from the boot, and the machine may have booted since.
    pub fn forget_stamps(&mut self) {
        for session in self.sessions.values_mut() {
            session.main_stamp_ms = None;
            session.start_stamp_ms = None;
            session.begun_stamp_ms = None;
            session.waits.iter_mut().for_each(|wait| wait.stamp_ms = None);
            session.open_tools.iter_mut().for_each(|open| open.stamp_ms = None);
            session.over_tools.iter_mut().for_each(|over| over.stamp_ms = None);
        }
        self.tombstones.values_mut().for_each(|tombstone| tombstone.stamp_ms = None);
    }

    pub(crate) fn remembers(&self, key: &SessionKey) -> bool {
        self.sessions.contains_key(key) || self.tombstones.contains_key(key)
    }

    /// True while more calls of that fingerprint are open than requests for them: one more equal request is another
    /// call's, not a repeat (two equal calls of one batch).
    pub fn expects_request(&self, key: &SessionKey, agent: &Option<String>, fingerprint: &str) -> bool {
        let Some(session) = self.sessions.get(key) else { return false };
        let calls =
            session.open_tools.iter().filter(|o| o.agent == *agent && o.tool.fingerprint == fingerprint);
        let asked = session.waits.iter().filter(|wait| {
            wait.agent == *agent && wait.tool.as_ref().is_some_and(|tool| tool.fingerprint == fingerprint)
        });
        calls.count() > asked.count()
    }

    /// Live sessions that hooks feed and that a human can sit at: they speak for what else is told of their panes.
    fn speakers(&self) -> impl Iterator<Item = &Session> {
        let hooked = self.hooked.iter().filter_map(|key| self.sessions.get(key));
        hooked.filter(|session| session.parent.is_none() && session.is_live() && !session.is_headless())
    }

    /// Returns the panes of live sessions that hooks feed: the detector leaves them alone.
    pub fn panes_with_hooks(&self) -> Vec<PaneRef> {
        let speakers = self.speakers().filter(|session| !self.is_found(session) && session.machine.is_none());
        speakers.filter_map(|session| session.pane.clone()).collect()
    }

    /// Decides anew which posted sessions stand behind a hook-fed one: same transcript, or same pane and no other
    /// candidate (overview section 4). What stops or starts to speak for itself says so.
    pub(crate) fn relink(&mut self, at: Moment) -> Vec<Transition> {
        if !std::mem::take(&mut self.links_changed) {
            return Vec::new();
        }
        let mut by_transcript: HashMap<&str, &SessionKey> = HashMap::new();
        let mut by_pane: HashMap<&str, Vec<&Session>> = HashMap::new();
        for session in self.speakers() {
            if !session.transcript_path.is_empty() {
                by_transcript.insert(&session.transcript_path, &session.key);
            }
            if let Some(pane) = &session.pane {
                by_pane.entry(&pane.pane).or_default().push(session);
            }
        }
        let in_pane = |pane: &PaneRef| -> Option<&SessionKey> {
            let sits = |session: &&&Session| session.pane.as_ref().is_some_and(|own| own.may_be(pane));
            let mut here = by_pane.get(pane.pane.as_str())?.iter().filter(sits);
            here.next().filter(|_| here.next().is_none()).map(|only| &only.key)
        };
        let speaker = |posted: &Session| -> Option<SessionKey> {
            let by_file = by_transcript.get(posted.transcript_path.as_str()).copied();
            by_file.or_else(|| posted.pane.as_ref().and_then(in_pane)).cloned()
        };
        let changed: Vec<(SessionKey, Option<SessionKey>)> = self
            .sessions
            .values()
            .filter(|session| session.posted && session.is_live())
            .map(|session| (session.key.clone(), speaker(session)))
            .filter(|(key, hidden_by)| {
                self.sessions.get(key).is_some_and(|session| session.hidden_by != *hidden_by)
            })
            .collect();
        let mut out = Vec::new();
        for (key, hidden_by) in changed {
            let Some(session) = self.sessions.get_mut(&key) else { continue };
            let (was, is) = (session.hidden_by.is_some(), hidden_by.is_some());
            session.hidden_by = hidden_by;
            if was != is && !session.waits.is_empty() && !session.is_stale() {
                let event = if is { Some(unstuck(session, at)) } else { stuck(session) };
                out.extend(event.map(|event| transition(session, event, &Cause::default())));
            }
            self.account(&key, at, &Cause::default());
        }
        out
    }

    /// Sets the phase of a session.
    pub(crate) fn enter(&mut self, key: &SessionKey, phase: Phase, at: Moment) {
        let expiry = at.at_ms + self.limits.working_expiry_ms;
        if let Some(session) = self.sessions.get_mut(key) {
            session.enter(phase, at);
        }
        if phase == Phase::Working {
            self.due_by(expiry);
        }
    }

    /// Adds a session.
    pub(crate) fn insert(&mut self, session: Session) {
        if !session.posted {
            self.hooked.insert(session.key.clone());
        }
        self.links_changed = true;
        self.sessions.insert(session.key.clone(), session);
    }

    pub(crate) fn is_buried(&self, key: &SessionKey) -> bool {
        self.tombstones.contains_key(key)
    }

    /// Remembers that a session is over of which nothing else is known: what its hooks said before may come yet.
    pub(crate) fn bury(&mut self, key: &SessionKey, at: Moment, stamp_ms: Option<u64>) {
        self.tombstones.insert(key.clone(), Tombstone { at_ms: at.at_ms, stamp_ms });
        self.due_by(at.at_ms + self.limits.tombstone_ms + 1);
    }

    pub(crate) fn unbury(&mut self, key: &SessionKey) {
        self.tombstones.remove(key);
    }

    /// Opens a wait of a session and gives it a place in the queue if it has none.
    pub(crate) fn open(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        mut wait: Wait,
        order: Option<u64>,
    ) -> Option<Transition> {
        let grace = self.limits.grace_ms;
        let stale_wait_ms = self.limits.stale_wait_ms;
        self.due_by(at.at_ms + if wait.announce_at_ms.is_some() { grace } else { stale_wait_ms });
        let session = self.sessions.get_mut(key)?;
        if session.parent.is_some() {
            return None;
        }
        session.note(at, cause);
        // A wait that is long past when we hear of it is not called out (case F-098).
        let long_past = cause.happened_at_ms.is_some_and(|when| at.wall_ms.saturating_sub(when) > 10_000);
        if wait.announce_at_ms.is_some() {
            wait.announce_at_ms = (!long_past).then_some(at.at_ms + grace);
        }
        let wall = cause.happened_at_ms.unwrap_or(at.wall_ms).min(at.wall_ms);
        wait.opened = Moment { at_ms: at.at_ms.saturating_sub(at.wall_ms - wall), wall_ms: wall };
        self.arrivals += 1;
        if session.place.is_none() {
            let order_ms = order.unwrap_or(if cause.happened_at_ms.is_some() {
                wall
            } else {
                // Arrival decides, also when the clock steps back.
                self.last_order_ms = self.last_order_ms.max(wall);
                self.last_order_ms
            });
            session.place = Some(Place {
                id: self.arrivals,
                order_ms,
                arrival: self.arrivals,
                stuck_at_ms: order.unwrap_or(wall),
                skip_until_ms: None,
                pinned: false,
                stale: false,
                called: false,
            });
        } else if let Some(place) = &mut session.place {
            place.stale = false;
        }
        session.waits.push(wait);
        let shown = stuck(session)?;
        Some(transition(session, shown, cause))
    }

    /// Closes the waits that `over` picks. Returns the `unstuck` if it was the last.
    pub(crate) fn close(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        over: impl Fn(&Wait) -> bool,
    ) -> Option<Transition> {
        let grace = self.limits.grace_ms;
        let session = self.sessions.get_mut(key)?;
        let before = session.waits.len();
        let mut closed = 0;
        session.waits.retain(|wait| {
            let is_over = over(wait);
            if is_over && at.at_ms.saturating_sub(wait.opened.at_ms) > grace {
                closed += 1;
            }
            !is_over
        });
        if session.waits.len() == before {
            return None;
        }
        session.closed_waits += closed;
        session.note(at, cause);
        if !session.waits.is_empty() {
            return None;
        }
        session.since = at;
        // Whatever ended the wait is a sign of life: from here on it counts when nothing more is heard.
        session.active = at;
        self.due_by(at.at_ms + self.limits.working_expiry_ms);
        self.leave(key, at, cause)
    }

    /// Takes a session that has no waits left out of the queue.
    pub(crate) fn leave(&mut self, key: &SessionKey, at: Moment, cause: &Cause) -> Option<Transition> {
        let session = self.sessions.get_mut(key)?;
        let place = session.place.take()?;
        if place.called {
            self.withdrawn.push(key.clone());
        }
        if place.stale { None } else { Some(transition(session, unstuck(session, at), cause)) }
    }

    /// Ends a session: unstuck first if it was stuck, then ended.
    pub(crate) fn end(&mut self, key: &SessionKey, at: Moment, cause: &Cause) -> Vec<Transition> {
        let mut transitions: Vec<Transition> = self.close(key, at, cause, |_| true).into_iter().collect();
        let Some(session) = self.sessions.get_mut(key) else { return transitions };
        if !session.is_live() {
            return transitions;
        }
        session.note(at, cause);
        session.enter(Phase::Ended, at);
        session.hidden_by = None;
        self.links_changed |= self.hooked.remove(key);
        self.reporters.remove(key);
        session.children.clear();
        session.open_tools.clear();
        session.over_tools.clear();
        if session.parent.is_none() {
            let event = NormalizedEvent::Ended { session_id: key.to_string(), timestamp: at.wall_ms.max(1) };
            transitions.push(transition(session, event, cause));
        }
        self.drop_ghosts(key);
        self.bury_surplus();
        self.watch(key, at, cause);
        transitions
    }

    /// Forgets the ghosts inside a session's process.
    pub(crate) fn drop_ghosts(&mut self, key: &SessionKey) {
        let known = self.sessions.len();
        self.sessions.retain(|_, session| session.parent.as_ref() != Some(key));
        if self.sessions.len() < known {
            // Children that were named long ago go with them.
            self.due_by(0);
        }
    }

    /// Moves old ended sessions out of memory.
    fn bury_surplus(&mut self) {
        let mut ended: Vec<(u64, SessionKey)> = self
            .sessions
            .values()
            .filter(|session| !session.is_live())
            .map(|session| (session.since.at_ms, session.key.clone()))
            .collect();
        if ended.len() > ENDED_KEPT {
            ended.sort();
            let surplus = ended.len() - ENDED_KEPT;
            for (when, key) in ended.into_iter().take(surplus) {
                let stamp_ms = self.sessions.remove(&key).and_then(|session| session.main_stamp_ms);
                self.tombstones.insert(key, Tombstone { at_ms: when, stamp_ms });
            }
        }
    }
}

pub(crate) fn transition(session: &Session, event: NormalizedEvent, cause: &Cause) -> Transition {
    let kind: Option<WaitKind> = match event {
        NormalizedEvent::Stuck { .. } => session.shown_wait().map(|wait| wait.kind),
        _ => None,
    };
    let causes = if cause.id.is_empty() { Vec::new() } else { vec![cause.id.clone()] };
    Transition { event, kind, causes }
}

pub(crate) fn unstuck(session: &Session, at: Moment) -> NormalizedEvent {
    NormalizedEvent::Unstuck { session_id: session.key.to_string(), timestamp: at.wall_ms.max(1) }
}

pub(crate) fn stuck(session: &Session) -> Option<NormalizedEvent> {
    let wait = session.shown_wait()?;
    Some(NormalizedEvent::Stuck {
        session_id: session.key.to_string(),
        pane_id: pane_id(session.pane.as_ref()),
        cwd: session.cwd.clone(),
        transcript_path: session.transcript_path.clone(),
        reason: wait.kind.reason(),
        message: wait.message.clone(),
        timestamp: session.place.as_ref().map_or(wait.opened.wall_ms, |place| place.stuck_at_ms).max(1),
    })
}

pub(crate) fn registered(session: &Session, at: Moment) -> NormalizedEvent {
    NormalizedEvent::Registered {
        session_id: session.key.to_string(),
        pane_id: pane_id(session.pane.as_ref()),
        cwd: session.cwd.clone(),
        transcript_path: session.transcript_path.clone(),
        timestamp: at.wall_ms.max(1),
    }
}

/// The reference wants a non-empty pane id "or synthetic equivalent": a session without a pane gets `unknown`.
pub(crate) fn pane_id(pane: Option<&PaneRef>) -> String {
    pane.map_or_else(|| "unknown".to_owned(), |pane| pane.pane.clone())
}
