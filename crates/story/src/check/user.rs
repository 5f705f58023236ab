//! The human: rules U1 to U6.

use std::collections::{BTreeSet, HashSet};

use herdbook_events::catalog::{
    EventType, Seam, UserInterrupted, UserMessageCreated, UserSteeringInjected, UserSteeringQueued,
};
use serde::{Deserialize, Serialize};

use crate::check::checker::Checker;
use crate::check::rules::Rule;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct User {
    /// Ids of texts that wait for a seam.
    queued: HashSet<String>,
    last_after: u64,
    /// The injections that a model call must follow.
    pub before_call: Vec<u64>,
    /// Tool uses that an interrupt named and that must be cancelled.
    pub cancelling: BTreeSet<String>,
    /// The seq of the last interrupt, 0 before the first.
    pub interrupted: u64,
    /// Seq and `afterSeq` of each injection.
    pub injections: Vec<(u64, u64)>,
}

impl Checker {
    /// What must come next, held against what comes.
    pub(super) fn expect(&mut self, next: EventType) {
        use EventType::{
            ModelRequestFailed, ModelRequestStarted, ProcessExited, SessionResumed, ToolCancelled,
            UserSteeringInjected,
        };
        if !matches!(next, UserSteeringInjected | SessionResumed) {
            for seq in std::mem::take(&mut self.user.before_call) {
                if next != ModelRequestStarted {
                    let message =
                        format!("pre-model-call is followed by {}, not by a request", next.as_str());
                    self.found.add_at(seq, Rule::U5, "seam", message);
                }
            }
        }
        if self.tools.is_shutting_down && !matches!(next, ProcessExited | ToolCancelled | ModelRequestFailed)
        {
            self.tools.is_shutting_down = false;
            if next != SessionResumed {
                let message = format!("{} comes behind a shutdown without session.resumed", next.as_str());
                self.found.add(Rule::T8, "type", message);
            }
        }
    }

    pub(super) fn user_message(&mut self, event: &UserMessageCreated) {
        if event.text.is_empty() {
            self.found.add(Rule::U1, "text", "is empty");
        }
        for (at, mention) in event.mentions.iter().enumerate() {
            if let Some(range) = mention.range.as_ref().filter(|range| range.start > range.end) {
                let message = format!("begins at {}, behind its end {}", range.start.0, range.end.0);
                self.found.add(Rule::U2, &format!("mentions[{at}].range"), message);
            }
        }
        self.session.awaits_baseline = false;
        self.phases.may_step_back = true;
        self.interrupt_is_over();
        self.no_retry_came();
        self.task_begins();
    }

    pub(super) fn steering_queued(&mut self, event: &UserSteeringQueued) {
        if event.text.is_empty() {
            self.found.add(Rule::U1, "text", "is empty");
        }
        if let Some(id) = self.lines.id.clone() {
            self.user.queued.insert(id);
        }
    }

    pub(super) fn steering_injected(&mut self, event: &UserSteeringInjected) {
        let (seq, after) = (self.found.seq, event.after_seq.0);
        if !self.user.queued.remove(&event.queued_event_id) {
            let message = format!("no text waits under {}", event.queued_event_id);
            self.found.add(Rule::U3, "queuedEventId", message);
        }
        let sent = self.model.last_start;
        if after >= seq {
            self.found.add(Rule::U4, "afterSeq", format!("is {after}, must be an earlier line"));
        } else if after < self.user.last_after {
            let message = format!("is {after}, an earlier injection stands behind {}", self.user.last_after);
            self.found.add(Rule::U4, "afterSeq", message);
        } else if after < sent && sent < seq {
            let message = format!("is {after}, the request of seq {sent} was sent since");
            self.found.add(Rule::U4, "afterSeq", message);
        } else if event.seam == Seam::PostToolBatch {
            if self.tools.batch_end != Some(after) {
                self.found.add(
                    Rule::U5,
                    "afterSeq",
                    format!("seq {after} does not end this batch of tool uses"),
                );
            } else if let Some(open) = self.tools.open.keys().next() {
                self.found.add(Rule::U5, "seam", format!("post-tool-batch, but tool use {open} is open"));
            }
        }
        if event.seam == Seam::PreModelCall {
            self.user.before_call.push(seq);
        }
        self.user.last_after = self.user.last_after.max(after.min(seq));
        self.user.injections.push((seq, after));
    }

    pub(super) fn interrupted(&mut self, event: &UserInterrupted) {
        let named: BTreeSet<&str> = event.pending_tool_use_ids.iter().map(String::as_str).collect();
        let open: BTreeSet<&str> = self.tools.open.keys().map(String::as_str).collect();
        for id in named.difference(&open) {
            self.found.add(Rule::U6, "pendingToolUseIds", format!("names {id}, which is not open"));
        }
        for id in open.difference(&named) {
            self.found.add(Rule::U6, "pendingToolUseIds", format!("lacks {id}, which is open"));
        }
        self.user.interrupted = self.found.seq;
        for id in &event.pending_tool_use_ids {
            if let Some(tool) = self.tools.open.get_mut(id) {
                tool.is_interrupted = true;
                self.user.cancelling.insert(id.clone());
            }
        }
    }

    /// U6: before the next message or request, each tool use that was interrupted is cancelled.
    pub(super) fn interrupt_is_over(&mut self) {
        for id in std::mem::take(&mut self.user.cancelling) {
            let message = format!(
                "tool use {id} was interrupted at seq {} and is not cancelled",
                self.user.interrupted
            );
            self.found.add(Rule::U6, "type", message);
        }
    }
}
