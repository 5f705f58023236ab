//! Model requests: rules M1 to M9.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use herdbook_events::catalog::{
    ModelErrorKind, ModelRequestFailed, ModelRequestStarted, ModelResponseCompleted, ModelTextBlockCompleted,
    ModelThinkingBlockCompleted, Purpose, StopReason,
};
use serde::{Deserialize, Serialize};

use crate::check::checker::Checker;
use crate::check::rules::Rule;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Model {
    pub open: BTreeMap<String, OpenRequest>,
    known: HashSet<String>,
    /// The seq of the last request of any purpose, 0 before the first.
    pub last_start: u64,
    /// Every request, for cuts.
    pub batches: Vec<Batch>,
    /// A failed request that should be tried again: its purpose and seq.
    retry: Option<(Purpose, u64)>,
    /// The last response of the main loop: its last text block and why it stopped.
    pub last_response: Option<(Option<u64>, StopReason)>,
    /// The last request of the main loop failed, and its purpose.
    pub last_failed: Option<Purpose>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OpenRequest {
    pub seq: u64,
    purpose: Purpose,
    model: String,
    pub batch: usize,
    indexes: BTreeSet<u64>,
    last_index: Option<u64>,
    last_text: Option<u64>,
    tools: u64,
    /// That it was never closed is said.
    is_given_up: bool,
}

/// Where a request and the results of its tool uses stand.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    pub start: u64,
    pub close: Option<u64>,
    pub last_result: Option<u64>,
}

impl Checker {
    pub(super) fn request_started(&mut self, event: &ModelRequestStarted) {
        let seq = self.found.seq;
        if !self.model.known.insert(event.request_id.clone()) {
            self.found.add(Rule::M1, "requestId", format!("{} was used before", event.request_id));
        }
        if self.model.retry.as_ref().is_some_and(|(purpose, _)| *purpose == event.purpose) {
            self.model.retry = None;
        }
        self.names_the_right_model(event);
        self.interrupt_is_over();
        if event.purpose != Purpose::Compaction {
            self.main_loop_goes_on(event);
        }
        self.model.last_start = seq;
        self.tools.batch_end = None;
        self.model.batches.push(Batch { start: seq, close: None, last_result: None });
        let request = OpenRequest {
            seq,
            purpose: event.purpose.clone(),
            model: event.model.clone(),
            batch: self.model.batches.len() - 1,
            indexes: BTreeSet::new(),
            last_index: None,
            last_text: None,
            tools: 0,
            is_given_up: false,
        };
        self.model.open.insert(event.request_id.clone(), request);
    }

    fn names_the_right_model(&mut self, event: &ModelRequestStarted) {
        let (right, which) = match event.purpose {
            Purpose::Main => (&self.session.model, "the model"),
            Purpose::Compaction => (&self.session.aux_model, "the auxiliary model"),
            _ => return,
        };
        if let Some(right) = right.as_ref().filter(|right| **right != event.model) {
            self.found.add(Rule::M9, "model", format!("is '{}', {which} is '{right}'", event.model));
        }
    }

    fn main_loop_goes_on(&mut self, event: &ModelRequestStarted) {
        for (id, open) in &mut self.model.open {
            if open.purpose != Purpose::Compaction && !std::mem::replace(&mut open.is_given_up, true) {
                self.found.add(
                    Rule::M2,
                    "requestId",
                    format!("request {id} of seq {} is not closed", open.seq),
                );
            }
        }
        for (id, tool) in &mut self.tools.open {
            if !std::mem::replace(&mut tool.is_given_up, true) {
                self.found.add(Rule::M5, "type", format!("tool use {id} of seq {} is open", tool.seq));
            }
        }
        self.processes_after_resume();
        self.nudge_comes(&event.purpose);
        self.model.last_failed = None;
    }

    /// Looks at a block of a request. It returns the request where that is open.
    fn block(&mut self, request_id: &str, index: u64) -> Option<&mut OpenRequest> {
        let Some(request) = self.model.open.get_mut(request_id) else {
            self.found.add(Rule::M3, "requestId", format!("request {request_id} is not open"));
            return None;
        };
        let next = request.last_index.map_or(0, |last| last.saturating_add(1));
        if !request.indexes.insert(index) {
            self.found.add(Rule::M3, "blockIndex", format!("{index} stands in this request already"));
        } else if index > next {
            self.found.warn(Rule::M3, "blockIndex", format!("is {index}, a hole behind {next}"));
        } else if index < next {
            self.found.warn(Rule::M3, "blockIndex", format!("is {index}, a step back from {next}"));
        }
        request.last_index = Some(index);
        Some(request)
    }

    pub(super) fn text_block(&mut self, event: &ModelTextBlockCompleted) {
        let seq = self.found.seq;
        if let Some(request) = self.block(&event.request_id, event.block_index) {
            request.last_text = Some(seq);
        }
        self.text_is_what_was_streamed(event);
    }

    pub(super) fn thinking_block(&mut self, event: &ModelThinkingBlockCompleted) {
        self.block(&event.request_id, event.block_index);
        if event.signature.is_empty() {
            self.found.add(Rule::M8, "signature", "is empty");
        }
        self.thinking_is_what_was_streamed(event);
    }

    /// Looks at a tool use as a block; returns the place of its request among the batches.
    pub(super) fn tool_block(&mut self, request_id: &str, index: u64) -> Option<usize> {
        let request = self.block(request_id, index)?;
        request.tools += 1;
        Some(request.batch)
    }

    fn close(&mut self, request_id: &str) -> Option<OpenRequest> {
        let Some(request) = self.model.open.remove(request_id) else {
            let is_known = self.model.known.contains(request_id);
            let message = if is_known { "is closed already" } else { "never started" };
            self.found.add(Rule::M2, "requestId", format!("request {request_id} {message}"));
            return None;
        };
        if let Some(batch) = self.model.batches.get_mut(request.batch) {
            batch.close = Some(self.found.seq);
        }
        Some(request)
    }

    pub(super) fn response_completed(&mut self, event: &ModelResponseCompleted) {
        let Some(request) = self.close(&event.request_id) else { return };
        let wrong = match event.stop_reason {
            StopReason::ToolUse if request.tools == 0 => Some("requests no tool use"),
            StopReason::EndTurn | StopReason::Refusal if request.tools > 0 => Some("requests tool uses"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            let message = format!("is {}, but the response {wrong}", event.stop_reason.as_str());
            self.found.add(Rule::M4, "stopReason", message);
        }
        if request.purpose == Purpose::Compaction {
            self.context.summary = Some(request.model);
        } else {
            self.model.last_response = Some((request.last_text, event.stop_reason.clone()));
        }
    }

    pub(super) fn request_failed(&mut self, event: &ModelRequestFailed) {
        let Some(request) = self.close(&event.request_id) else { return };
        if event.kind == ModelErrorKind::Cancelled {
            let causes = [self.user.interrupted, self.tools.shutdown, self.session.resumed];
            if causes.iter().all(|cause| *cause < request.seq) {
                let message = "is cancelled, but nobody interrupted, shut down or resumed since it started";
                self.found.add(Rule::M7, "kind", message);
            }
        }
        if event.kind == ModelErrorKind::ContextOverflow {
            self.context.has_overflowed = true;
        }
        if !event.retries_exhausted {
            self.model.retry = Some((request.purpose.clone(), self.found.seq));
        }
        if request.purpose != Purpose::Compaction {
            self.model.last_failed = Some(request.purpose);
        }
    }

    /// M6: what is to be tried again is, before the human speaks.
    pub(super) fn no_retry_came(&mut self) {
        if let Some((purpose, seq)) = self.model.retry.take() {
            let message = format!("is false, but no other {} request follows", purpose.as_str());
            self.found.add_at(seq, Rule::M6, "retriesExhausted", message);
        }
    }
}
