//! A session with all that a person may ask about its state.

use herdbook_attention::{Eyes, Moment, Session};
use herdbook_events::SessionKey;
use herdbook_hosts::screen::manifest;
use herdbook_hosts::transcript::Reader;

use crate::engine::Engine;
use crate::types::Now;
use crate::view::{FromSource, RuledOut, WhyView};

/// A pane that will be looked at within this time counts as looked at: a host that works is let speak first.
const SOON_MS: u64 = 3_000;

impl Engine {
    /// Returns a session, what was ruled out, and what would change it; sessions behind another one, too.
    pub fn why(&self, now: Now, key: &SessionKey) -> Option<WhyView> {
        let session = self.attention.session(key)?;
        let view = self.session(key)?;
        let looks = [
            ("transcript", self.transcript_eye(session)),
            ("pane", self.pane_eye(now, session)),
            ("process", process_eye(session)),
        ];
        let eyes =
            Eyes { transcript: looks[0].1.is_ok(), pane: looks[1].1.is_ok(), process: looks[2].1.is_ok() };
        let from = |source: &str, words: String| FromSource { source: source.to_owned(), words };
        let changes = self.attention.would_change(session, eyes);
        let unheard = (session.is_unhooked() || self.attention.is_found(session))
            .then(|| from("hook", "none came: it started without them, or they are not trusted".into()));
        let unseen = looks.into_iter().filter_map(|(source, looked)| Some(from(source, looked.err()?)));
        Some(WhyView {
            ruled_out: session
                .ruled_out()
                .map(|passed| RuledOut {
                    id: Some(passed.id.clone()).filter(|id| !id.is_empty()),
                    source: passed.source.to_owned(),
                    fact: passed.fact.clone(),
                    reason: passed.reason.to_owned(),
                    at_ms: passed.at.wall_ms,
                    times: passed.times,
                })
                .collect(),
            would_change: changes.into_iter().map(|(source, words)| from(source, words)).collect(),
            // Of a session that is over there is nothing to be seen.
            not_looked_at: unheard.into_iter().chain(unseen).filter(|_| session.is_live()).collect(),
            session: view,
        })
    }

    fn transcript_eye(&self, session: &Session) -> Result<(), String> {
        elsewhere(session)?;
        if self.transcripts().iter().any(|file| file.session == *session.key()) {
            return Ok(());
        }
        Err(if !Reader::reads(session.host()) {
            format!("the transcripts of {} are not understood", session.host())
        } else if !session.is_open() {
            "not read while it rests".into()
        } else if session.transcript_root().is_empty() {
            "where its host keeps transcripts is not known".into()
        } else if session.transcript_path().is_empty() {
            "its transcript is not known".into()
        } else {
            "another session has the same transcript".into()
        })
    }

    fn pane_eye(&self, now: Now, session: &Session) -> Result<(), String> {
        elsewhere(session)?;
        let at = self.moment(now);
        let soon = Moment { at_ms: at.at_ms + SOON_MS, ..at };
        let why_not = match session.pane() {
            None => "its pane is not known",
            Some(_) if session.is_headless() => "no human sits at it",
            Some(_) if session.is_detached() => "its pane was closed",
            Some(pane) if pane.socket.is_empty() => "the server of its pane is not known",
            Some(_) if self.attention.pane_uncertain(session) => "its pane is a guess",
            Some(_) if manifest(session.host()).is_none() => {
                return Err(format!("no screens of {} come with Herdbook", session.host()));
            }
            Some(_) if !self.config.panes => "panes are not looked at (HERDBOOK_PANES)",
            Some(_) if self.attention.is_found(session) => return Ok(()),
            Some(_) if !self.attention.is_near_decision(soon, session) => "not looked at while it rests",
            Some(_) => return Ok(()),
        };
        Err(why_not.into())
    }
}

fn process_eye(session: &Session) -> Result<(), String> {
    if !session.is_reporter() {
        elsewhere(session)?;
    }
    match (session.known_process(), session.process()) {
        (Some(_), _) => Ok(()),
        (None, Some(process)) => Err(format!("only one hook named process {}", process.pid)),
        (None, None) => Err("its process is not known".into()),
    }
}

/// What we see of this machine says nothing of such a session.
fn elsewhere(session: &Session) -> Result<(), String> {
    match session.machine() {
        _ if session.program().is_some() => Err("the detector alone tells of it".into()),
        _ if session.is_reporter() => Err("its own reports alone tell of it".into()),
        _ if session.is_posted() => Err("its producer alone tells of it".into()),
        Some(machine) => Err(format!("it runs on {machine}")),
        None => Ok(()),
    }
}
