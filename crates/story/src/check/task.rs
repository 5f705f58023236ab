//! Verification and tasks: rules V1 to V5.

use herdbook_events::catalog::{Purpose, StopReason, TaskCompleted, TaskVerificationRequested, VerifyResult};
use serde::{Deserialize, Serialize};

use crate::check::checker::Checker;
use crate::check::rules::Rule;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tasks {
    /// How often the open task was asked to verify; nothing between tasks.
    rounds: Option<u64>,
    /// The seq of a verification request that no main-loop request has followed.
    awaits_nudge: Option<u64>,
}

impl Checker {
    pub(super) fn task_begins(&mut self) {
        self.tasks.rounds = Some(0);
    }

    pub(super) fn verification_requested(&mut self, event: &TaskVerificationRequested) {
        match &mut self.tasks.rounds {
            None => self.found.add(Rule::V1, "type", "no task is open"),
            Some(rounds) => {
                *rounds += 1;
                if event.attempt.0 != *rounds {
                    let message =
                        format!("is {}, this is verification {rounds} of the task", event.attempt.0);
                    self.found.add(Rule::V1, "attempt", message);
                }
            }
        }
        let withheld = event.withheld_candidate_seq.0;
        let answer = match &self.model.last_response {
            Some((Some(text), StopReason::EndTurn)) => Some(*text),
            _ => None,
        };
        if answer != Some(withheld) {
            let message = match answer {
                Some(text) => format!("is {withheld}, the answer ended with the text of seq {text}"),
                None => format!("is {withheld}, but the last response is no answer that ended its turn"),
            };
            self.found.add(Rule::V2, "withheldCandidateSeq", message);
        }
        self.tasks.awaits_nudge = Some(self.found.seq);
    }

    /// V3: a request of the main loop that follows a verification request is the nudge, and no other is.
    pub(super) fn nudge_comes(&mut self, purpose: &Purpose) {
        let is_nudge = *purpose == Purpose::VerificationNudge;
        let is_repeat = self.model.last_failed.as_ref() == Some(&Purpose::VerificationNudge);
        match self.tasks.awaits_nudge.take() {
            Some(seq) if !is_nudge => {
                let message =
                    format!("is {}, behind the verification request of seq {seq}", purpose.as_str());
                self.found.add(Rule::V3, "purpose", message);
            }
            None if is_nudge && !is_repeat => {
                self.found.add(Rule::V3, "purpose", "is verification-nudge without a verification request");
            }
            _ => {}
        }
    }

    pub(super) fn task_completed(&mut self, event: &TaskCompleted) {
        for (id, tool) in &self.tools.open {
            self.found.add(Rule::V4, "type", format!("tool use {id} of seq {} is open", tool.seq));
        }
        for (id, request) in &self.model.open {
            self.found.add(Rule::V4, "type", format!("request {id} of seq {} is open", request.seq));
        }
        for (id, seq) in &self.work.subtasks {
            self.found.add(Rule::B2, "type", format!("subtask {id} of seq {seq} is open"));
        }
        for path in event.evidence.changed_files.iter().filter(|path| !self.work.modified.contains(*path)) {
            let message = format!("names '{path}', which no file.modified names");
            self.found.add(Rule::V5, "evidence.changedFiles", message);
        }
        self.task_ended();
    }

    pub(super) fn task_ended(&mut self) {
        if self.tasks.rounds.take().is_none() {
            self.found.add(Rule::V4, "type", "no task is open");
        }
    }

    pub(super) fn verify_result(&mut self, event: &VerifyResult) {
        if event.ok != (event.exit_code.0 == Some(0)) {
            self.found.add(Rule::V5, "ok", "must be true exactly when exitCode is 0");
        }
    }
}
