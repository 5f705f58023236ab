//! Phases, checks, tasks and subtasks.

use herdbook_events::catalog::{
    ApprovedBy, PhaseApproved, PhaseArtifact, PhaseEntered, PhaseRejected, SubtaskCompleted, SubtaskCreated,
    SubtaskOutcome, TaskCompleted, TaskFailed, TaskVerificationRequested, VerifyResult,
};

use crate::tell::row::Tone;
use crate::tell::teller::Teller;
use crate::tell::words::{counted, diff_stats, lasting};

impl Teller {
    pub(in crate::tell) fn phase_entered(&mut self, event: &PhaseEntered) {
        let row = self.row("phase").toned(Tone::Strong).say(event.phase.as_str(), Tone::Strong);
        self.add(row.note(event.via.as_str()));
    }

    pub(in crate::tell) fn phase_artifact(&mut self, event: &PhaseArtifact) {
        let artifact = &event.artifact;
        let row = self.row("design").toned(Tone::Strong);
        let files = counted(artifact.files_touched.len(), "file");
        self.add(row.say(self.brief(&artifact.goal), Tone::Plain).note(files).note(&event.artifact_id));
        let mut parts = vec![("approach", artifact.approach.clone())];
        if self.telling.full {
            parts.push(("files", artifact.files_touched.join(", ")));
        }
        parts.push(("risks", artifact.risks.join(", ")));
        parts.push(("verification", artifact.verification.clone()));
        parts.push(("out of scope", artifact.out_of_scope.join(", ")));
        for (name, text) in parts.iter().filter(|(_, text)| !text.trim().is_empty()) {
            let row = self.detail().say(format!("{name}: "), Tone::Dim);
            self.add_text(row, text, Tone::Plain, "");
        }
    }

    pub(in crate::tell) fn phase_approved(&mut self, event: &PhaseApproved) {
        let by = match &event.approved_by {
            ApprovedBy::User => "you".to_owned(),
            other => other.as_str().to_owned(),
        };
        let row = self.row("phase").toned(Tone::Strong);
        let row = row.say(format!("{} approved", event.phase.as_str()), Tone::Good);
        self.add(row.note(format!("by {by}")).note(event.artifact_id.clone().unwrap_or_default()));
    }

    pub(in crate::tell) fn phase_rejected(&mut self, event: &PhaseRejected) {
        let row = self.row("phase").toned(Tone::Strong);
        let row = row.say(format!("{} rejected", event.phase.as_str()), Tone::Bad).say(": ", Tone::Plain);
        let note = event.artifact_id.clone().unwrap_or_default();
        self.add_text(row, &event.reason, Tone::Plain, &note);
    }

    pub(in crate::tell) fn verification_requested(&mut self, event: &TaskVerificationRequested) {
        let row = self.row("verify").say("the answer is held back until it is verified", Tone::Plain);
        let row = row.note(event.detected_checks.join(", "));
        self.add(row.note(format!("attempt {} of 2", event.attempt.0)));
    }

    pub(in crate::tell) fn verify_result(&mut self, event: &VerifyResult) {
        let row = self.row("check").say(format!("{}: ", event.check), Tone::Dim);
        let row = row.say(self.brief(&event.command), Tone::Plain);
        let code = event.exit_code.0.map_or("no exit code".to_owned(), |code| format!("exit {code}"));
        let row = if event.ok {
            row.also("passed", Tone::Good)
        } else {
            row.also(format!("failed, {code}"), Tone::Bad)
        };
        self.add(row.note(lasting(event.duration_ms)));
        if self.telling.full || !event.ok {
            let rows = self.lines(&event.output, |_| Tone::Plain);
            self.rows.extend(rows);
        }
    }

    pub(in crate::tell) fn task_completed(&mut self, event: &TaskCompleted) {
        let evidence = &event.evidence;
        let row = self.row("done").toned(Tone::Good).say(self.brief(&evidence.objective), Tone::Plain);
        self.add(row.note(evidence.changed_files.join(", ")));
        for check in &evidence.checks {
            let row = self.detail().say(self.brief(&check.command), Tone::Plain);
            let tone = if check.exit_code == 0 { Tone::Good } else { Tone::Bad };
            let row = row.also(format!("exit {}", check.exit_code), tone);
            self.add(row.also(self.brief(&check.summary), Tone::Plain).note(lasting(check.duration_ms)));
        }
        for issue in &evidence.unresolved_issues {
            self.add(self.detail().say("left open: ", Tone::Bad).say(self.brief(issue), Tone::Plain));
        }
        self.end_turn();
    }

    pub(in crate::tell) fn task_failed(&mut self, event: &TaskFailed) {
        let row = self.row("failed").toned(Tone::Bad).say(event.reason.as_str(), Tone::Bad);
        let detail = self.brief(&event.detail);
        self.add(row.also(detail, Tone::Plain));
        self.end_turn();
    }

    pub(in crate::tell) fn subtask_created(&mut self, event: &SubtaskCreated) {
        let description = self.brief(&event.description);
        let row = self.row("subtask").toned(Tone::Name).say(&description, Tone::Plain);
        let row = row.note(&event.child_session_id).note(format!("branch {}", event.branch));
        self.add(row.note(if self.telling.full { event.worktree_path.clone() } else { String::new() }));
        self.subtasks.insert(event.task_id.clone(), description);
    }

    pub(in crate::tell) fn subtask_completed(&mut self, event: &SubtaskCompleted) {
        let name = self.subtasks.remove(&event.task_id).unwrap_or_else(|| event.task_id.clone());
        let tone = if event.outcome == SubtaskOutcome::Done { Tone::Good } else { Tone::Bad };
        let row = self.row("subtask").toned(Tone::Name).say(name, Tone::Plain);
        let row = row.also(event.outcome.as_str(), tone).note(diff_stats(&event.diff_stats));
        let row = match event.verify_ok.0 {
            Some(true) => row.also("checks passed", Tone::Good),
            Some(false) => row.also("checks failed", Tone::Bad),
            None => row,
        };
        let detail = self.brief(&event.detail);
        self.add(row.also(detail, Tone::Plain));
    }
}
