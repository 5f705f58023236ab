//! Sessions that only run a subagent of another session (case F-014): what they say counts for that one.

use herdbook_events::SessionKey;
use herdbook_events::observation::{Observation, Signal};

use crate::herd::{Attention, Child};
use crate::session::{Cause, Moment, Transition};

impl Attention {
    /// Learns that a session is a child; true when that is news. One that was taken for a session of its own is over.
    pub(crate) fn adopt(
        &mut self,
        at: Moment,
        cause: &Cause,
        child: &SessionKey,
        parent: &SessionKey,
        out: &mut Vec<Transition>,
    ) -> bool {
        let root = self.child_sessions.get(parent).map_or(parent, |known| &known.root).clone();
        if root == *child || self.child_sessions.contains_key(child) {
            return false;
        }
        out.extend(self.end(child, at, cause));
        self.sessions.remove(child);
        // Its own children were named first: they are the root's, too.
        let known = Child { root, since_ms: at.at_ms };
        let own = self.child_sessions.values_mut().filter(|other| other.root == *child);
        own.for_each(|other| other.clone_from(&known));
        self.child_sessions.insert(child.clone(), known);
        // It is forgotten when its session is, or when that one never spoke.
        self.due_by(at.at_ms + self.limits.tombstone_ms + 1);
        true
    }

    /// Returns what a child's observation says of the session it belongs to; nothing for sessions of their own.
    pub(crate) fn of_parent(
        &mut self,
        at: Moment,
        cause: &Cause,
        seen: &Observation,
        out: &mut Vec<Transition>,
    ) -> Option<Observation> {
        let is_news = match &seen.signal {
            Signal::ChildOf { parent } => self.adopt(at, cause, &seen.session, parent, out),
            _ => false,
        };
        let root = &self.child_sessions.get(&seen.session)?.root;
        let key = seen.session.as_str();
        let id = key.strip_prefix(&format!("{}-", seen.host)).unwrap_or(key).to_owned();
        let known = self.sessions.get(root);
        let runs = known.is_some_and(|session| session.children.contains(&id));
        let waits =
            known.is_some_and(|session| session.waits.iter().any(|wait| wait.agent.as_ref() == Some(&id)));
        let signal = match &seen.signal {
            Signal::ChildOf { .. } if !is_news => Signal::Alive,
            Signal::ChildOf { .. } | Signal::SessionStarted { .. } | Signal::PromptSubmitted { .. } => {
                Signal::AgentStarted { id: id.clone() }
            }
            // Also one that no longer counts as running asks no more once it is over.
            Signal::TurnEnded { .. } | Signal::SessionEnded if !runs && !waits => Signal::Alive,
            Signal::TurnEnded { .. } | Signal::SessionEnded => Signal::AgentStopped { id: Some(id.clone()) },
            other => other.clone(),
        };
        let mut facts = seen.facts.clone();
        // Its folder and transcript are its own.
        (facts.cwd, facts.transcript_path) = (None, None);
        Some(Observation { session: root.clone(), agent: Some(id), signal, facts, ..seen.clone() })
    }
}
