// What must not compile: each line that ends in an error's number has exactly that error, and no other line has any.
import {
  type CanonicalEvent,
  type Durable,
  type DurableEventInput,
  type EphemeralEventInput,
  type EventRouteInput,
  type NormalizedEvent,
  type Payload,
  type PayloadField,
  type RouteAnswer,
  createEventRouteInput,
  isUnstuckEvent,
} from "../src/index.js";

// A field of another family.
export const reentry = (input: EventRouteInput<"tool/after">) => input.canonical.payload.reentry; // TS2339
export const toolName = (payload: Payload<"stop">) => payload.toolName; // TS2339
export const model = (payload: Payload<"permission/request">) => payload.model; // TS2339
export const roots = (payload: Payload<"session/start">) => payload.workspaceRoots; // TS2339
export const made: Payload<"stop"> = { prompt: { value: "p", nativeKey: "prompt" } }; // TS2353

// A field is its value and its native key, both, and no more.
export const more: PayloadField<string> = { value: "v", nativeKey: "k", from: "host" }; // TS2353
export const less: PayloadField<string> = { value: "v" }; // TS2741
export const bare: Payload<"stop"> = { sessionId: "s-1" }; // TS2322
export const shape: Payload<"stop"> = { reentry: { value: 1, nativeKey: "loop_count" } }; // TS2322
export const trigger: Payload<"compact/before">["trigger"] = { value: "idle", nativeKey: "trigger" }; // TS2322
export const absent = (payload: Payload<"stop">): string => payload.sessionId.value; // TS18048
export const given: Payload<"stop"> = { cwd: undefined }; // TS2375
export const change = (payload: Payload<"stop">) => { payload.sessionId!.value = "s-2"; }; // TS2540

// An event of one family is none of another, and a host has only its own families.
export const other = (stop: CanonicalEvent<"stop">): CanonicalEvent<"tool/after"> => stop; // TS2375
export const passed = (input: EventRouteInput<"stop">): EventRouteInput<"tool/after"> => input; // TS2322
export const family = createEventRouteInput("tool/befor", {}, { host: "claude" }); // TS2345
export const host = createEventRouteInput("workspace/open", {}, { host: "claude" }); // TS2322
export const unknown = createEventRouteInput("stop", {}, { host: "nobody" }); // TS2322
export const words = createEventRouteInput("stop", {}, { host: "claude", strict: true }); // TS2353
export const wrong = createEventRouteInput("stop", {}, { host: "cursor" }).canonical.payload.error; // TS2339

// What a route answers.
export const misspelled: RouteAnswer<"tool/before"> = { outcome: "block" }; // TS2322
export const denied: RouteAnswer<"tool/before"> = { outcome: "deny", updatedInput: {} }; // TS2322
export const unknownWord: RouteAnswer<"tool/before"> = { outcome: "deny", message: "no" }; // TS2353
export const because: RouteAnswer<"tool/before"> = { outcome: "deny", reason: 3 }; // TS2322
export const text: RouteAnswer<"tool/before"> = { outcome: "allow", updatedInput: "ls" }; // TS2322
export const prompt: RouteAnswer<"prompt/submit"> = { updatedInput: { prompt: "p" } }; // TS2322
export const tooLate: RouteAnswer<"tool/after"> = { outcome: "deny" }; // TS2322
export const nobody: RouteAnswer<"stop"> = { outcome: "ask" }; // TS2322
export const deaf: RouteAnswer<"session/end"> = { context: "c" }; // TS2322
export const noInput: RouteAnswer<"stop"> = { outcome: "allow", updatedInput: {} }; // TS2322

// The four normalized events.
export const paused: NormalizedEvent = { type: "paused", sessionId: "s-1", timestamp: 1 }; // TS2322
export const late: NormalizedEvent = { type: "ended", sessionId: "s-1", timestamp: "2026" }; // TS2322
export const lacking: NormalizedEvent = { type: "unstuck", sessionId: "s-1" }; // TS2322
export const guarded = (event: unknown) => (isUnstuckEvent(event) ? event.message : ""); // TS2339

// Session events.
export const noType: DurableEventInput = { type: "session.paused", payload: { title: "two" } }; // TS2322
export const otherPayload: DurableEventInput = { type: "session.renamed", payload: { text: "two" } }; // TS2353
export const noTitle: DurableEventInput = { type: "session.renamed", payload: {} }; // TS2322
export const placed: DurableEventInput = { type: "session.renamed", payload: { title: "two" }, seq: 1 }; // TS2353
export const kept = (event: DurableEventInput): EphemeralEventInput => event; // TS2322
export const titled = (line: Durable<"session.resumed">): string => line.payload.title; // TS2339
