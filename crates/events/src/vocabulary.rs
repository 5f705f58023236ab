//! The words of canonical events: families and payload fields, each declared once (agent-bundle reference).
//!
//! From the two lists below come the enums, the names on the wire and one typed view a family ([`typed`]), so a
//! field that a family does not have is not a method of its view: reading it does not compile.

/// The JSON shape a field's value must have (reference: field kinds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// JSON boolean.
    Boolean,
    /// Any JSON value including null.
    Json,
    /// String or null; null is a present value.
    NullableString,
    /// String; the empty string is a value.
    String,
    /// Array whose items are all strings.
    StringArray,
    /// Exactly `manual` or `auto`.
    Trigger,
}

/// The type a field of each kind is read as.
macro_rules! read_as {
    (Boolean) => { bool };
    (Json) => { &'a serde_json::value::RawValue };
    (NullableString) => { Option<String> };
    (String) => { String };
    (StringArray) => { Vec<String> };
    (Trigger) => { crate::read::CompactTrigger };
}

/// Declares the payload vocabulary: variant, getter, wire name, kind. Defines the macro that makes the getters.
macro_rules! fields {
    ($($variant:ident $getter:ident = $name:literal $kind:ident),* $(,)?) => {
        /// A payload field of the canonical vocabulary.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Field { $(#[doc = concat!("`", $name, "`")] $variant),* }

        impl Field {
            /// All fields.
            pub const ALL: &'static [Field] = &[$(Field::$variant),*];

            /// Returns the field's name on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Field::$variant => $name),* }
            }

            /// Returns the JSON shape its value must have.
            pub fn kind(self) -> FieldKind {
                match self { $(Field::$variant => FieldKind::$kind),* }
            }
        }

        macro_rules! getter {
            $(($variant) => {
                #[doc = concat!("Returns `", $name, "` with the host's key for it; nothing when the host did not send it.")]
                pub fn $getter(&self) -> Option<crate::read::Reported<read_as!($kind)>> {
                    crate::read::Reported::of(self.event, crate::vocabulary::Field::$variant)
                }
            };)*
        }
    };
}

/// Declares the families: variant, cast, name, and the fields in the reference's order.
macro_rules! families {
    ($($variant:ident $cast:ident = $name:literal [$($field:ident),*]),* $(,)?) => {
        /// The 22 canonical families, in the order of the reference.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Family { $(#[doc = concat!("`", $name, "`")] $variant),* }

        impl Family {
            /// All families, in the order of the reference.
            pub const ALL: &'static [Family] = &[$(Family::$variant),*];

            /// Returns the family's name, for example `tool/before`.
            pub fn as_str(self) -> &'static str {
                match self { $(Family::$variant => $name),* }
            }

            /// Returns the family of that name.
            pub fn parse(name: &str) -> Option<Family> {
                match name { $($name => Some(Family::$variant),)* _ => None }
            }

            /// Returns the fields of the family's payload, in order.
            pub fn fields(self) -> &'static [Field] {
                match self { $(Family::$variant => &[$(Field::$field),*]),* }
            }
        }

        /// One view a family: an event whose family is known, with a getter for each field of that family and no other.
        pub mod typed {
            use crate::canonical::CanonicalEvent;

            $(
                #[doc = concat!("An event of the family `", $name, "`.")]
                #[derive(Clone, Copy, Debug)]
                pub struct $variant<'a> {
                    /// The event as a whole.
                    pub event: &'a CanonicalEvent,
                }

                impl<'a> $variant<'a> {
                    $(getter!($field);)*
                }
            )*

            impl CanonicalEvent {
                $(
                    #[doc = concat!("Returns the view of a `", $name, "` event; nothing for other families.")]
                    pub fn $cast(&self) -> Option<$variant<'_>> {
                        (self.event == Some(super::Family::$variant)).then_some($variant { event: self })
                    }
                )*
            }
        }
    };
}

fields! {
    SessionId session_id = "sessionId" String,
    Cwd cwd = "cwd" String,
    TranscriptPath transcript_path = "transcriptPath" NullableString,
    PermissionMode permission_mode = "permissionMode" String,
    AgentId agent_id = "agentId" String,
    AgentType agent_type = "agentType" String,
    Model model = "model" String,
    Source source = "source" String,
    ToolName tool_name = "toolName" String,
    ToolInput tool_input = "toolInput" Json,
    ToolUseId tool_use_id = "toolUseId" String,
    ToolResponse tool_response = "toolResponse" Json,
    Reentry reentry = "reentry" Boolean,
    LastAssistantMessage last_assistant_message = "lastAssistantMessage" NullableString,
    AgentTranscriptPath agent_transcript_path = "agentTranscriptPath" NullableString,
    WorkspaceRoots workspace_roots = "workspaceRoots" StringArray,
    Reason reason = "reason" String,
    Prompt prompt = "prompt" String,
    Error error = "error" String,
    IsInterrupt is_interrupt = "isInterrupt" Boolean,
    Trigger trigger = "trigger" Trigger,
    FilePath file_path = "filePath" String,
    TaskId task_id = "taskId" String,
    TaskSubject task_subject = "taskSubject" String,
    TaskDescription task_description = "taskDescription" String,
    TeammateName teammate_name = "teammateName" String,
    TeamName team_name = "teamName" String,
    FromModel from_model = "fromModel" String,
    ToModel to_model = "toModel" String,
    RequestedModel requested_model = "requestedModel" NullableString,
}

families! {
    SessionStart as_session_start = "session/start" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, Source],
    ToolBefore as_tool_before = "tool/before" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, ToolName, ToolInput, ToolUseId],
    ToolAfter as_tool_after = "tool/after" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, ToolName, ToolInput, ToolUseId, ToolResponse],
    Stop as_stop = "stop" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, Reentry, LastAssistantMessage],
    AgentStart as_agent_start = "agent/start" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model],
    AgentStop as_agent_stop = "agent/stop" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, AgentTranscriptPath, Reentry, LastAssistantMessage],
    WorkspaceOpen as_workspace_open = "workspace/open" [WorkspaceRoots],
    SessionEnd as_session_end = "session/end" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, Reason],
    PromptSubmit as_prompt_submit = "prompt/submit" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, Prompt],
    ToolFailure as_tool_failure = "tool/failure" [SessionId, Cwd, TranscriptPath, ToolName, ToolInput, ToolUseId, Error, IsInterrupt],
    CompactBefore as_compact_before = "compact/before" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, Trigger],
    CompactAfter as_compact_after = "compact/after" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Trigger],
    PermissionRequest as_permission_request = "permission/request" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, ToolName, ToolInput],
    PermissionDenied as_permission_denied = "permission/denied" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, ToolName, ToolInput],
    StopFailure as_stop_failure = "stop/failure" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Error, Reentry, LastAssistantMessage],
    FileChange as_file_change = "file/change" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, FilePath],
    ConfigChange as_config_change = "config/change" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Source, FilePath],
    TaskCreate as_task_create = "task/create" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, TaskId, TaskSubject, TaskDescription, TeammateName, TeamName],
    TaskComplete as_task_complete = "task/complete" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, TaskId, TaskSubject, TaskDescription, TeammateName, TeamName],
    AgentIdle as_agent_idle = "agent/idle" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, TeammateName, TeamName],
    ModelSwitchBefore as_model_switch_before = "model-switch/before" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, FromModel, ToModel, RequestedModel, Source],
    ModelSwitchAfter as_model_switch_after = "model-switch/after" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, FromModel, ToModel, RequestedModel, Source],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_and_fields_have_the_references_counts() {
        assert_eq!(Family::ALL.len(), 22);
        assert_eq!(Field::ALL.len(), 30);
        assert_eq!(Family::parse("tool/before"), Some(Family::ToolBefore));
        assert_eq!(Family::parse("tool/befor"), None);
    }
}
