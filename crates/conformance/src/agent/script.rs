//! What a script consists of: scenes of steps, and how they are put together.

use std::collections::HashMap;

use herdbook_events::catalog::EventType;
use serde_json::{Value, json};

/// A session as it should go: scenes, one after the other.
#[derive(Clone, Debug)]
pub struct Script {
    /// Its scenes.
    pub scenes: Vec<Scene>,
    /// The tools that the model is offered.
    pub tools: &'static [&'static str],
}

/// Some steps that belong together. A restart in the middle of them begins them anew, as another try; what was written
/// stays written. A scene of one step is therefore written once.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Its name, once in a script.
    pub name: &'static str,
    /// Its steps: an event each.
    pub steps: Vec<Step>,
    /// The agent ends behind it, and must be started again.
    pub leaves: bool,
    /// The tools of its tool uses.
    tools: HashMap<&'static str, &'static str>,
}

/// One event.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its type.
    pub event_type: EventType,
    /// Its payload, with places to fill in. A text that is one of these as a whole: `$model`, `$aux`, `$purpose` (the one
    /// that a request of the main loop has now), `$history` (SHA-256 of the model history), `$last` (last seq), `$waits:TEXT`
    /// (id of a text that waits for a seam), `$open` (ids of open tool uses), `$seq:MARK`, `$before:MARK`. And in
    /// any text `{session}`, `{scene}`, `{try}` (which try of the scene this is) and `{try:SCENE}` (the last one of that).
    pub payload: Value,
    /// What is told live before it.
    pub live: Vec<(EventType, Value)>,
    /// Whether it is written at all.
    pub only: Only,
    /// Its seq can be named later.
    pub mark: Option<&'static str>,
    /// A session that runs to its end before.
    pub child: Option<Child>,
}

/// When a step is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Always.
    Always,
    /// If the human did not queue this text in an earlier try.
    Unsaid(&'static str),
    /// If this text waits for a seam.
    Waits(&'static str),
}

/// Another session with a script of its own.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    /// Its key is that of the parent, a dot, and this.
    pub suffix: &'static str,
    /// Its script.
    pub script: fn(&'static str) -> Script,
}

/// Begins a scene.
pub fn scene(name: &'static str) -> Scene {
    Scene { name, steps: Vec::new(), leaves: false, tools: HashMap::new() }
}

/// A scene of one step.
pub fn once(name: &'static str, event_type: EventType, payload: Value) -> Scene {
    scene(name).say(event_type, payload)
}

impl Scene {
    /// Any event.
    #[must_use]
    pub fn say(mut self, event_type: EventType, payload: Value) -> Scene {
        let live = Vec::new();
        self.steps.push(Step { event_type, payload, live, only: Only::Always, mark: None, child: None });
        self
    }

    /// Before the last step this is told live.
    #[must_use]
    pub fn told(mut self, event_type: EventType, payload: Value) -> Scene {
        self.steps
            .iter_mut()
            .last()
            .into_iter()
            .for_each(|step| step.live.push((event_type, payload.clone())));
        self
    }

    /// The seq of the last step can be named.
    #[must_use]
    pub fn mark(mut self, mark: &'static str) -> Scene {
        self.steps.iter_mut().last().into_iter().for_each(|step| step.mark = Some(mark));
        self
    }

    /// Before the last step another session runs.
    #[must_use]
    pub fn behind(mut self, child: Child) -> Scene {
        self.steps.iter_mut().last().into_iter().for_each(|step| step.child = Some(child));
        self
    }

    fn only(mut self, only: Only) -> Scene {
        self.steps.iter_mut().last().into_iter().for_each(|step| step.only = only);
        self
    }

    /// The agent ends here, in good order.
    #[must_use]
    pub fn leave(mut self) -> Scene {
        self.leaves = true;
        self
    }

    /// The human types while a turn runs.
    #[must_use]
    pub fn queue(self, text: &'static str) -> Scene {
        self.say(EventType::UserSteeringQueued, json!({"text": text})).only(Only::Unsaid(text))
    }

    /// A text that waits goes to the model.
    #[must_use]
    pub fn inject(self, seam: &str, text: &'static str) -> Scene {
        let payload = json!({"queuedEventId": format!("$waits:{text}"), "seam": seam, "afterSeq": "$last"});
        self.say(EventType::UserSteeringInjected, payload).only(Only::Waits(text))
    }

    /// A request to the model, the first, second … of the scene.
    #[must_use]
    pub fn ask(self, call: u64) -> Scene {
        self.request(call, "$model", "$purpose")
    }

    /// A request for a summary.
    #[must_use]
    pub fn ask_summary(self, call: u64) -> Scene {
        self.request(call, "$aux", "compaction")
    }

    fn request(self, call: u64, model: &str, purpose: &str) -> Scene {
        let sections = json!([{"name": "history", "estimatedTokens": 900}]);
        let stats = json!({"estimatedInputTokens": 1_000, "sections": sections});
        self.say(
            EventType::ModelRequestStarted,
            json!({"requestId": request_id(call), "model": model, "purpose": purpose, "contextStats": stats,
                "historySha256": "$history"}),
        )
    }

    /// A text block, in two deltas.
    #[must_use]
    pub fn text(self, call: u64, index: u64, text: &str) -> Scene {
        let settled = json!({"requestId": request_id(call), "blockIndex": index, "text": text});
        self.say(EventType::ModelTextBlockCompleted, settled).streams(
            EventType::ModelTextDelta,
            call,
            index,
            text,
        )
    }

    /// A thinking block, in two deltas.
    #[must_use]
    pub fn think(self, call: u64, index: u64, thinking: &str) -> Scene {
        let settled = json!({"requestId": request_id(call), "blockIndex": index, "thinking": thinking,
            "signature": "c2lnbmVkLWJ5LW5vYm9keQ=="});
        self.say(EventType::ModelThinkingBlockCompleted, settled).streams(
            EventType::ModelThinkingDelta,
            call,
            index,
            thinking,
        )
    }

    fn streams(mut self, delta: EventType, call: u64, index: u64, text: &str) -> Scene {
        for part in halves(text) {
            let payload = json!({"requestId": request_id(call), "blockIndex": index, "text": part});
            self = self.told(delta, payload);
        }
        self
    }

    /// A tool use; its input comes in two deltas.
    #[must_use]
    pub fn uses(
        mut self,
        call: u64,
        index: u64,
        tool: &'static str,
        name: &'static str,
        input: Value,
    ) -> Scene {
        self.tools.insert(tool, name);
        let text = input.to_string();
        let head =
            json!({"requestId": request_id(call), "blockIndex": index, "toolUseId": tool_use_id(tool)});
        let with = |member: &str, value: Value| {
            let mut payload = head.clone();
            payload[member] = value;
            payload
        };
        let mut settled = with("toolName", name.into());
        settled["input"] = input;
        self = self.say(EventType::ToolRequested, settled);
        self = self.told(EventType::ModelToolCallStarted, with("toolName", name.into()));
        for part in halves(&text) {
            self = self.told(EventType::ModelToolInputDelta, with("partialJson", part.into()));
        }
        self
    }

    /// The response ends.
    #[must_use]
    pub fn stop(self, call: u64, reason: &str) -> Scene {
        let usage =
            json!({"inputTokens": 120, "outputTokens": 40, "cacheReadTokens": 900, "cacheWriteTokens": 7});
        let payload =
            json!({"requestId": request_id(call), "stopReason": reason, "usage": usage, "durationMs": 900});
        self.say(EventType::ModelResponseCompleted, payload)
    }

    /// The request fails.
    #[must_use]
    pub fn fail(self, call: u64, kind: &str, message: &str, is_last: bool) -> Scene {
        let payload = json!({"requestId": request_id(call), "kind": kind, "message": message,
            "retriesExhausted": is_last});
        self.say(EventType::ModelRequestFailed, payload)
    }

    /// The tool use waits for a decision.
    #[must_use]
    pub fn asks(self, tool: &str, capability: &str, descriptor: &str) -> Scene {
        let suggestion = json!({"capability": capability, "pattern": "*"});
        self.say(
            EventType::PermissionRequested,
            json!({"permissionRequestId": permission_id(tool), "toolUseId": tool_use_id(tool),
                "capability": capability, "descriptor": descriptor, "suggestion": suggestion}),
        )
    }

    /// It may.
    #[must_use]
    pub fn granted(self, tool: &str, scope: &str) -> Scene {
        self.say(
            EventType::PermissionGranted,
            json!({"permissionRequestId": permission_id(tool), "scope": scope}),
        )
    }

    /// It may not; the model is told why.
    #[must_use]
    pub fn denied(self, tool: &str, source: &str, feedback: &str) -> Scene {
        let denied =
            json!({"permissionRequestId": permission_id(tool), "source": source, "feedback": feedback});
        let told = format!("Permission denied: {feedback}");
        self.say(EventType::PermissionDenied, denied).failed(tool, "permission-denied", &told)
    }

    /// The tool use passes the gate and starts.
    #[must_use]
    pub fn starts(self, tool: &str, via: &str) -> Scene {
        let name = self.tools.get(tool).copied().unwrap_or("read");
        self.say(EventType::ToolApproved, json!({"toolUseId": tool_use_id(tool), "via": via}))
            .say(EventType::ToolStarted, json!({"toolUseId": tool_use_id(tool), "toolName": name}))
    }

    /// The tool printed something, and is done.
    #[must_use]
    pub fn done(self, tool: &str, kind: &str, text: &str) -> Scene {
        let ui = json!({"kind": kind, "summary": format!("{kind}: {tool}")});
        let payload = json!({"toolUseId": tool_use_id(tool), "modelText": text, "durationMs": 35, "ui": ui});
        let output = json!({"toolUseId": tool_use_id(tool), "chunk": text});
        self.say(EventType::ToolCompleted, payload).told(EventType::ToolOutput, output)
    }

    /// The tool use ends in an error.
    #[must_use]
    pub fn failed(self, tool: &str, kind: &str, text: &str) -> Scene {
        let payload =
            json!({"toolUseId": tool_use_id(tool), "modelText": text, "errorKind": kind, "durationMs": 12});
        self.say(EventType::ToolFailed, payload)
    }

    /// The tool use is ended without a result.
    #[must_use]
    pub fn cancelled(self, tool: &str, reason: &str, text: &str) -> Scene {
        let payload = json!({"toolUseId": tool_use_id(tool), "reason": reason, "modelText": text});
        self.say(EventType::ToolCancelled, payload)
    }

    /// The human stops the turn.
    #[must_use]
    pub fn interrupt(self) -> Scene {
        self.say(EventType::UserInterrupted, json!({"scope": "turn", "pendingToolUseIds": "$open"}))
    }

    /// The auxiliary model sums up what stands between two places, and that goes.
    #[must_use]
    pub fn compact(self, call: u64, yaml: &str, from: &str, to: &str, trigger: &str) -> Scene {
        let payload = json!({"checkpointYaml": yaml, "cut": {"fromSeq": from, "toSeq": to}, "trigger": trigger,
            "tokensBefore": 180_000, "summaryModel": "$aux"});
        self.ask_summary(call)
            .text(call, 0, yaml)
            .stop(call, "end_turn")
            .say(EventType::ContextCompacted, payload)
    }
}

/// The id of a request of this try.
fn request_id(call: u64) -> String {
    format!("{{scene}}-{{try}}-{call}")
}

/// The id of a tool use of this try.
pub fn tool_use_id(tool: &str) -> String {
    format!("{{scene}}-{{try}}-{tool}")
}

fn permission_id(tool: &str) -> String {
    format!("{{scene}}-{{try}}-{tool}-asks")
}

/// Cuts a text in two, between characters.
fn halves(text: &str) -> [&str; 2] {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(text.len(), |(at, _)| at);
    let (one, two) = text.split_at(middle);
    [one, two]
}
