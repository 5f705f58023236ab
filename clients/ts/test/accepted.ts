// What authors write. All of it must compile.
import {
  type AnyCanonicalEvent,
  type Durable,
  type DurableEvent,
  type DurableEventInput,
  type EphemeralEvent,
  type EventRouteInput,
  type Native,
  type NormalizedEvent,
  type Payload,
  type RouteAnswer,
  type RouteInput,
  DURABLE_EVENT_TYPES,
  EPHEMERAL_EVENT_TYPES,
  createEventRouteInput,
  isStuckEvent,
} from "../src/index.js";

export function guard({ canonical, native }: EventRouteInput<"tool/before">): string | undefined {
  const { toolName, toolInput, toolUseId } = canonical.payload;
  const key: string | undefined = toolUseId?.nativeKey;
  const name: string | undefined = toolName?.value;
  const input = toolInput?.value;
  return typeof input === "object" ? key : typeof native["cwd"] === "string" ? name : undefined;
}

// Where no family is named, every field may be there.
export function anything(payload: Payload): boolean | undefined {
  return payload.reentry?.value ?? payload.isInterrupt?.value;
}

// The family tells the fields.
export function told(event: AnyCanonicalEvent): string | null | undefined {
  switch (event.event) {
    case "stop":
      return event.payload.lastAssistantMessage?.value;
    case "compact/before":
      return event.payload.trigger?.value === "manual" ? "you" : "the host";
    case "workspace/open":
      return event.payload.workspaceRoots?.value[0] ?? event.host;
    default:
      return event.nativeEvent;
  }
}

// A route answers, or says nothing.
export function route({ canonical }: EventRouteInput<"tool/before">): RouteAnswer<"tool/before"> | undefined {
  const { toolName, toolInput } = canonical.payload;
  if (toolName?.value !== "Bash" || toolInput === undefined) return undefined;
  const input = toolInput.value as Native;
  const command = input["command"];
  if (command === "rm -rf /") return { outcome: "deny", reason: "not that", context: "name one folder" };
  if (command === "ls") return { outcome: "allow", updatedInput: { ...input, command: "ls -a" } };
  return command === "ssh" ? { outcome: "ask", reason: "sure?" } : { context: "mind the tests" };
}

export const more: RouteAnswer<"prompt/submit"> = { updatedInput: "the same, in short" };
export const onward: RouteAnswer<"stop"> = { outcome: "deny", reason: "run the tests first" };
export const anyFamily: RouteAnswer = { outcome: "continue" };
export const hostOf = ({ canonical }: RouteInput): string => canonical.host;

export const input = createEventRouteInput(
  "stop",
  { hook_event_name: "Stop", session_id: "s-1" },
  { host: "claude", validate: false },
);
export const again: boolean | undefined = input.canonical.payload.reentry?.value;

export function stuck(event: unknown): string | undefined {
  return isStuckEvent(event) ? event.message : undefined;
}

export function since(event: NormalizedEvent): number | string {
  return event.type === "stuck" ? event.reason : event.timestamp;
}

// Session events: a producer's, a line of a log, and one that is only live. The type tells the payload.
export const renamed: DurableEventInput = { type: "session.renamed", payload: { title: "two" } };

export function spoken(event: DurableEvent | EphemeralEvent): string | undefined {
  switch (event.type) {
    case "user.message-created":
      return event.payload.mentions[0]?.path ?? event.payload.text;
    case "model.text-delta":
      return event.payload.text;
    default:
      return undefined;
  }
}

export const at = (line: Durable<"session.started">): string => `${line.seq} ${line.payload.model}`;
export const count: number = DURABLE_EVENT_TYPES.length + EPHEMERAL_EVENT_TYPES.length;
