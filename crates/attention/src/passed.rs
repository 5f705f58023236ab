//! What came in and did not move a session, and why not: so that a person sees that it was not overlooked.
//!
//! What only says once more that a session does what it does is no news of either kind, and is not noted here.

use herdbook_events::pane::{PaneSeen, Shows};
use herdbook_events::{SessionKey, Told};

use crate::herd::Attention;
use crate::screen::PANE;
use crate::session::{Cause, Moment, Phase, Session, Wait};
use crate::transcript::{TranscriptFact, is_news};

/// So many are kept of those in the journal, and so many of the others.
const KEPT: usize = 8;

/// Reasons that hold in several places; each goes on after "not counted: ".
pub(crate) const OVERTAKEN: &str = "it began before what last moved the session";
pub(crate) const KNOWN: &str = "it says once more what is known";
pub(crate) const HEADLESS: &str = "no human sits there";
pub(crate) const SETTLED: &str = "you settled it, and this is nothing new";
pub(crate) const SUBAGENT: &str = "it is a subagent's, not the session's own";
pub(crate) const BACKGROUND: &str = "work in the background goes on";
pub(crate) const TURN_OVER: &str = "the turn is over, and this is late";

/// A fact that did not move a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuledOut {
    /// Journal id; empty where the journal does not hold it, since it changed nothing (a look at a pane, a line of a
    /// transcript). Such a note does not outlive the daemon's run.
    pub id: String,
    /// Where it comes from.
    pub source: &'static str,
    /// What it said, in words.
    pub fact: String,
    /// Why it did not count.
    pub reason: &'static str,
    /// When the last one came in.
    pub at: Moment,
    /// How many of that source and reason came in since the session is in its state.
    pub times: u32,
}

impl Session {
    /// Notes that a fact did not move the session, and why not. Of the same source and reason the last one is kept. A
    /// fact that counted for something else is evidence, and no note is made.
    pub(crate) fn rule_out(&mut self, at: Moment, cause: &Cause, reason: &'static str) {
        if !cause.id.is_empty() && self.evidence.iter().any(|counted| counted.id == cause.id) {
            return;
        }
        let is_same = |known: &RuledOut| known.source == cause.source && known.reason == reason;
        let before = self.ruled_out.iter().position(is_same).and_then(|place| self.ruled_out.remove(place));
        let times =
            before.filter(|before| before.at.at_ms >= self.since().at_ms).map_or(0, |note| note.times);
        let is_alike = |known: &RuledOut| known.id.is_empty() == cause.id.is_empty();
        if self.ruled_out.iter().filter(|known| is_alike(known)).count() == KEPT
            && let Some(oldest) = self.ruled_out.iter().position(is_alike)
        {
            self.ruled_out.remove(oldest);
        }
        self.ruled_out.push_back(RuledOut {
            id: cause.id.clone(),
            source: cause.source,
            fact: cause.fact.clone(),
            reason,
            at,
            times: times.saturating_add(1),
        });
    }

    /// What came in and did not count since the session is in its state, oldest first.
    pub fn ruled_out(&self) -> impl Iterator<Item = &RuledOut> {
        let since_ms = self.since().at_ms;
        self.ruled_out.iter().filter(move |note| note.at.at_ms >= since_ms)
    }
}

impl Attention {
    /// Notes that a fact did not move a session; one that is not known has no notes.
    pub fn rule_out(&mut self, key: &SessionKey, at: Moment, cause: &Cause, reason: &'static str) {
        if let Some(session) = self.sessions.get_mut(key) {
            session.rule_out(at, cause, reason);
        }
    }

    /// Notes a line of a transcript that changed nothing and says otherwise than what is known.
    pub fn rule_out_told(&mut self, at: Moment, cause: &Cause, fact: &TranscriptFact<'_>) {
        let Some(session) = self.sessions.get_mut(fact.session).filter(|session| session.is_live()) else {
            return;
        };
        let rests = session.waits.iter().any(|wait| !wait.is_blocking());
        let differs = match fact.told {
            Told::TurnStarted => rests,
            Told::TurnEnded { .. } => !rests && session.phase == Phase::Working,
            _ => false,
        };
        let reason = match fact.written_ms {
            None if !fact.fresh => "it was written before the file was followed",
            _ if !is_news(session, at, fact) => "it is older than what last moved the session",
            _ if session.background => BACKGROUND,
            _ => "a question is open, and none outlives its turn",
        };
        if differs {
            session.rule_out(at, cause, reason);
        }
    }

    /// Notes a look at a pane that changed nothing and shows otherwise than what is known.
    pub fn rule_out_look(&mut self, at: Moment, cause: &Cause, seen: &PaneSeen) {
        let here = |session: &&Session| {
            session.is_live()
                && session.machine.is_none()
                && session.pane.as_ref().is_some_and(|pane| pane.may_be(&seen.pane))
        };
        let here: Vec<(SessionKey, bool)> = self
            .sessions()
            .filter(here)
            .map(|session| (session.key.clone(), self.pane_uncertain(session)))
            .collect();
        for (key, is_guess) in &here {
            let Some(session) = self.sessions.get_mut(key) else { continue };
            let blocked = session.waits.iter().any(Wait::is_blocking);
            let differs = match seen.shows {
                Shows::Busy => !session.waits.is_empty(),
                Shows::Ready { .. } => blocked || session.phase == Phase::Working && session.waits.is_empty(),
                Shows::Dialog { .. } => !blocked,
                Shows::Menu | Shows::Gone | Shows::Closed => false,
            };
            let reason = match seen.shows {
                _ if here.len() > 1 => "other sessions name that pane, too",
                _ if *is_guess => "its pane is a guess",
                _ if session.host != seen.host => "an agent of another host is in that pane",
                _ if session.is_headless() => HEADLESS,
                Shows::Ready { .. } if session.background => BACKGROUND,
                Shows::Ready { .. } | Shows::Dialog { .. } if session.settled.is_some() => SETTLED,
                Shows::Busy if blocked => "its dialog was not seen yet: it may still be drawn",
                _ => "too young: the screen may show what was before",
            };
            if differs {
                session.rule_out(at, &Cause { source: PANE, ..cause.clone() }, reason);
            }
        }
    }
}
