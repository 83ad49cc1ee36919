import { cachedByText } from "./cache.ts";
import type { CelNode } from "./cel/ast.ts";
import { childrenOf } from "./cel/cost.ts";
import { parsedCel } from "./cel/parser.ts";
import { isFixedZone, TIMESTAMP_PARTS } from "./cel/time.ts";
import type { Source } from "./evaluated-kinds.ts";
import { templateAsksForZone } from "./liquid/liquid.ts";

/**
 * Numbers the rules by which a workflow evaluates expressions and templates itself: which ones it evaluates (work.ts and this file),
 * and with what result. A replay must repeat every decision, so a plan keeps the number of the rules it was compiled under. A change
 * that affects a result gets the next number, and older plans keep the old behaviour:
 *
 * 1. (Plans without a number.) The workflow evaluates everything that is little work.
 * 2. It does not evaluate expressions that read a clock in a named zone, because the machine's zone tables change with Node and the
 *    system.
 * 3. In templates, number filters keep the digits of integers beyond 2^53, a number literal must be exact as a double, and `date`
 *    accepts a zone; a named zone makes the template an activity's work, as in rule 2. The end of a run leaves its clock to Temporal.
 *
 * test/domain/flow/expressions/rules.test.ts records the results.
 */
export const RULES = 3;

/** Whether the end of a run cancels its timer under these rules. */
export function keepsClock(rules = 1): boolean {
  return rules < 3;
}

/**
 * Whether a workflow may evaluate these sources, if they are little work. Otherwise an activity evaluates them and the history records the
 * result.
 */
export function isForWorkflow(sources: readonly Source[], rules = 1): boolean {
  return !sources.some(({ language, source }) =>
    language === "cel" ? rules >= 2 && asksForZone(source) : rules >= 3 && templateAsksForZone(source),
  );
}

/** Whether an expression may look up a time zone by name. */
const asksForZone = cachedByText((source): boolean => {
  const parsed = parsedCel(source);
  // An invalid expression fails immediately.
  return parsed !== undefined && asksIn(parsed);
});

const isFixed = (node: CelNode): boolean =>
  node.kind === "literal" && typeof node.value === "string" && isFixedZone(node.value);

const asksIn = (node: CelNode): boolean =>
  (node.kind === "call" && TIMESTAMP_PARTS.has(node.name) && !node.args.every(isFixed)) ||
  childrenOf(node).some(asksIn);
