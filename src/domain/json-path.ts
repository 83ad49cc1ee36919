import { isObject, type Json } from "./json.ts";

/** A step into a value. */
type Step = string | number;

/** `.name`, `["name"]` or `[0]`; a negative index counts from the end. */
const STEP = /\.([\p{L}_$][\p{L}\p{N}_$-]*)|\[(-?\d{1,9})\]|\["((?:[^"\\]|\\.)*)"\]|\['([^']*)'\]/uy;

/** The steps of a JSON path to one location, such as `$.items[0].name`; null for anything else. */
export function parseJsonPath(path: string): readonly Step[] | null {
  if (!path.startsWith("$")) return null;
  const steps: Step[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const found = STEP.exec(path);
    if (found === null) return null;
    const [, name, index, quoted, single] = found;
    if (index !== undefined) steps.push(Number(index));
    else if (quoted === undefined) steps.push(name ?? single ?? "");
    else {
      try {
        steps.push(JSON.parse(`"${quoted}"`) as string);
      } catch {
        return null;
      }
    }
  }
  return steps;
}

/** The value at a location; undefined if there is none. */
export function valueAt(value: Json, steps: readonly Step[]): Json | undefined {
  let at: Json | undefined = value;
  for (const step of steps) {
    if (Array.isArray(at) && typeof step === "number") at = (at as Json[]).at(step);
    else if (isObject(at) && Object.hasOwn(at, step)) at = at[step];
    else return undefined;
  }
  return at;
}
