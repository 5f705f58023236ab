//! The rules for observations: what hooks say about a session.
//!
//! Sources of the rules: NOTES sections 5 to 7 of the host facts and the field cases named beside each rule.

use std::cell::Cell;

use herdbook_events::observation::{Observation, Signal, ToolUse};
use herdbook_events::{SessionKey, WaitKind};

use crate::herd::{Attention, registered, transition};
use crate::passed::{HEADLESS, KNOWN, OVERTAKEN, SUBAGENT, TURN_OVER};
use crate::screen::PANE;
use crate::session::{Cause, Moment, OpenTool, OverTool, Phase, Session, Transition, Wait};
use crate::turn::Ended;

/// A tool use that starts this soon after a request is a sibling of the same batch, not proof of an answer:
/// tools of one batch start within some 100 ms, and nobody answers a dialog that fast.
const SIBLING_MS: u64 = 250;

impl Attention {
    /// Folds one observation of a hook-fed session.
    pub fn observe(&mut self, at: Moment, cause: &Cause, seen: &Observation) -> Vec<Transition> {
        let mut out = Vec::new();
        let of_parent = self.of_parent(at, cause, seen, &mut out);
        let seen = of_parent.as_ref().unwrap_or(seen);
        if self.admit(at, cause, seen, &mut out) {
            self.merge_found(&seen.session, at, cause, &mut out);
            self.merge_reporters(&seen.session, at, cause, &mut out);
            self.fold(at, cause, seen, &mut out);
            out.extend(self.come_back(&seen.session, at, cause));
            self.watch(&seen.session, at, cause);
        }
        out.extend(self.relink(at));
        out
    }

    /// A session that speaks again and still waits is in the queue again (case F-094).
    pub(crate) fn come_back(&mut self, key: &SessionKey, at: Moment, cause: &Cause) -> Option<Transition> {
        let session = self.sessions.get_mut(key)?;
        let place = session.place.as_mut().filter(|place| place.stale)?;
        place.stale = false;
        let opened = session.waits.last().map_or(at.at_ms, |wait| wait.opened.at_ms);
        // It is looked at anew, not at once again.
        session.active = at;
        session.waits.iter_mut().for_each(|wait| wait.looked_at_ms = at.at_ms.max(opened));
        let event = crate::herd::stuck(session)?;
        let back = transition(session, event, cause);
        self.due_by(at.at_ms + self.limits.stale_wait_ms);
        Some(back)
    }

    fn fold(&mut self, at: Moment, cause: &Cause, seen: &Observation, out: &mut Vec<Transition>) {
        let key = &seen.session;
        let main = seen.agent.is_none();
        match &seen.signal {
            Signal::SessionStarted { replaces, inside_turn } => {
                if !inside_turn && main {
                    self.started(key, at, cause, *replaces, out);
                } else {
                    self.rule_out(key, at, cause, if main { "its turn goes on" } else { SUBAGENT });
                }
            }
            Signal::SessionEnded => {
                out.extend(self.end(key, at, cause));
                if let Some(session) = self.sessions.get_mut(key) {
                    session.main_stamp_ms = session.main_stamp_ms.max(cause.stamp_ms);
                }
            }
            Signal::PromptSubmitted { human } => self.prompted(key, at, cause, main, *human, out),
            Signal::ToolStarting(tool) => self.tool_starting(key, at, cause, &seen.agent, tool, out),
            Signal::ToolOver(tool) => self.tool_over(key, at, cause, &seen.agent, tool, out),
            Signal::BatchOver => {
                let agent = &seen.agent;
                if let Some(session) = self.sessions.get_mut(key) {
                    // Also what was denied and got no event of its own is over now.
                    session
                        .open_tools
                        .retain(|open| open.agent != *agent || started_after_cause(open, cause));
                }
                out.extend(self.close(key, at, cause, |wait| {
                    wait.is_blocking() && wait.agent == *agent && !opened_after(wait, cause)
                }));
                if main && out.iter().any(|t| t.event.kind() == "unstuck") {
                    self.enter(key, Phase::Working, at);
                }
            }
            Signal::Asked { kind, tool, message, by_request } => {
                self.asked(key, at, cause, seen, *kind, tool, message, *by_request, None, out);
            }
            Signal::Requested { request, kind, tool, message } => {
                self.asked(key, at, cause, seen, *kind, tool, message, true, Some(request), out);
            }
            Signal::Replied { request } => {
                if let Some(session) = self.sessions.get_mut(key) {
                    // The request may come later than its answer.
                    session.remember_over(OverTool {
                        agent: seen.agent.clone(),
                        fingerprint: request.clone(),
                        stamp_ms: cause.stamp_ms,
                    });
                }
                out.extend(self.close(key, at, cause, |wait| wait.request.as_ref() == Some(request)));
                self.working_if_quiet(key, at, cause);
            }
            Signal::ElicitationOpened { id, message } => {
                let Some(session) = self.sessions.get_mut(key) else { return };
                session.elicits = true;
                let headless = session.is_headless();
                let known = session.waits.iter().any(|wait| {
                    wait.kind == WaitKind::Elicitation
                        && wait.agent == seen.agent
                        && same_request(wait, id.as_deref())
                });
                if headless || known {
                    return session.rule_out(at, cause, if headless { HEADLESS } else { KNOWN });
                }
                // The server whose tool runs asks: when that tool is over, so is the question.
                let asks = |open: &&OpenTool| open.agent == seen.agent && open.tool.name.starts_with("mcp__");
                let tool = session.open_tools.iter().rev().find(asks).map(|open| open.tool.clone());
                let mut wait = new_wait(WaitKind::Elicitation, seen.agent.clone(), tool, message, cause);
                wait.request.clone_from(id);
                session.settled = None;
                out.extend(self.open(key, at, cause, wait, None));
            }
            Signal::ElicitationClosed { id } => {
                out.extend(self.close(key, at, cause, |wait| {
                    wait.kind == WaitKind::Elicitation && same_request(wait, id.as_deref())
                }));
                self.working_if_quiet(key, at, cause);
            }
            Signal::Reminder { kind, message } => self.reminded(key, at, cause, *kind, message, out),
            Signal::TurnEnded { kind, message, background, main_for_sure, quiet } => {
                if main {
                    let ended = Ended {
                        kind: *kind,
                        message,
                        background: *background,
                        sure: *main_for_sure,
                        quiet: *quiet,
                    };
                    self.turn_ended(at, cause, seen, &ended, out);
                } else {
                    let agent = &seen.agent;
                    out.extend(self.close(key, at, cause, |wait| wait.agent == *agent));
                    self.rule_out(key, at, cause, SUBAGENT);
                }
            }
            Signal::AgentStarted { id } => {
                if let Some(session) = self.sessions.get_mut(key) {
                    // Its stop may have overtaken its start (case F-011).
                    match session.stopped_children.iter().position(|stopped| stopped == id) {
                        Some(place) => {
                            session.stopped_children.remove(place);
                        }
                        None => {
                            session.children.insert(id.clone());
                        }
                    }
                }
            }
            Signal::AgentStopped { id } => {
                let Some(id) = id else { return };
                if let Some(session) = self.sessions.get_mut(key)
                    && !session.children.remove(id)
                {
                    // An unknown stop removes nothing (case F-046); it is kept for a start that comes later.
                    if session.stopped_children.len() == 32 {
                        session.stopped_children.pop_front();
                    }
                    session.stopped_children.push_back(id.clone());
                }
                out.extend(self.close(key, at, cause, |wait| wait.agent.as_ref() == Some(id)));
                self.rule_out(key, at, cause, SUBAGENT);
            }
            Signal::Alive | Signal::ChildOf { .. } => {}
        }
    }

    /// Finds or makes the session. False: the event is about a session that is over and changes nothing.
    fn admit(&mut self, at: Moment, cause: &Cause, seen: &Observation, out: &mut Vec<Transition>) -> bool {
        let key = &seen.session;
        let starts = matches!(seen.signal, Signal::SessionStarted { inside_turn: false, .. });
        let revives = starts || matches!(seen.signal, Signal::PromptSubmitted { human: true });
        if let Some(tombstone) = self.tombstones.get(key) {
            if !revives || is_before(tombstone.stamp_ms, cause) {
                return false;
            }
            self.unbury(key);
        }
        if let Some(session) = self.sessions.get_mut(key) {
            if session.is_live() {
                // The former process of a resumed session says goodbye late: the session lives on (case F-040).
                let is_past = || session.is_former(&seen.facts) || is_before(session.begun_stamp_ms, cause);
                if matches!(seen.signal, Signal::SessionEnded) && is_past() {
                    session.rule_out(at, cause, "it is of a time before the session began anew");
                    return false;
                }
                let place = |session: &Session| {
                    (session.pane.clone(), session.transcript_path.clone(), session.is_headless())
                };
                let before = place(session);
                session.learn(&seen.facts, cause, starts);
                session.unhooked = false;
                let is_new = session.posted || before != place(session);
                if session.posted {
                    session.host.clone_from(&seen.host);
                    session.posted = false;
                    session.hidden_by = None;
                }
                if starts {
                    // Whatever it was taken for, it has a start of its own.
                    session.parent = None;
                }
                let unknown =
                    session.phase == Phase::Unknown && !matches!(seen.signal, Signal::Reminder { .. });
                if unknown {
                    session.active = at;
                    self.enter(key, Phase::Working, at);
                }
                if is_new {
                    self.hooked.insert(key.clone());
                    self.links_changed = true;
                }
                return true;
            }
            let is_lost = session.lost_process.is_some() && session.lost_process == seen.facts.process;
            if !revives || is_lost || session.is_late(at, cause) {
                session.rule_out(at, cause, "the session is over");
                return false;
            }
            self.sessions.remove(key);
        } else if matches!(seen.signal, Signal::SessionEnded) {
            if cause.stamp_ms.is_some() {
                self.bury(key, at, cause.stamp_ms);
            }
            return false;
        }
        let mut session = Session::new(key.clone(), seen.host.clone(), false, at);
        session.learn(&seen.facts, cause, starts);
        session.parent = self.ghost_parent(&session, starts);
        session.note(at, cause);
        if session.parent.is_none() {
            out.push(transition(&session, registered(&session, at), cause));
        }
        self.insert(session);
        true
    }

    /// A session first seen inside another session's live process while that one has an agent tool open is its
    /// child (case F-049).
    fn ghost_parent(&self, session: &Session, starts: bool) -> Option<SessionKey> {
        let process = session.process?;
        if starts {
            return None;
        }
        let parent = self.sessions().find(|other| {
            other.is_live()
                && other.host == session.host
                && other.process == Some(process)
                && other.open_tools.iter().any(|open| open.tool.starts_agent)
        })?;
        Some(parent.key.clone())
    }

    fn tool_starting(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        agent: &Option<String>,
        tool: &ToolUse,
        out: &mut Vec<Transition>,
    ) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let main = agent.is_none();
        let late = main && session.is_late(at, cause);
        if !late || session.over_tools.iter().all(|over| over.fingerprint != tool.fingerprint) {
            session.remember_open(OpenTool {
                call: cause.id.clone(),
                agent: agent.clone(),
                tool: tool.clone(),
                started: at,
                stamp_ms: cause.stamp_ms,
            });
        }
        // The request may have overtaken its own call: then the call names the id and proves nothing (case F-018).
        let own = session.waits.iter_mut().find(|wait| {
            wait.is_blocking()
                && wait.agent == *agent
                && wait
                    .tool
                    .as_ref()
                    .is_some_and(|asked| asked.id.is_none() && asked.fingerprint == tool.fingerprint)
                && !started_after(cause, wait.stamp_ms)
        });
        if let Some(wait) = own {
            if let Some(asked) = &mut wait.tool {
                asked.id.clone_from(&tool.id);
            }
            return session.rule_out(at, cause, "it is the call that is asked about");
        }
        if late {
            return session.rule_out(at, cause, OVERTAKEN);
        }
        let is_beside =
            |wait: &Wait| wait.is_blocking() && wait.agent == *agent && is_sibling(wait, at, cause);
        let is_beside = session.waits.iter().any(is_beside);
        if main {
            session.moved(at, cause);
            if !is_beside {
                session.note(at, cause);
            }
        }
        // Nor can it go on while an agent tool of its own runs: that one was denied, or its end was lost.
        session.open_tools.retain(|open| {
            open.agent != *agent || !open.tool.starts_agent || !started_before(open, at, cause)
        });
        // One agent cannot go on while it waits: a new call is the answer, a sibling of the same batch is not.
        out.extend(self.close(key, at, cause, |wait| {
            wait.agent == *agent && (!wait.is_blocking() || !is_sibling(wait, at, cause))
        }));
        if is_beside {
            self.rule_out(key, at, cause, "a call of the same batch: it began within 250 ms of the request");
        } else if !main && self.sessions.get(key).is_some_and(|session| !session.waits.is_empty()) {
            self.rule_out(key, at, cause, SUBAGENT);
        }
        if main {
            self.enter(key, Phase::Working, at);
        }
    }

    fn tool_over(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        agent: &Option<String>,
        tool: &ToolUse,
        out: &mut Vec<Transition>,
    ) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let place =
            session.open_tools.iter().position(|open| open.agent == *agent && same_tool(&open.tool, tool));
        let open = place.map(|place| session.open_tools.remove(place));
        session.remember_over(OverTool {
            agent: agent.clone(),
            fingerprint: tool.fingerprint.clone(),
            stamp_ms: cause.stamp_ms,
        });
        // Without ids the end of one of several equal calls answers one request: the others wait for theirs.
        let equal_open = match &tool.id {
            None => {
                session.open_tools.iter().filter(|o| o.agent == *agent && same_tool(&o.tool, tool)).count()
            }
            Some(_) => 0,
        };
        let is_asked = |wait: &Wait| wait.tool.as_ref().is_some_and(|asked| same_tool(asked, tool));
        let equal_waits = session.waits.iter().filter(|wait| wait.agent == *agent && is_asked(wait)).count();
        let answered = Cell::new(equal_waits.saturating_sub(equal_open).max(1));
        let is_answered = |wait: &Wait| {
            let left = answered.get();
            let is_next = is_asked(wait) && left > 0;
            answered.set(left - usize::from(is_next));
            is_next
        };
        out.extend(self.close(key, at, cause, |wait| {
            if !wait.is_blocking() || wait.agent != *agent {
                return false;
            }
            // Neither a pane nor a report says which call asks.
            if wait.names_no_call() {
                return true;
            }
            // Its own answer, or the end of a call that only started after the request.
            is_answered(wait)
                || open.as_ref().is_some_and(|open| match (open.stamp_ms, wait.stamp_ms) {
                    (Some(started), Some(asked)) => started > asked.saturating_add(SIBLING_MS),
                    _ => open.started.at_ms > wait.opened.at_ms.saturating_add(SIBLING_MS),
                })
        }));
        if let Some(session) = self.sessions.get_mut(key).filter(|session| !session.waits.is_empty()) {
            let rests = session.waits.iter().any(|wait| !wait.is_blocking());
            let own = session.waits.iter().any(|wait| wait.is_blocking() && wait.agent == *agent);
            let reason = match agent {
                Some(_) if !own => SUBAGENT,
                None if rests => TURN_OVER,
                _ => "another call than this one is asked about",
            };
            session.rule_out(at, cause, reason);
        }
        if agent.is_none() {
            self.working_if_quiet(key, at, cause);
            if tool.starts_agent {
                self.drop_ghosts(key);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one signal, matched apart by the caller")]
    fn asked(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        seen: &Observation,
        kind: WaitKind,
        tool: &ToolUse,
        message: &str,
        by_request: bool,
        request: Option<&String>,
        out: &mut Vec<Transition>,
    ) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let agent = &seen.agent;
        session.asks_by_request |= by_request;
        // Nobody is asked in bypass modes, questions and plans excepted (case F-019); nobody is there when headless.
        if session.is_headless() || (kind == WaitKind::Permission && session.asks_nobody) {
            let mode = "it asks nobody in this mode";
            return session.rule_out(at, cause, if session.is_headless() { HEADLESS } else { mode });
        }
        // A slow hook of a request whose tool use is over already.
        let answered = session.over_tools.iter().any(|over| {
            over.agent == *agent
                && *request.unwrap_or(&tool.fingerprint) == over.fingerprint
                && matches!((over.stamp_ms, cause.stamp_ms), (Some(over), Some(asked)) if asked < over)
        });
        let late = (session.phase != Phase::Working && session.is_late(at, cause))
            || session.is_before_proof(at, cause);
        if answered || (agent.is_none() && late) {
            let over = "the call that it asks about is over";
            return session.rule_out(at, cause, if answered { over } else { OVERTAKEN });
        }
        let mut tool = tool.clone();
        if tool.fingerprint.is_empty()
            && let Some(open) = session.last_called(agent)
        {
            // The host does not say for which call it asks: it asks before it runs the next one.
            tool.id.clone_from(&open.id);
            tool.fingerprint.clone_from(&open.fingerprint);
        }
        if tool.id.is_none() {
            let known: Vec<&Option<String>> =
                session.waits.iter().filter_map(|wait| wait.tool.as_ref()).map(|asked| &asked.id).collect();
            tool.id = session
                .open_tools
                .iter()
                .rev()
                .filter(|open| open.agent == *agent && open.tool.fingerprint == tool.fingerprint)
                .find(|open| open.tool.id.is_some() && !known.contains(&&open.tool.id))
                .and_then(|open| open.tool.id.clone());
        }
        let confirmed = session.waits.iter_mut().find(|wait| {
            let same_call = |asked: &ToolUse| {
                (asked.id.is_some() && asked.id == tool.id)
                    || (asked.fingerprint == tool.fingerprint && (asked.id.is_none() || tool.id.is_none()))
            };
            // One call may need several answers: where requests have ids, they tell.
            let same = match (request, &wait.request) {
                (Some(request), Some(known)) => request == known,
                _ => wait.tool.as_ref().is_some_and(same_call),
            };
            same && wait.is_blocking() && wait.agent == *agent
        });
        if let Some(wait) = confirmed {
            // Three signals for one question are one wait (case F-022).
            if let (Some(asked), Some(id)) = (&mut wait.tool, &tool.id) {
                asked.id = Some(id.clone());
            }
            wait.told_by(cause);
            wait.request = wait.request.take().or_else(|| request.cloned());
            return session.rule_out(at, cause, KNOWN);
        }
        let mut wait = new_wait(kind, agent.clone(), Some(tool), message, cause);
        wait.request = request.cloned();
        if session.take_over_shown(&wait) {
            return;
        }
        if agent.is_none() {
            session.moved(at, cause);
            self.enter(key, Phase::Working, at);
        }
        let opened = self.open(key, at, cause, wait, None);
        // A main agent that asks is in a turn again.
        if agent.is_none() {
            self.close(key, at, cause, |wait| !wait.is_blocking());
        }
        out.extend(opened);
    }
}

pub(crate) fn new_wait(
    kind: WaitKind,
    agent: Option<String>,
    tool: Option<ToolUse>,
    message: &str,
    cause: &Cause,
) -> Wait {
    Wait {
        source: cause.source,
        kind,
        agent,
        tool,
        request: None,
        calls: vec![cause.id.clone()],
        looked_at_ms: 0,
        message: message.to_owned(),
        shown: cause.source == PANE,
        opened: Moment::default(),
        stamp_ms: cause.stamp_ms,
        announce_at_ms: Some(0),
    }
}

pub(crate) fn same_tool(left: &ToolUse, right: &ToolUse) -> bool {
    match (&left.id, &right.id) {
        (Some(left), Some(right)) => left == right,
        _ => left.fingerprint == right.fingerprint,
    }
}

fn same_request(wait: &Wait, id: Option<&str>) -> bool {
    let own = wait.request.as_deref();
    own.is_none() || id.is_none() || own == id
}

/// True when the event's hook certainly started after that stamp; unknown stamps prove nothing.
fn started_after(cause: &Cause, stamp_ms: Option<u64>) -> bool {
    matches!((cause.stamp_ms, stamp_ms), (Some(event), Some(other)) if event > other)
}

/// True when the event's hook certainly started before that stamp; unknown stamps say no.
fn is_before(stamp_ms: Option<u64>, cause: &Cause) -> bool {
    matches!((stamp_ms, cause.stamp_ms), (Some(other), Some(event)) if other > event)
}

fn opened_after(wait: &Wait, cause: &Cause) -> bool {
    matches!((wait.stamp_ms, cause.stamp_ms), (Some(opened), Some(event)) if opened > event)
}

fn is_sibling(wait: &Wait, at: Moment, cause: &Cause) -> bool {
    match (wait.stamp_ms, cause.stamp_ms) {
        (Some(opened), Some(event)) => event <= opened.saturating_add(SIBLING_MS),
        _ => at.at_ms <= wait.opened.at_ms.saturating_add(SIBLING_MS),
    }
}

/// True when the tool use started after the event's hook; unknown stamps say no.
fn started_after_cause(open: &OpenTool, cause: &Cause) -> bool {
    matches!((open.stamp_ms, cause.stamp_ms), (Some(started), Some(event)) if started > event)
}

/// True when the tool use started clearly before the event: it is no sibling of the same batch.
fn started_before(open: &OpenTool, at: Moment, cause: &Cause) -> bool {
    match (open.stamp_ms, cause.stamp_ms) {
        (Some(started), Some(event)) => event > started.saturating_add(SIBLING_MS),
        _ => at.at_ms > open.started.at_ms.saturating_add(SIBLING_MS),
    }
}
