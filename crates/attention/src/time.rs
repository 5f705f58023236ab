//! What time alone changes: deadlines, calls to the human, and what is forgotten. However many steps time passes in, the
//! outcome is the same.

use herdbook_events::SessionKey;

use crate::herd::{Attention, Call, transition, unstuck};
use crate::session::{Cause, Moment, Phase, Session, Transition, Wait};

impl Attention {
    /// Returns the next time at which [`Attention::advance`] or [`Attention::calls`] may have something to do.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        self.due_hint_ms
    }

    /// True when [`Attention::advance`] and [`Attention::calls`] are worth calling.
    pub fn is_due(&self, at: Moment) -> bool {
        self.due_hint_ms.is_some_and(|due| due <= at.at_ms)
    }

    /// Makes the next deadline exact again; called after what was due is done.
    pub fn settle_deadline(&mut self) {
        self.due_hint_ms = self.exact_deadline_ms();
    }

    pub(crate) fn due_by(&mut self, at_ms: u64) {
        self.due_hint_ms = Some(self.due_hint_ms.map_or(at_ms, |known| known.min(at_ms)));
    }

    fn exact_deadline_ms(&self) -> Option<u64> {
        let timers = self.sessions.values().filter_map(|session| self.changes_at(session));
        let keep = self.limits.tombstone_ms;
        let tombstones = self.tombstones.values().map(|tombstone| tombstone.at_ms + keep + 1);
        let children = self.child_sessions.values().filter(|child| !self.remembers(&child.root));
        let children = children.map(|child| child.since_ms + keep + 1);
        let announce = match self.sweep_at_ms {
            Some(sweep) => Some(sweep),
            None => {
                self.sessions.values().flat_map(|s| &s.waits).filter_map(|wait| wait.announce_at_ms).min()
            }
        };
        timers.chain(tombstones).chain(children).chain(announce).min()
    }

    /// When time alone changes a session, be it that it is forgotten.
    fn changes_at(&self, session: &Session) -> Option<u64> {
        let timer = self.timer_of(session).map(|(at_ms, _)| at_ms);
        timer.into_iter().chain(self.forgotten_at(session)).min()
    }

    /// When a session is forgotten that is over, or that nobody has heard of and that cannot be told, be it that it waits.
    fn forgotten_at(&self, session: &Session) -> Option<u64> {
        let is_past = matches!(session.phase, Phase::Ended | Phase::Unknown) && session.waits.is_empty();
        let past = if is_past {
            session.since.at_ms
        } else {
            self.stale_at(session).filter(|_| session.is_stale() && session.known_process().is_none())?
        };
        Some(past + self.limits.tombstone_ms + 1)
    }

    /// When what a session waits for is too old to be shown, if nothing can be looked at.
    fn stale_at(&self, session: &Session) -> Option<u64> {
        let last = session.waits.iter().map(|wait| wait.opened.at_ms.max(wait.looked_at_ms)).max()?;
        Some(last + self.limits.stale_wait_ms)
    }

    /// Has the deadline and the ledger cover a session that was touched.
    pub(crate) fn watch(&mut self, key: &SessionKey, at: Moment, cause: &Cause) {
        self.account(key, at, cause);
        if let Some(at_ms) = self.sessions.get(key).and_then(|session| self.changes_at(session)) {
            self.due_by(at_ms);
        }
    }

    /// When time alone would change a session, and what that would be in words.
    pub fn timer_of(&self, session: &Session) -> Option<(u64, &'static str)> {
        // Somebody looks after those that the detector tells of, as after known processes.
        let is_looked_after = session.known_process().is_some() || session.program.is_some();
        if !session.is_live() || is_looked_after {
            return None;
        }
        if session.waits.is_empty() {
            return (session.phase == Phase::Working).then(|| {
                (
                    session.active.at_ms + self.limits.working_expiry_ms,
                    "unknown, if there is no sign of work till then",
                )
            });
        }
        let place = session.place.as_ref()?;
        let has_pane = session.pane.is_some() && !session.is_detached();
        // A producer of events says himself when his session is over.
        if place.stale || has_pane || session.posted && !session.reports {
            return None;
        }
        Some((self.stale_at(session)?, "out of the queue as stale, if nothing is heard till then"))
    }

    /// Applies what only time changes, up to `at`. In how many steps makes no difference to the state: a replay does
    /// at the next record what ticks did before it.
    pub fn advance(&mut self, at: Moment) -> Vec<Transition> {
        let mut transitions = Vec::new();
        // In the order of their times, and each at its own, however late the tick comes: what one changes, another one
        // may follow from.
        while let Some((when, is_past, key)) = self.next_due(at) {
            let when = at.back_at(when);
            if is_past {
                self.sessions.remove(&key);
                self.found.remove(&key);
                self.reporters.remove(&key);
                self.links_changed |= self.hooked.remove(&key);
                transitions.extend(self.relink(when));
                continue;
            }
            let Some(session) = self.sessions.get_mut(&key) else { break };
            let fact = match session.waits.is_empty() {
                true => "no sign of work for too long",
                false => "nothing to look at for too long: left the queue",
            };
            let cause = Cause { source: "timer", fact: fact.to_owned(), ..Cause::default() };
            session.note(when, &cause);
            if session.waits.is_empty() {
                session.enter(Phase::Unknown, when);
            } else if let Some(place) = &mut session.place {
                place.stale = true;
                transitions.push(transition(session, unstuck(session, when), &cause));
            }
            self.account(&key, when, &cause);
        }
        self.forget(at);
        transitions.extend(self.relink(at));
        transitions
    }

    /// The first thing that time alone changes up to `at`: when, whether a session is forgotten by it, and which.
    fn next_due(&self, at: Moment) -> Option<(u64, bool, SessionKey)> {
        let timers = self.sessions.values().filter_map(|one| Some((self.timer_of(one)?.0, false, &one.key)));
        let past = self.sessions.values().filter_map(|one| Some((self.forgotten_at(one)?, true, &one.key)));
        let first = timers.chain(past).filter(|(when, ..)| *when <= at.at_ms).min()?;
        Some((first.0, first.1, first.2.clone()))
    }

    /// Returns the calls that are due, one for all that became due within the grouping window.
    pub fn calls(&mut self, at: Moment) -> Option<Call> {
        let due = |wait: &Wait| wait.announce_at_ms.is_some_and(|when| when <= at.at_ms);
        if !self.sessions.values().flat_map(|session| &session.waits).any(due) {
            self.sweep_at_ms = None;
            return None;
        }
        let sweep = *self.sweep_at_ms.get_or_insert(at.at_ms + self.limits.group_ms);
        if sweep > at.at_ms {
            return None;
        }
        self.sweep_at_ms = None;
        let focused =
            self.focus.as_ref().filter(|(_, used)| at.at_ms.saturating_sub(*used) <= self.limits.focus_ms);
        let mut called: Vec<(bool, u64, SessionKey, String)> = Vec::new();
        for session in self.sessions.values_mut() {
            let on_pane = |pane: &str| session.pane.as_ref().is_some_and(|own| own.pane == pane);
            let nowhere = session.hidden_by.is_some() || session.is_detached();
            let seen = nowhere || focused.is_some_and(|(pane, _)| on_pane(pane));
            let mut loudest: Option<(bool, String)> = None;
            for wait in session.waits.iter_mut().filter(|wait| due(wait)) {
                wait.announce_at_ms = None;
                let blocking = wait.is_blocking();
                if loudest.as_ref().is_none_or(|(known, _)| blocking && !known) {
                    loudest = Some((blocking, wait.message.clone()));
                }
            }
            if let (Some((blocking, message)), Some(place), false) = (loudest, &mut session.place, seen) {
                place.called = true;
                called.push((!blocking, place.arrival, session.key.clone(), message));
            }
        }
        called.sort();
        let message = match called.as_slice() {
            [] => return None,
            [(_, _, _, message)] => message.clone(),
            many => match many.iter().filter(|(quiet, ..)| !quiet).count() {
                0 => format!("{} sessions wait", many.len()),
                blocked => format!("{} sessions wait, {blocked} blocked", many.len()),
            },
        };
        Some(Call { sessions: called.into_iter().map(|(_, _, key, _)| key).collect(), message })
    }

    /// Forgets ended sessions, and whose children others were, after long.
    fn forget(&mut self, at: Moment) {
        let keep = self.limits.tombstone_ms;
        self.tombstones.retain(|_, tombstone| at.at_ms.saturating_sub(tombstone.at_ms) <= keep);
        // A child may speak before its session does and after that one ended, and is no session of its own then either.
        let mut children = std::mem::take(&mut self.child_sessions);
        children.retain(|_, child| {
            self.remembers(&child.root) || at.at_ms.saturating_sub(child.since_ms) <= keep
        });
        self.child_sessions = children;
    }
}
