//! The rules for turns: start, prompt, end, reminder.

use herdbook_events::observation::{Observation, ToolUse};
use herdbook_events::{Reason, SessionKey, WaitKind};

use crate::fold::new_wait;
use crate::herd::{Attention, registered, transition};
use crate::passed::{BACKGROUND, HEADLESS, KNOWN, OVERTAKEN, SETTLED, SUBAGENT, TURN_OVER};
use crate::session::{Cause, Moment, OpenTool, Phase, Session, Transition, Wait};

/// `idle` reminders come 60 s after the turn; one that follows activity this closely is about an older turn.
const REMINDER_QUIET_MS: u64 = 30_000;

const LATE_REMINDER: &str = "a reminder comes late: its host's requests tell when it asks";

/// The call that asks, by a reminder's text: the one that it quotes, at the greatest length, else the last one. None
/// where each is asked about already; true where it is quoted.
fn asking<'a>(session: &'a Session, message: &str) -> Option<(&'a OpenTool, bool)> {
    let about = |open: &'a OpenTool| open.tool.fingerprint.split_once('\0').map_or("", |(_, about)| about);
    let is_alike = |tool: &ToolUse, open: &OpenTool| tool.fingerprint == open.tool.fingerprint;
    let is_free = |open: &&OpenTool| {
        let calls = session.open_tools.iter().filter(|other| is_alike(&other.tool, open)).count();
        let waits = session.waits.iter().filter_map(|wait| wait.tool.as_ref());
        calls > waits.filter(|asked| is_alike(asked, open)).count()
    };
    let open = || session.open_tools.iter().filter(|open| !open.tool.starts_agent);
    let named = open().filter(|open| !about(open).is_empty() && message.contains(about(open)));
    match named.max_by_key(|open| about(open).len()) {
        Some(named) => Some(named).filter(is_free).map(|named| (named, true)),
        None => open().rev().find(is_free).map(|last| (last, false)),
    }
}

/// The parts of [`Signal::TurnEnded`].
pub(crate) struct Ended<'a> {
    pub kind: WaitKind,
    pub message: &'a str,
    pub background: bool,
    pub sure: bool,
    pub quiet: bool,
}

impl Attention {
    pub(crate) fn started(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        replaces: bool,
        out: &mut Vec<Transition>,
    ) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        if session.is_late(at, cause) {
            return session.rule_out(at, cause, OVERTAKEN);
        }
        let process = session.process;
        let host = session.host.clone();
        let fresh =
            session.main_stamp_ms.is_none() && session.phase == Phase::Registered && session.waits.is_empty();
        session.moved(at, cause);
        session.begun_stamp_ms = session.begun_stamp_ms.max(cause.stamp_ms);
        session.children.clear();
        session.open_tools.clear();
        session.over_tools.clear();
        if !fresh {
            out.extend(self.close(key, at, cause, |_| true));
            self.enter(key, Phase::Registered, at);
            if let Some(session) = self.sessions.get_mut(key) {
                session.since = at;
                session.account.begun_anew = true;
                session.note(at, cause);
                out.push(transition(session, registered(session, at), cause));
            }
        }
        // One process holds one session: the former one is over, whatever order the two events come in (case F-040).
        if let (true, Some(process)) = (replaces, process) {
            let former: Vec<SessionKey> = self
                .sessions()
                .filter(|other| other.key != *key && other.is_live() && other.host == host)
                .filter(|other| other.process == Some(process))
                .map(|other| other.key.clone())
                .collect();
            for other in former {
                out.extend(self.end(&other, at, cause));
            }
        }
    }

    pub(crate) fn prompted(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        main: bool,
        human: bool,
        out: &mut Vec<Transition>,
    ) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        // Codex reports a subagent's task as a prompt with its agent id: not the human's.
        if !main || session.is_late(at, cause) {
            return session.rule_out(at, cause, if main { OVERTAKEN } else { SUBAGENT });
        }
        session.moved(at, cause);
        session.turned_by = (cause.id.clone(), true);
        if human {
            // What it rests on from now on begins here; what was before is in the journal.
            session.evidence.clear();
            session.begun_stamp_ms = session.begun_stamp_ms.max(cause.stamp_ms);
            session.children.clear();
        }
        session.note(at, cause);
        session.background = false;
        session.open_tools.retain(|open| open.agent.is_some());
        // The host's own prompt (a finished background task) starts a turn but answers no question.
        out.extend(self.close(key, at, cause, |wait| human || !wait.is_blocking()));
        self.enter(key, Phase::Working, at);
    }

    pub(crate) fn reminded(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        kind: WaitKind,
        message: &str,
        out: &mut Vec<Transition>,
    ) {
        let Some(session) = self.sessions.get(key) else { return };
        let blocked = session.waits.iter().any(Wait::is_blocking);
        let asking = asking(session, message);
        // Dialogs are shown one after the other: the next one may come before the call of the former one is over.
        let is_next = asking.is_some_and(|(_, is_named)| {
            is_named || session.waits.iter().all(|wait| wait.message != message)
        });
        let passed = match kind {
            _ if session.is_headless() => Some(HEADLESS),
            _ if session.settled.is_some() => Some(SETTLED),
            // 'Waiting for your input' confirms; it opens only where the turn's end was lost (case F-008).
            WaitKind::TurnEnd if !session.waits.is_empty() => Some(KNOWN),
            WaitKind::TurnEnd if session.background => Some(BACKGROUND),
            WaitKind::TurnEnd if !matches!(session.phase, Phase::Working | Phase::Unknown) => Some(KNOWN),
            WaitKind::TurnEnd => (at.at_ms.saturating_sub(session.active.at_ms) < REMINDER_QUIET_MS)
                .then_some("a reminder so soon after a sign of work is about an older turn"),
            // It comes seconds late: where the host sends requests, they decide (case F-021).
            WaitKind::Elicitation if session.elicits => Some(LATE_REMINDER),
            WaitKind::Permission if session.asks_nobody => Some("it asks nobody in this mode"),
            WaitKind::Elicitation => blocked.then_some(KNOWN),
            _ if session.asks_by_request => Some(LATE_REMINDER),
            WaitKind::Permission => (blocked && !is_next).then_some(KNOWN),
            _ => blocked.then_some(KNOWN),
        };
        if let Some(reason) = passed {
            self.rule_out(key, at, cause, reason);
        } else {
            let returns = session.waits.is_empty();
            let mut wait = new_wait(kind, None, None, message, cause);
            // The end of the call that asks is the answer.
            if let (WaitKind::Permission | WaitKind::Question, Some((open, _))) = (kind, asking) {
                (wait.agent, wait.tool) = (open.agent.clone(), Some(open.tool.clone()));
            }
            out.extend(self.open(key, at, cause, wait, None));
            if !returns {
                self.close(key, at, cause, |wait| !wait.is_blocking());
            }
        }
    }

    pub(crate) fn turn_ended(
        &mut self,
        at: Moment,
        cause: &Cause,
        seen: &Observation,
        ended: &Ended<'_>,
        out: &mut Vec<Transition>,
    ) {
        let Ended { kind, message, background, sure, quiet } = *ended;
        let key = &seen.session;
        let Some(session) = self.sessions.get_mut(key) else { return };
        // One that a record overtook still knows of work in the background.
        if session.is_overtaken(cause) {
            return session.rule_out(at, cause, OVERTAKEN);
        }
        // Old builds send a subagent's Stop without its id, while the agent tool is open (case F-045).
        let inside_agent_tool =
            session.open_tools.iter().any(|open| open.agent.is_none() && open.tool.starts_agent);
        if inside_agent_tool && !sure && kind == WaitKind::TurnEnd {
            return session.rule_out(at, cause, "it is a subagent's: the call that runs one is not over");
        }
        let settled = session.settled.filter(|kind| kind.reason() == Reason::Stopped);
        let repeat = session.waits.iter().any(|wait| !wait.is_blocking()) || settled.is_some();
        session.moved(at, cause);
        session.turned_by = (cause.id.clone(), false);
        session.settled = settled;
        session.background = background;
        session.open_tools.retain(|open| open.agent.is_some());
        let headless = session.is_headless();
        if !background {
            session.children.clear();
        }
        let blocking_over =
            |wait: &Wait| wait.is_blocking() && (kind == WaitKind::Interrupted || wait.agent.is_none());
        self.drop_ghosts(key);
        if background || headless {
            // Work that goes on will wake the agent, whatever a transcript said before; a headless run has nobody to
            // call.
            let over = |wait: &Wait| blocking_over(wait) || (background && !wait.is_blocking());
            out.extend(self.close(key, at, cause, over));
            self.enter(key, if background { Phase::Working } else { Phase::Idle }, at);
            if let Some(session) = self.sessions.get_mut(key) {
                session.note(at, cause);
            }
            return;
        }
        if repeat {
            let session = self.sessions.get_mut(key);
            let rests = session.and_then(|session| session.waits.iter_mut().find(|wait| !wait.is_blocking()));
            rests.into_iter().for_each(|wait| wait.told_by(cause));
            out.extend(self.close(key, at, cause, blocking_over));
            return self.rule_out(key, at, cause, if settled.is_some() { SETTLED } else { KNOWN });
        }
        let mut wait = new_wait(kind, None, None, message, cause);
        if quiet {
            wait.announce_at_ms = None;
        }
        let opened = self.open(key, at, cause, wait, None);
        self.close(key, at, cause, blocking_over);
        out.extend(opened.and_then(|_| {
            let session = self.sessions.get(key)?;
            Some(transition(session, crate::herd::stuck(session)?, cause))
        }));
    }

    /// A sign of work of the main agent: it works, unless it waits.
    pub(crate) fn working_if_quiet(&mut self, key: &SessionKey, at: Moment, cause: &Cause) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        if !session.waits.is_empty() {
            return;
        }
        if session.is_late(at, cause) {
            return session.rule_out(at, cause, OVERTAKEN);
        }
        match session.settled {
            // What the human settled was answered after all.
            Some(kind) if kind.reason() == Reason::Permission => session.settled = None,
            Some(_) => return session.rule_out(at, cause, SETTLED),
            None if matches!(session.phase, Phase::Idle | Phase::Ended) => {
                return session.rule_out(at, cause, TURN_OVER);
            }
            None => {}
        }
        session.active = at;
        session.note(at, cause);
        self.enter(key, Phase::Working, at);
    }
}
