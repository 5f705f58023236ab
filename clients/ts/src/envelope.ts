import type { Host, Json, Native } from "./events.js";
import { tables } from "./tables.js";
import type { EventTable, HostTable, Key, Shape } from "./tables.types.js";

/** True for a JSON object. */
export function isObject(value: unknown): value is Native {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function member(object: Native, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** What a host sent, read as the host lays it out. */
export class Envelope {
  /** The host whose event it is: a payload that bears another host's mark is that host's. */
  readonly host: Host;
  readonly table: HostTable;

  constructor(readonly native: Native, host: Host) {
    const marked = (Object.keys(tables) as Host[]).find((name) => {
      const { mark } = tables[name].layout;
      return mark !== undefined && Object.hasOwn(native, mark);
    });
    this.host = marked ?? host;
    this.table = tables[this.host];
  }

  /** The value under a key, and the key as it is spelled here. */
  get(key: string): { readonly key: string; readonly value: Json } | undefined {
    for (const spelled of [key, this.#respelled(key)]) {
      if (spelled === undefined) continue;
      const value = this.#within(spelled);
      if (value !== undefined) return { key: spelled, value };
    }
    return undefined;
  }

  /** The first text under one of these keys that is not empty. */
  text(keys: readonly string[]): string | undefined {
    for (const key of keys) {
      const value = this.get(key)?.value;
      if (typeof value === "string" && value !== "") return value;
    }
    return undefined;
  }

  /** The name that the payload gives its event: beside the wrappers, not in them. */
  eventName(): string | undefined {
    const names = this.table.layout.identity.event.map((key) => member(this.native, key));
    return names.find((name): name is string => typeof name === "string" && name !== "");
  }

  /** The event of that name, following aliases, with the host's own name for it. */
  event(name: string): { readonly name: string; readonly table: EventTable } | undefined {
    const { foldsCase, aliases } = this.table.layout;
    const same = (known: string) => known === name || (foldsCase && known.toLowerCase() === name.toLowerCase());
    const alias = Object.keys(aliases).find(same);
    const own = Object.keys(this.table.events).find(same) ?? (alias === undefined ? undefined : aliases[alias]);
    const table = own === undefined ? undefined : this.table.events[own];
    return own === undefined || table === undefined ? undefined : { name: own, table };
  }

  /** What an event of this kind lacks or has in another shape, in words. */
  faults(event: EventTable): string[] {
    const faults: string[] = [];
    for (const key of [...this.table.commonKeys, ...event.keys]) {
      const found = this.get(key.key);
      if (found === undefined) {
        if (key.required) faults.push(`'${key.key}' is missing`);
      } else if (!fits(found.value, key)) {
        faults.push(`'${found.key}' is no ${key.type}`);
      }
    }
    return faults;
  }

  #respelled(key: string): string | undefined {
    for (const [one, other] of this.table.layout.spellings) {
      if (key === one) return other;
      if (key === other) return one;
    }
    return undefined;
  }

  #within(key: string): Json | undefined {
    const { wrappers } = this.table.layout;
    const isCommon = this.table.commonKeys.some((common) => common.key === key);
    if (isCommon || wrappers.length === 0) return member(this.native, key);
    const inside = [...wrappers].reverse().map((name) => member(this.native, name)).filter(isObject);
    const [first = "", ...steps] = key.split(".");
    const holders = inside.length === 0 ? [this.native] : inside;
    let found = holders.map((holder) => member(holder, first)).find((value) => value !== undefined);
    for (const step of steps) found = isObject(found) ? member(found, step) : undefined;
    return found;
  }
}

function fits(value: Json, key: Key): boolean {
  return (value === null && key.nullable) || shapes[key.type](value);
}

const shapes: { readonly [S in Shape]: (value: Json) => boolean } = {
  any: () => true,
  boolean: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number",
  object: isObject,
  "object[]": (value) => Array.isArray(value) && value.every(isObject),
  string: (value) => typeof value === "string",
  "string[]": (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
};
