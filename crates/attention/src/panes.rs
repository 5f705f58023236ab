//! Whose pane it is (overview D11): the pane that a hook names is a hint where one server may serve several.

use herdbook_events::observation::{PaneRef, Seat};

use crate::herd::Attention;
use crate::session::Session;

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
