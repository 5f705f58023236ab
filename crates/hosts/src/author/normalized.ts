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
