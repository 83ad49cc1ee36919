import type { Json } from "../../json.ts";
import type { Scope } from "../scope.ts";
import { celCost } from "./cel/cost.ts";
import { isLongerThan } from "./json-size.ts";
import { templateWeight } from "./liquid/liquid.ts";
import type { Source } from "./evaluated-kinds.ts";

/** Most work that is done inline, in a workflow or on a process' event loop. */
const MAX_WORK_ON_THE_SPOT = 1_000_000;

/** What evaluating anything costs in addition to its values, in characters read. */
const BASE_CHARS = 100;
/** Parsing and compiling a source takes about as long as reading this many characters for each of its own. */
const WORK_PER_SOURCE_CHAR = 10;

/**
 * An upper bound of the work of evaluating expressions and templates on a scope of `chars` characters of JSON: about
 * how many characters are read or written. It depends only on their text and on sizes, so that a workflow computes
 * the same number in every replay. Infinity if the text sets no such bound.
 */
export function workOf(sources: readonly Source[], chars: number): number {
  const size = chars + BASE_CHARS;
  let work = 0;
  for (const { language, source } of sources) {
    work += source.length * WORK_PER_SOURCE_CHAR;
    if (language === "liquid") work += (1 + templateWeight(source)) * size;
    else {
      const { weight, degree } = celCost(source);
      // For two values that share the size, the product is largest if each has half of it.
      work += (1 + weight) * (degree > 1 ? size + (size * size) / 4 : size);
    }
  }
  return work;
}

/** Whether evaluating expressions and templates on these values is cheap enough to be done inline. */
export function isCheap(sources: readonly Source[], scope: Scope): boolean {
  // With a scope of that length, even the cheapest expression is too much work, so it is not measured further.
  const values = scope as unknown as Json;
  if (isLongerThan(values, MAX_WORK_ON_THE_SPOT)) return false;
  return workOf(sources, JSON.stringify(values).length) <= MAX_WORK_ON_THE_SPOT;
}
