//! Payloads of `model.*` and `task.*`.

use crate::catalog::parts::{CompletionEvidence, ContextStats, ModelUsage};
use crate::catalog::shape::{Attempt, Position, objects};
use crate::catalog::words::{ModelErrorKind, Purpose, StopReason, TaskFailure};

objects! {
    /// One provider call is about to be sent. One event per attempt. Context statistics are estimates.
    ModelRequestStarted {
        "requestId" request_id: String,
        "model" model: String,
        "purpose" purpose: Purpose,
        "contextStats" context_stats: ContextStats,
        "historySha256" history_sha256: Option<String> [ours],
    }

    /// A text content block of the response stream settled.
    ModelTextBlockCompleted {
        "requestId" request_id: String,
        "blockIndex" block_index: u64,
        "text" text: String,
    }

    /// A thinking content block settled with its provider signature; both must be returned unchanged while
    /// the same tool loop continues.
    ModelThinkingBlockCompleted {
        "requestId" request_id: String,
        "blockIndex" block_index: u64,
        "thinking" thinking: String,
        "signature" signature: String,
    }

    /// The response stream ended normally. Brings the stop reason and the measured usage, the only source
    /// for cost and for compaction decisions.
    ModelResponseCompleted {
        "requestId" request_id: String,
        "stopReason" stop_reason: StopReason,
        "usage" usage: ModelUsage,
        "durationMs" duration_ms: u64,
    }

    /// The call ended without a usable response (error, overflow, auth, bad request, or abort). The message
    /// is scrubbed of headers and keys.
    ModelRequestFailed {
        "requestId" request_id: String,
        "kind" kind: ModelErrorKind,
        "message" message: String,
        "status" status: Option<i64>,
        "retriesExhausted" retries_exhausted: bool,
    }

    /// The agent offered a final answer after changing things without proof; the answer is held back and
    /// the agent is asked to verify, at most twice.
    TaskVerificationRequested {
        "attempt" attempt: Attempt,
        "detectedChecks" detected_checks: Vec<String>,
        "withheldCandidateSeq" withheld_candidate_seq: Position,
        "nudgeText" nudge_text: Option<String> [ours],
    }

    /// The task ended in success with a record of what changed, which checks ran and what is left.
    TaskCompleted {
        "evidence" evidence: CompletionEvidence,
    }

    /// The task ended without success.
    TaskFailed {
        "reason" reason: TaskFailure,
        "detail" detail: String,
    }
}
