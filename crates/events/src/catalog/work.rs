//! Payloads of `phase.*`, `verify.*` and `subtask.*`.

use crate::catalog::parts::{DesignArtifact, DiffStats};
use crate::catalog::shape::{Nullable, objects};
use crate::catalog::words::{ApprovedBy, Phase, PhaseVia, SubtaskOutcome};

objects! {
    /// The workflow gate moved to a phase, and why.
    PhaseEntered {
        "phase" phase: Phase,
        "via" via: PhaseVia,
    }

    /// The agent submitted a structured design (through the design tool).
    PhaseArtifact {
        "artifactId" artifact_id: String,
        "artifact" artifact: DesignArtifact,
    }

    /// A phase's outcome was accepted; for design this unlocks implement.
    PhaseApproved {
        "phase" phase: Phase,
        "approvedBy" approved_by: ApprovedBy,
        "artifactId" artifact_id: Option<String>,
    }

    /// A phase's outcome was refused with a reason; a new artifact is needed.
    PhaseRejected {
        "phase" phase: Phase,
        "reason" reason: String,
        "artifactId" artifact_id: Option<String>,
    }

    /// One configured check (for example a type check or the tests) was run by the harness itself; output
    /// is shortened with errors first.
    VerifyResult {
        "check" check: String,
        "command" command: String,
        "ok" ok: bool,
        "exitCode" exit_code: Nullable<i64>,
        "output" output: String,
        "durationMs" duration_ms: u64,
    }

    /// A parallel child session was started in its own work tree and branch; it has its own log that names
    /// this one as parent.
    SubtaskCreated {
        "taskId" task_id: String,
        "description" description: String,
        "childSessionId" child_session_id: String,
        "worktreePath" worktree_path: String,
        "branch" branch: String,
    }

    /// That child ended; says with what result, how large its diff is, and whether checks passed (null:
    /// none ran).
    SubtaskCompleted {
        "taskId" task_id: String,
        "outcome" outcome: SubtaskOutcome,
        "diffStats" diff_stats: DiffStats,
        "verifyOk" verify_ok: Nullable<bool>,
        "detail" detail: String,
    }
}
