//! Whose pane it is (overview D11): the pane that a hook names is a hint where one server may serve several.

use herdbook_events::observation::{PaneRef, Seat};
use herdbook_events::origin::Terminal;

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
        session.pane_hint && (self.is_claimed_twice(session, pane) || self.is_open(session, pane))
    }

    fn is_claimed_twice(&self, session: &Session, pane: &PaneRef) -> bool {
        self.sessions().any(|other| {
            other.key != session.key
                && other.pane.as_ref() == Some(pane)
                && other.process.is_some()
                && other.process == session.process
        })
    }

    /// A server without a terminal names the pane in which it was started, whoever's prompt it is. That is the right
    /// one for sure only while an agent of the host sits there that has no session of its own, and no other such agent
    /// sits elsewhere.
    fn is_open(&self, session: &Session, pane: &PaneRef) -> bool {
        let Some(seats) = self.seats.as_ref().filter(|_| session.terminal == Terminal::None) else {
            return false;
        };
        let mut served = seats
            .iter()
            .filter(|seat| seat.host == session.host && !self.has_session_of_its_own(seat))
            .map(|seat| seat.pane.as_ref());
        !(served.next() == Some(Some(pane)) && served.next().is_none())
    }

    /// True when a live session whose hooks run in a terminal claims the seat's pane.
    fn has_session_of_its_own(&self, seat: &Seat) -> bool {
        let Some(pane) = &seat.pane else { return false };
        self.sessions().any(|other| {
            other.is_live()
                && other.host == seat.host
                && other.pane.as_ref() == Some(pane)
                && matches!(other.terminal, Terminal::Some | Terminal::Named(_))
        })
    }
}
