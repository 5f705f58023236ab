//! The human's verbs: skip, snooze, pin, settle; and what the process table says.

use herdbook_events::{Process, SessionKey};

use crate::herd::Attention;
use crate::session::{Cause, Moment, Phase, Session, Transition};

impl Attention {
    /// Puts an entry (none: the head) behind the others for the cooldown. Returns its session.
    pub fn skip(&mut self, at: Moment, session: Option<&SessionKey>) -> Option<SessionKey> {
        let key = match session {
            Some(key) => key.clone(),
            None => self.queue(at).into_iter().find(|entry| entry.skip_until_ms.is_none())?.session,
        };
        let until = at.at_ms + self.limits.skip_cooldown_ms;
        self.put_aside(&key, until)
    }

    /// Keeps an entry out of the way for so many milliseconds.
    pub fn snooze(&mut self, at: Moment, session: &SessionKey, for_ms: u64) -> Option<SessionKey> {
        self.put_aside(session, at.at_ms.saturating_add(for_ms))
    }

    fn put_aside(&mut self, key: &SessionKey, until: u64) -> Option<SessionKey> {
        let place = self.sessions.get_mut(key)?.place.as_mut()?;
        place.skip_until_ms = Some(until);
        place.pinned = false;
        Some(key.clone())
    }

    /// Keeps an entry at the front, or no longer.
    pub fn pin(&mut self, session: &SessionKey, pinned: bool) -> Option<SessionKey> {
        let place = self.sessions.get_mut(session)?.place.as_mut()?;
        place.pinned = pinned;
        if pinned {
            place.skip_until_ms = None;
        }
        Some(session.clone())
    }

    /// Takes a session as not waiting until something new happens: a repeat of the same signal is not new. Nothing:
    /// it did not wait. A wait that is out of the queue for age closes without a transition.
    pub fn settle(&mut self, at: Moment, cause: &Cause, session: &SessionKey) -> Option<Vec<Transition>> {
        let known = self.sessions.get_mut(session)?;
        let kind = known.shown_wait()?.kind;
        known.settle_parts();
        known.settled_prompt =
            known.program.as_ref().and(known.shown_wait()).map(|wait| wait.message.clone());
        let mut out: Vec<Transition> = self.close(session, at, cause, |_| true).into_iter().collect();
        if let Some(known) = self.sessions.get_mut(session).filter(|known| known.is_live()) {
            known.settled = Some(kind).filter(|_| !known.posted);
            known.enter(Phase::Idle, at);
        }
        self.account(session, at, cause);
        // The program had ended, and what it left is seen.
        let is_over = |known: &Session| known.posted && known.lost_process.is_some();
        if self.sessions.get(session).is_some_and(is_over) {
            out.extend(self.end(session, at, cause));
            out.extend(self.relink(at));
        }
        Some(out)
    }

    /// A process of a machine (none: this one) is gone: its sessions are over.
    pub fn process_gone(
        &mut self,
        at: Moment,
        cause: &Cause,
        gone: Process,
        machine: Option<&str>,
    ) -> Vec<Transition> {
        let over: Vec<SessionKey> = self.inside(gone, machine).map(|session| session.key.clone()).collect();
        let mut out = Vec::new();
        for key in over {
            match self.sessions.get_mut(&key) {
                // What it finished or failed at is still to be seen.
                Some(session) if session.has_left_word() => {
                    session.lost_process = session.process.take();
                    session.note(at, cause);
                    self.watch(&key, at, cause);
                }
                _ => {
                    out.extend(self.end(&key, at, cause));
                    if let Some(session) = self.sessions.get_mut(&key) {
                        session.lost_process = session.process;
                    }
                }
            }
        }
        out.extend(self.relink(at));
        out
    }

    /// The machine was started anew: the agents, panes and shells of before are gone, and programs that reported. Who
    /// runs elsewhere goes on, and so does a posted session that sat in no pane of tmux.
    pub fn rebooted(&mut self, at: Moment, cause: &Cause) -> Vec<Transition> {
        let in_tmux = |session: &Session| session.pane().is_some_and(|pane| pane.pane.starts_with('%'));
        let ran_here = |session: &&Session| {
            let is_here = !session.posted || in_tmux(session) || self.reporters.contains(&session.key);
            session.is_live() && session.machine().is_none() && is_here
        };
        let gone: Vec<SessionKey> =
            self.sessions.values().filter(ran_here).map(|session| session.key.clone()).collect();
        let mut out = Vec::new();
        for key in gone {
            match self.found.contains(&key) {
                true => self.drop_found(&key, at, cause, &mut out),
                false => out.extend(self.end(&key, at, cause)),
            }
        }
        out.extend(self.relink(at));
        out
    }

    /// True when a live session's agent is that process.
    pub fn knows_process(&self, process: Process, machine: Option<&str>) -> bool {
        self.inside(process, machine).next().is_some()
    }

    /// Live sessions of a machine in a process: equal pids of two machines are two processes (case F-116). A pid alone
    /// means any process that had it.
    fn inside(&self, process: Process, machine: Option<&str>) -> impl Iterator<Item = &Session> {
        self.sessions().filter(move |session| {
            session.is_live()
                && session.machine() == machine
                && session.process.is_some_and(|own| {
                    own.pid == process.pid
                        && (own.start == process.start || own.start.is_none() || process.start.is_none())
                })
        })
    }
}
