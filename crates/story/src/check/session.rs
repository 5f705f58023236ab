//! Sessions: rules S1 to S5.

use std::collections::BTreeSet;

use herdbook_events::catalog::{
    BaselineMoment, BaselineRecorded, ModelChanged, SessionResumed, SessionStarted,
};
use serde::{Deserialize, Serialize};

use crate::check::checker::Checker;
use crate::check::rules::Rule;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Session {
    is_started: bool,
    pub model: Option<String>,
    pub aux_model: Option<String>,
    /// The seq of the last `session.resumed`, 0 before the first.
    pub resumed: u64,
    /// What the last `session.resumed` offered.
    pub offered: BTreeSet<String>,
    /// What was requested so far.
    pub used: BTreeSet<String>,
    /// A baseline of the session's start may come.
    pub awaits_baseline: bool,
    has_edit_baseline: bool,
}

impl Checker {
    pub(super) fn session_started(&mut self, event: &SessionStarted) {
        if std::mem::replace(&mut self.session.is_started, true) {
            return self.found.add(Rule::S1, "type", "session.started stands in a log once");
        }
        self.session.model = Some(event.model.clone());
        self.session.aux_model = Some(event.aux_model.clone());
        self.session.awaits_baseline = true;
    }

    pub(super) fn session_resumed(&mut self, event: &SessionResumed) {
        let seq = self.found.seq;
        if event.replayed_seq.0 != seq.saturating_sub(1) {
            let message = format!("is {}, must be {}", event.replayed_seq.0, seq.saturating_sub(1));
            self.found.add(Rule::S2, "replayedSeq", message);
        }
        let names: BTreeSet<String> = event.tool_names.iter().map(|name| name.as_str().to_owned()).collect();
        if names.len() < event.tool_names.len() {
            self.found.add(Rule::S3, "toolNames", "repeats a name");
        }
        let before = self.session.offered.union(&self.session.used);
        let missing: Vec<&str> = before.filter(|name| !names.contains(*name)).map(String::as_str).collect();
        if !missing.is_empty() {
            self.found.add(Rule::S3, "toolNames", format!("lacks {}", missing.join(", ")));
        }
        self.session.offered = names;
        self.session.model = Some(event.model.clone());
        self.session.resumed = seq;
        self.session.awaits_baseline = true;
        // Recovery closes what an interrupt left open, and a seam before a call may be followed by a restart.
        self.user.cancelling.clear();
        self.user.before_call.clear();
    }

    pub(super) fn model_changed(&mut self, event: &ModelChanged) {
        if let Some(model) = self.session.model.as_ref().filter(|model| **model != event.from) {
            self.found.add(Rule::S4, "from", format!("is '{}', the model is '{model}'", event.from));
        }
        if event.from == event.to {
            self.found.add(Rule::S4, "to", "is the model it was");
        }
        self.session.model = Some(event.to.clone());
    }

    pub(super) fn baseline_recorded(&mut self, event: &BaselineRecorded) {
        match event.when {
            BaselineMoment::SessionStart => {
                if !std::mem::take(&mut self.session.awaits_baseline) {
                    let message = "comes once behind each start or resumption, before the first message";
                    self.found.add(Rule::S5, "when", message);
                }
            }
            BaselineMoment::PreFirstEdit => {
                if std::mem::replace(&mut self.session.has_edit_baseline, true) {
                    self.found.add(Rule::S5, "when", "comes once in a log");
                } else if !self.work.modified.is_empty() {
                    self.found.add(Rule::S5, "when", "comes before the first file.modified");
                }
            }
            BaselineMoment::Other(_) => {}
        }
    }
}
