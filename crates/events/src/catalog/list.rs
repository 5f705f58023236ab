//! The list of event types: what has no line here is no type of the catalog.

use serde_json::value::RawValue;

use crate::catalog::ephemeral::*;
use crate::catalog::session::*;
use crate::catalog::shape::{Field, Kind, Shaped};
use crate::catalog::steps::*;
use crate::catalog::tools::*;
use crate::catalog::work::*;

/// Whether events of a type are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One line of a log.
    Durable,
    /// Only live: it may be lost, since a durable event repeats what it said.
    Ephemeral,
}

/// Declares the event types: the payload's Rust type and the name, under its class.
macro_rules! events {
    (
        durable { $($durable:ident = $durable_name:literal),* $(,)? }
        ephemeral { $($ephemeral:ident = $ephemeral_name:literal),* $(,)? }
    ) => {
        /// The types of the catalog, in its order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventType {
            $(#[doc = concat!("`", $durable_name, "`")] $durable,)*
            $(#[doc = concat!("`", $ephemeral_name, "`")] $ephemeral,)*
        }

        impl EventType {
            /// All types that are kept in logs.
            pub const DURABLE: &'static [EventType] = &[$(EventType::$durable),*];

            /// All types that are only live.
            pub const EPHEMERAL: &'static [EventType] = &[$(EventType::$ephemeral),*];

            /// Returns the type's name, for example `tool.started`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(EventType::$durable => $durable_name,)*
                    $(EventType::$ephemeral => $ephemeral_name,)*
                }
            }

            /// Returns the type of that name.
            pub fn parse(name: &str) -> Option<EventType> {
                match name {
                    $($durable_name => Some(EventType::$durable),)*
                    $($ephemeral_name => Some(EventType::$ephemeral),)*
                    _ => None,
                }
            }

            /// Says whether events of the type are kept.
            pub fn class(self) -> Class {
                match self {
                    $(EventType::$durable => Class::Durable,)*
                    $(EventType::$ephemeral => Class::Ephemeral,)*
                }
            }

            /// Returns the shape of the type's payload.
            pub fn kind(self) -> Kind {
                match self {
                    $(EventType::$durable => $durable::KIND,)*
                    $(EventType::$ephemeral => $ephemeral::KIND,)*
                }
            }
        }

        /// A payload whose type is known.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Event {
            $(#[doc = concat!("`", $durable_name, "`")] $durable($durable),)*
            $(#[doc = concat!("`", $ephemeral_name, "`")] $ephemeral($ephemeral),)*
        }

        impl Event {
            /// Reads a payload. Hold it against the catalog first ([`faults`](crate::catalog::faults)): this passes over
            /// members that are not known, and takes null for an absent one.
            pub fn read(event_type: EventType, payload: &RawValue) -> Result<Event, serde_json::Error> {
                match event_type {
                    $(EventType::$durable => serde_json::from_str(payload.get()).map(Event::$durable),)*
                    $(EventType::$ephemeral => serde_json::from_str(payload.get()).map(Event::$ephemeral),)*
                }
            }

            /// Returns the payload as JSON, its members in the order of the catalog.
            pub fn payload(&self) -> Result<Box<RawValue>, serde_json::Error> {
                match self {
                    $(Event::$durable(payload) => serde_json::value::to_raw_value(payload),)*
                    $(Event::$ephemeral(payload) => serde_json::value::to_raw_value(payload),)*
                }
            }

            /// Returns the event's type.
            pub fn event_type(&self) -> EventType {
                match self {
                    $(Event::$durable(_) => EventType::$durable,)*
                    $(Event::$ephemeral(_) => EventType::$ephemeral,)*
                }
            }
        }

        $(impl From<$durable> for Event {
            fn from(payload: $durable) -> Event { Event::$durable(payload) }
        })*
    };
}

events! {
    durable {
        SessionStarted = "session.started",
        SessionResumed = "session.resumed",
        SessionRenamed = "session.renamed",
        ModelChanged = "session.model-changed",
        BaselineRecorded = "git.baseline-recorded",
        UserMessageCreated = "user.message-created",
        UserSteeringQueued = "user.steering-queued",
        UserSteeringInjected = "user.steering-injected",
        UserInterrupted = "user.interrupted",
        ModelRequestStarted = "model.request-started",
        ModelTextBlockCompleted = "model.text-block-completed",
        ModelThinkingBlockCompleted = "model.thinking-block-completed",
        ToolRequested = "tool.requested",
        ModelResponseCompleted = "model.response-completed",
        ModelRequestFailed = "model.request-failed",
        PermissionRequested = "permission.requested",
        PermissionGranted = "permission.granted",
        PermissionDenied = "permission.denied",
        ToolApproved = "tool.approved",
        ToolStarted = "tool.started",
        ToolCompleted = "tool.completed",
        ToolFailed = "tool.failed",
        ToolCancelled = "tool.cancelled",
        FileRead = "file.read",
        FileModified = "file.modified",
        ProcessStarted = "process.started",
        ProcessExited = "process.exited",
        ContextPruned = "context.pruned",
        ContextCompacted = "context.compacted",
        TaskVerificationRequested = "task.verification-requested",
        TaskCompleted = "task.completed",
        TaskFailed = "task.failed",
        PhaseEntered = "phase.entered",
        PhaseArtifact = "phase.artifact",
        PhaseApproved = "phase.approved",
        PhaseRejected = "phase.rejected",
        VerifyResult = "verify.result",
        MemoryWritten = "memory.written",
        SubtaskCreated = "subtask.created",
        SubtaskCompleted = "subtask.completed",
    }
    ephemeral {
        ModelTextDelta = "model.text-delta",
        ModelThinkingDelta = "model.thinking-delta",
        ModelToolCallStarted = "model.tool-call-started",
        ModelToolInputDelta = "model.tool-input-delta",
        ToolOutput = "tool.output",
        ProcessOutput = "process.output",
    }
}

impl EventType {
    /// Returns the members of the type's payload, in the order of the catalog.
    pub fn fields(self) -> &'static [Field] {
        match self.kind() {
            Kind::Object { fields, .. } => fields,
            _ => &[],
        }
    }
}

const _: () = assert!(EventType::DURABLE.len() == 40 && EventType::EPHEMERAL.len() == 6);
