//! Whose pane it is (overview D11): the pane that a hook names is a hint where one server may serve several. And whether
//! it is still there.

use herdbook_events::observation::{PaneRef, Seat};

use herdbook_events::SessionKey;

use crate::herd::Attention;
use crate::session::{Cause, Moment, Session};

/// A list of panes may be this much older than its arrival: a pane that a younger wait names may be younger than the list.
const LISTED_MS: u64 = 2_000;

impl Attention {
    /// Takes where agents sit now: all that run in terminals of this machine.
    pub fn sit(&mut self, seats: Vec<Seat>) {
        self.seats = Some(seats);
    }

    /// True when the pane of a session is a hint only: its host says so, and another session of the same process has
    /// the same claim, or what is known of the agents' seats does not bear it out.
    pub fn pane_uncertain(&self, session: &Session) -> bool {
        let Some(pane) = &session.pane else { return false };
        session.is_live()
            && session.pane_hint
            && (self.is_claimed_twice(session, pane) || self.is_open(session, pane))
    }

    /// Returns the panes of waiting sessions that are not among those which a tmux server lists, each with its host.
    /// Without a server (socket and pid) the list is that of the one there is. A server says nothing of the panes of
    /// another one on its socket, before or after it (case F-065).
    ///
    /// An agent that still sits in a terminal is not in the pane that it names: that was handed down to it.
    pub fn closed_panes(
        &self,
        at: Moment,
        server: Option<(&str, u32)>,
        is_listed: impl Fn(&str) -> bool,
    ) -> Vec<(PaneRef, String)> {
        let mut closed: Vec<(PaneRef, String)> = Vec::new();
        for session in self.sessions().filter(|session| may_close(session)) {
            let Some(pane) = &session.pane else { continue };
            let is_of_it =
                server.is_none_or(|(socket, pid)| pane.socket == socket && pane.server_pid == Some(pid));
            let is_old = session.waits.iter().any(|wait| wait.opened.at_ms + LISTED_MS <= at.at_ms);
            let is_told = closed.iter().any(|(known, _)| known == pane);
            if is_of_it && is_old && !is_told && !is_listed(&pane.pane) && !self.is_seated(session) {
                closed.push((pane.clone(), session.host.clone()));
            }
        }
        closed
    }

    fn is_seated(&self, session: &Session) -> bool {
        let seats = self.seats.iter().flatten();
        session.process.is_some_and(|process| seats.into_iter().any(|seat| seat.has(process)))
    }

    /// The sessions that are in a pane for sure, and not known to have lost it.
    pub(crate) fn in_closed(&self, pane: &PaneRef) -> Vec<SessionKey> {
        let here = |session: &&Session| may_close(session) && session.pane.as_ref() == Some(pane);
        self.sessions().filter(here).map(|session| session.key.clone()).collect()
    }

    pub(crate) fn lose_pane(&mut self, keys: &[SessionKey], at: Moment, cause: &Cause) {
        let stale_ms = at.at_ms + self.limits.stale_wait_ms;
        for key in keys {
            if let Some(session) = self.sessions.get_mut(key) {
                session.closed_pane.clone_from(&session.pane);
                // From now on there is nothing to look at, if its process is not known either.
                session.waits.iter_mut().for_each(|wait| wait.looked_at_ms = at.at_ms);
                session.note(at, cause);
            }
        }
        self.due_by(stale_ms);
    }

    fn is_claimed_twice(&self, session: &Session, pane: &PaneRef) -> bool {
        self.sessions().any(|other| {
            other.key != session.key
                && other.pane.as_ref() == Some(pane)
                && other.process.is_some()
                && other.process == session.process
        })
    }

    /// A server beside the agents names the pane in which it was started, whoever's prompt it is. That is the right one
    /// for sure only while an agent of the host sits there that runs no session itself, and no other such agent sits
    /// elsewhere.
    fn is_open(&self, session: &Session, pane: &PaneRef) -> bool {
        let (Some(seats), Some(process)) = (&self.seats, session.process) else { return false };
        let mut served = Vec::new();
        for seat in seats.iter().filter(|seat| seat.host == session.host) {
            if seat.has(process) {
                return false;
            }
            let runs_itself = |other: &Session| other.process.is_some_and(|process| seat.has(process));
            if !self.sessions().any(|other| other.is_live() && runs_itself(other)) {
                served.push(seat.pane.as_ref());
            }
        }
        served != [Some(pane)]
    }
}

/// True where the pane is the agent's own. Who posts events says himself when his session is over.
fn may_close(session: &Session) -> bool {
    session.is_live()
        && session.machine.is_none()
        && (!session.posted || session.reports)
        && !session.pane_hint
        && !session.is_detached()
}
