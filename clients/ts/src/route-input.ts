import { createHash } from "node:crypto";

import { Envelope } from "./envelope.js";
import type {
  CanonicalEvent,
  EventRouteInput,
  Family,
  FamilyHosts,
  Host,
  Json,
  Lineage,
  Native,
  Payload,
} from "./events.js";
import { hasKind } from "./fields.js";
import { fieldKinds, tables } from "./tables.js";
import type { Decode } from "./tables.types.js";

/** How to read what a host sent. */
export interface RouteInputOptions<F extends Family = Family> {
  /** The host whose hook was called. */
  readonly host: FamilyHosts[F];
  /** The host's name of the event, where the payload does not say it. */
  readonly nativeEvent?: string;
  /** Refuse a payload that lacks what its host promises, or has it in another shape. On unless switched off. */
  readonly validate?: boolean;
}

/** A payload that cannot be an event of that family. */
export class InvalidEnvelope extends Error {
  override readonly name = "InvalidEnvelope";
}

/**
 * Makes what an event route is given, of what a host sent: for tests of routes, and for hooks that read stdin themselves.
 *
 * @throws InvalidEnvelope when the host has no such event, or, unless `validate` is false, when the payload is not as
 * the host promises.
 */
export function createEventRouteInput<F extends Family>(
  event: F,
  native: Native,
  options: RouteInputOptions<F>,
): EventRouteInput<F> {
  const asked: string = options.host;
  if (!Object.hasOwn(tables, asked)) throw new InvalidEnvelope(`host '${asked}' is not known`);
  const envelope = new Envelope(native, options.host as Host);
  const name = envelope.eventName() ?? options.nativeEvent ?? onlyEvent(envelope, event);
  const found = envelope.event(name);
  if (found?.table.family !== event) {
    throw new InvalidEnvelope(`'${name}' of ${envelope.host} is no event of the family ${event}`);
  }
  if (options.validate !== false) {
    const faults = envelope.faults(found.table);
    if (faults.length > 0) {
      throw new InvalidEnvelope(`'${name}' of ${envelope.host} is not as it promises: ${faults.join(", ")}`);
    }
  }
  const lineage = lineageOf(envelope);
  const canonical: CanonicalEvent<F> = {
    event,
    host: envelope.host as FamilyHosts[F],
    nativeEvent: name,
    idempotencyKey: idempotencyKey(event, native, envelope.host),
    payload: projectPayload<F>(envelope, found.table.payload),
    ...(Object.keys(lineage).length > 0 ? { lineage } : {}),
  };
  return { canonical, native };
}

/** The key that names what was sent: two equal calls have one. */
export function idempotencyKey(event: Family, native: Native, host: string): string {
  const text = JSON.stringify({ event, native, target: host });
  return createHash("sha256").update(text, "utf8").digest("hex");
}

function onlyEvent(envelope: Envelope, event: Family): string {
  const names = Object.entries(envelope.table.events).filter(([, table]) => table.family === event);
  const [first] = names;
  if (first === undefined || names.length > 1) {
    const which = names.length > 1 ? `more than one event` : `no event`;
    throw new InvalidEnvelope(`${envelope.host} has ${which} of the family ${event}: name it as nativeEvent`);
  }
  return first[0];
}

function lineageOf(envelope: Envelope): Lineage {
  const { turn, agent, parent } = envelope.table.layout.identity;
  const found = { turn: envelope.text(turn), agent: envelope.text(agent), parent: envelope.text(parent) };
  return Object.fromEntries(Object.entries(found).filter(([, id]) => id !== undefined));
}

/** The fields of a family that the host sent, in the family's order. */
export function projectPayload<F extends Family>(
  envelope: Envelope,
  mappings: { readonly [field: string]: { readonly nativeKey: string; readonly decode: Decode } },
): Payload<F> {
  const payload: { [field: string]: { value: Json; nativeKey: string } } = {};
  for (const [field, mapping] of Object.entries(mappings)) {
    const native = envelope.get(mapping.nativeKey);
    if (native === undefined) continue;
    const value = decode(native.value, mapping.decode);
    if (value === undefined || !hasKind[fieldKinds[field as keyof typeof fieldKinds]](value)) continue;
    payload[field] = { value, nativeKey: native.key };
  }
  // The table of a family names its fields alone, and each was checked for its shape.
  return payload as unknown as Payload<F>;
}

function decode(value: Json, how: Decode): Json | undefined {
  switch (how) {
    case "none":
      return value;
    case "json-string":
      if (typeof value !== "string") return undefined;
      try {
        return JSON.parse(value) as Json;
      } catch {
        return value;
      }
    case "positive-count":
      return typeof value === "number" && Number.isFinite(value) ? value > 0 : undefined;
  }
}
