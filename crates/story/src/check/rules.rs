//! The rules that a log must keep, by id.

use serde::{Serialize, Serializer};

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth a look; the log can be trusted.
    Warn,
    /// The log breaks its word.
    Error,
}

/// When a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// A breach is an error.
    Error,
    /// A breach is a warning.
    Warn,
    /// A breach is an error, in logs that are sealed. Others may still be written.
    Strict,
    /// It can be seen only where ephemeral events are, so in tests of a live producer.
    Test,
}

/// Who wrote a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// A producer of session events.
    Native,
    /// We, of what a host told. It does not tell every step, so some rules only warn.
    Imported,
}

/// Declares the rules: id, weight, words.
macro_rules! rules {
    ($($rule:ident $weight:ident $words:literal;)*) => {
        /// A rule of the catalog.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $(#[doc = $words] $rule),* }

        impl Rule {
            /// All rules, in the order of the catalog.
            pub const ALL: &'static [Rule] = &[$(Rule::$rule),*];

            /// Returns the id, for example `T4`.
            pub fn as_str(self) -> &'static str {
                match self { $(Rule::$rule => stringify!($rule)),* }
            }

            /// Returns what the rule says.
            pub fn words(self) -> &'static str {
                match self { $(Rule::$rule => $words),* }
            }

            /// Returns when the rule holds.
            pub fn weight(self) -> Weight {
                match self { $(Rule::$rule => Weight::$weight),* }
            }
        }
    };
}

rules! {
    E1 Error "v is 1 on every line this version writes; a reader that meets a larger v keeps the line opaque and refuses to fold history past it";
    E2 Error "id is a ULID (26 Crockford base32 characters, first character 0-7) and unique; the same id with the same content is a duplicate, with other content a conflict";
    E3 Error "sessionId is the same on every line of a log";
    E4 Error "seq starts at 1 and rises by exactly 1; an importer accepts a log that starts at 0 and renumbers it (+1) with every seq-valued field";
    E5 Warn "ts is a positive integer; it may go back (clock), more than 5 s back is reported";
    E6 Error "parentId is absent while v is 1";
    E7 Error "type is one of the 40 durable types; an ephemeral type in a log is an error";
    E8 Error "payload has every required field with the right type and enum value; unknown extra fields are kept and reported";
    E9 Warn "ids written by one native writer rise with seq; ids derived for imported events carry the native time and are exempt";
    E10 Error "an ephemeral event has neither v nor seq";
    S1 Error "the first line is session.started and there is exactly one";
    S2 Error "session.resumed.replayedSeq equals its own seq - 1; recovery events follow it";
    S3 Error "session.resumed.toolNames has no repeats and contains every name of the previous session.resumed and every toolName requested so far (add-only)";
    S4 Error "session.model-changed.from is the current model (folded from started, resumed, model-changed) and to differs";
    S5 Warn "git.baseline-recorded: at most one session-start per started/resumed, before the first user message after it; at most one pre-first-edit per log, before the first file.modified";
    U1 Error "text of user.message-created and user.steering-queued is not empty";
    U2 Warn "a mention range has 1 <= start <= end";
    U3 Error "user.steering-injected.queuedEventId is the id of an earlier user.steering-queued that was not injected before";
    U4 Error "afterSeq names an existing event with afterSeq < own seq; it does not go below the afterSeq of an earlier injection; no model.request-started lies strictly between afterSeq and own seq (history already sent is never changed)";
    U5 Error "seam post-tool-batch: the event at afterSeq is a tool terminal and no tool is open; seam pre-model-call: the next event that is not another injection is a model.request-started";
    U6 Error "user.interrupted.pendingToolUseIds is exactly the set of open tool uses; each gets tool.cancelled with reason interrupted before the next user message or request";
    M1 Error "requestId is new on each model.request-started";
    M2 Error "each model.request-started is closed by exactly one of model.response-completed or model.request-failed; at most one request with purpose main or verification-nudge is open";
    M3 Error "text, thinking and tool.requested blocks name an open request; blockIndex is unique inside it (a hole or a step back is a warning)";
    M4 Error "stopReason tool_use needs at least one tool.requested of that request; end_turn and refusal need none";
    M5 Error "no main or verification-nudge request starts while a tool use is open";
    M6 Warn "request-failed with retriesExhausted false is followed by another request of the same purpose before the next user message";
    M7 Warn "request-failed kind cancelled follows user.interrupted, a shutdown or session.resumed";
    M8 Error "a thinking block has a non-empty signature (its text may be empty)";
    M9 Warn "a main request names the current model; a compaction request names auxModel";
    T1 Error "toolUseId is new on each tool.requested (any string: one host puts a line feed inside it)";
    T2 Error "each tool.requested ends in exactly one of tool.completed, tool.failed, tool.cancelled; only context.pruned and process.exited may concern it later";
    T3 Error "order for one tool: requested, permission.*, approved, started, file/process/memory events, terminal; started needs approved (imports: warning)";
    T4 Error "completed needs started; failed without started only for invalid-input, permission-denied, phase-blocked, internal";
    T5 Error "tool.started.toolName equals the requested one";
    T6 Error "failed with permission-denied needs a permission.denied for that tool whose feedback is contained in modelText";
    T7 Warn "failed with phase-blocked happens only while the phase is not implement";
    T8 Error "cancelled interrupted needs a user.interrupted that lists the tool; resume-recovery needs a session.resumed after the request and before the cancellation; shutdown is followed only by process.exited, other cancellations, request-failed or session.resumed";
    T9 Warn "modelText is not empty (providers reject empty results)";
    P1 Error "permissionRequestId is new, names an open tool, and one tool has at most one open request";
    P2 Error "permission.granted or permission.denied names an open request; a request gets exactly one answer";
    P3 Error "granted once is followed by tool.approved via user-once, always-project by user-always, before tool.started";
    P4 Error "denied is followed by tool.failed permission-denied, or by tool.cancelled; never by approved or started";
    F1 Error "file.read, file.modified, process.started and memory.written name a tool that is started and still open";
    F2 Warn "paths are relative, use / and do not leave the workspace";
    R1 Error "processId is new on process.started; process.exited names a started process and comes at most once";
    R2 Warn "cause exited has an exit code; after session.resumed each process without an exit gets one";
    C1 Error "context.pruned names only closed tools; pruning a tool twice needs the same placeholder";
    C2 Error "1 <= cut.fromSeq <= cut.toSeq < own seq, and the cut is pairing-safe: a tool's request and terminal are both inside or both outside, a model request's events are all inside or all outside, an injection's own seq and its afterSeq are on the same side, and nothing inside is open";
    C3 Error "a later cut contains an earlier cut whole or starts after it; the first item kept after a cut is not a tool result";
    C4 Warn "context.compacted follows a completed compaction request by summaryModel; reactive-overflow follows a request-failed context-overflow";
    V1 Error "attempt is 1 for the first verification of a task and 2 for the second; there is no third; a task runs from a user message to task.completed, task.failed or the next user message";
    V2 Error "withheldCandidateSeq is an earlier text block, the last one of a response that ended with end_turn";
    V3 Warn "the next main-loop request after a verification request has purpose verification-nudge";
    V4 Error "task.completed comes when no tool and no request is open, at most one end per task";
    V5 Warn "evidence.changedFiles are paths seen in file.modified; verify.result.ok is true exactly when exitCode is 0";
    H1 Error "if a log has phase events, the first is phase.entered understand via session-start";
    H2 Error "phases go understand, design, implement; no phase is skipped except via user-override; a step back needs user-override or a new user message";
    H3 Error "entering design via design-submitted needs an earlier phase.artifact; entering implement via approval needs phase.approved for design of the latest artifact";
    H4 Error "artifactId names the latest artifact and each artifact is decided once; after a rejection a new artifact comes before the next approval";
    H5 Error "with phase events in the log, file.modified occurs only in implement";
    Y1 Error "memory.written names a tool whose name is remember";
    B1 Error "taskId and childSessionId are new on subtask.created, childSessionId is not this session; subtask.completed names an open subtask and comes at most once";
    B2 Warn "the child log exists, starts in worktreePath on branch and names this session as parent; at task.completed no subtask is open; outcome done has verifyOk other than false";
    X1 Error "ephemeral events name an open request, a started tool or a running process";
    X2 Test "joined deltas of one block equal the durable block; joined partialJson parses to a value whose canonical form equals tool.requested.input";
    Z1 Strict "a sealed log has no open request, tool, permission or process; a live or crashed one may";
}

const _: () = assert!(Rule::ALL.len() == 67);

impl Rule {
    /// Returns the level of a breach.
    pub fn level(self, profile: Profile) -> Level {
        use Rule::{H1, H2, H3, H4, H5, M2, M5, P1, P2, P3, P4, T3, T4, V1, V2, V3, V4, V5};
        let is_softer = matches!(
            self,
            T3 | T4 | M2 | M5 | P1 | P2 | P3 | P4 | H1 | H2 | H3 | H4 | H5 | V1 | V2 | V3 | V4 | V5
        );
        match self.weight() {
            Weight::Warn => Level::Warn,
            _ if is_softer && profile == Profile::Imported => Level::Warn,
            _ => Level::Error,
        }
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
