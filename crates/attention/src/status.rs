//! The rules for what programs report of themselves (OSC 7501). They rank below hooks and above transcripts (overview
//! section 4): what a hook opened is ended only by a report of another state than the one before, which is newer than
//! what the hook said. A program may repeat its state at any time, so a repeat proves nothing.
//!
//! A program that no hook tells of is a session of its own, like one that posts events; it gives way to the hook-fed
//! session in its place.

use herdbook_events::status::{Needs, StatusPlace};
use herdbook_events::{Process, ProgramState, Report, SessionKey, WaitKind};

use crate::fold::new_wait;
use crate::herd::{Attention, registered, stuck, transition};
use crate::session::{Cause, Moment, Phase, Said, Session, Transition, Wait};

/// The word for causes and waits that come from a report.
pub(crate) const STATUS: &str = "status";
/// So many parts of one program may be blocked at once; the protocol asks for 64 at least.
pub(crate) const PARTS: usize = 64;
/// The host of a program without a name, as of any other producer.
const NAMELESS: &str = "posted";

/// One report, and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct StatusFact<'a> {
    /// Where the program runs.
    pub place: &'a StatusPlace,
    /// The hook-fed session that it is about ([`Attention::told_by_hooks`]).
    pub session: Option<&'a SessionKey>,
    /// The host whose program it is by its name; none for other programs.
    pub host: Option<&'a str>,
    /// The report.
    pub report: &'a Report,
    /// When the program said so, Unix milliseconds; none is now.
    pub written_ms: Option<u64>,
}

impl Attention {
    /// Folds one report. Nothing: it changed nothing, and need not be kept.
    pub fn reported(&mut self, at: Moment, cause: &Cause, fact: &StatusFact<'_>) -> Option<Vec<Transition>> {
        let when_ms = fact.written_ms.unwrap_or(at.wall_ms).min(at.wall_ms);
        let mut out = Vec::new();
        let key = match (fact.session, &fact.place.session) {
            (Some(key), _) => key.clone(),
            (None, Some(_)) => return None,
            (None, None) => key_of(fact.place)?,
        };
        let session = self.sessions.get(&key).filter(|session| session.is_live());
        let said = session.and_then(|session| session.said.as_ref());
        if said.is_some_and(|said| is_older(when_ms, said.wall_ms, at)) {
            return None;
        }
        let is_met = fact.session.is_none() && self.meet(&key, at, cause, fact, &mut out);
        self.sessions.get(&key).filter(|session| session.is_live())?;
        let news = match &fact.report.id {
            Some(part) => self.part_says(&key, at, when_ms, cause, fact.report, part, &mut out),
            None => self.program_says(&key, at, when_ms, cause, fact, &mut out),
        };
        if !is_met && news.is_none() {
            return None;
        }
        out.extend(self.come_back(&key, at, cause));
        self.watch(&key, at, cause);
        Some(self.say(&key, at, out))
    }

    /// Returns the hook-fed session that a report is about: the one named, else the only one in that process, on that
    /// terminal or in that pane. A program of another name (`app`, of no host or of another) is none of its.
    ///
    /// Whose pane it is may hang on what was seen of the machine, so the answer is kept with the report.
    pub fn told_by_hooks(
        &self,
        place: &StatusPlace,
        app: Option<&str>,
        host: Option<&str>,
    ) -> Option<SessionKey> {
        let StatusPlace { pane, process, tty, session: named } = place;
        let is_it = |session: &&Session| {
            session.is_live()
                && !session.posted
                && session.machine.is_none()
                && !self.found.contains(&session.key)
                && (app.is_none() || host == Some(&session.host))
        };
        let only = |fits: &dyn Fn(&Session) -> bool| {
            let mut fitting = self.sessions().filter(is_it).filter(|session| fits(session));
            let first = fitting.next()?;
            fitting.next().is_none().then(|| first.key.clone())
        };
        if let Some(named) = named {
            return only(&|session| session.key == *named);
        }
        let in_process = |session: &Session| {
            session.process.zip(*process).is_some_and(|(own, process)| is_same(own, process))
        };
        let on_tty =
            |session: &Session| tty.as_ref().is_some_and(|tty| session.terminal.name() == Some(tty.as_str()));
        let in_pane = |session: &Session| {
            let own = session.pane.as_ref().filter(|_| !self.pane_uncertain(session));
            matches!((own, pane), (Some(own), Some(pane)) if own.may_be(pane))
        };
        only(&in_process).or_else(|| only(&on_tty)).or_else(|| only(&in_pane))
    }

    /// Makes or renames the session of a program that no hook tells of. False: it is known as it is.
    fn meet(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        fact: &StatusFact<'_>,
        out: &mut Vec<Transition>,
    ) -> bool {
        if fact.report.state == ProgramState::Clear {
            return false;
        }
        let app = fact.report.app.as_deref();
        let known = self.sessions.get_mut(key).filter(|session| session.is_live());
        let is_new = known.as_ref().is_none_or(|session| {
            let other_app = app.is_some() && session.app.is_some() && session.app.as_deref() != app;
            let own = session.process.or(session.lost_process);
            let other_process = own.zip(fact.place.process).is_some_and(|(own, other)| !is_same(own, other));
            other_app || other_process
        });
        match known {
            Some(session) if !is_new => {
                let is_named = app.is_some() && session.app.is_none();
                if is_named {
                    session.name(app, fact.host);
                }
                let known = session.process.or(session.lost_process);
                let is_placed = known.is_none() && fact.place.process.is_some();
                if is_placed {
                    (session.process, session.process_hooks) = (fact.place.process, 2);
                }
                return is_named || is_placed;
            }
            _ => {}
        }
        // Another program sits there now.
        out.extend(self.end(key, at, cause));
        self.unbury(key);
        let mut session = Session::new(key.clone(), NAMELESS.into(), true, at);
        session.name(app, fact.host);
        session.reports = true;
        session.pane.clone_from(&fact.place.pane);
        session.process = fact.place.process;
        // Whoever reports names his own process: no second word is needed to know that.
        session.process_hooks = 2;
        session.note(at, cause);
        out.push(transition(&session, registered(&session, at), cause));
        self.insert(session);
        self.reporters.insert(key.clone());
        self.merge_found(key, at, cause, out);
        true
    }

    /// The program as a whole says what it does. Nothing: it is no news.
    fn program_says(
        &mut self,
        key: &SessionKey,
        at: Moment,
        when_ms: u64,
        cause: &Cause,
        fact: &StatusFact<'_>,
        out: &mut Vec<Transition>,
    ) -> Option<()> {
        let (report, asked) = (fact.report, fact.place.session.is_some());
        let session = self.sessions.get_mut(key)?;
        let state = report.state;
        let before = session.said.as_ref().map(|said| said.report.state);
        let is_repeat = session.said.as_ref().is_some_and(|said| {
            let same_wait = (&said.report.kind, &said.report.msg) == (&report.kind, &report.msg);
            said.report.state == state && (same_wait || state != ProgramState::Blocked)
        });
        // Whoever answers when asked does not tell what was between: the answer before must be newer than the hooks, too.
        let is_gap = asked
            && session.said.as_ref().is_some_and(|said| match session.moved_wall_ms > at.wall_ms {
                true => said.heard_ms < session.active.at_ms,
                false => said.wall_ms < session.moved_wall_ms,
            });
        if is_repeat && !is_gap && (state != ProgramState::Working || session.phase != Phase::Unknown) {
            return None;
        }
        // The first thing that is heard of a program may be what it said long ago, and nothing is newer than itself.
        let is_newer = before.is_some_and(|before| before != state)
            && !is_older(when_ms, session.moved_wall_ms, at)
            && !is_gap;
        let counts = session.posted || is_newer;
        session.said = Some(Said { report: report.clone(), wall_ms: when_ms, heard_ms: at.at_ms });
        session.note(at, cause);
        match state {
            ProgramState::Clear => {
                session.said = None;
                if session.posted {
                    out.extend(self.end(key, at, cause));
                } else {
                    out.extend(self.close(key, at, cause, |wait| wait.source == STATUS));
                    self.working_if_quiet(key, at, cause);
                }
            }
            ProgramState::Working => {
                // That a program goes on answers what it was blocked on, and nothing else that waits.
                let answers = counts && before == Some(ProgramState::Blocked);
                out.extend(self.close(key, at, cause, |wait| {
                    let asked = wait.is_blocking() && wait.agent.is_none();
                    asked && (answers || wait.source == STATUS) || !wait.is_blocking() && counts
                }));
                let session = self.sessions.get(key)?;
                if counts || session.phase == Phase::Unknown {
                    self.prove(key, at, cause, when_ms);
                    self.enter(key, Phase::Working, at);
                }
            }
            ProgramState::Blocked => {
                self.asks(key, at, cause, report, counts, out);
            }
            ProgramState::Idle | ProgramState::Done | ProgramState::Error => {
                self.at_rest(key, at, when_ms, cause, report, before, counts, out);
            }
        }
        Some(())
    }

    /// The program is blocked. False: that is known better, or nobody is asked.
    pub(crate) fn asks(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        report: &Report,
        counts: bool,
        out: &mut Vec<Transition>,
    ) -> bool {
        let (kind, message) = (kind_of(report.kind), message_of(report));
        let Some(session) = self.sessions.get_mut(key) else { return false };
        let own = session
            .waits
            .iter_mut()
            .find(|wait| wait.source == STATUS && wait.is_blocking() && wait.agent == report.id);
        if let Some(wait) = own {
            // Another question in the place of the one before.
            (wait.kind, wait.message, wait.looked_at_ms) = (kind, message, at.at_ms);
            // Also of one that had left the queue for age.
            session.place.iter_mut().for_each(|place| place.stale = false);
            out.extend(stuck(session).map(|event| transition(session, event, cause)));
            return true;
        }
        let told = session.waits.iter().any(|wait| wait.is_blocking() && wait.source != STATUS);
        let parts = session.waits.iter().filter(|wait| wait.source == STATUS).count();
        // Without a state before it cannot be told whether it is what the human settled.
        let settled = session.settled.is_some() && !counts;
        let ended = session.waits.iter().any(|wait| !wait.is_blocking()) && !counts;
        if told || settled || ended || session.is_headless() || parts >= PARTS {
            return false;
        }
        let wait = new_wait(kind, report.id.clone(), None, &message, cause);
        out.extend(self.open(key, at, cause, wait, None));
        if report.id.is_none() {
            self.close(key, at, cause, |wait| !wait.is_blocking());
        }
        true
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one report, matched apart by the caller")]
    fn at_rest(
        &mut self,
        key: &SessionKey,
        at: Moment,
        when_ms: u64,
        cause: &Cause,
        report: &Report,
        before: Option<ProgramState>,
        counts: bool,
        out: &mut Vec<Transition>,
    ) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let blocked = session.waits.iter().any(|wait| wait.is_blocking() && wait.agent.is_none());
        let ran = matches!(session.phase, Phase::Working | Phase::Unknown) || blocked && !session.posted;
        let ends = if session.posted {
            // A program that has just started says that it is idle, and nobody need see that.
            ran || report.state != ProgramState::Idle && before.is_none_or(|before| !before.is_rest())
        } else {
            counts && ran && !session.background
        };
        let waits = session.waits.iter().any(|wait| !wait.is_blocking());
        let over =
            |wait: &Wait| wait.is_blocking() && wait.agent.is_none() && (counts || wait.source == STATUS);
        if !ends || waits || session.settled.is_some() || session.is_headless() {
            out.extend(self.close(key, at, cause, over));
            return;
        }
        let kind = match report.state {
            ProgramState::Error => WaitKind::Error,
            _ => WaitKind::TurnEnd,
        };
        let mut wait = new_wait(kind, None, None, &message_of(report), cause);
        if report.state == ProgramState::Idle {
            // There is nothing to see: whoever interrupted it, or put a question away, sits there.
            wait.announce_at_ms = None;
        }
        session.open_tools.retain(|open| open.agent.is_some());
        let opened = self.open(key, at, cause, wait, None);
        self.close(key, at, cause, over);
        self.prove(key, at, cause, when_ms);
        // What is shown is the turn's end now.
        out.extend(opened.and_then(|_| {
            let session = self.sessions.get(key)?;
            Some(transition(session, stuck(session)?, cause))
        }));
    }

    /// A hook tells of a session where a program reported: they are one, unless the program has another name.
    pub(crate) fn merge_reporters(
        &mut self,
        key: &SessionKey,
        at: Moment,
        cause: &Cause,
        out: &mut Vec<Transition>,
    ) {
        if self.reporters.is_empty() || self.reporters.contains(key) {
            return;
        }
        let Some(session) = self.sessions.get(key) else { return };
        let is_same = |program: &Session| {
            let pane =
                matches!((&session.pane, &program.pane), (Some(own), Some(other)) if own.may_be(other));
            let process = session.process.is_some() && session.process == program.process;
            program.is_live() && (pane || process) && [NAMELESS, &session.host].contains(&&*program.host)
        };
        let programs = self.reporters.iter().filter_map(|program| self.sessions.get(program));
        let same: Vec<SessionKey> =
            programs.filter(|program| is_same(program)).map(|program| program.key.clone()).collect();
        for program in same {
            out.extend(self.end(&program, at, cause));
            let said = self.sessions.remove(&program).and_then(|program| program.said);
            if let Some(session) = self.sessions.get_mut(key).filter(|session| session.said.is_none()) {
                session.said = said;
            }
            self.due_by(at.at_ms);
        }
    }

    /// A report moved the session: hooks that started before it say nothing any more.
    fn prove(&mut self, key: &SessionKey, at: Moment, cause: &Cause, when_ms: u64) {
        if let Some(session) = self.sessions.get_mut(key) {
            session.moved(at, cause);
            session.moved_wall_ms = when_ms;
            session.proved = Some(Moment { at_ms: at.at_ms, wall_ms: when_ms });
        }
    }
}

impl Session {
    /// Takes the name that a program gives itself, and the host whose name that is.
    fn name(&mut self, app: Option<&str>, host: Option<&str>) {
        let Some(app) = app else { return };
        self.app = Some(app.to_owned());
        self.host = host.unwrap_or(app).to_owned();
    }
}

/// True when both may be the same process: of one that had ended when it was asked for, its pid alone is known.
fn is_same(own: Process, other: Process) -> bool {
    own.pid == other.pid && (own.start == other.start || own.start.is_none() || other.start.is_none())
}

/// True when a report is older than what was told at that wall time. Nothing is where the clock was set back since: then
/// only the order in which they came can tell.
pub(crate) fn is_older(when_ms: u64, told_ms: u64, at: Moment) -> bool {
    told_ms <= at.wall_ms && when_ms < told_ms
}

/// The key of a program that no hook tells of, by its place; the tmux server is named where it is not the usual one.
fn key_of(place: &StatusPlace) -> Option<SessionKey> {
    let text = match place {
        StatusPlace { pane: Some(pane), .. } => match pane.socket.as_str() {
            "" => format!("status-pane:{}", pane.pane),
            usual if usual.ends_with("/default") => format!("status-pane:{}", pane.pane),
            other => format!("status-pane:{}@{other}", pane.pane),
        },
        StatusPlace { process: Some(process), .. } => format!("status-pid:{}", process.pid),
        StatusPlace { tty: Some(tty), .. } => format!("status-tty:{tty}"),
        _ => return None,
    };
    SessionKey::posted(&text)
}

pub(crate) fn kind_of(needs: Option<Needs>) -> WaitKind {
    match needs {
        Some(Needs::Permission) => WaitKind::Permission,
        Some(Needs::Question) => WaitKind::Question,
        Some(Needs::Auth) | None => WaitKind::Dialog,
    }
}

pub(crate) fn message_of(report: &Report) -> String {
    let words = match (report.state, report.kind) {
        (ProgramState::Blocked, Some(Needs::Permission)) => "Needs your permission",
        (ProgramState::Blocked, Some(Needs::Question)) => "Asks you something",
        (ProgramState::Blocked, Some(Needs::Auth)) => "Needs you to log in",
        (ProgramState::Blocked, None) => "Waits for you",
        (ProgramState::Error, _) => "Stopped with an error",
        (ProgramState::Idle, _) => "Waits for your next instruction",
        _ => "Finished",
    };
    report.msg.clone().or_else(|| report.title.clone()).unwrap_or_else(|| words.to_owned())
}
