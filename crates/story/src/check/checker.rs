//! A log, line by line.

use herdbook_events::catalog::{Event, Lists};

use crate::check::context::Context;
use crate::check::finding::{Finding, Found};
use crate::check::lines::Lines;
use crate::check::live::Live;
use crate::check::model::Model;
use crate::check::permission::Permissions;
use crate::check::phase::Phases;
use crate::check::rules::{Profile, Rule};
use crate::check::session::Session;
use crate::check::task::Tasks;
use crate::check::tool::Tools;
use crate::check::user::User;
use crate::check::work::Work;

/// How a log is checked.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Who wrote it.
    pub profile: Profile,
    /// It is sealed: nothing in it may be open at its end.
    pub strict: bool,
    /// Which names of tools there are.
    pub lists: Lists,
}

impl Options {
    /// A log of the reference's harness.
    pub fn native() -> Options {
        Options { profile: Profile::Native, strict: false, lists: Lists::Reference }
    }

    /// A log that was recorded of a host.
    pub fn imported() -> Options {
        Options { profile: Profile::Imported, strict: false, lists: Lists::OpenTools }
    }
}

/// Checks the lines of one log, in their order.
///
/// A line counts once it is pushed, whatever it breaks. Whoever refuses lines tries them on a clone.
#[derive(Clone, Debug)]
pub struct Checker {
    pub(super) options: Options,
    pub(super) found: Found,
    pub(super) lines: Lines,
    pub(super) session: Session,
    pub(super) user: User,
    pub(super) model: Model,
    pub(super) tools: Tools,
    pub(super) permissions: Permissions,
    pub(super) work: Work,
    pub(super) context: Context,
    pub(super) tasks: Tasks,
    pub(super) phases: Phases,
    pub(super) live: Live,
}

impl Checker {
    /// Starts before the first line.
    pub fn new(options: Options) -> Checker {
        Checker {
            options,
            found: Found { profile: options.profile, seq: 0, findings: Vec::new() },
            lines: Lines::default(),
            session: Session::default(),
            user: User::default(),
            model: Model::default(),
            tools: Tools::default(),
            permissions: Permissions::default(),
            work: Work::default(),
            context: Context::default(),
            tasks: Tasks::default(),
            phases: Phases::default(),
            live: Live::default(),
        }
    }

    /// Looks at the next line, without its line feed, and returns what it breaks.
    pub fn push(&mut self, line: &str) -> Vec<Finding> {
        if let Some((event_type, event)) = self.look_at_line(line) {
            self.expect(event_type);
            if let Some(event) = event {
                self.look_at(event);
            }
        }
        std::mem::take(&mut self.found.findings)
    }

    /// Ends the log, and returns what is missing at its end.
    pub fn finish(mut self) -> Vec<Finding> {
        if self.lines.count == 0 {
            self.found.add(Rule::S1, "", "the log is empty, a log begins with session.started");
        }
        self.tools_at_end();
        if self.options.strict {
            self.nothing_is_open();
        }
        self.found.findings
    }

    /// Z1: a sealed log has nothing open.
    fn nothing_is_open(&mut self) {
        let standing = self.standing();
        let requests = standing.requests.iter().map(|(id, seq)| (*seq, "requestId", format!("request {id}")));
        let tools = standing
            .tools
            .iter()
            .map(|tool| (tool.seq, "toolUseId", format!("tool use {}", tool.tool_use_id)));
        let permissions = standing.permissions.iter().map(|permission| {
            let id = &permission.permission_request_id;
            (permission.seq, "permissionRequestId", format!("permission request {id}"))
        });
        let processes = standing
            .processes
            .iter()
            .map(|process| (process.seq, "processId", format!("process {}", process.process_id)));
        let open: Vec<_> = requests.chain(tools).chain(permissions).chain(processes).collect();
        for (seq, field, what) in open {
            self.found.add_at(seq, Rule::Z1, field, format!("{what} is open at the end of a sealed log"));
        }
    }

    fn look_at(&mut self, event: Event) {
        match event {
            Event::SessionStarted(event) => self.session_started(&event),
            Event::SessionResumed(event) => self.session_resumed(&event),
            Event::SessionRenamed(_) => {}
            Event::ModelChanged(event) => self.model_changed(&event),
            Event::BaselineRecorded(event) => self.baseline_recorded(&event),
            Event::UserMessageCreated(event) => self.user_message(&event),
            Event::UserSteeringQueued(event) => self.steering_queued(&event),
            Event::UserSteeringInjected(event) => self.steering_injected(&event),
            Event::UserInterrupted(event) => self.interrupted(&event),
            Event::ModelRequestStarted(event) => self.request_started(&event),
            Event::ModelTextBlockCompleted(event) => self.text_block(&event),
            Event::ModelThinkingBlockCompleted(event) => self.thinking_block(&event),
            Event::ToolRequested(event) => self.tool_requested(&event),
            Event::ModelResponseCompleted(event) => self.response_completed(&event),
            Event::ModelRequestFailed(event) => self.request_failed(&event),
            Event::PermissionRequested(event) => self.permission_requested(&event),
            Event::PermissionGranted(event) => self.permission_granted(&event),
            Event::PermissionDenied(event) => self.permission_denied(&event),
            Event::ToolApproved(event) => self.tool_approved(&event),
            Event::ToolStarted(event) => self.tool_started(&event),
            Event::ToolCompleted(event) => self.tool_completed(&event),
            Event::ToolFailed(event) => self.tool_failed(&event),
            Event::ToolCancelled(event) => self.tool_cancelled(&event),
            Event::FileRead(event) => self.file_read(&event),
            Event::FileModified(event) => self.file_modified(&event),
            Event::ProcessStarted(event) => self.process_started(&event),
            Event::ProcessExited(event) => self.process_exited(&event),
            Event::ContextPruned(event) => self.context_pruned(&event),
            Event::ContextCompacted(event) => self.context_compacted(&event),
            Event::TaskVerificationRequested(event) => self.verification_requested(&event),
            Event::TaskCompleted(event) => self.task_completed(&event),
            Event::TaskFailed(_) => self.task_ended(),
            Event::PhaseEntered(event) => self.phase_entered(&event),
            Event::PhaseArtifact(event) => self.phase_artifact(&event),
            Event::PhaseApproved(event) => self.phase_approved(&event),
            Event::PhaseRejected(event) => self.phase_rejected(&event),
            Event::VerifyResult(event) => self.verify_result(&event),
            Event::MemoryWritten(event) => self.memory_written(&event),
            Event::SubtaskCreated(event) => self.subtask_created(&event),
            Event::SubtaskCompleted(event) => self.subtask_completed(&event),
            // Not durable: `look_at_line` has named them.
            Event::ModelTextDelta(_)
            | Event::ModelThinkingDelta(_)
            | Event::ModelToolCallStarted(_)
            | Event::ModelToolInputDelta(_)
            | Event::ToolOutput(_)
            | Event::ProcessOutput(_) => {}
        }
    }
}
