import type { Json } from "../json.ts";

const STEP = /\.([\p{L}_$][\p{L}\p{N}_$-]*)|\[(\d{1,9})\]|\['([^']*)'\]|\["([^"]*)"\]/uy;

/** The members and positions of a path such as `$.items[0]['first name']`; null for a text that is none. */
export function readJsonPath(text: string): ReadonlyArray<string | number> | null {
  if (!text.startsWith("$")) return null;
  const steps: Array<string | number> = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < text.length) {
    const match = STEP.exec(text);
    if (match === null) return null;
    const [, name, position, single, double] = match;
    steps.push(position === undefined ? (name ?? single ?? double ?? "") : Number(position));
  }
  return steps;
}

/** The value at a path; undefined where there is none. */
export function valueAt(value: Json, path: ReadonlyArray<string | number>): Json | undefined {
  let at: Json | undefined = value;
  for (const step of path) {
    if (typeof at !== "object" || at === null) return undefined;
    if (Array.isArray(at)) at = typeof step === "number" ? at[step] : undefined;
    else at = Object.hasOwn(at, step) ? (at as Readonly<Record<string, Json>>)[step] : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}
