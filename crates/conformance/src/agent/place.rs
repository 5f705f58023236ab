//! Where a session stands in its script, folded from its log and from nothing else.

use std::collections::{HashMap, HashSet};

use herdbook_events::catalog::{Event, Purpose};

use crate::agent::script::{Only, Scene, Script, Step};

/// A log that does not go as the script goes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("seq {seq} is {found}, the script has {expected} there")]
pub struct NotThisStory {
    /// The line.
    pub seq: u64,
    /// Its type.
    pub found: &'static str,
    /// What the script has.
    pub expected: String,
}

/// Where a session stands, and what of its log the next steps need.
#[derive(Clone, Debug, Default)]
pub struct Place {
    scene: usize,
    step: usize,
    /// The scene has begun, in this try.
    has_begun: bool,
    /// How often each scene began.
    tries: HashMap<&'static str, u64>,
    /// Events of a resumption that are still to come.
    recovering: usize,
    /// The seq of each mark.
    pub(super) marks: HashMap<&'static str, u64>,
    /// The ids of texts that wait for a seam.
    pub(super) waiting: HashMap<String, String>,
    said: HashSet<String>,
    /// The request that nudges the model to verify, while it is open; empty before it starts.
    nudge: Option<String>,
    pub(super) model: String,
    pub(super) aux_model: String,
    /// The seq of the last line.
    pub(super) last_seq: u64,
}

impl Place {
    /// Starts before the first line.
    pub fn new(script: &Script) -> Place {
        let mut place = Place::default();
        place.pass_over(script);
        place
    }

    /// Returns the next step and its scene; nothing at the end of the script.
    pub fn next<'s>(&self, script: &'s Script) -> Option<(&'s Scene, &'s Step)> {
        let scene = script.scenes.get(self.scene)?;
        Some((scene, scene.steps.get(self.step)?))
    }

    /// How many steps of the scene come before the next one.
    pub(super) fn label(&self) -> usize {
        self.step
    }

    /// Which try of its scene the next step belongs to, from 1.
    pub fn this_try(&self, scene: &str) -> u64 {
        self.last_try(scene) + u64::from(!self.has_begun)
    }

    /// Which try of a scene was the last so far, 0 before the first.
    pub fn last_try(&self, scene: &str) -> u64 {
        self.tries.get(scene).copied().unwrap_or(0)
    }

    /// What the next request of the main loop is for: the nudge, until the model has answered it.
    pub(super) fn purpose(&self) -> Purpose {
        if self.nudge.is_some() { Purpose::VerificationNudge } else { Purpose::Main }
    }

    /// A scene has just ended behind which the agent ends.
    pub(super) fn may_leave(&self, script: &Script) -> bool {
        let before = self.scene.checked_sub(1).and_then(|before| script.scenes.get(before));
        !self.has_begun && before.is_some_and(|scene| scene.leaves)
    }

    /// Takes the next line. `closing` is how many events a resumption has behind `session.resumed`, where this is one.
    ///
    /// # Errors
    /// The line is not the next one of the script.
    pub fn take(
        &mut self,
        script: &Script,
        (seq, id): (u64, &str),
        event: &Event,
        closing: usize,
    ) -> Result<(), NotThisStory> {
        self.last_seq = seq;
        self.remember(id, event);
        if matches!(event, Event::SessionResumed(_)) {
            // What was begun begins anew. A resumption that was torn counts no more.
            (self.step, self.has_begun, self.recovering) = (0, false, closing);
            self.pass_over(script);
            return Ok(());
        }
        if self.recovering > 0 {
            self.recovering -= 1;
            return Ok(());
        }
        let found = event.event_type();
        let next = self.next(script);
        let Some((scene, step)) = next.filter(|(_, step)| step.event_type == found) else {
            let expected = next.map_or("its end".to_owned(), |(scene, step)| {
                format!("{} of '{}'", step.event_type.as_str(), scene.name)
            });
            return Err(NotThisStory { seq, found: found.as_str(), expected });
        };
        if !std::mem::replace(&mut self.has_begun, true) {
            *self.tries.entry(scene.name).or_default() += 1;
        }
        if let Some(mark) = step.mark {
            self.marks.insert(mark, seq);
        }
        self.step += 1;
        self.pass_over(script);
        Ok(())
    }

    fn remember(&mut self, id: &str, event: &Event) {
        match event {
            Event::SessionStarted(started) => {
                self.model.clone_from(&started.model);
                self.aux_model.clone_from(&started.aux_model);
            }
            Event::SessionResumed(resumed) => self.model.clone_from(&resumed.model),
            Event::ModelChanged(changed) => self.model.clone_from(&changed.to),
            Event::UserSteeringQueued(queued) => {
                self.said.insert(queued.text.clone());
                self.waiting.insert(queued.text.clone(), id.to_owned());
            }
            Event::UserSteeringInjected(injected) => {
                self.waiting.retain(|_, waiting| *waiting != injected.queued_event_id);
            }
            Event::TaskVerificationRequested(_) => self.nudge = Some(String::new()),
            Event::ModelRequestStarted(started) if started.purpose == Purpose::VerificationNudge => {
                self.nudge = Some(started.request_id.clone());
            }
            Event::ModelResponseCompleted(response) => {
                self.nudge.take_if(|request_id| *request_id == response.request_id);
            }
            _ => {}
        }
    }

    /// Goes to the next step that is to be written.
    fn pass_over(&mut self, script: &Script) {
        while let Some(scene) = script.scenes.get(self.scene) {
            match scene.steps.get(self.step) {
                None => (self.scene, self.step, self.has_begun) = (self.scene + 1, 0, false),
                Some(step) if self.is_needed(step) => return,
                Some(_) => self.step += 1,
            }
        }
    }

    fn is_needed(&self, step: &Step) -> bool {
        match step.only {
            Only::Always => true,
            Only::Unsaid(text) => !self.said.contains(text),
            Only::Waits(text) => self.waiting.contains_key(text),
        }
    }
}
