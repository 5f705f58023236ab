// Made of the event catalog; do not edit.

import type { Json } from "./events.js";

/** The version of a line. */
export const EVENT_SCHEMA_VERSION = 1;

export type ToolName = "read" | "write" | "edit" | "grep" | "glob" | "bash" | "process" | "design" | "remember" | "symbols" | "refs" | (string & {});

export type ChangeReason = "user" | "config";

export type BaselineMoment = "session-start" | "pre-first-edit";

export type Seam = "post-tool-batch" | "pre-model-call";

export type InterruptScope = "turn";

export type Purpose = "main" | "compaction" | "verification-nudge";

export type StopReason = "end_turn" | "tool_use" | "max_tokens" | "refusal";

export type ModelErrorKind = "retryable" | "context-overflow" | "auth" | "invalid-request" | "cancelled";

export type GrantScope = "once" | "always-project";

export type DenialSource = "user" | "policy" | "hardline" | "timeout";

export type ApprovedVia = "policy-allow" | "user-once" | "user-always" | "rule";

export type UiKind = "read" | "search" | "edit" | "exec" | "process";

export type ToolErrorKind = "invalid-input" | "not-found" | "ambiguous-edit" | "exec-error" | "timeout" | "permission-denied" | "phase-blocked" | "internal";

export type CancelReason = "interrupted" | "resume-recovery" | "shutdown";

export type FileOperation = "write" | "edit";

export type ExitCause = "exited" | "stopped-by-tool" | "khaelor-shutdown" | "crashed";

export type CutTrigger = "proactive-token-budget" | "reactive-overflow" | "user-command";

export type TaskFailure = "model-fatal-error" | "iteration-budget-exhausted" | "user-abandoned";

export type Phase = "understand" | "design" | "implement";

export type PhaseVia = "session-start" | "design-submitted" | "approval" | "user-override";

export type ApprovedBy = "user" | "auto-policy" | "user-override";

export type Confidence = "high" | "medium" | "low";

export type SubtaskOutcome = "done" | "failed" | "interrupted";

export type OutputStream = "stdout" | "stderr";

export interface SessionStarted {
  title: string;
  projectHash: string;
  workingDirectory: string;
  gitBranch: string | null;
  model: string;
  auxModel: string;
  khaelorVersion: string;
  promptHash?: string;
  toolsHash?: string;
}

export interface SessionResumed {
  khaelorVersion: string;
  replayedSeq: number;
  model: string;
  toolNames: readonly ToolName[];
  promptHash?: string;
  toolsHash?: string;
}

export interface SessionRenamed {
  title: string;
}

export interface ModelChanged {
  from: string;
  to: string;
  reason: ChangeReason;
}

export interface GitBaseline {
  branch: string;
  dirtyFiles: readonly string[];
  untrackedFiles: readonly string[];
  diffHash: string;
}

export interface BaselineRecorded {
  when: BaselineMoment;
  baseline: GitBaseline;
}

export interface LineRange {
  start: number;
  end: number;
}

export interface Mention {
  path: string;
  range?: LineRange;
}

export interface UserMessageCreated {
  text: string;
  mentions: readonly Mention[];
}

export interface UserSteeringQueued {
  text: string;
}

export interface UserSteeringInjected {
  queuedEventId: string;
  seam: Seam;
  afterSeq: number;
}

export interface UserInterrupted {
  scope: InterruptScope;
  pendingToolUseIds: readonly string[];
}

export interface ContextSection {
  name: string;
  estimatedTokens: number;
}

export interface ContextStats {
  estimatedInputTokens: number;
  sections: readonly ContextSection[];
}

export interface ModelRequestStarted {
  requestId: string;
  model: string;
  purpose: Purpose;
  contextStats: ContextStats;
  historySha256?: string;
}

export interface ModelTextBlockCompleted {
  requestId: string;
  blockIndex: number;
  text: string;
}

export interface ModelThinkingBlockCompleted {
  requestId: string;
  blockIndex: number;
  thinking: string;
  signature: string;
}

export interface ToolRequested {
  requestId: string;
  blockIndex: number;
  toolUseId: string;
  toolName: ToolName;
  input: Json;
}

export interface ModelUsage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
}

export interface ModelResponseCompleted {
  requestId: string;
  stopReason: StopReason;
  usage: ModelUsage;
  durationMs: number;
}

export interface ModelRequestFailed {
  requestId: string;
  kind: ModelErrorKind;
  message: string;
  status?: number;
  retriesExhausted: boolean;
}

export interface Suggestion {
  capability: string;
  pattern: string;
}

export interface PermissionRequested {
  permissionRequestId: string;
  toolUseId: string;
  capability: string;
  descriptor: string;
  suggestion?: Suggestion;
}

export interface PermissionGranted {
  permissionRequestId: string;
  scope: GrantScope;
}

export interface PermissionDenied {
  permissionRequestId: string;
  source: DenialSource;
  feedback: string;
}

export interface ToolApproved {
  toolUseId: string;
  via: ApprovedVia;
}

export interface ToolStarted {
  toolUseId: string;
  toolName: ToolName;
}

export interface DiffStats {
  added: number;
  removed: number;
}

export interface ToolUi {
  kind: UiKind;
  summary: string;
  diffStats?: DiffStats;
  exitCode?: number;
  matchCount?: number;
}

export interface ToolCompleted {
  toolUseId: string;
  modelText: string;
  spillFile?: string;
  durationMs: number;
  ui: ToolUi;
}

export interface ToolFailed {
  toolUseId: string;
  modelText: string;
  errorKind: ToolErrorKind;
  durationMs: number;
}

export interface ToolCancelled {
  toolUseId: string;
  reason: CancelReason;
  modelText: string;
}

export interface FileRead {
  path: string;
  range?: LineRange;
  bytes: number;
  mtimeMs: number;
  toolUseId: string;
}

export interface FileModified {
  path: string;
  operation: FileOperation;
  diffStats: DiffStats;
  diff?: string;
  toolUseId: string;
}

export interface ProcessStarted {
  processId: string;
  pid: number;
  command: string;
  cwd: string;
  name?: string;
  toolUseId: string;
}

export interface ProcessExited {
  processId: string;
  exitCode: number | null;
  cause: ExitCause;
  durationMs: number;
}

export interface ContextPruned {
  toolUseIds: readonly [string, ...string[]];
  placeholder: string;
  tokensReclaimedEstimate: number;
}

export interface Cut {
  fromSeq: number;
  toSeq: number;
}

export interface ContextCompacted {
  checkpointYaml: string;
  cut: Cut;
  trigger: CutTrigger;
  tokensBefore: number;
  summaryModel: string;
  wrapper?: string;
}

export interface TaskVerificationRequested {
  attempt: 1 | 2;
  detectedChecks: readonly string[];
  withheldCandidateSeq: number;
  nudgeText?: string;
}

export interface CheckResult {
  command: string;
  exitCode: number;
  summary: string;
  durationMs: number;
}

export interface CompletionEvidence {
  objective: string;
  changedFiles: readonly string[];
  checks: readonly CheckResult[];
  unresolvedIssues: readonly string[];
}

export interface TaskCompleted {
  evidence: CompletionEvidence;
}

export interface TaskFailed {
  reason: TaskFailure;
  detail: string;
}

export interface PhaseEntered {
  phase: Phase;
  via: PhaseVia;
}

export interface DesignArtifact {
  goal: string;
  filesTouched: readonly string[];
  approach: string;
  risks: readonly string[];
  verification: string;
  outOfScope: readonly string[];
}

export interface PhaseArtifact {
  artifactId: string;
  artifact: DesignArtifact;
}

export interface PhaseApproved {
  phase: Phase;
  approvedBy: ApprovedBy;
  artifactId?: string;
}

export interface PhaseRejected {
  phase: Phase;
  reason: string;
  artifactId?: string;
}

export interface VerifyResult {
  check: string;
  command: string;
  ok: boolean;
  exitCode: number | null;
  output: string;
  durationMs: number;
}

export interface MemoryWritten {
  section: string;
  entry: string;
  confidence: Confidence;
  toolUseId: string;
}

export interface SubtaskCreated {
  taskId: string;
  description: string;
  childSessionId: string;
  worktreePath: string;
  branch: string;
}

export interface SubtaskCompleted {
  taskId: string;
  outcome: SubtaskOutcome;
  diffStats: DiffStats;
  verifyOk: boolean | null;
  detail: string;
}

export interface ModelTextDelta {
  requestId: string;
  blockIndex: number;
  text: string;
}

export interface ModelThinkingDelta {
  requestId: string;
  blockIndex: number;
  text: string;
}

export interface ModelToolCallStarted {
  requestId: string;
  blockIndex: number;
  toolUseId: string;
  toolName: ToolName;
}

export interface ModelToolInputDelta {
  requestId: string;
  blockIndex: number;
  toolUseId: string;
  partialJson: string;
}

export interface ToolOutput {
  toolUseId: string;
  chunk: string;
}

export interface ProcessOutput {
  processId: string;
  stream: OutputStream;
  chunk: string;
}

export interface DurablePayloads {
  "session.started": SessionStarted;
  "session.resumed": SessionResumed;
  "session.renamed": SessionRenamed;
  "session.model-changed": ModelChanged;
  "git.baseline-recorded": BaselineRecorded;
  "user.message-created": UserMessageCreated;
  "user.steering-queued": UserSteeringQueued;
  "user.steering-injected": UserSteeringInjected;
  "user.interrupted": UserInterrupted;
  "model.request-started": ModelRequestStarted;
  "model.text-block-completed": ModelTextBlockCompleted;
  "model.thinking-block-completed": ModelThinkingBlockCompleted;
  "tool.requested": ToolRequested;
  "model.response-completed": ModelResponseCompleted;
  "model.request-failed": ModelRequestFailed;
  "permission.requested": PermissionRequested;
  "permission.granted": PermissionGranted;
  "permission.denied": PermissionDenied;
  "tool.approved": ToolApproved;
  "tool.started": ToolStarted;
  "tool.completed": ToolCompleted;
  "tool.failed": ToolFailed;
  "tool.cancelled": ToolCancelled;
  "file.read": FileRead;
  "file.modified": FileModified;
  "process.started": ProcessStarted;
  "process.exited": ProcessExited;
  "context.pruned": ContextPruned;
  "context.compacted": ContextCompacted;
  "task.verification-requested": TaskVerificationRequested;
  "task.completed": TaskCompleted;
  "task.failed": TaskFailed;
  "phase.entered": PhaseEntered;
  "phase.artifact": PhaseArtifact;
  "phase.approved": PhaseApproved;
  "phase.rejected": PhaseRejected;
  "verify.result": VerifyResult;
  "memory.written": MemoryWritten;
  "subtask.created": SubtaskCreated;
  "subtask.completed": SubtaskCompleted;
}

export type DurableEventType = keyof DurablePayloads;

/** An event with its envelope. */
export interface Durable<T extends DurableEventType> {
  v: typeof EVENT_SCHEMA_VERSION;
  id: string;
  sessionId: string;
  seq: number;
  ts: number;
  parentId?: string;
  type: T;
  payload: DurablePayloads[T];
  src?: Json;
  crc?: string;
}

export type DurableEvent = { [T in DurableEventType]: Durable<T> }[DurableEventType];

/** What a producer hands over. */
export type DurableEventInput = { [T in DurableEventType]: { type: T; payload: DurablePayloads[T] } }[DurableEventType];

export const DURABLE_EVENT_TYPES: readonly DurableEventType[] = [
  "session.started",
  "session.resumed",
  "session.renamed",
  "session.model-changed",
  "git.baseline-recorded",
  "user.message-created",
  "user.steering-queued",
  "user.steering-injected",
  "user.interrupted",
  "model.request-started",
  "model.text-block-completed",
  "model.thinking-block-completed",
  "tool.requested",
  "model.response-completed",
  "model.request-failed",
  "permission.requested",
  "permission.granted",
  "permission.denied",
  "tool.approved",
  "tool.started",
  "tool.completed",
  "tool.failed",
  "tool.cancelled",
  "file.read",
  "file.modified",
  "process.started",
  "process.exited",
  "context.pruned",
  "context.compacted",
  "task.verification-requested",
  "task.completed",
  "task.failed",
  "phase.entered",
  "phase.artifact",
  "phase.approved",
  "phase.rejected",
  "verify.result",
  "memory.written",
  "subtask.created",
  "subtask.completed",
];

export interface EphemeralPayloads {
  "model.text-delta": ModelTextDelta;
  "model.thinking-delta": ModelThinkingDelta;
  "model.tool-call-started": ModelToolCallStarted;
  "model.tool-input-delta": ModelToolInputDelta;
  "tool.output": ToolOutput;
  "process.output": ProcessOutput;
}

export type EphemeralEventType = keyof EphemeralPayloads;

/** An event with its envelope. */
export interface Ephemeral<T extends EphemeralEventType> {
  id: string;
  sessionId: string;
  ts: number;
  type: T;
  payload: EphemeralPayloads[T];
}

export type EphemeralEvent = { [T in EphemeralEventType]: Ephemeral<T> }[EphemeralEventType];

/** What a producer hands over. */
export type EphemeralEventInput = { [T in EphemeralEventType]: { type: T; payload: EphemeralPayloads[T] } }[EphemeralEventType];

export const EPHEMERAL_EVENT_TYPES: readonly EphemeralEventType[] = [
  "model.text-delta",
  "model.thinking-delta",
  "model.tool-call-started",
  "model.tool-input-delta",
  "tool.output",
  "process.output",
];
