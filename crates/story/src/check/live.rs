//! Events that are only live: rules E10, X1, X2.

use std::collections::HashMap;

use herdbook_events::catalog::{
    Class, Event, EventType, Members, ModelTextBlockCompleted, ModelThinkingBlockCompleted, ToolRequested,
    faults,
};
use serde::{Deserialize, Serialize};

use crate::canonical::canonical;
use crate::check::checker::Checker;
use crate::check::finding::Finding;
use crate::check::rules::Rule;
use crate::line::read_event;

/// What streams said of blocks that have not settled.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Live {
    /// By request, block, and whether it is thinking.
    texts: HashMap<(String, u64, bool), String>,
    /// JSON text by tool use; it is there from the call's beginning.
    inputs: HashMap<String, String>,
}

impl Checker {
    /// Looks at an event that is only live, at its place in the stream among the lines. Tests of a producer use it: what
    /// deltas say must be what the settled blocks say.
    pub fn push_ephemeral(&mut self, event: &str) -> Vec<Finding> {
        self.found.seq = self.lines.seqs.last();
        self.look_at_ephemeral(event);
        std::mem::take(&mut self.found.findings)
    }

    fn look_at_ephemeral(&mut self, text: &str) {
        let text = herdbook_events::replace_lone_surrogates(text);
        let members = match Members::read(&text) {
            Ok(members) => members,
            Err(error) => {
                return self.found.add(Rule::E8, "", format!("the event is no JSON object: {error}"));
            }
        };
        for member in ["v", "seq"].into_iter().filter(|member| members.get(member).is_some()) {
            self.found.add(Rule::E10, member, "must be absent, the event has no place in a log");
        }
        let name: String = members.read_as("type").unwrap_or_default();
        let known = EventType::parse(&name).filter(|known| known.class() == Class::Ephemeral);
        let Some(event_type) = known else {
            return self.found.add(Rule::E7, "type", format!("'{name}' is no ephemeral type"));
        };
        let Some(payload) = members.get("payload") else {
            return self.found.add(Rule::E8, "payload", "is missing");
        };
        for fault in faults(&event_type.kind(), payload, self.options.lists) {
            self.found.add(Rule::E8, &fault.field, fault.message);
        }
        match read_event(event_type, payload.get()) {
            Ok(Event::ModelTextDelta(delta)) => {
                self.names_open_request(&delta.request_id);
                self.live
                    .texts
                    .entry((delta.request_id, delta.block_index, false))
                    .or_default()
                    .push_str(&delta.text);
            }
            Ok(Event::ModelThinkingDelta(delta)) => {
                self.names_open_request(&delta.request_id);
                self.live
                    .texts
                    .entry((delta.request_id, delta.block_index, true))
                    .or_default()
                    .push_str(&delta.text);
            }
            Ok(Event::ModelToolCallStarted(call)) => {
                self.names_open_request(&call.request_id);
                self.live.inputs.insert(call.tool_use_id, String::new());
            }
            Ok(Event::ModelToolInputDelta(delta)) => {
                self.names_open_request(&delta.request_id);
                match self.live.inputs.get_mut(&delta.tool_use_id) {
                    Some(input) => input.push_str(&delta.partial_json),
                    None => {
                        let message = format!("{} has no model.tool-call-started", delta.tool_use_id);
                        self.found.add(Rule::X1, "toolUseId", message);
                    }
                }
            }
            Ok(Event::ToolOutput(output))
                if !self.tools.open.get(&output.tool_use_id).is_some_and(|tool| tool.is_started) =>
            {
                let message = format!("tool use {} is not running", output.tool_use_id);
                self.found.add(Rule::X1, "toolUseId", message);
            }
            Ok(Event::ProcessOutput(output)) if !self.work.processes.contains_key(&output.process_id) => {
                let message = format!("process {} is not running", output.process_id);
                self.found.add(Rule::X1, "processId", message);
            }
            _ => {}
        }
    }

    fn names_open_request(&mut self, request_id: &str) {
        if !self.model.open.contains_key(request_id) {
            self.found.add(Rule::X1, "requestId", format!("request {request_id} is not open"));
        }
    }

    pub(super) fn text_is_what_was_streamed(&mut self, block: &ModelTextBlockCompleted) {
        let streamed = self.live.texts.remove(&(block.request_id.clone(), block.block_index, false));
        if streamed.is_some_and(|streamed| streamed != block.text) {
            self.found.add(Rule::X2, "text", "is not what the deltas said");
        }
    }

    pub(super) fn thinking_is_what_was_streamed(&mut self, block: &ModelThinkingBlockCompleted) {
        let streamed = self.live.texts.remove(&(block.request_id.clone(), block.block_index, true));
        if streamed.is_some_and(|streamed| streamed != block.thinking) {
            self.found.add(Rule::X2, "thinking", "is not what the deltas said");
        }
    }

    pub(super) fn input_is_what_was_streamed(&mut self, tool: &ToolRequested) {
        let streamed = self.live.inputs.remove(&tool.tool_use_id).filter(|streamed| !streamed.is_empty());
        if let Some(streamed) = streamed
            && canonical(&streamed).ok() != canonical(tool.input.0.get()).ok()
        {
            self.found.add(Rule::X2, "input", "is not what the deltas said");
        }
    }
}
