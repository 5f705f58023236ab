//! The rules for what transcripts tell. They rank below hooks (overview section 4): a record moves a session only as
//! newer, explicit proof, and only where hooks left it open. What changes nothing here leaves no trace at all, so that
//! the journal need not hold it.

use herdbook_events::observation::{Facts, Observation, Signal};
use herdbook_events::{SessionKey, Told, WaitKind};

use crate::herd::{Attention, registered, transition};
use crate::session::{Cause, Moment, Phase, Session, Transition, Wait};
use crate::turn::Ended;

/// One fact out of a session's transcript.
#[derive(Clone, Debug)]
pub struct TranscriptFact<'a> {
    /// The session whose file it is.
    pub session: &'a SessionKey,
    /// Its host.
    pub host: &'a str,
    /// Path of the file.
    pub path: &'a str,
    /// When the record was written, Unix milliseconds.
    pub written_ms: Option<u64>,
    /// The record was written while we followed the file.
    pub fresh: bool,
    /// The fact.
    pub told: &'a Told,
}

impl Attention {
    /// Folds one fact of a transcript. Nothing: it changed nothing.
    pub fn told(&mut self, at: Moment, cause: &Cause, fact: &TranscriptFact<'_>) -> Option<Vec<Transition>> {
        let key = fact.session;
        let mut out = Vec::new();
        match fact.told {
            Told::Opened { cwd, attended } => {
                // History tells of nobody who is there now.
                if !fact.fresh || self.is_known(key) {
                    return None;
                }
                let mut session = Session::new(key.clone(), fact.host.to_owned(), false, at);
                let facts = Facts {
                    cwd: cwd.clone(),
                    transcript_path: Some(fact.path.to_owned()),
                    attended: *attended,
                    ..Facts::default()
                };
                session.learn(&facts, cause, true);
                session.unhooked = true;
                // All that was written since counts: no hook will tell it.
                session.moved_wall_ms = fact.written_ms.unwrap_or(at.wall_ms).min(at.wall_ms);
                session.note(at, cause);
                out.push(transition(&session, registered(&session, at), cause));
                self.insert(session);
            }
            Told::Seated { process, pane } => {
                let session = self.sessions.get_mut(key).filter(|session| session.unhooked)?;
                if !session.is_live() || session.process == Some(*process) {
                    return None;
                }
                // Whoever writes the file is the agent: no second hook is needed to know that.
                session.process = Some(*process);
                session.process_hooks = 2;
                session.pane.clone_from(pane);
                session.note(at, cause);
                self.links_changed = true;
            }
            Told::ChildOf { parent } => {
                let parent = SessionKey::hooked(fact.host, parent)?;
                if !self.adopt(at, cause, key, &parent, &mut out) {
                    return None;
                }
            }
            Told::ResumedFrom { earlier } => {
                let earlier = SessionKey::hooked(fact.host, earlier)?;
                let session = self.sessions.get_mut(key).filter(|session| session.is_live())?;
                if session.resumed_from.as_ref() == Some(&earlier) || earlier == *key {
                    return None;
                }
                session.resumed_from = Some(earlier);
                session.note(at, cause);
            }
            Told::TurnStarted => {
                let session = self.sessions.get(key).filter(|session| is_news(session, at, fact))?;
                let waits = session.waits.iter().any(|wait| !wait.is_blocking());
                if !waits && session.phase != Phase::Registered && session.phase != Phase::Unknown {
                    return None;
                }
                self.proved(key, at, cause);
                out.extend(self.close(key, at, cause, |wait| !wait.is_blocking()));
                self.enter(key, Phase::Working, at);
            }
            Told::TurnEnded { kind, message } => {
                let session = self.sessions.get(key).filter(|session| is_news(session, at, fact))?;
                if !ends(session, *kind) {
                    return None;
                }
                let seen = Observation {
                    session: key.clone(),
                    host: fact.host.to_owned(),
                    agent: None,
                    signal: Signal::Alive,
                    facts: Facts::default(),
                };
                let interrupted = *kind == WaitKind::Interrupted;
                let message = match kind {
                    _ if !message.is_empty() => message,
                    WaitKind::Interrupted => "Interrupted by you",
                    WaitKind::Error => "The turn ended with an error",
                    _ => "The turn is over",
                };
                // Who interrupts sits there: he is in the queue, and not called (case F-001).
                let ended = Ended { kind: *kind, message, background: false, sure: true, quiet: interrupted };
                self.turn_ended(at, cause, &seen, &ended, &mut out);
                self.proved(key, at, cause);
            }
            Told::Answered { tool, .. } => {
                let session = self.sessions.get(key).filter(|session| session.is_live())?;
                let is_it = |wait: &Wait| {
                    wait.is_blocking()
                        && wait.tool.as_ref().is_some_and(|asked| asked.id.as_ref() == Some(tool))
                };
                // The id is the proof: no hook of a later time can be about the same question.
                if !session.waits.iter().any(is_it) {
                    return None;
                }
                if let Some(session) = self.sessions.get_mut(key) {
                    session.open_tools.retain(|open| open.tool.id.as_ref() != Some(tool));
                }
                out.extend(self.close(key, at, cause, is_it));
                self.working_if_quiet(key, at, cause);
            }
        }
        self.watch(key, at, cause);
        out.extend(self.relink(at));
        Some(out)
    }

    /// True when that session is listed, over, or a child of another.
    fn is_known(&self, key: &SessionKey) -> bool {
        self.sessions.contains_key(key) || self.is_buried(key) || self.child_sessions.contains_key(key)
    }

    /// A record moved the session: older ones say nothing any more.
    fn proved(&mut self, key: &SessionKey, at: Moment, cause: &Cause) {
        if let Some(session) = self.sessions.get_mut(key) {
            session.moved(at, cause);
            session.note(at, cause);
            session.proved = cause.happened_at_ms.map(|wall_ms| Moment { at_ms: at.at_ms, wall_ms });
        }
    }
}

/// True when a record is younger than what hooks last said of the main agent.
pub(crate) fn is_news(session: &Session, at: Moment, fact: &TranscriptFact<'_>) -> bool {
    let by_time = match fact.written_ms {
        // The clock was set back since: only first sight can tell.
        _ if session.moved_wall_ms > at.wall_ms => fact.fresh,
        Some(written_ms) => written_ms >= session.moved_wall_ms,
        None => fact.fresh,
    };
    session.is_live() && !session.posted && session.parent.is_none() && by_time
}

/// True when the end of a turn is proof of something hooks left open.
fn ends(session: &Session, kind: WaitKind) -> bool {
    if session.waits.iter().any(|wait| !wait.is_blocking()) {
        return false;
    }
    let blocked = session.waits.iter().any(|wait| wait.is_blocking() && wait.agent.is_none());
    let in_turn = match session.phase {
        Phase::Working | Phase::Unknown => true,
        // The turn may have begun before the file was met.
        Phase::Registered => session.unhooked,
        Phase::Idle | Phase::Ended => false,
    };
    match kind {
        WaitKind::Interrupted => blocked || in_turn,
        // Work in the background will wake the agent, and a question that is open outlives no turn.
        _ => !blocked && !session.background && in_turn,
    }
}
