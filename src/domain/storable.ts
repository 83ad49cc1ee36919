import type { Json } from "./json.ts";
import { NodeFailure } from "./runs/failure.ts";

/** Why Postgres cannot store a text: it accepts neither U+0000 nor half of a surrogate pair. Undefined if it can. */
function faultOfText(text: string): string | undefined {
  if (text.includes("\0")) return "the character U+0000";
  return text.isWellFormed() ? undefined : "half of a surrogate pair";
}

interface Unstorable {
  /** Location in the value, e.g. "$.items[0].name". */
  readonly place: string;
  readonly fault: string;
}

/** The first text in a value that cannot be stored, including field names; undefined if there is none. */
export function unstorableText(value: Json): Unstorable | undefined {
  if (typeof value === "string") {
    const fault = faultOfText(value);
    return fault === undefined ? undefined : { place: "$", fault };
  }
  if (typeof value !== "object" || value === null) return undefined;
  const isList = Array.isArray(value);
  for (const [key, item] of isList ? value.entries() : Object.entries(value)) {
    const fault = isList ? undefined : faultOfText(key as string);
    if (fault !== undefined) return { place: "$ (the name of a field)", fault };
    const inside = unstorableText(item as Json);
    const step = isList ? `[${key}]` : `.${String(key).slice(0, 80)}`;
    if (inside) return { ...inside, place: `$${step}${inside.place.slice(1)}` };
  }
  return undefined;
}

/** Throws NodeFailure `value_not_storable` if the value contains text that cannot be stored in a run's record. */
export function requireStorable(value: Json, what: string): void {
  const found = unstorableText(value);
  if (found === undefined) return;
  const place = found.place === "$" ? "" : ` at ${found.place.slice(0, 200)}`;
  const wayOut = "remove it, for example with replace, or encode the text, for example as base64";
  throw new NodeFailure(
    "value_not_storable",
    `${what} contains ${found.fault}${place}, which cannot be stored: ${wayOut}.`,
  );
}

/** Matches every escape sequence of a JSON text, so that an escaped backslash is never read as the beginning of another sequence. */
const ESCAPE = /\\(?:u[0-9a-f]{4}|.)/g;
const REFUSED = /^\\u(?:0000|d[89a-f][0-9a-f]{2})$/;
const REPLACEMENT = "\\ufffd";

/** A text made by JSON.stringify, in which U+FFFD replaces what Postgres cannot store. */
export function storableText(text: string): string {
  // JSON.stringify escapes a surrogate only if its other half is missing, so other texts need no change.
  if (!text.includes("\\u0000") && !text.includes("\\ud")) return text;
  return text.replace(ESCAPE, (escape) => (REFUSED.test(escape) ? REPLACEMENT : escape));
}
