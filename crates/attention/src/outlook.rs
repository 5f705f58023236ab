//! What would change a session's state: by source, in words, from its open waits and what the rules ask of each source.

use herdbook_events::{ProgramState, WaitKind};

use crate::herd::Attention;
use crate::screen::PANE;
use crate::session::{Phase, Session, Wait};
use crate::status::STATUS;

/// Which sources can tell of a session, hooks and posts apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Eyes {
    /// Its transcript is followed.
    pub transcript: bool,
    /// Its pane is looked at.
    pub pane: bool,
    /// Its process is looked for.
    pub process: bool,
}

impl Attention {
    /// Returns what would change a session, as pairs of a source and what it would have to say.
    pub fn would_change(&self, session: &Session, eyes: Eyes) -> Vec<(&'static str, String)> {
        let wait = session.shown_wait();
        let mut out = Vec::new();
        if session.program.is_some() {
            let words = match wait {
                // Whoever comes next in the pane is another session.
                _ if !session.is_live() => return out,
                Some(_) => "a change on its screen, the end of its program",
                None => "a prompt on its screen that stays for a while, the end of its program",
            };
            out.push(("detector", words.into()));
        } else if session.reports {
            out.push((STATUS, reports(session, wait)));
        } else if session.posted {
            let words = match (&session.hidden_by, wait) {
                _ if !session.is_live() => "registered".into(),
                (Some(speaker), _) => format!("{speaker} speaks for it"),
                (None, Some(_)) => "unstuck, ended, or another stuck".into(),
                (None, None) => "stuck or ended".into(),
            };
            out.push(("posted", words));
        } else if self.is_found(session) {
            out.push(("hook", "any word of a session in its pane".into()));
        } else {
            out.push(("hook", hooks(session, wait)));
        }
        if !session.is_live() {
            return out;
        }
        let told = eyes.transcript.then(|| transcript(session, wait)).flatten();
        out.extend(told.map(|words| ("transcript", words.to_owned())));
        let shown =
            if self.is_found(session) { "no dialog, the end of its agent" } else { pane(session, wait) };
        out.extend(eyes.pane.then(|| (PANE, shown.to_owned())));
        // What a program finished or failed at outlives it.
        let process = session.process.filter(|_| eyes.process && !session.has_left_word());
        out.extend(process.map(|process| ("process", format!("the end of process {}", process.pid))));
        if wait.is_some() {
            out.push(("you", "`herdbook settle`".into()));
        }
        out
    }
}

/// What a program would have to say of itself.
fn reports(session: &Session, wait: Option<&Wait>) -> String {
    let last = session.said.as_ref().map(|said| said.report.state);
    match (&session.hidden_by, last) {
        _ if !session.is_live() => "a report of the next program there".into(),
        (Some(speaker), _) => format!("{speaker} speaks for it"),
        _ if wait.is_some_and(|wait| wait.agent.is_some()) => {
            "another state of the part that is blocked".into()
        }
        (None, Some(ProgramState::Blocked)) => "another state than blocked, or another question".into(),
        (None, Some(ProgramState::Working)) => "another state than working".into(),
        (None, _) => "work, a question, or that it is no longer there".into(),
    }
}

fn hooks(session: &Session, wait: Option<&Wait>) -> String {
    match wait {
        _ if session.is_stale() => "any word of it".into(),
        Some(wait) if wait.is_blocking() => {
            let asks_by_id = wait.request.is_some() || wait.kind == WaitKind::Elicitation;
            let answer = if asks_by_id { "the answer, " } else { "" };
            let call = match wait.tool.as_ref().filter(|tool| !tool.name.is_empty()) {
                Some(tool) => format!("the end of that {} call", tool.name),
                None => "the end of its call".into(),
            };
            match wait.agent {
                Some(_) => format!("{answer}{call}, the subagent's next call or end, a prompt"),
                None => format!("{answer}{call}, another call, a prompt, the turn's end"),
            }
        }
        Some(_) => "a prompt, a call, a question".into(),
        None => match session.phase {
            Phase::Ended => "a start, a prompt of yours".into(),
            Phase::Unknown => "any word of it".into(),
            Phase::Working if session.is_headless() => "the turn's end".into(),
            Phase::Working => "a question, the turn's end".into(),
            Phase::Idle if session.settled.is_some() => {
                "a prompt, a call, a question; no repeat of what you settled".into()
            }
            Phase::Registered | Phase::Idle if session.is_headless() => "a prompt, a call".into(),
            Phase::Registered | Phase::Idle => "a prompt, a call, a question".into(),
        },
    }
}

fn transcript(session: &Session, wait: Option<&Wait>) -> Option<&'static str> {
    match (wait, session.phase) {
        (Some(wait), _) if wait.is_blocking() => {
            let has_id = wait.tool.as_ref().is_some_and(|tool| tool.id.is_some());
            match (has_id, wait.agent.is_some()) {
                (true, true) => Some("that call's result"),
                (true, false) => Some("that call's result, or an interruption (Esc, No)"),
                (false, true) => None,
                (false, false) => Some("an interruption (Esc, No)"),
            }
        }
        (Some(_), _) => Some("the start of a turn"),
        (None, Phase::Working) if session.background => Some("an interruption (Esc)"),
        (None, Phase::Working | Phase::Unknown) => Some("the turn's end, an error, or an interruption (Esc)"),
        (None, Phase::Registered | Phase::Idle | Phase::Ended) => None,
    }
}

fn pane(session: &Session, wait: Option<&Wait>) -> &'static str {
    match wait {
        Some(wait) if wait.is_blocking() => "work, or a quiet prompt (Esc, No)",
        Some(_) => "lasting work, or a dialog",
        None if session.background => "a dialog",
        None if session.phase == Phase::Unknown => "work, a quiet prompt, or a dialog",
        None => "a quiet prompt, or a dialog",
    }
}
