//! The model history that a log gives: the exact text of `messages` as of any line (fold rules G1 to G10).
//!
//! Everything has a place in the history, and only a new event may put something there; so a request saw what the lines
//! before it gave, whenever it is asked for. Where the lines do not say what the model saw, nothing is guessed.

use std::collections::{BTreeMap, HashMap};

use herdbook_events::catalog::{
    ContextCompacted, ContextPruned, Event, ModelErrorKind, Purpose, ToolRequested, UserSteeringInjected,
};
use sha2::{Digest, Sha256};

use crate::canonical::canonical;
use crate::items::{Block, Body, Item, Place, Request, State, Tie, Tool, ToolResult};
use crate::line::Line;
use crate::print::print;
use crate::template::{Templates, fill};

/// Why there is no exact history from a line on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the history cannot be told from seq {seq} on: {reason}")]
pub struct Refusal {
    /// The line.
    pub seq: u64,
    /// What is wrong there.
    pub reason: String,
}

/// A fold over the lines of one log, from its first. A reopened session and a live one use the same.
#[derive(Clone, Debug, Default)]
pub struct History {
    templates: Templates,
    last_seq: u64,
    /// In the order of their places.
    items: Vec<Item>,
    requests: HashMap<String, Request>,
    tools: HashMap<String, Tool>,
    /// Texts that wait for a seam, by the id of their event.
    queued: HashMap<String, String>,
    /// Ranges that checkpoints stand for.
    cuts: Vec<(u64, u64)>,
    refused: Option<Refusal>,
}

type Applied = Result<(), String>;

impl History {
    /// Starts before the first line.
    pub fn new(templates: Templates) -> History {
        History { templates, ..History::default() }
    }

    /// Returns the seq of the last line that was applied, 0 before the first.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Takes the next line. After a refusal there is no way on: each later call returns it again.
    pub fn apply(&mut self, line: &Line) -> Result<(), Refusal> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        let applied = if Some(line.seq) == self.last_seq.checked_add(1) {
            line.event().map_err(|error| error.to_string()).and_then(|event| self.take(line, event))
        } else {
            Err(format!("the line after seq {} is missing", self.last_seq))
        };
        self.last_seq = line.seq;
        applied.map_err(|reason| self.refused.insert(Refusal { seq: line.seq, reason }).clone())
    }

    /// Returns the exact JSON text of `messages` as of the last line that was applied.
    pub fn messages(&self) -> Result<String, Refusal> {
        match &self.refused {
            Some(refused) => Err(refused.clone()),
            None => Ok(print(&self.items, &self.requests, &self.tools)),
        }
    }

    fn take(&mut self, line: &Line, event: Event) -> Applied {
        let seq = line.seq;
        match event {
            Event::UserMessageCreated(message) => self.put((seq, Tie::Own, seq), Body::Text(message.text)),
            Event::UserSteeringQueued(queued) => {
                self.queued.insert(line.id.clone(), queued.text);
            }
            Event::UserSteeringInjected(injected) => return self.inject(seq, &injected),
            Event::ModelRequestStarted(started) => {
                if let Some(sha256) = started.history_sha256 {
                    let now = print(&self.items, &self.requests, &self.tools);
                    let found: String =
                        Sha256::digest(now).iter().map(|byte| format!("{byte:02x}")).collect();
                    if found != sha256 {
                        return Err(format!(
                            "the request saw a history with SHA-256 {sha256}, the lines give {found}"
                        ));
                    }
                }
                let request = Request {
                    start: seq,
                    is_compaction: started.purpose == Purpose::Compaction,
                    state: State::Open,
                    blocks: BTreeMap::new(),
                    results: None,
                };
                if let Purpose::Other(purpose) = started.purpose {
                    return Err(format!("purpose '{purpose}' is not known"));
                }
                if !request.is_compaction {
                    self.put((seq, Tie::Own, seq), Body::Assistant(started.request_id.clone()));
                }
                if self.requests.insert(started.request_id.clone(), request).is_some() {
                    return Err(format!("request {} starts twice", started.request_id));
                }
            }
            Event::ModelTextBlockCompleted(block) => {
                return self.block(&block.request_id, block.block_index, Block::Text(block.text));
            }
            Event::ModelThinkingBlockCompleted(block) => {
                let (thinking, signature) = (block.thinking, block.signature);
                return self.block(
                    &block.request_id,
                    block.block_index,
                    Block::Thinking { thinking, signature },
                );
            }
            Event::ToolRequested(tool) => return self.request_tool(tool),
            Event::ModelResponseCompleted(response) => {
                return self.close(&response.request_id, State::Completed);
            }
            Event::ModelRequestFailed(failed) => {
                let state = match failed.kind {
                    ModelErrorKind::Cancelled => State::Cancelled,
                    ModelErrorKind::Other(kind) => return Err(format!("kind '{kind}' is not known")),
                    _ => State::Failed,
                };
                return self.close(&failed.request_id, state);
            }
            Event::ToolCompleted(tool) => {
                return self.end_tool(seq, &tool.tool_use_id, tool.model_text, false);
            }
            Event::ToolFailed(tool) => return self.end_tool(seq, &tool.tool_use_id, tool.model_text, true),
            Event::ToolCancelled(tool) => {
                return self.end_tool(seq, &tool.tool_use_id, tool.model_text, true);
            }
            Event::ContextPruned(pruned) => return self.prune(&pruned),
            Event::ContextCompacted(compacted) => return self.compact(seq, &compacted),
            Event::TaskVerificationRequested(asked) => {
                let (attempt, checks) = (asked.attempt.0.to_string(), asked.detected_checks.join(", "));
                let values = [("{attempt}", attempt.as_str()), ("{detectedChecks}", checks.as_str())];
                let text = asked.nudge_text.unwrap_or_else(|| fill(&self.templates.nudge, &values));
                self.put((seq, Tie::Own, seq), Body::Text(text));
            }
            // These say nothing to the model. Listed one by one: a new type must be thought about here.
            Event::SessionStarted(_)
            | Event::SessionResumed(_)
            | Event::SessionRenamed(_)
            | Event::ModelChanged(_)
            | Event::BaselineRecorded(_)
            | Event::UserInterrupted(_)
            | Event::PermissionRequested(_)
            | Event::PermissionGranted(_)
            | Event::PermissionDenied(_)
            | Event::ToolApproved(_)
            | Event::ToolStarted(_)
            | Event::FileRead(_)
            | Event::FileModified(_)
            | Event::ProcessStarted(_)
            | Event::ProcessExited(_)
            | Event::TaskCompleted(_)
            | Event::TaskFailed(_)
            | Event::PhaseEntered(_)
            | Event::PhaseArtifact(_)
            | Event::PhaseApproved(_)
            | Event::PhaseRejected(_)
            | Event::VerifyResult(_)
            | Event::MemoryWritten(_)
            | Event::SubtaskCreated(_)
            | Event::SubtaskCompleted(_)
            | Event::ModelTextDelta(_)
            | Event::ModelThinkingDelta(_)
            | Event::ModelToolCallStarted(_)
            | Event::ModelToolInputDelta(_)
            | Event::ToolOutput(_)
            | Event::ProcessOutput(_) => {}
        }
        Ok(())
    }

    fn put(&mut self, place: Place, body: Body) {
        let at = self.items.partition_point(|item| item.place < place);
        self.items.insert(at, Item { place, body });
    }

    fn inject(&mut self, seq: u64, injected: &UserSteeringInjected) -> Applied {
        let after = injected.after_seq.0;
        let Some(text) = self.queued.remove(&injected.queued_event_id) else {
            return Err(format!("no text waits under the id {}", injected.queued_event_id));
        };
        if after >= seq {
            return Err(format!("afterSeq {after} is no earlier line"));
        }
        if self.cuts.iter().any(|(from, to)| (*from..=*to).contains(&after)) {
            return Err(format!("afterSeq {after} lies in a range that a checkpoint replaced"));
        }
        self.put((after, Tie::Injection, seq), Body::Text(text));
        Ok(())
    }

    fn open_request(&mut self, request_id: &str) -> Result<&mut Request, String> {
        let open = self.requests.get_mut(request_id).filter(|request| request.state == State::Open);
        open.ok_or_else(|| format!("request {request_id} is not open"))
    }

    fn block(&mut self, request_id: &str, index: u64, block: Block) -> Applied {
        match self.open_request(request_id)?.blocks.insert(index, block) {
            None => Ok(()),
            Some(_) => Err(format!("request {request_id} has a block {index} already")),
        }
    }

    fn request_tool(&mut self, tool: ToolRequested) -> Applied {
        let input = canonical(tool.input.0.get()).map_err(|error| error.to_string())?;
        let block =
            Block::ToolUse { id: tool.tool_use_id.clone(), name: tool.tool_name.as_str().to_owned(), input };
        self.block(&tool.request_id, tool.block_index, block)?;
        let known = Tool { request: tool.request_id, result: None };
        match self.tools.insert(tool.tool_use_id.clone(), known) {
            None => Ok(()),
            Some(_) => Err(format!("tool use {} is requested twice", tool.tool_use_id)),
        }
    }

    fn close(&mut self, request_id: &str, state: State) -> Applied {
        let request = self.open_request(request_id)?;
        request.state = state;
        if request.is_compaction || state == State::Failed {
            request.blocks.clear();
        }
        Ok(())
    }

    fn end_tool(&mut self, seq: u64, tool_use_id: &str, text: String, is_error: bool) -> Applied {
        let open = self.tools.get_mut(tool_use_id).filter(|tool| tool.result.is_none());
        let Some(tool) = open else { return Err(format!("tool use {tool_use_id} is not open")) };
        tool.result = Some(ToolResult { text, is_error });
        let request_id = tool.request.clone();
        let Some(request) = self.requests.get_mut(&request_id) else { return Ok(()) };
        if request.is_compaction {
            return Ok(());
        }
        let start = request.start;
        if self.cuts.iter().any(|(from, to)| start < *from && *to < seq) {
            return Err(format!("the result of {tool_use_id} would stand behind a later checkpoint"));
        }
        // The results of one message stand together, where the last of them came (G1, G3).
        if let Some(earlier) = request.results.replace(seq) {
            let place = (earlier, Tie::Own, earlier);
            if let Ok(at) = self.items.binary_search_by(|item| item.place.cmp(&place)) {
                self.items.remove(at);
            }
        }
        self.put((seq, Tie::Own, seq), Body::Results(request_id));
        Ok(())
    }

    fn prune(&mut self, pruned: &ContextPruned) -> Applied {
        for tool_use_id in &pruned.tool_use_ids.0 {
            match self.tools.get_mut(tool_use_id).and_then(|tool| tool.result.as_mut()) {
                Some(result) => result.text.clone_from(&pruned.placeholder),
                None => return Err(format!("tool use {tool_use_id} has no result to prune")),
            }
        }
        Ok(())
    }

    fn compact(&mut self, seq: u64, compacted: &ContextCompacted) -> Applied {
        let (from, to) = (compacted.cut.from_seq.0, compacted.cut.to_seq.0);
        if from < 1 || from > to || to >= seq {
            return Err(format!("cut {from} to {to} is no range of earlier lines"));
        }
        let range = from..=to;
        for request in self.requests.values().filter(|request| range.contains(&request.start)) {
            let has_open_tool = request.blocks.values().any(|block| match block {
                Block::ToolUse { id, .. } => self.tools.get(id).is_none_or(|tool| tool.result.is_none()),
                _ => false,
            });
            if request.state == State::Open || has_open_tool {
                return Err(format!("the request of seq {} is open inside the cut", request.start));
            }
        }
        for request in self.requests.values() {
            let splits = request.results.is_some_and(|results| {
                range.contains(&request.start) != range.contains(&results)
                    || (request.start < from && to < results)
            });
            if splits {
                return Err(format!(
                    "the cut separates the request of seq {} from its results",
                    request.start
                ));
            }
        }
        let is_split = |item: &Item| range.contains(&item.place.0) != range.contains(&item.place.2);
        if let Some(item) = self.items.iter().find(|item| item.place.1 == Tie::Injection && is_split(item)) {
            return Err(format!("the cut separates the injection of seq {} from its place", item.place.2));
        }
        self.forget(&range);
        let template = compacted.wrapper.as_deref().unwrap_or(&self.templates.checkpoint);
        let text = fill(template, &[("{checkpointYaml}", &compacted.checkpoint_yaml)]);
        self.put((from, Tie::Checkpoint, seq), Body::Text(text));
        self.cuts.push((from, to));
        Ok(())
    }

    /// Takes out what stands in a range, and what it said; the ids stay known.
    fn forget(&mut self, range: &std::ops::RangeInclusive<u64>) {
        for request in self.requests.values_mut().filter(|request| range.contains(&request.start)) {
            for block in std::mem::take(&mut request.blocks).into_values() {
                if let Block::ToolUse { id, .. } = block
                    && let Some(result) = self.tools.get_mut(&id).and_then(|tool| tool.result.as_mut())
                {
                    result.text = String::new();
                }
            }
        }
        self.items.retain(|item| !range.contains(&item.place.0));
    }
}
