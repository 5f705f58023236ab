export * from "./events.js";
export * from "./session-events.js";
export { createEventRouteInput, idempotencyKey, InvalidEnvelope } from "./route-input.js";
export type { RouteInputOptions } from "./route-input.js";
