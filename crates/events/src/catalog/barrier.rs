//! Which events must be durable before anything follows from them.

use crate::catalog::list::EventType;

impl EventType {
    /// True for an intent before its effect and for what a human decided: a log with the policy `barrier` syncs these, and
    /// with them all before them, before it answers (eventlog 1.3). Ephemeral events are never kept.
    ///
    /// The list names every type, so that a new one is not forgotten.
    pub fn is_barrier(self) -> bool {
        match self {
            EventType::SessionStarted
            | EventType::SessionResumed
            | EventType::UserMessageCreated
            | EventType::UserSteeringQueued
            | EventType::UserSteeringInjected
            | EventType::UserInterrupted
            | EventType::PermissionRequested
            | EventType::PermissionGranted
            | EventType::PermissionDenied
            | EventType::ToolApproved
            | EventType::ToolStarted
            | EventType::ContextPruned
            | EventType::ContextCompacted
            | EventType::TaskVerificationRequested
            | EventType::TaskCompleted
            | EventType::TaskFailed
            | EventType::PhaseApproved
            | EventType::PhaseRejected
            | EventType::SubtaskCreated => true,
            EventType::SessionRenamed
            | EventType::ModelChanged
            | EventType::BaselineRecorded
            | EventType::ModelRequestStarted
            | EventType::ModelTextBlockCompleted
            | EventType::ModelThinkingBlockCompleted
            | EventType::ToolRequested
            | EventType::ModelResponseCompleted
            | EventType::ModelRequestFailed
            | EventType::ToolCompleted
            | EventType::ToolFailed
            | EventType::ToolCancelled
            | EventType::FileRead
            | EventType::FileModified
            | EventType::ProcessStarted
            | EventType::ProcessExited
            | EventType::PhaseEntered
            | EventType::PhaseArtifact
            | EventType::VerifyResult
            | EventType::MemoryWritten
            | EventType::SubtaskCompleted
            | EventType::ModelTextDelta
            | EventType::ModelThinkingDelta
            | EventType::ModelToolCallStarted
            | EventType::ModelToolInputDelta
            | EventType::ToolOutput
            | EventType::ProcessOutput => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_are_the_types_that_the_design_names() {
        let families = ["user.", "permission.", "context.", "task."];
        let names = [
            "session.started",
            "session.resumed",
            "tool.approved",
            "tool.started",
            "phase.approved",
            "phase.rejected",
            "subtask.created",
        ];
        for event_type in EventType::DURABLE.iter().chain(EventType::EPHEMERAL) {
            let name = event_type.as_str();
            let named = names.contains(&name) || families.iter().any(|family| name.starts_with(family));
            assert_eq!(event_type.is_barrier(), named, "{name}");
        }
    }
}
