import type { Json } from "./json.ts";

/** Deepest JSON accepted from outside, because later code walks values recursively. */
export const MAX_FLAT_LEVELS = 100;

/** Whether a value is nested at most `levels` deep. */
export function isFlat(value: Json, levels = MAX_FLAT_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((member: Json) => isFlat(member, levels - 1));
}
