//! What a reopened session writes first, so that nothing that was open when it died stays open.

use herdbook_events::catalog::{
    CancelReason, DenialSource, Event, ExitCause, ModelErrorKind, ModelRequestFailed, Nullable,
    PermissionDenied, Position, ProcessExited, SessionResumed, ToolCancelled, ToolName,
};

use crate::check::Standing;

/// What the model is told of a tool use that had started.
pub const MAY_HAVE_RUN: &str = "[The session was restarted while this ran. It may have run in part or as a whole: check before repeating it.]";

/// What the model is told of a tool use that had not started.
pub const DID_NOT_RUN: &str = "[The session was restarted before this was started. It did not run.]";

/// What an open permission request is answered with.
pub const NOBODY_ANSWERED: &str = "Nobody answered before the session was restarted.";

/// Who goes on with a session, and with what.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The version of the program.
    pub version: String,
    /// The model from now on. It may be another one than before.
    pub model: String,
    /// The tools from now on. They may only become more: earlier blocks of the history name them.
    pub tool_names: Vec<String>,
    /// Processes of the log that do not run any more, by `processId`, and how long they ran at most, in milliseconds. A pid
    /// that is taken by another process is not that process.
    pub gone: Vec<(String, u64)>,
}

/// Why a session cannot be resumed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotResume {
    /// There is no log.
    #[error("the log is empty: start the session instead")]
    Empty,
    /// The history names tools that would be gone.
    #[error("these tools were offered or used and must be offered again: {}", missing.join(", "))]
    ToolsMissing {
        /// Their names.
        missing: Vec<String>,
    },
}

/// Returns the events of a resumption, in their order. They are one batch, synced before anything else happens. If it is
/// torn by another crash, the next resumption closes what this one did not.
pub fn resume(standing: &Standing, offer: &Offer) -> Result<Vec<Event>, CannotResume> {
    if standing.last_seq == 0 {
        return Err(CannotResume::Empty);
    }
    let missing: Vec<String> =
        standing.tool_names.iter().filter(|name| !offer.tool_names.contains(name)).cloned().collect();
    if !missing.is_empty() {
        return Err(CannotResume::ToolsMissing { missing });
    }
    let mut events: Vec<Event> = vec![
        SessionResumed {
            khaelor_version: offer.version.clone(),
            replayed_seq: Position(standing.last_seq),
            model: offer.model.clone(),
            tool_names: offer.tool_names.iter().cloned().map(ToolName::from).collect(),
            prompt_hash: None,
            tools_hash: None,
        }
        .into(),
    ];
    events.extend(standing.requests.iter().map(|(request_id, _)| {
        let failed = ModelRequestFailed {
            request_id: request_id.clone(),
            kind: ModelErrorKind::Cancelled,
            message: "the session was restarted while the request ran".to_owned(),
            status: None,
            // Nobody tries this one again: the human or the next turn decides.
            retries_exhausted: true,
        };
        failed.into()
    }));
    events.extend(standing.permissions.iter().map(|permission| {
        let denied = PermissionDenied {
            permission_request_id: permission.permission_request_id.clone(),
            source: DenialSource::Timeout,
            feedback: NOBODY_ANSWERED.to_owned(),
        };
        denied.into()
    }));
    events.extend(standing.tools.iter().map(|tool| {
        let cancelled = ToolCancelled {
            tool_use_id: tool.tool_use_id.clone(),
            reason: CancelReason::ResumeRecovery,
            model_text: if tool.is_started { MAY_HAVE_RUN } else { DID_NOT_RUN }.to_owned(),
        };
        cancelled.into()
    }));
    let gone = standing
        .processes
        .iter()
        .filter_map(|process| offer.gone.iter().find(|(process_id, _)| *process_id == process.process_id));
    events.extend(gone.map(|(process_id, duration_ms)| {
        let exited = ProcessExited {
            process_id: process_id.clone(),
            exit_code: Nullable(None),
            cause: ExitCause::Crashed,
            duration_ms: *duration_ms,
        };
        exited.into()
    }));
    Ok(events)
}
