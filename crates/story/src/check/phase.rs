//! The workflow gate: rules H1 to H4.

use std::collections::HashSet;

use herdbook_events::catalog::{
    ApprovedBy, Phase, PhaseApproved, PhaseArtifact, PhaseEntered, PhaseRejected, PhaseVia,
};
use serde::{Deserialize, Serialize};

use crate::check::checker::Checker;
use crate::check::rules::Rule;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Phases {
    has_begun: bool,
    pub phase: Option<Phase>,
    /// The human spoke since the last phase began.
    pub may_step_back: bool,
    /// Ids of all artifacts.
    known: HashSet<String>,
    /// The latest artifact, and what was decided about it.
    artifact: Option<(String, Decided)>,
    /// The design of the latest artifact is approved.
    is_unlocked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Decided {
    Open,
    Approved,
    Rejected,
}

/// The place of a phase in the workflow; a word that is not known has none.
fn order(phase: &Phase) -> Option<u8> {
    match phase {
        Phase::Understand => Some(0),
        Phase::Design => Some(1),
        Phase::Implement => Some(2),
        Phase::Other(_) => None,
    }
}

impl Checker {
    /// H1: the first word about phases.
    fn first_phase_event(&mut self, is_right: bool) {
        if !std::mem::replace(&mut self.phases.has_begun, true) && !is_right {
            self.found.add(
                Rule::H1,
                "type",
                "the first phase event must be phase.entered understand via session-start",
            );
        }
    }

    pub(super) fn phase_entered(&mut self, event: &PhaseEntered) {
        let (phase, via) = (&event.phase, &event.via);
        self.first_phase_event(*phase == Phase::Understand && *via == PhaseVia::SessionStart);
        let may_step_back = std::mem::take(&mut self.phases.may_step_back);
        if let (Some(now), Some(next)) = (self.phases.phase.as_ref().and_then(order), order(phase)) {
            let is_override = *via == PhaseVia::UserOverride;
            if next > now + 1 && !is_override {
                self.found.add(Rule::H2, "phase", format!("{} skips a phase", phase.as_str()));
            } else if next <= now && !is_override && !may_step_back {
                let message = format!("{} is a step back without a new message", phase.as_str());
                self.found.add(Rule::H2, "phase", message);
            } else if next > now {
                self.is_entered_the_right_way(phase, via);
            }
        }
        let artifact = self.phases.artifact.as_ref();
        if *phase == Phase::Design && *via == PhaseVia::DesignSubmitted && artifact.is_none() {
            self.found.add(Rule::H3, "via", "is design-submitted, but there is no phase.artifact");
        }
        if *phase == Phase::Implement && *via == PhaseVia::Approval && !self.phases.is_unlocked {
            self.found.add(Rule::H3, "via", "is approval, but the design of the latest artifact has none");
        }
        self.phases.phase = Some(phase.clone());
    }

    fn is_entered_the_right_way(&mut self, phase: &Phase, via: &PhaseVia) {
        let is_right = matches!(
            (phase, via),
            (Phase::Design, PhaseVia::DesignSubmitted)
                | (Phase::Implement, PhaseVia::Approval)
                | (_, PhaseVia::UserOverride | PhaseVia::Other(_))
        );
        if !is_right {
            let message = format!("is {}, which does not lead to {}", via.as_str(), phase.as_str());
            self.found.add(Rule::H3, "via", message);
        }
    }

    pub(super) fn phase_artifact(&mut self, event: &PhaseArtifact) {
        self.first_phase_event(false);
        let id = &event.artifact_id;
        if !self.phases.known.insert(id.clone()) {
            self.found.add(Rule::H4, "artifactId", format!("{id} was used before"));
        }
        self.phases.artifact = Some((id.clone(), Decided::Open));
        self.phases.is_unlocked = false;
    }

    /// H4: a decision is about the latest artifact, and the first about it.
    fn decide(&mut self, named: Option<&str>, decided: Decided) {
        match (&mut self.phases.artifact, named) {
            (Some((latest, earlier)), Some(named)) if latest == named => {
                if *earlier != Decided::Open {
                    self.found.add(Rule::H4, "artifactId", format!("{named} is decided already"));
                }
                *earlier = decided;
            }
            (latest, Some(named)) => {
                let latest = latest.as_ref().map_or("none", |(latest, _)| latest);
                let message = format!("is {named}, the latest artifact is {latest}");
                self.found.add(Rule::H4, "artifactId", message);
            }
            (Some((latest, Decided::Rejected)), None) if decided == Decided::Approved => {
                let message = format!("approved, but {latest} was rejected and no new artifact came");
                self.found.add(Rule::H4, "artifactId", message);
            }
            (Some((_, earlier)), None) => *earlier = decided,
            (None, None) => {}
        }
    }

    pub(super) fn phase_approved(&mut self, event: &PhaseApproved) {
        self.first_phase_event(false);
        let is_about_design = event.phase == Phase::Design && event.approved_by != ApprovedBy::UserOverride;
        if is_about_design || event.artifact_id.is_some() {
            self.decide(event.artifact_id.as_deref(), Decided::Approved);
        }
        let latest = self.phases.artifact.as_ref().map(|(latest, _)| latest);
        if event.phase == Phase::Design
            && (event.artifact_id.is_none() || event.artifact_id.as_ref() == latest)
        {
            self.phases.is_unlocked = true;
        }
    }

    pub(super) fn phase_rejected(&mut self, event: &PhaseRejected) {
        self.first_phase_event(false);
        self.decide(event.artifact_id.as_deref(), Decided::Rejected);
        self.phases.is_unlocked = false;
    }
}
