//! Payloads of `tool.*`, `permission.*`, `file.*`, `process.*` and `memory.*`.

use crate::catalog::parts::{DiffStats, LineRange, Suggestion, ToolUi};
use crate::catalog::shape::{Json, Nullable, objects};
use crate::catalog::words::{
    ApprovedVia, CancelReason, Confidence, DenialSource, ExitCause, FileOperation, GrantScope, ToolErrorKind,
    ToolName,
};

objects! {
    /// A tool-use content block settled: its complete input is known. Nothing has been checked or run yet.
    ToolRequested {
        "requestId" request_id: String,
        "blockIndex" block_index: u64,
        "toolUseId" tool_use_id: String,
        "toolName" tool_name: ToolName,
        "input" input: Json,
    }

    /// The tool use passed the gate and may run. Written for automatic approvals too.
    ToolApproved {
        "toolUseId" tool_use_id: String,
        "via" via: ApprovedVia,
    }

    /// Execution begins. Recorded before the side effect, so a crash leaves a visible open tool.
    ToolStarted {
        "toolUseId" tool_use_id: String,
        "toolName" tool_name: ToolName,
    }

    /// Execution ended and produced an observation. modelText is what the model sees (already cut to
    /// budget); the full output may be in a spill file; ui is data for display.
    ToolCompleted {
        "toolUseId" tool_use_id: String,
        "modelText" model_text: String,
        "spillFile" spill_file: Option<String>,
        "durationMs" duration_ms: u64,
        "ui" ui: ToolUi,
    }

    /// The tool use ended in an error the model should see, including refusals that never ran.
    ToolFailed {
        "toolUseId" tool_use_id: String,
        "modelText" model_text: String,
        "errorKind" error_kind: ToolErrorKind,
        "durationMs" duration_ms: u64,
    }

    /// The tool use was ended without a real result: the human interrupted, the process shut down, or a
    /// reopened log still had it open. modelText is the synthetic observation.
    ToolCancelled {
        "toolUseId" tool_use_id: String,
        "reason" reason: CancelReason,
        "modelText" model_text: String,
    }

    /// A tool use needs a decision. Says which capability, in words a human can judge, and may offer an
    /// always-allow pattern.
    PermissionRequested {
        "permissionRequestId" permission_request_id: String,
        "toolUseId" tool_use_id: String,
        "capability" capability: String,
        "descriptor" descriptor: String,
        "suggestion" suggestion: Option<Suggestion>,
    }

    /// The pending request was allowed, once or for the project (the latter also writes a config rule).
    PermissionGranted {
        "permissionRequestId" permission_request_id: String,
        "scope" scope: GrantScope,
    }

    /// The pending request was refused by the human, a policy, an unconditional rule, or by nobody
    /// answering in time. The feedback becomes the tool observation.
    PermissionDenied {
        "permissionRequestId" permission_request_id: String,
        "source" source: DenialSource,
        "feedback" feedback: String,
    }

    /// A tool read file content. The modification time lets a later write notice outside changes.
    FileRead {
        "path" path: String,
        "range" range: Option<LineRange>,
        "bytes" bytes: u64,
        "mtimeMs" mtime_ms: f64,
        "toolUseId" tool_use_id: String,
    }

    /// A tool changed a file on disk.
    FileModified {
        "path" path: String,
        "operation" operation: FileOperation,
        "diffStats" diff_stats: DiffStats,
        "diff" diff: Option<String>,
        "toolUseId" tool_use_id: String,
    }

    /// A tool launched a long-lived process that outlives the tool call. processId is the harness's own
    /// name, stable when the OS reuses a pid.
    ProcessStarted {
        "processId" process_id: String,
        "pid" pid: u64,
        "command" command: String,
        "cwd" cwd: String,
        "name" name: Option<String>,
        "toolUseId" tool_use_id: String,
    }

    /// That process ended by itself, was stopped by a tool, was taken down at shutdown, or crashed; no exit
    /// code means a signal ended it.
    ProcessExited {
        "processId" process_id: String,
        "exitCode" exit_code: Nullable<i64>,
        "cause" cause: ExitCause,
        "durationMs" duration_ms: u64,
    }

    /// The remember tool stored a fact in the project memory.
    MemoryWritten {
        "section" section: String,
        "entry" entry: String,
        "confidence" confidence: Confidence,
        "toolUseId" tool_use_id: String,
    }
}
