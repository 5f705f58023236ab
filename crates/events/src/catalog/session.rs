//! Payloads of `session.*`, `git.*`, `user.*` and `context.*`.

use crate::catalog::parts::{Cut, GitBaseline, Mention};
use crate::catalog::shape::{Filled, Nullable, Position, objects};
use crate::catalog::words::{BaselineMoment, ChangeReason, CutTrigger, InterruptScope, Seam, ToolName};

objects! {
    /// Once, as the first line of a new log, before anything else is recorded. Fixes the project identity,
    /// directory, main model and auxiliary (summary) model, and producer version.
    SessionStarted {
        "title" title: String,
        "projectHash" project_hash: String,
        "workingDirectory" working_directory: String,
        "gitBranch" git_branch: Nullable<String>,
        "model" model: String,
        "auxModel" aux_model: String,
        "khaelorVersion" khaelor_version: String,
        "promptHash" prompt_hash: Option<String> [ours],
        "toolsHash" tools_hash: Option<String> [ours],
    }

    /// A process reopened an existing log and finished folding it. Carries the highest seq it folded, the
    /// model now active (it may differ) and the tool list offered from now on.
    SessionResumed {
        "khaelorVersion" khaelor_version: String,
        "replayedSeq" replayed_seq: Position,
        "model" model: String,
        "toolNames" tool_names: Vec<ToolName>,
        "promptHash" prompt_hash: Option<String> [ours],
        "toolsHash" tools_hash: Option<String> [ours],
    }

    /// The human or the harness gave the session a new title; the latest one wins.
    SessionRenamed {
        "title" title: String,
    }

    /// The main model was swapped inside a running session by a user command or a config reload; applies to
    /// later main requests.
    ModelChanged {
        "from" from: String,
        "to" to: String,
        "reason" reason: ChangeReason,
    }

    /// The state of the work tree was captured so later diffs can be attributed: once when a session begins
    /// in a repository, once just before the agent's first edit.
    BaselineRecorded {
        "when" when: BaselineMoment,
        "baseline" baseline: GitBaseline,
    }

    /// The human submitted a message while no turn was running (or it started a turn). The text goes to the
    /// model unchanged.
    UserMessageCreated {
        "text" text: String,
        "mentions" mentions: Vec<Mention>,
    }

    /// The human typed while a turn was running; the text waits for a safe seam and has no effect on model
    /// history yet.
    UserSteeringQueued {
        "text" text: String,
    }

    /// A queued text was placed into model history, either after the last result of a tool batch or right
    /// before a model call. afterSeq fixes the place so a later fold gives the same bytes.
    UserSteeringInjected {
        "queuedEventId" queued_event_id: String,
        "seam" seam: Seam,
        "afterSeq" after_seq: Position,
    }

    /// The human stopped the running turn. Lists every tool use that was still open; each is then closed by
    /// a cancellation.
    UserInterrupted {
        "scope" scope: InterruptScope,
        "pendingToolUseIds" pending_tool_use_ids: Vec<String>,
    }

    /// Old tool results were blanked to save context. The placeholder text is stored so later versions fold
    /// to the same bytes.
    ContextPruned {
        "toolUseIds" tool_use_ids: Filled<String>,
        "placeholder" placeholder: String,
        "tokensReclaimedEstimate" tokens_reclaimed_estimate: u64,
    }

    /// A range of history was replaced by a structured checkpoint written by the auxiliary model. The cut
    /// never separates a tool use from its result.
    ContextCompacted {
        "checkpointYaml" checkpoint_yaml: String,
        "cut" cut: Cut,
        "trigger" trigger: CutTrigger,
        "tokensBefore" tokens_before: u64,
        "summaryModel" summary_model: String,
        "wrapper" wrapper: Option<String> [ours],
    }
}
