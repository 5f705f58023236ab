//! Objects that payloads consist of.

use crate::catalog::shape::{Position, objects};
use crate::catalog::words::UiKind;

objects! {
    /// Lines of a file, from 1, both ends included.
    LineRange {
        "start" start: Position,
        "end" end: Position,
    }

    /// Tokens as the provider measured them.
    ModelUsage {
        "inputTokens" input_tokens: u64,
        "outputTokens" output_tokens: u64,
        "cacheReadTokens" cache_read_tokens: u64,
        "cacheWriteTokens" cache_write_tokens: u64,
    }

    /// Lines added and removed.
    DiffStats {
        "added" added: u64,
        "removed" removed: u64,
    }

    /// One check that ran.
    CheckResult {
        "command" command: String,
        "exitCode" exit_code: i64,
        "summary" summary: String,
        "durationMs" duration_ms: u64,
    }

    /// What shows that a task is done.
    CompletionEvidence {
        "objective" objective: String,
        "changedFiles" changed_files: Vec<String>,
        "checks" checks: Vec<CheckResult>,
        "unresolvedIssues" unresolved_issues: Vec<String>,
    }

    /// State of a work tree.
    GitBaseline {
        "branch" branch: String,
        "dirtyFiles" dirty_files: Vec<String>,
        "untrackedFiles" untracked_files: Vec<String>,
        "diffHash" diff_hash: String,
    }

    /// A design that the agent submitted.
    DesignArtifact {
        "goal" goal: String,
        "filesTouched" files_touched: Vec<String>,
        "approach" approach: String,
        "risks" risks: Vec<String>,
        "verification" verification: String,
        "outOfScope" out_of_scope: Vec<String>,
    }

    /// A file that the human named in a message.
    Mention {
        "path" path: String,
        "range" range: Option<LineRange>,
    }

    /// One part of the context, estimated.
    ContextSection {
        "name" name: String,
        "estimatedTokens" estimated_tokens: u64,
    }

    /// How large the context is, estimated.
    ContextStats {
        "estimatedInputTokens" estimated_input_tokens: u64,
        "sections" sections: Vec<ContextSection>,
    }

    /// A rule that would answer the question for good.
    Suggestion {
        "capability" capability: String,
        "pattern" pattern: String,
    }

    /// What a person is shown of a finished tool use.
    ToolUi {
        "kind" kind: UiKind,
        "summary" summary: String,
        "diffStats" diff_stats: Option<DiffStats>,
        "exitCode" exit_code: Option<i64>,
        "matchCount" match_count: Option<u64>,
    }

    /// The range of lines that a checkpoint replaces, both ends included.
    Cut {
        "fromSeq" from_seq: Position,
        "toSeq" to_seq: Position,
    }
}
