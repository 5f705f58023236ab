//! The rules for decisions: what a host was told about a hook call ends what that call opened.
//!
//! A decision names its call, so it needs no order: it is proof of that call and of no other. One about something that
//! is over already changes nothing.

use herdbook_events::{SessionKey, WaitKind};

use crate::fold::same_tool;
use crate::herd::Attention;
use crate::session::{Cause, Moment, OpenTool, Phase, Session, Transition, Wait};

/// What a host was told about a hook call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It may go on, and the human is not asked.
    Allowed,
    /// It must not happen; of a stop: the agent goes on.
    Denied,
}

impl Attention {
    /// Folds what the host was told about a hook call of a session. `call` is the journal id of that call.
    pub fn decided(
        &mut self,
        at: Moment,
        cause: &Cause,
        session: &SessionKey,
        call: &str,
        ruling: Ruling,
    ) -> Vec<Transition> {
        // What a child session asks is asked of the one that it belongs to.
        let key = self.child_sessions.get(session).map_or(session, |child| &child.root).clone();
        let Some(known) = self.sessions.get_mut(&key).filter(|known| known.is_live()) else {
            return Vec::new();
        };
        let denied = ruling == Ruling::Denied;
        // A yes is no answer to a question, and no choice for a plan: their dialogs stay.
        let wants_words = |wait: &Wait| matches!(wait.kind, WaitKind::Question | WaitKind::Plan);
        let can_end = |wait: &Wait| denied || wait.is_blocking() && !wants_words(wait);
        let is_about = |wait: &Wait| can_end(wait) && wait.calls.iter().any(|id| id == call);
        let asked = known.waits.iter().find(|wait| is_about(wait)).cloned();
        let was_open = known.open_tools.iter().any(|open| open.call == call);
        if denied {
            known.drop_denied(call, asked.as_ref());
        }
        let turned = denied && known.turned_by.0 == call && known.waits.iter().all(is_about);
        if asked.is_none() && !was_open && !turned {
            known.rule_out(at, cause, "nothing that it is about is open");
            return Vec::new();
        }
        let by_main = asked.as_ref().is_none_or(|wait| wait.agent.is_none());
        if by_main && (asked.is_some() || turned) {
            known.moved(at, cause);
        }
        known.note(at, cause);
        let phase = match known.turned_by.1 {
            // The prompt never reached the model: there is no turn, and nobody to be waited for but who typed it.
            true if turned => Phase::Idle,
            // It was to stop, and goes on.
            false if turned => Phase::Working,
            _ => known.phase,
        };
        let mut out: Vec<Transition> = self.close(&key, at, cause, is_about).into_iter().collect();
        self.enter(&key, phase, at);
        if asked.is_some() && by_main {
            self.working_if_quiet(&key, at, cause);
        }
        self.watch(&key, at, cause);
        out.extend(self.relink(at));
        out
    }
}

impl Session {
    /// A call that was denied is over: its host tells no more of it.
    fn drop_denied(&mut self, call: &str, asked: Option<&Wait>) {
        let is_asked_about = |open: &OpenTool| {
            asked.is_some_and(|wait| {
                wait.agent == open.agent && wait.tool.as_ref().is_some_and(|tool| same_tool(&open.tool, tool))
            })
        };
        let mut open = self.open_tools.iter();
        let place = open.position(|open| open.call == call);
        let place = place.or_else(|| self.open_tools.iter().rposition(is_asked_about));
        if let Some(place) = place {
            self.open_tools.remove(place);
        }
    }
}
