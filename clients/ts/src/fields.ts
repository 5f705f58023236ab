import type { Json } from "./events.js";
import type { FieldKind } from "./tables.types.js";

const isText = (value: Json) => typeof value === "string";

/** Whether a value has the shape of a field of each kind. */
export const hasKind: { readonly [K in FieldKind]: (value: Json) => boolean } = {
  boolean: (value) => typeof value === "boolean",
  json: () => true,
  "nullable-string": (value) => value === null || isText(value),
  string: isText,
  "string-array": (value) => Array.isArray(value) && value.every(isText),
  trigger: (value) => value === "manual" || value === "auto",
};
