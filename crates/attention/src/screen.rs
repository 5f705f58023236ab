//! The rules for what panes show: the weakest source, so each rule asks for proof that is newer than what it undoes.
//!
//! What the pane eye is for (real cases and F-009, F-015, F-084): an approved tool that runs, a "No" or Esc that no
//! hook tells, and dialogs before any hook.

use herdbook_events::observation::{Facts, Observation, PaneRef, Signal};
use herdbook_events::origin::Terminal;
use herdbook_events::pane::{PaneSeen, Shows};
use herdbook_events::{SessionKey, WaitKind};

use crate::fold::new_wait;
use crate::herd::Attention;
use crate::session::{Cause, Moment, Phase, Session, Transition, Wait};
use crate::status::STATUS;

/// The word for causes and waits that come from a pane.
pub(crate) const PANE: &str = "pane";
/// A look is told within this time: a dialog in it may be that of the request before.
const TOLD_MS: u64 = 500;
/// Between two steps of a client there may be no work on the screen for a moment.
const QUIET_MS: u64 = 700;
/// A turn whose host has said nothing for so long may have been interrupted, or ask what no hook tells.
const SILENT_MS: u64 = 3_000;
/// A turn's end that only the pane told of is looked at for so long yet: it may have been none.
const DOUBTED_MS: u64 = 60_000;
/// So long after a request, or after its answer that only the pane told of, the screen may change at any moment.
const SOON_MS: u64 = 10_000;
/// After a turn's end the screen shows work while the host's own hooks run: only longer work is another turn.
const NEW_TURN_MS: u64 = 5_000;

/// What a look at a pane changes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// The session works: these waits were answered.
    Works { key: SessionKey, also_turn_ends: bool },
    /// The session is quiet at a prompt.
    Quiet { key: SessionKey, kind: WaitKind },
    /// What it asks for is on the screen.
    Shown { key: SessionKey },
    /// It asks.
    Asks { key: SessionKey, kind: WaitKind },
    /// An agent that no hook has told of asks.
    Found { kind: WaitKind },
    /// What only the pane told of is over.
    Left { key: SessionKey },
    /// The pane of these sessions is closed.
    Closed { keys: Vec<SessionKey> },
}

impl Attention {
    /// True when the pane of a session may tell what its host does not: it is blocked and may have been answered, what
    /// is known of it came from the pane, or it works and has said nothing for a while.
    ///
    /// At rest it is not looked at: whoever opens something there, or is offered something, sits there; and once he
    /// prompts it, its hooks tell.
    pub fn is_near_decision(&self, at: Moment, session: &Session) -> bool {
        let is_seen = session.is_live()
            && !session.posted
            && session.parent.is_none()
            && session.machine.is_none()
            && session.hidden_by.is_none()
            && !session.is_headless()
            && !self.pane_uncertain(session);
        let works = matches!(session.phase, Phase::Working | Phase::Unknown);
        let doubted = |wait: &Wait| wait.source == PANE && wait.opened.at_ms + DOUBTED_MS > at.at_ms;
        let asks = |wait: &Wait| wait.is_blocking() || doubted(wait);
        let silent = || works && session.waits.is_empty() && session.active.at_ms + SILENT_MS <= at.at_ms;
        is_seen && (session.waits.iter().any(asks) || session.is_doubted() || silent())
    }

    /// True when the pane of a session should be looked at often: a dialog is about to be drawn, or to be answered.
    pub fn is_soon_decided(&self, at: Moment, session: &Session) -> bool {
        let is_young = |wait: &Wait| wait.opened.at_ms + SOON_MS > at.at_ms;
        let may_be_answered = |wait: &Wait| wait.is_blocking() && is_young(wait);
        let may_ask = session.is_doubted() && session.active.at_ms + SOON_MS > at.at_ms;
        session.waits.iter().any(may_be_answered) || may_ask
    }

    /// True when only its pane told of this agent.
    pub fn is_found(&self, session: &Session) -> bool {
        self.found.contains(&session.key)
    }

    /// True when a look at a pane changes something: only then it is worth a record.
    pub fn pane_tells(&self, at: Moment, seen: &PaneSeen) -> bool {
        self.pane_step(at, seen).is_some()
    }

    /// Folds a look at a pane.
    pub fn pane_seen(&mut self, at: Moment, cause: &Cause, seen: &PaneSeen) -> Vec<Transition> {
        let Some(step) = self.pane_step(at, seen) else { return Vec::new() };
        let mut out = Vec::new();
        let touched: Vec<SessionKey> = match &step {
            Step::Works { key, .. }
            | Step::Quiet { key, .. }
            | Step::Asks { key, .. }
            | Step::Shown { key } => vec![key.clone()],
            Step::Found { .. } => found_key(seen).into_iter().collect(),
            Step::Left { .. } => Vec::new(),
            Step::Closed { keys } => keys.clone(),
        };
        match step {
            Step::Works { key, also_turn_ends } => {
                let was_blocked = self.blocked(&key);
                out.extend(self.close(&key, at, cause, |wait| wait.is_blocking() || also_turn_ends));
                if let Some(session) = self.sessions.get_mut(&key) {
                    session.active = at;
                    session.answered_ms = was_blocked.then_some(at.at_ms);
                    session.note(at, cause);
                }
                self.enter(&key, Phase::Working, at);
            }
            Step::Quiet { key, kind } => {
                // Whoever answered or pressed Esc was at the pane: it is no news to him.
                let mut wait = new_wait(kind, None, None, &seen.message, cause);
                if self.blocked(&key) || kind == WaitKind::Interrupted {
                    wait.announce_at_ms = None;
                }
                if let Some(session) = self.sessions.get_mut(&key) {
                    session.open_tools.retain(|open| open.agent.is_some());
                }
                let opened = self.open(&key, at, cause, wait, None);
                self.close(&key, at, cause, Wait::is_blocking);
                // What is shown is the turn's end now.
                out.extend(opened.and_then(|_| {
                    let session = self.sessions.get(&key)?;
                    Some(crate::herd::transition(session, crate::herd::stuck(session)?, cause))
                }));
            }
            Step::Shown { key } => {
                if let Some(session) = self.sessions.get_mut(&key) {
                    let asked = session.waits.iter_mut().filter(|wait| is_first_shown(wait, at));
                    asked.for_each(|wait| wait.shown = true);
                    session.note(at, cause);
                }
            }
            Step::Asks { key, kind } => {
                self.enter(&key, Phase::Working, at);
                let wait = new_wait(kind, None, None, &seen.message, cause);
                out.extend(self.open(&key, at, cause, wait, None));
                self.close(&key, at, cause, |wait| !wait.is_blocking());
            }
            Step::Found { kind } => {
                let Some(key) = found_key(seen) else { return out };
                out.extend(self.observe(at, cause, &start_of(&key, seen)));
                self.found.insert(key.clone());
                let wait = new_wait(kind, None, None, &seen.message, cause);
                out.extend(self.open(&key, at, cause, wait, None));
            }
            Step::Left { key } => self.drop_found(&key, at, cause, &mut out),
            Step::Closed { keys } => self.lose_pane(&keys, at, cause),
        }
        touched.iter().for_each(|key| self.watch(key, at, cause));
        out.extend(self.relink(at));
        out
    }

    fn pane_step(&self, at: Moment, seen: &PaneSeen) -> Option<Step> {
        let here = |session: &&Session| {
            session.is_live()
                && session.machine.is_none()
                && session.hidden_by.is_none()
                && !session.is_headless()
                && session.pane.as_ref().is_some_and(|pane| pane.may_be(&seen.pane))
        };
        let found = found_key(seen).filter(|key| self.found.contains(key));
        let mut others = self.sessions().filter(here).filter(|session| !self.found.contains(&session.key));
        let first = others.next();
        if seen.shows == Shows::Closed {
            let keys = self.in_closed(&seen.pane);
            return found
                .map(|key| Step::Left { key })
                .or((!keys.is_empty()).then_some(Step::Closed { keys }));
        }
        if seen.shows == Shows::Gone {
            return found.map(|key| Step::Left { key });
        }
        match (first, others.next()) {
            (None, _) => match (seen.shows, found) {
                (Shows::Dialog { kind, .. }, None) if seen.for_ms > 0 => Some(Step::Found { kind }),
                (Shows::Dialog { .. }, _) => None,
                (_, found) => found.map(|key| Step::Left { key }),
            },
            (Some(only), None) if only.host == seen.host && !only.posted && !self.pane_uncertain(only) => {
                session_step(only, at, seen)
            }
            // Whose screen it is cannot be told, or others speak for it.
            _ => None,
        }
    }

    /// A session that a hook tells of sits where only the pane was known: they are one (case F-084).
    pub(crate) fn merge_found(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        out: &mut Vec<Transition>,
    ) {
        if self.found.is_empty() || self.found.contains(key) {
            return;
        }
        let Some(pane) = self.sessions.get(key).and_then(|session| session.pane.clone()) else { return };
        let same: Vec<SessionKey> = self
            .found
            .iter()
            .filter(|found| {
                self.sessions
                    .get(*found)
                    .and_then(|session| session.pane.as_ref())
                    .is_some_and(|own| own.may_be(&pane))
            })
            .cloned()
            .collect();
        for found in same {
            self.drop_found(&found, at, cause, out);
        }
    }

    fn blocked(&self, key: &SessionKey) -> bool {
        self.sessions.get(key).is_some_and(|session| session.waits.iter().any(Wait::is_blocking))
    }

    pub(crate) fn drop_found(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        out: &mut Vec<Transition>,
    ) {
        out.extend(self.end(key, at, cause));
        self.sessions.remove(key);
        self.found.remove(key);
        // Children that were named long ago go with it.
        self.due_by(at.at_ms);
    }
}

impl Session {
    /// A request that the pane showed or the program reported first is told by its host now: it is one wait, and the
    /// host knows it better.
    pub(crate) fn take_over_shown(&mut self, wait: &Wait) -> bool {
        let shown = self.waits.iter_mut().find(|shown| shown.is_blocking() && shown.names_no_call());
        let Some(shown) = shown else { return false };
        *shown = Wait {
            opened: shown.opened,
            looked_at_ms: shown.looked_at_ms,
            shown: shown.shown,
            announce_at_ms: shown.announce_at_ms,
            ..wait.clone()
        };
        true
    }
}

impl Wait {
    /// True when no hook told of it, only what its pane shows or its program reports: which call asks is not known.
    pub(crate) fn names_no_call(&self) -> bool {
        [PANE, STATUS].contains(&self.source)
    }
}

fn session_step(session: &Session, at: Moment, seen: &PaneSeen) -> Option<Step> {
    let key = session.key.clone();
    let since_ms = at.at_ms.saturating_sub(seen.for_ms);
    let blocked = session.waits.iter().any(Wait::is_blocking);
    // When all that it follows from was drawn.
    let drawn_ms = |wait: &Wait| wait.opened.at_ms + seen.drawn_ms;
    let in_turn = matches!(session.phase, Phase::Working | Phase::Unknown);
    match seen.shows {
        Shows::Busy => {
            // One look is enough: work is on the screen only while it lasts. But a dialog that was not seen yet may
            // still come, or stand behind hooks of the request.
            let answered = |wait: &Wait| wait.shown || drawn_ms(wait) <= at.at_ms;
            let goes_on = |wait: &Wait| drawn_ms(wait) <= since_ms && seen.for_ms >= NEW_TURN_MS;
            if blocked {
                let blocking = || session.waits.iter().filter(|wait| wait.is_blocking());
                return blocking()
                    .all(answered)
                    .then(|| Step::Works { key, also_turn_ends: session.waits.iter().all(goes_on) });
            }
            let another_turn = !session.waits.is_empty() && session.waits.iter().all(goes_on);
            let told_again = session.waits.is_empty() && session.phase == Phase::Unknown;
            (another_turn || told_again).then_some(Step::Works { key, also_turn_ends: true })
        }
        Shows::Ready { kind } => {
            let drawn = session.active.at_ms < since_ms && seen.for_ms >= QUIET_MS;
            let gone = |wait: &Wait| !wait.is_blocking() || drawn_ms(wait) <= since_ms;
            let over = if blocked {
                session.waits.iter().all(gone)
            } else {
                session.waits.is_empty() && in_turn && !session.background && session.settled.is_none()
            };
            (drawn && over).then_some(Step::Quiet { key, kind })
        }
        Shows::Dialog { kind, sure } => {
            if blocked {
                let is_first = session.waits.iter().any(|wait| is_first_shown(wait, at));
                return (sure && is_first).then_some(Step::Shown { key });
            }
            let drawn = session.active.at_ms < since_ms;
            let newer = |wait: &Wait| sure && drawn_ms(wait) <= since_ms;
            // One look is enough for what was taken for answered.
            let seen_twice = seen.for_ms > 0 || session.is_doubted();
            let news = seen_twice && session.settled.is_none() && session.waits.iter().all(newer);
            (drawn && news).then_some(Step::Asks { key, kind })
        }
        Shows::Menu | Shows::Gone | Shows::Closed => None,
    }
}

/// True when a dialog on the screen may be that of a request, and was not seen before.
fn is_first_shown(wait: &Wait, at: Moment) -> bool {
    wait.is_blocking() && !wait.shown && wait.opened.at_ms + TOLD_MS <= at.at_ms
}

/// The key of an agent that only its pane tells of; the server is named where it is not the usual one.
fn found_key(seen: &PaneSeen) -> Option<SessionKey> {
    let PaneRef { socket, pane, .. } = &seen.pane;
    let id = match socket.as_str() {
        "" => format!("pane:{pane}"),
        usual if usual.ends_with("/default") => format!("pane:{pane}"),
        other => format!("pane:{pane}@{other}"),
    };
    SessionKey::hooked(&seen.host, &id)
}

fn start_of(key: &SessionKey, seen: &PaneSeen) -> Observation {
    Observation {
        session: key.clone(),
        host: seen.host.clone(),
        agent: None,
        signal: Signal::SessionStarted { replaces: false, inside_turn: false },
        facts: Facts {
            pane: Some(seen.pane.clone()),
            terminal: Terminal::Some,
            attended: Some(true),
            ..Facts::default()
        },
    }
}
