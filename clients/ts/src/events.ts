// Made by `herdbook schema --lang ts`; do not edit.

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** An object as a host sent it. */
export type Native = { readonly [key: string]: Json };

/** The hosts. */
export type Host = "claude" | "codex" | "cursor" | "amp" | "gemini" | "copilot" | "opencode" | "droid";

/** What a field's value is, in every family that has it. */
export interface FieldTypes {
  sessionId: string;
  cwd: string;
  transcriptPath: string | null;
  permissionMode: string;
  agentId: string;
  agentType: string;
  model: string;
  source: string;
  toolName: string;
  toolInput: Json;
  toolUseId: string;
  toolResponse: Json;
  reentry: boolean;
  lastAssistantMessage: string | null;
  agentTranscriptPath: string | null;
  workspaceRoots: readonly string[];
  reason: string;
  prompt: string;
  error: string;
  isInterrupt: boolean;
  trigger: "manual" | "auto";
  filePath: string;
  taskId: string;
  taskSubject: string;
  taskDescription: string;
  teammateName: string;
  teamName: string;
  fromModel: string;
  toModel: string;
  requestedModel: string | null;
}

/** The fields of each family. */
export interface FamilyFields {
  "session/start": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "model" | "source";
  "tool/before": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "model" | "toolName" | "toolInput" | "toolUseId";
  "tool/after": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "model" | "toolName" | "toolInput" | "toolUseId" | "toolResponse";
  "stop": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "model" | "reentry" | "lastAssistantMessage";
  "agent/start": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "model";
  "agent/stop": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "model" | "agentTranscriptPath" | "reentry" | "lastAssistantMessage";
  "workspace/open": "workspaceRoots";
  "session/end": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "model" | "reason";
  "prompt/submit": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "model" | "prompt";
  "tool/failure": "sessionId" | "cwd" | "transcriptPath" | "toolName" | "toolInput" | "toolUseId" | "error" | "isInterrupt";
  "compact/before": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "model" | "trigger";
  "compact/after": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "trigger";
  "permission/request": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "toolName" | "toolInput";
  "permission/denied": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "toolName" | "toolInput";
  "stop/failure": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "error" | "reentry" | "lastAssistantMessage";
  "file/change": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "filePath";
  "config/change": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "source" | "filePath";
  "task/create": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "taskId" | "taskSubject" | "taskDescription" | "teammateName" | "teamName";
  "task/complete": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "taskId" | "taskSubject" | "taskDescription" | "teammateName" | "teamName";
  "agent/idle": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "teammateName" | "teamName";
  "model-switch/before": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "fromModel" | "toModel" | "requestedModel" | "source";
  "model-switch/after": "sessionId" | "cwd" | "transcriptPath" | "permissionMode" | "agentId" | "agentType" | "fromModel" | "toModel" | "requestedModel" | "source";
}

/** The hosts that report each family. */
export interface FamilyHosts {
  "session/start": "claude" | "codex" | "cursor" | "amp" | "gemini" | "copilot" | "opencode" | "droid";
  "tool/before": "claude" | "codex" | "cursor" | "amp" | "gemini" | "copilot" | "opencode" | "droid";
  "tool/after": "claude" | "codex" | "cursor" | "amp" | "gemini" | "copilot" | "opencode" | "droid";
  "stop": "claude" | "codex" | "cursor" | "amp" | "gemini" | "copilot" | "opencode" | "droid";
  "agent/start": "claude" | "codex" | "cursor" | "copilot";
  "agent/stop": "claude" | "codex" | "cursor" | "copilot" | "droid";
  "workspace/open": "cursor";
  "session/end": "claude" | "codex" | "cursor" | "gemini" | "copilot" | "opencode" | "droid";
  "prompt/submit": "claude" | "codex" | "cursor" | "amp" | "gemini" | "copilot" | "opencode" | "droid";
  "tool/failure": "claude" | "cursor" | "copilot";
  "compact/before": "claude" | "codex" | "cursor" | "copilot" | "opencode" | "droid";
  "compact/after": "claude" | "codex" | "opencode";
  "permission/request": "claude" | "codex" | "opencode";
  "permission/denied": "claude";
  "stop/failure": "claude" | "opencode";
  "file/change": "claude";
  "config/change": "claude";
  "task/create": "claude";
  "task/complete": "claude";
  "agent/idle": "claude";
  "model-switch/before": "claude";
  "model-switch/after": "claude";
}

/** What happened, in one word for all hosts. */
export type Family = keyof FamilyFields;

/** A field that the host sent: its value, and the host's own key for it. Nothing else. */
export interface PayloadField<T> {
  readonly value: T;
  readonly nativeKey: string;
}

/** The fields of a family, or of any where none is named. One that the host did not send is absent. */
export type Payload<F extends Family = Family> = {
  readonly [Name in FamilyFields[F]]?: PayloadField<FieldTypes[Name]>;
};

/** Turn, subagent and parent session, where the host names them. */
export interface Lineage {
  readonly turn?: string;
  readonly agent?: string;
  readonly parent?: string;
}

/** One hook call in canonical form. */
export interface CanonicalEvent<F extends Family = Family> {
  readonly event: F;
  readonly host: FamilyHosts[F];
  /** The host's own name of the event. */
  readonly nativeEvent: string;
  /** SHA-256 of what was sent. Two equal calls have one key. */
  readonly idempotencyKey: string;
  readonly payload: Payload<F>;
  readonly lineage?: Lineage;
}

/** A canonical event of any family, told apart by `event`. */
export type AnyCanonicalEvent = { [F in Family]: CanonicalEvent<F> }[Family];

/** A native event outside the families, or of a host that is not known. */
export interface OutsideEvent {
  readonly event: null;
  readonly host: string;
  readonly nativeEvent: string | null;
  readonly payload: { readonly [name: string]: never };
  readonly lineage?: Lineage;
}

/** A line of `herdbook normalize`: the event and, in one object with it, what the host sent. */
export type NormalizedLine = (AnyCanonicalEvent | OutsideEvent) & { readonly native: Native };

/** What an event route is given: the canonical event, and untouched beside it what the host sent. */
export interface EventRouteInput<F extends Family = Family> {
  readonly canonical: CanonicalEvent<F>;
  readonly native: Native;
}

/** What a route of any family is given. */
export type RouteInput = { [F in Family]: EventRouteInput<F> }[Family];

/** What of each family at least one host can be told, beside `continue`. */
export interface FamilyAnswers {
  "session/start": "context";
  "tool/before": "allow" | "ask" | "deny" | "context" | "updatedInput";
  "tool/after": "context";
  "stop": "allow" | "deny" | "context";
  "agent/start": "allow" | "deny" | "context";
  "agent/stop": "allow" | "deny" | "context";
  "workspace/open": never;
  "session/end": never;
  "prompt/submit": "allow" | "deny" | "context" | "updatedInput";
  "tool/failure": "context";
  "compact/before": "deny" | "context";
  "compact/after": never;
  "permission/request": "allow" | "deny" | "updatedInput";
  "permission/denied": never;
  "stop/failure": never;
  "file/change": never;
  "config/change": "deny";
  "task/create": "deny";
  "task/complete": "deny";
  "agent/idle": "deny";
  "model-switch/before": "allow" | "ask" | "deny";
  "model-switch/after": "context";
}

/** What another input is in each family. */
export interface FamilyInputs {
  "session/start": never;
  "tool/before": { readonly [key: string]: Json };
  "tool/after": never;
  "stop": never;
  "agent/start": never;
  "agent/stop": never;
  "workspace/open": never;
  "session/end": never;
  "prompt/submit": string;
  "tool/failure": never;
  "compact/before": never;
  "compact/after": never;
  "permission/request": { readonly [key: string]: Json };
  "permission/denied": never;
  "stop/failure": never;
  "file/change": never;
  "config/change": never;
  "task/create": never;
  "task/complete": never;
  "agent/idle": never;
  "model-switch/before": never;
  "model-switch/after": never;
}

/**
 * What a route prints: nothing, or this. Without an outcome, or with `continue`, the host goes by its own rules.
 *
 * `allow` and `updatedInput` must stand in the `may` of the route's toml. What a host cannot be told is left out there.
 */
export type RouteAnswer<F extends Family = Family> = {
  /** Why: for the model where it is denied, for the human where he is asked. */
  readonly reason?: string;
  /** Text for the model. */
  readonly context?: "context" extends FamilyAnswers[F] ? string : never;
} & (
  | {
      /** Do not let it happen; of a stop: go on. */
      readonly outcome: Extract<FamilyAnswers[F], "deny">;
      readonly updatedInput?: never;
    }
  | {
      readonly outcome?: "continue" | Extract<FamilyAnswers[F], "allow" | "ask">;
      /** Another input, in the place of the whole. Most hosts take it beside `allow` alone. */
      readonly updatedInput?: FamilyInputs[F];
    }
);

/** Why a session is stuck: its turn is over, or it waits in mid-turn for an answer. */
export type StuckReason = "stopped" | "permission";

/** A session became stuck and needs attention. */
export interface StuckEvent {
  readonly type: "stuck";
  /** Not empty, and at most 1024 bytes of UTF-8, as in the other events. */
  readonly sessionId: string;
  /** A tmux pane or what stands for one; not empty. */
  readonly paneId: string;
  /** Empty if unknown. */
  readonly cwd: string;
  /** Empty if unknown. */
  readonly transcriptPath: string;
  readonly reason: StuckReason;
  /** Text for the human. */
  readonly message: string;
  /** Unix milliseconds, above 0. */
  readonly timestamp: number;
}

/** A session made progress. */
export interface UnstuckEvent {
  readonly type: "unstuck";
  readonly sessionId: string;
  readonly timestamp: number;
}

/** A session is being watched. */
export interface SessionRegistered {
  readonly type: "registered";
  readonly sessionId: string;
  readonly paneId: string;
  readonly cwd: string;
  readonly transcriptPath: string;
  readonly timestamp: number;
}

/** A session is over. */
export interface SessionEnded {
  readonly type: "ended";
  readonly sessionId: string;
  readonly timestamp: number;
}

/** What is posted to `/event/normalized`. */
export type NormalizedEvent = StuckEvent | UnstuckEvent | SessionRegistered | SessionEnded;

/** How long the daemon takes session ids, in bytes. */
const MAX_SESSION_ID_BYTES = 1024;

/** Bytes of UTF-8; half a surrogate pair counts as the character that takes its place. */
function bytes(text: string): number {
  let count = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    count += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return count;
}

function has(event: unknown, type: string, filled: readonly string[], texts: readonly string[]): boolean {
  if (typeof event !== "object" || event === null) return false;
  const members = event as Record<string, unknown>;
  const isText = (name: string) => typeof members[name] === "string";
  const { sessionId, timestamp } = members;
  return (
    members["type"] === type &&
    filled.every((name) => isText(name) && members[name] !== "") &&
    texts.every(isText) &&
    typeof sessionId === "string" && bytes(sessionId) <= MAX_SESSION_ID_BYTES &&
    typeof timestamp === "number" && Number.isFinite(timestamp) && timestamp > 0
  );
}

/** True for a whole and valid `stuck` event; extra members do no harm, as for the daemon. */
export function isStuckEvent(event: unknown): event is StuckEvent {
  if (!has(event, "stuck", ["sessionId", "paneId"], ["cwd", "transcriptPath", "message"])) return false;
  const { reason } = event as { reason?: unknown };
  return reason === "stopped" || reason === "permission";
}

/** True for a whole and valid `unstuck` event. */
export function isUnstuckEvent(event: unknown): event is UnstuckEvent {
  return has(event, "unstuck", ["sessionId"], []);
}

/** True for a whole and valid `registered` event. */
export function isSessionRegistered(event: unknown): event is SessionRegistered {
  return has(event, "registered", ["sessionId", "paneId"], ["cwd", "transcriptPath"]);
}

/** True for a whole and valid `ended` event. */
export function isSessionEnded(event: unknown): event is SessionEnded {
  return has(event, "ended", ["sessionId"], []);
}

/** True for any of the four. */
export function isNormalizedEvent(event: unknown): event is NormalizedEvent {
  return isStuckEvent(event) || isUnstuckEvent(event) || isSessionRegistered(event) || isSessionEnded(event);
}
