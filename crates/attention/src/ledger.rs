//! The ledger: what each session did, span by span, for those who count how long agents wait and work.
//!
//! A wait of the ledger is what the queue shows: all that one session asks for of one kind at one time, whoever of its
//! agents asks. What the queue does not show (headless, detached, stale or behind another session) is no wait, and what is
//! over within the grace period never was one. All times are the fold's own: a machine that sleeps neither works nor can
//! be answered, and no step of the wall clock makes a span longer or negative. Wall times say on which day it was.

use herdbook_events::{SessionKey, WaitKind};

use crate::herd::Attention;
use crate::session::{Cause, Moment, Phase, Session};

/// What a session does during a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Its agent works, and waits for nobody.
    Working,
    /// It waits for the human.
    Waiting(WaitKind),
}

/// How a span ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The session went on: for a wait that is the answer.
    Answered,
    /// The human took the wait for settled.
    Settled,
    /// The session ended or began anew, or its pane was closed: nobody can answer there any more.
    Ended,
    /// Nothing was heard for too long: it cannot be told.
    Stale,
    /// The daemon stopped or died: what came then is not known.
    Unseen,
}

/// A time during which a session did one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The session.
    pub session: SessionKey,
    /// Its host, or `posted`.
    pub host: String,
    /// Its working directory at the end, empty if unknown.
    pub cwd: String,
    /// What it did.
    pub doing: Doing,
    /// Since when.
    pub from: Moment,
    /// Until when: now, where it goes on.
    pub to: Moment,
    /// How it ended; none while it goes on.
    pub end: Option<End>,
}

impl Span {
    fn of(session: &Session, doing: Doing, from: Moment, to: Moment, end: Option<End>) -> Span {
        Span {
            session: session.key.clone(),
            host: session.host.clone(),
            cwd: session.cwd.clone(),
            doing,
            from,
            to,
            end,
        }
    }

    /// How long it lasted, milliseconds of the fold's clock. Of what lay in the spool before that clock began only the
    /// wall clock tells.
    pub fn lasted_ms(&self) -> u64 {
        let (from, to) = match self.from.at_ms {
            0 => (self.from.wall_ms, self.to.wall_ms),
            _ => (self.from.at_ms, self.to.at_ms),
        };
        to.saturating_sub(from)
    }
}

/// What the ledger remembers of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// What it does, and since when.
    open: Vec<(Doing, Moment)>,
    /// When that changed last.
    changed: Moment,
    /// When the session gave its last sign of life.
    spoke: Moment,
    /// The session began anew: what it waited for is past.
    pub begun_anew: bool,
}

impl Attention {
    /// Takes and empties the list of spans that are over.
    pub fn take_spans(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.spans)
    }

    /// What the sessions are doing at this moment, up to it.
    pub fn open_spans(&self, at: Moment) -> impl Iterator<Item = Span> {
        self.sessions.values().flat_map(move |session| {
            let open = session.account.open.iter();
            open.map(move |(doing, from)| Span::of(session, *doing, *from, at, None))
        })
    }

    /// Nobody looked between these moments: what worked until then may have worked on or not. Waits go on, since
    /// nobody told of an answer.
    pub fn look_away(&mut self, last: Moment, at: Moment) {
        for session in self.sessions.values_mut() {
            let Some(place) = session.account.open.iter().position(|(doing, _)| *doing == Doing::Working)
            else {
                continue;
            };
            let (doing, from) = session.account.open[place];
            let seen = Span::of(session, doing, from, last, Some(End::Unseen));
            self.spans.extend((last.at_ms > from.at_ms).then_some(seen));
            session.account.open[place].1 = at;
        }
    }

    /// Compares what a session does with what it did; called after everything that may have changed it.
    pub(crate) fn account(&mut self, key: &SessionKey, at: Moment, cause: &Cause) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let now = doing(session);
        let when = when(session, at, cause);
        // Time alone, and what others do, is no sign of life.
        let order = |moment: Moment| (moment.at_ms, moment.wall_ms);
        if !cause.id.is_empty() && order(when) > order(session.account.spoke) {
            session.account.spoke = when;
        }
        let before = std::mem::take(&mut session.account.open);
        if now.len() == before.len() && now.iter().all(|(is, _)| before.iter().any(|(was, _)| was == is)) {
            session.account.open = before;
            return;
        }
        let end = end(session, cause);
        session.account.begun_anew = false;
        for (was, from) in &before {
            if now.iter().any(|(is, _)| is == was) {
                continue;
            }
            let span = Span::of(session, *was, *from, when, Some(end));
            let is_brief = matches!(was, Doing::Waiting(_)) && span.lasted_ms() <= self.limits.grace_ms;
            // The session that speaks for it has the same wait.
            if span.lasted_ms() > 0 && !is_brief && session.hidden_by.is_none() {
                self.spans.push(span);
            }
        }
        let went_on = |doing: Doing| before.iter().find(|(was, _)| *was == doing).copied();
        let changed = std::mem::replace(&mut session.account.changed, when);
        let begun = |opened: Option<Moment>| match opened {
            // It opened before we heard of it. What opened before the last change was out of the queue in between.
            Some(opened) if opened.at_ms >= changed.at_ms => opened,
            _ => when,
        };
        session.account.open = now
            .into_iter()
            .map(|(doing, opened)| went_on(doing).unwrap_or_else(|| (doing, begun(opened))))
            .collect();
    }
}

/// What a session does, and when its waits of a kind opened.
fn doing(session: &Session) -> Vec<(Doing, Option<Moment>)> {
    let mut found: Vec<(Doing, Option<Moment>)> = Vec::new();
    let is_another = session.parent.is_some() || session.hidden_by.is_some();
    if !session.is_live() || is_another || session.is_headless() {
        return found;
    }
    if session.waits.is_empty() && session.phase == Phase::Working {
        found.push((Doing::Working, None));
    }
    let is_queued = !session.is_detached() && !session.is_stale();
    for wait in session.waits.iter().filter(|_| is_queued) {
        // Siblings are one wait, from the first one on.
        if found.iter().all(|(known, _)| *known != Doing::Waiting(wait.kind)) {
            found.push((Doing::Waiting(wait.kind), Some(wait.opened)));
        }
    }
    found
}

/// When the change happened, as far as its cause tells; never before the last one.
fn when(session: &Session, at: Moment, cause: &Cause) -> Moment {
    // That it worked was last known when it last spoke.
    if cause.source == "timer" && session.waits.is_empty() {
        return session.account.spoke;
    }
    let wall_ms = cause.happened_at_ms.unwrap_or(at.wall_ms).min(at.wall_ms);
    let when = Moment { at_ms: at.at_ms.saturating_sub(at.wall_ms - wall_ms), wall_ms };
    if when.at_ms < session.account.changed.at_ms { session.account.changed } else { when }
}

fn end(session: &Session, cause: &Cause) -> End {
    match cause.source {
        "timer" => End::Stale,
        _ if !session.is_live() || session.account.begun_anew || session.is_detached() => End::Ended,
        "human" => End::Settled,
        _ => End::Answered,
    }
}
