//! The rules for posted normalized events (reference: validation, idempotency and out-of-order rules), and for those of
//! our own detector, which says them of panes.

use herdbook_events::observation::PaneRef;
use herdbook_events::{NormalizedEvent, PaneProgram, Reason, SessionKey, WaitKind};

use crate::fold::new_wait;
use crate::herd::{Attention, registered, stuck, transition};
use crate::passed::KNOWN;
use crate::session::{Cause, Moment, Phase, Session, Transition};

/// The host of sessions that only the detector tells of.
pub(crate) const DETECTED: &str = "detected";

impl Attention {
    /// Folds one posted event. Every valid event is accepted; those the reference ignores change nothing.
    pub fn post(&mut self, at: Moment, cause: &Cause, event: &NormalizedEvent) -> Vec<Transition> {
        self.take_event(at, cause, event, None)
    }

    /// Folds one event of the detector: as if it were posted, but it is known which pane on which server it is about.
    pub fn detect(
        &mut self,
        at: Moment,
        cause: &Cause,
        event: &NormalizedEvent,
        program: &PaneProgram,
    ) -> Vec<Transition> {
        self.take_event(at, cause, event, Some(program))
    }

    fn take_event(
        &mut self,
        at: Moment,
        cause: &Cause,
        event: &NormalizedEvent,
        program: Option<&PaneProgram>,
    ) -> Vec<Transition> {
        let host = if program.is_some() { DETECTED } else { "posted" };
        let Some(key) = SessionKey::posted(event.session_id()) else { return Vec::new() };
        let out = match event {
            NormalizedEvent::Registered { pane_id, cwd, transcript_path, .. } => {
                let mut out = Vec::new();
                self.unbury(&key);
                if self.sessions.get(&key).is_none_or(|session| !session.is_live()) {
                    self.insert(Session::new(key.clone(), host.into(), true, at));
                }
                self.describe(&key, pane_id, cwd, transcript_path, program);
                if let Some(session) = self.sessions.get_mut(&key) {
                    session.note(at, cause);
                    out.push(transition(session, registered(session, at), cause));
                }
                out
            }
            NormalizedEvent::Stuck { pane_id, cwd, transcript_path, reason, message, timestamp, .. } => {
                // Terminal until it registers again.
                if self.is_ended(&key) {
                    self.rule_out(&key, at, cause, "the session is over until it registers again");
                    return Vec::new();
                }
                let mut out = Vec::new();
                if !self.sessions.contains_key(&key) {
                    self.insert(Session::new(key.clone(), host.into(), true, at));
                    self.describe(&key, pane_id, cwd, transcript_path, program);
                    if let Some(session) = self.sessions.get(&key) {
                        out.push(transition(session, registered(session, at), cause));
                    }
                }
                self.describe(&key, pane_id, cwd, transcript_path, program);
                out.extend(self.posted_stuck(&key, at, cause, *reason, message, *timestamp));
                out
            }
            NormalizedEvent::Unstuck { .. } => {
                let out: Vec<Transition> = self.close(&key, at, cause, |_| true).into_iter().collect();
                let session = self.sessions.get_mut(&key).filter(|session| session.is_live());
                // What the human settled goes on as well, and has left the queue before.
                let is_settled = |session: &Session| session.posted && session.phase == Phase::Idle;
                if let Some(session) = session.filter(|session| !out.is_empty() || is_settled(session)) {
                    session.active = at;
                    session.settled_prompt = None;
                    session.note(at, cause);
                    self.enter(&key, Phase::Working, at);
                }
                out
            }
            NormalizedEvent::Ended { .. } => {
                if self.sessions.contains_key(&key) {
                    self.end(&key, at, cause)
                } else {
                    Vec::new()
                }
            }
        };
        self.watch(&key, at, cause);
        self.say(&key, at, out)
    }

    /// What is said of what became of a session. The hook-fed session on the same pane speaks for a posted one: what
    /// opens stays unsaid, what ends is said.
    pub(crate) fn say(&mut self, key: &SessionKey, at: Moment, mut out: Vec<Transition>) -> Vec<Transition> {
        let relinked = self.relink(at);
        if self.sessions.get(key).is_some_and(|session| session.hidden_by.is_some()) {
            out.retain(|transition| matches!(transition.event.kind(), "registered" | "ended"));
        }
        out.retain(|own| !relinked.contains(own));
        out.extend(relinked);
        out
    }

    /// A repeat of the same wait moves it (new time, new message); a new one opens.
    fn posted_stuck(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        reason: Reason,
        message: &str,
        timestamp: u64,
    ) -> Option<Transition> {
        let kind = match reason {
            Reason::Stopped => WaitKind::TurnEnd,
            Reason::Permission => WaitKind::Permission,
        };
        let session = self.sessions.get_mut(key)?;
        session.settled_prompt = None;
        if !session.posted {
            // A hook-fed session: the post may tell of a wait that no hook told of, and repeats nothing.
            if !session.waits.is_empty() {
                session.rule_out(at, cause, KNOWN);
                return None;
            }
        } else if let Some(wait) = session.waits.first_mut() {
            wait.kind = kind;
            wait.message = message.to_owned();
            session.note(at, cause);
            self.arrivals += 1;
            let arrival = self.arrivals;
            let session = self.sessions.get_mut(key)?;
            if let Some(place) = &mut session.place {
                // The cooldown belongs to the entry and is kept.
                place.order_ms = timestamp;
                place.stuck_at_ms = timestamp;
                place.arrival = arrival;
            }
            return Some(transition(session, stuck(session)?, cause));
        }
        let wait = new_wait(kind, None, None, message, cause);
        self.open(key, at, cause, wait, Some(timestamp))
    }

    fn describe(
        &mut self,
        key: &SessionKey,
        pane_id: &str,
        cwd: &str,
        transcript_path: &str,
        program: Option<&PaneProgram>,
    ) {
        if let Some(session) = self.sessions.get_mut(key).filter(|session| session.posted) {
            // The detector knows it for good: another producer that names its session moves it nowhere.
            session.program = program.cloned().or(session.program.take());
            session.pane = Some(session.program.as_ref().map_or_else(
                || PaneRef { socket: String::new(), server_pid: None, pane: pane_id.to_owned() },
                PaneProgram::pane_ref,
            ));
            session.cwd = cwd.to_owned();
            session.transcript_path = transcript_path.to_owned();
        }
    }
}
