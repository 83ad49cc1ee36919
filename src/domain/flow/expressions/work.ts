import type { Json } from "../../json.ts";
import type { Scope } from "../scope.ts";
import { celCost } from "./cel/cost.ts";
import { isLongerThan } from "./json-size.ts";
import { templateAsksForZone, templateWeight } from "./liquid/liquid.ts";
import type { Source } from "./evaluated-kinds.ts";

/** Most work to do inline, in a workflow or on a process's event loop. */
const MAX_WORK_ON_THE_SPOT = 1_000_000;

/** The fixed cost of an evaluation, in characters read. */
const BASE_CHARS = 100;
/** Parsing and compiling one character of a source takes about as long as reading this many characters of a value. */
const WORK_PER_SOURCE_CHAR = 10;

/**
 * An upper bound on the work of evaluating expressions and templates on a scope of `chars` characters of JSON: roughly the characters read
 * and written. It depends only on the sources' text and on sizes, so that a workflow computes the same number in every replay. Infinity if
 * the text sets no bound.
 */
export function workOf(sources: readonly Source[], chars: number): number {
  const size = chars + BASE_CHARS;
  let work = 0;
  for (const { language, source } of sources) {
    work += source.length * WORK_PER_SOURCE_CHAR;
    if (language === "liquid") work += (1 + templateWeight(source)) * size;
    else {
      const { weight, degree } = celCost(source);
      // If two values share the size, their product is largest when each has half of it.
      work += (1 + weight) * (degree > 1 ? size + (size * size) / 4 : size);
    }
  }
  return work;
}

/** Whether evaluating expressions and templates on these values is cheap enough to be done inline. */
export function isCheap(sources: readonly Source[], scope: Scope): boolean {
  const values = scope as unknown as Json;
  // A clock in a named zone takes fifty microseconds, however short its source is.
  if (sources.some(({ language, source }) => language === "liquid" && templateAsksForZone(source))) return false;
  // Even the cheapest expression is too much work on a scope of this length, so the work need not be computed.
  if (isLongerThan(values, MAX_WORK_ON_THE_SPOT)) return false;
  return workOf(sources, JSON.stringify(values).length) <= MAX_WORK_ON_THE_SPOT;
}
