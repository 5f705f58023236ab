//! Tool uses: rules T1 to T9.

use std::collections::{BTreeMap, HashMap};

use herdbook_events::catalog::{
    ApprovedVia, CancelReason, GrantScope, Phase, ToolApproved, ToolCancelled, ToolCompleted, ToolErrorKind,
    ToolFailed, ToolRequested, ToolStarted,
};
use serde::{Deserialize, Serialize};

use crate::check::checker::Checker;
use crate::check::rules::Rule;
use crate::check::state::Digest;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tools {
    pub open: BTreeMap<String, Tool>,
    /// Tool uses that ended, with a digest of the text that pruning put in their place.
    pub ended: HashMap<Box<str>, Option<Digest>>,
    /// Where each of those began and ended, for cuts.
    pub spans: Vec<(u64, u64)>,
    /// The line that ended a tool use last since the last request: the end of its batch.
    pub batch_end: Option<u64>,
    /// A shutdown was said, and nothing has come behind it.
    pub is_shutting_down: bool,
    /// The seq of the last word of a shutdown, 0 before the first.
    pub shutdown: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tool {
    pub seq: u64,
    pub name: String,
    pub block_index: u64,
    /// The place of its request among the batches.
    pub batch: Option<usize>,
    pub is_approved: bool,
    pub is_started: bool,
    pub is_interrupted: bool,
    /// That it is open still is said.
    pub is_given_up: bool,
    /// The permission request that waits.
    pub asks: Option<String>,
    pub granted: Option<GrantScope>,
    /// What refusals said.
    pub refusals: Vec<String>,
}

impl Checker {
    pub(super) fn tool_requested(&mut self, event: &ToolRequested) {
        let batch = self.tool_block(&event.request_id, event.block_index);
        self.input_is_what_was_streamed(event);
        self.session.used.insert(event.tool_name.as_str().to_owned());
        let id = &event.tool_use_id;
        if self.tools.open.contains_key(id) || self.tools.ended.contains_key(id.as_str()) {
            return self.found.add(Rule::T1, "toolUseId", format!("{id} was used before"));
        }
        let tool = Tool {
            seq: self.found.seq,
            name: event.tool_name.as_str().to_owned(),
            block_index: event.block_index,
            batch,
            is_approved: false,
            is_started: false,
            is_interrupted: false,
            is_given_up: false,
            asks: None,
            granted: None,
            refusals: Vec::new(),
        };
        self.tools.open.insert(id.clone(), tool);
    }

    /// What is wrong about a step of a tool use that is not open.
    fn no_such_tool(&mut self, tool_use_id: &str) {
        if self.tools.ended.contains_key(tool_use_id) {
            self.found.add(Rule::T2, "toolUseId", format!("tool use {tool_use_id} has ended"));
        } else {
            self.found.add(Rule::T3, "toolUseId", format!("no tool use {tool_use_id} was requested"));
        }
    }

    pub(super) fn tool_approved(&mut self, event: &ToolApproved) {
        let Some(tool) = self.tools.open.get_mut(&event.tool_use_id) else {
            return self.no_such_tool(&event.tool_use_id);
        };
        if let Some(asks) = &tool.asks {
            self.found.add(Rule::P2, "toolUseId", format!("permission request {asks} is not answered"));
        } else if !tool.refusals.is_empty() {
            self.found.add(Rule::P4, "toolUseId", "approved, but its permission was denied");
        }
        if tool.is_started {
            self.found.add(Rule::T3, "type", "approved behind its start");
        } else if tool.is_approved {
            self.found.add(Rule::T3, "type", "approved twice");
        }
        let wrong = match (&tool.granted, &event.via) {
            (Some(GrantScope::Once), ApprovedVia::UserOnce)
            | (Some(GrantScope::AlwaysProject), ApprovedVia::UserAlways)
            | (Some(GrantScope::Other(_)), _) => None,
            (Some(scope), via) => {
                Some(format!("is {}, the permission was granted {}", via.as_str(), scope.as_str()))
            }
            (None, ApprovedVia::UserOnce | ApprovedVia::UserAlways) => {
                Some(format!("is {}, but no permission was granted", event.via.as_str()))
            }
            (None, _) => None,
        };
        if let Some(wrong) = wrong {
            self.found.add(Rule::P3, "via", wrong);
        }
        tool.is_approved = true;
    }

    pub(super) fn tool_started(&mut self, event: &ToolStarted) {
        let Some(tool) = self.tools.open.get_mut(&event.tool_use_id) else {
            return self.no_such_tool(&event.tool_use_id);
        };
        if event.tool_name.as_str() != tool.name {
            let message = format!("is '{}', requested was '{}'", event.tool_name.as_str(), tool.name);
            self.found.add(Rule::T5, "toolName", message);
        }
        if !tool.refusals.is_empty() {
            self.found.add(Rule::P4, "toolUseId", "started, but its permission was denied");
        }
        if tool.is_started {
            self.found.add(Rule::T3, "type", "started twice");
        } else if !tool.is_approved {
            if tool.granted.is_some() {
                self.found.add(Rule::P3, "type", "started behind a permission without tool.approved");
            }
            self.found.add(Rule::T3, "type", "started without tool.approved");
        }
        tool.is_started = true;
    }

    pub(super) fn tool_completed(&mut self, event: &ToolCompleted) {
        let Some(tool) = self.end_tool(&event.tool_use_id, &event.model_text, false) else { return };
        if !tool.is_started {
            self.found.add(Rule::T4, "type", "completed without tool.started");
        }
        if !tool.refusals.is_empty() {
            self.found.add(Rule::P4, "type", "completed, but its permission was denied");
        }
        self.has_no_question(&tool);
    }

    pub(super) fn tool_failed(&mut self, event: &ToolFailed) {
        use ToolErrorKind::{Internal, InvalidInput, PermissionDenied, PhaseBlocked};
        let Some(tool) = self.end_tool(&event.tool_use_id, &event.model_text, false) else { return };
        let kind = &event.error_kind;
        let may_not_start = matches!(kind, InvalidInput | PermissionDenied | PhaseBlocked | Internal);
        if !tool.is_started && !may_not_start {
            self.found.add(Rule::T4, "errorKind", format!("{} without tool.started", kind.as_str()));
        }
        if *kind == PermissionDenied {
            if !tool.refusals.iter().any(|feedback| event.model_text.contains(feedback)) {
                let message = "does not have the feedback of a permission.denied for this tool use";
                self.found.add(Rule::T6, "modelText", message);
            }
        } else if !tool.refusals.is_empty() {
            self.found.add(Rule::P4, "errorKind", format!("is {}, but permission was denied", kind.as_str()));
        }
        if *kind == PhaseBlocked && self.phases.phase == Some(Phase::Implement) {
            self.found.add(Rule::T7, "errorKind", "is phase-blocked while the phase is implement");
        }
        self.has_no_question(&tool);
    }

    pub(super) fn tool_cancelled(&mut self, event: &ToolCancelled) {
        let is_interrupt = event.reason == CancelReason::Interrupted;
        let Some(tool) = self.end_tool(&event.tool_use_id, &event.model_text, is_interrupt) else { return };
        match event.reason {
            CancelReason::Interrupted if !tool.is_interrupted => {
                self.found.add(
                    Rule::T8,
                    "reason",
                    "is interrupted, but no user.interrupted names the tool use",
                );
            }
            CancelReason::ResumeRecovery if self.session.resumed < tool.seq => {
                let message = "is resume-recovery, but no session.resumed came since the request";
                self.found.add(Rule::T8, "reason", message);
            }
            CancelReason::Shutdown => {
                self.tools.is_shutting_down = true;
                self.tools.shutdown = self.found.seq;
            }
            _ => {}
        }
    }

    /// P2: what ends by itself was answered before.
    fn has_no_question(&mut self, tool: &Tool) {
        if let Some(asks) = &tool.asks {
            self.found.add(Rule::P2, "toolUseId", format!("permission request {asks} is not answered"));
        }
    }

    fn end_tool(&mut self, tool_use_id: &str, model_text: &str, is_interrupt: bool) -> Option<Tool> {
        let seq = self.found.seq;
        if model_text.is_empty() {
            self.found.add(Rule::T9, "modelText", "is empty; providers refuse empty results");
        }
        let Some(tool) = self.tools.open.remove(tool_use_id) else {
            let has_ended = self.tools.ended.contains_key(tool_use_id);
            let message = if has_ended { "has ended already" } else { "was never requested" };
            self.found.add(Rule::T2, "toolUseId", format!("tool use {tool_use_id} {message}"));
            return None;
        };
        if self.user.cancelling.remove(tool_use_id) && !is_interrupt {
            let message =
                format!("tool use {tool_use_id} was interrupted, it must be cancelled as interrupted");
            self.found.add(Rule::U6, "type", message);
        }
        self.tools.ended.insert(tool_use_id.into(), None);
        self.tools.spans.push((tool.seq, seq));
        self.tools.batch_end = Some(seq);
        if let Some(batch) = tool.batch.and_then(|batch| self.model.batches.get_mut(batch)) {
            batch.last_result = Some(seq);
        }
        Some(tool)
    }

    /// T2: a tool use that the main loop left behind has no end.
    pub(super) fn tools_at_end(&mut self) {
        for (id, tool) in self.tools.open.iter().filter(|(_, tool)| tool.is_given_up) {
            self.found.add_at(tool.seq, Rule::T2, "toolUseId", format!("tool use {id} never ends"));
        }
    }
}
