import type { Family, FieldTypes, Host } from "./events.js";

/** How a native value becomes a field's value. */
export type Decode = "none" | "json-string" | "positive-count";

/** The shape of a native key's value. */
export type Shape = "any" | "boolean" | "number" | "object" | "object[]" | "string" | "string[]";

/** A key that a native event carries. */
export interface Key {
  readonly key: string;
  readonly type: Shape;
  readonly required: boolean;
  readonly nullable: boolean;
}

/** Where a field is read from. */
export interface Mapping {
  readonly nativeKey: string;
  readonly decode: Decode;
}

/** One native event of a host. */
export interface EventTable {
  readonly family: Family | null;
  readonly payload: { readonly [field: string]: Mapping };
  readonly keys: readonly Key[];
}

/** How the keys lie in what a host sends. */
export interface Layout {
  /** A key that only this host's payloads have. */
  readonly mark?: string;
  readonly identity: {
    readonly event: readonly string[];
    readonly session: readonly string[];
    readonly turn: readonly string[];
    readonly agent: readonly string[];
    readonly parent: readonly string[];
  };
  /** Members that only hold others. */
  readonly wrappers: readonly string[];
  /** Keys with a second spelling. */
  readonly spellings: readonly (readonly [string, string])[];
  /** Foreign event names, each with the host's own. */
  readonly aliases: { readonly [name: string]: string };
  readonly foldsCase: boolean;
}

/** One host. */
export interface HostTable {
  readonly layout: Layout;
  readonly commonKeys: readonly Key[];
  readonly events: { readonly [name: string]: EventTable };
}

/** All hosts. */
export type Tables = { readonly [H in Host]: HostTable };

/** The JSON shape of a field's value. */
export type FieldKind = "boolean" | "json" | "nullable-string" | "string" | "string-array" | "trigger";

/** The kind of each field. */
export type FieldKinds = { readonly [Name in keyof FieldTypes]: FieldKind };
