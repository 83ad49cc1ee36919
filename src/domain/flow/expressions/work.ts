import type { NodePart } from "../../runs/run-report.ts";
import type { PlanNode } from "../plan/types.ts";
import { celCost } from "./cel/cost.ts";
import { templateWeight } from "./liquid/liquid.ts";
import { sourcesOf } from "./sources.ts";

/** What evaluating anything costs beside its values, in characters read. */
const BASE_CHARS = 100;
/** Parsing and compiling a source takes about as long as reading this many characters for each of its own. */
const WORK_PER_SOURCE_CHAR = 10;

/**
 * An upper bound of the work of evaluating a part of a node on a scope of `chars` characters of JSON: about how many
 * characters are read or written. Known from the text of its expressions and from sizes alone, so that a workflow comes
 * to the same number whenever it is replayed. Infinity where the text sets no such bound.
 */
export function workOf(node: PlanNode, part: NodePart, chars: number): number {
  const size = chars + BASE_CHARS;
  let work = 0;
  for (const { language, source } of sourcesOf(node, part)) {
    work += source.length * WORK_PER_SOURCE_CHAR;
    if (language === "liquid") work += (1 + templateWeight(source)) * size;
    else {
      const { weight, degree } = celCost(source);
      // Of two values that share the size, the product is largest where each has half of it.
      work += (1 + weight) * (degree > 1 ? size + (size * size) / 4 : size);
    }
  }
  return work;
}
