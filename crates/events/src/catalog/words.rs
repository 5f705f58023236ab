//! The closed lists of the reference, as open words: what is not in the list is kept as it came.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::catalog::shape::{Kind, Shaped};

/// Declares lists of words.
macro_rules! words {
    ($($(#[$about:meta])* $list:ident { $($word:ident = $text:literal),* $(,)? })*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $list {
            $(#[doc = concat!("`", $text, "`")] $word,)*
            /// A word that the reference does not have.
            Other(String),
        }

        impl $list {
            /// The words of the reference, in its order.
            pub const WORDS: &'static [&'static str] = &[$($text),*];

            /// Returns the word as it is written.
            pub fn as_str(&self) -> &str {
                match self { $($list::$word => $text,)* $list::Other(text) => text }
            }
        }

        impl From<String> for $list {
            fn from(text: String) -> $list {
                match text.as_str() { $($text => $list::$word,)* _ => $list::Other(text) }
            }
        }

        impl Serialize for $list {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $list {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$list, D::Error> {
                String::deserialize(deserializer).map($list::from)
            }
        }

        impl Shaped for $list {
            const KIND: Kind = Kind::Word { name: stringify!($list), words: $list::WORDS };
        }
    )*};
}

words! {
    /// Why the model stopped.
    StopReason { EndTurn = "end_turn", ToolUse = "tool_use", MaxTokens = "max_tokens", Refusal = "refusal" }

    /// Why a model request failed.
    ModelErrorKind { Retryable = "retryable", ContextOverflow = "context-overflow", Auth = "auth", InvalidRequest = "invalid-request", Cancelled = "cancelled" }

    /// The tools of the reference's harness. Other harnesses send their own names.
    ToolName { Read = "read", Write = "write", Edit = "edit", Grep = "grep", Glob = "glob", Bash = "bash", Process = "process", Design = "design", Remember = "remember", Symbols = "symbols", Refs = "refs" }

    /// The phases of the workflow gate, in order.
    Phase { Understand = "understand", Design = "design", Implement = "implement" }

    /// Why the main model was changed.
    ChangeReason { User = "user", Config = "config" }

    /// At which moment the work tree was captured.
    BaselineMoment { SessionStart = "session-start", PreFirstEdit = "pre-first-edit" }

    /// Where a queued text was placed.
    Seam { PostToolBatch = "post-tool-batch", PreModelCall = "pre-model-call" }

    /// What the human stopped.
    InterruptScope { Turn = "turn" }

    /// What a model request is for.
    Purpose { Main = "main", Compaction = "compaction", VerificationNudge = "verification-nudge" }

    /// How far a permission reaches.
    GrantScope { Once = "once", AlwaysProject = "always-project" }

    /// Who or what refused.
    DenialSource { User = "user", Policy = "policy", Hardline = "hardline", Timeout = "timeout" }

    /// How a tool use passed the gate.
    ApprovedVia { PolicyAllow = "policy-allow", UserOnce = "user-once", UserAlways = "user-always", Rule = "rule" }

    /// What a tool use looks like to a person.
    UiKind { Read = "read", Search = "search", Edit = "edit", Exec = "exec", Process = "process" }

    /// Why a tool use failed.
    ToolErrorKind { InvalidInput = "invalid-input", NotFound = "not-found", AmbiguousEdit = "ambiguous-edit", ExecError = "exec-error", Timeout = "timeout", PermissionDenied = "permission-denied", PhaseBlocked = "phase-blocked", Internal = "internal" }

    /// Why a tool use ended without a result.
    CancelReason { Interrupted = "interrupted", ResumeRecovery = "resume-recovery", Shutdown = "shutdown" }

    /// How a file was changed.
    FileOperation { Write = "write", Edit = "edit" }

    /// How a process came to its end.
    ExitCause { Exited = "exited", StoppedByTool = "stopped-by-tool", KhaelorShutdown = "khaelor-shutdown", Crashed = "crashed" }

    /// What started a compaction.
    CutTrigger { ProactiveTokenBudget = "proactive-token-budget", ReactiveOverflow = "reactive-overflow", UserCommand = "user-command" }

    /// Why a task ended without success.
    TaskFailure { ModelFatalError = "model-fatal-error", IterationBudgetExhausted = "iteration-budget-exhausted", UserAbandoned = "user-abandoned" }

    /// What moved the workflow gate.
    PhaseVia { SessionStart = "session-start", DesignSubmitted = "design-submitted", Approval = "approval", UserOverride = "user-override" }

    /// Who accepted a phase's outcome.
    ApprovedBy { User = "user", AutoPolicy = "auto-policy", UserOverride = "user-override" }

    /// How sure a remembered fact is.
    Confidence { High = "high", Medium = "medium", Low = "low" }

    /// How a child session ended.
    SubtaskOutcome { Done = "done", Failed = "failed", Interrupted = "interrupted" }

    /// Which stream a process printed to.
    OutputStream { Stdout = "stdout", Stderr = "stderr" }
}
