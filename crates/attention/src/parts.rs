//! The rules for parts of programs that report (OSC 7501, `id`): subagents, jobs, steps.

use herdbook_events::{ProgramState, Report, SessionKey};

use crate::herd::Attention;
use crate::session::{Cause, Moment, Session, Transition, Wait};
use crate::status::{PARTS, STATUS, is_older, kind_of, message_of};

impl Attention {
    /// A part of the program says what it does: it counts for the session only while it is blocked.
    #[expect(clippy::too_many_arguments, reason = "the parts of one report, matched apart by the caller")]
    pub(crate) fn part_says(
        &mut self,
        key: &SessionKey,
        at: Moment,
        when_ms: u64,
        cause: &Cause,
        report: &Report,
        part: &str,
        out: &mut Vec<Transition>,
    ) -> Option<()> {
        let cleared = report.state == ProgramState::Clear;
        let is_part = |id: &str| {
            let is_below = || id.strip_prefix(part).is_some_and(|rest| rest.starts_with('/'));
            id == part || cleared && is_below()
        };
        let is_it = |wait: &Wait| wait.source == STATUS && wait.agent.as_deref().is_some_and(is_part);
        let session = self.sessions.get_mut(key)?;
        let open = session.waits.iter().find(|wait| is_it(wait));
        if report.state != ProgramState::Blocked {
            let settled = session.settled_parts.len();
            session.settled_parts.retain(|id, _| !is_part(id));
            if open.is_none() {
                return (session.settled_parts.len() < settled).then_some(());
            }
            out.extend(self.close(key, at, cause, is_it));
            self.working_if_quiet(key, at, cause);
            return Some(());
        }
        let same = (kind_of(report.kind), message_of(report));
        let is_known = open.is_some_and(|wait| (wait.kind, &wait.message) == (same.0, &same.1));
        let is_settled = session.settled_parts.get(part) == Some(&same);
        // What hooks told since knows better.
        let is_past = !session.posted && is_older(when_ms, session.moved_wall_ms, at);
        if is_known || is_settled || is_past {
            return None;
        }
        self.asks(key, at, cause, report, true, out).then_some(())
    }
}

impl Session {
    /// The human settles what parts of the program ask.
    pub(crate) fn settle_parts(&mut self) {
        for wait in self.waits.iter().filter(|wait| wait.source == STATUS) {
            let Some(part) = &wait.agent else { continue };
            if self.settled_parts.len() < PARTS {
                self.settled_parts.insert(part.clone(), (wait.kind, wait.message.clone()));
            }
        }
    }
}
