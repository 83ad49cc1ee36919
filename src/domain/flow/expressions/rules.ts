import { cachedByText } from "./cache.ts";
import { CelSyntaxError } from "./cel/ast.ts";
import type { CelNode } from "./cel/ast.ts";
import { childrenOf } from "./cel/cost.ts";
import { parseCel } from "./cel/parser.ts";
import { isFixedZone, TIMESTAMP_PARTS } from "./cel/time.ts";
import type { Source } from "./evaluated-kinds.ts";

/**
 * The rules by which a workflow evaluates expressions and templates itself: which of them (work.ts, this file), and what
 * they yield. A run that another process takes over must decide the same again, so a plan keeps the number of the rules
 * that it was compiled under. What changes an outcome gets the next number, and plans of an older one keep what they had:
 *
 * 1. (Plans without a number.) Everything that is little work is evaluated in the workflow.
 * 2. What reads a clock in a zone by its name is not: the machine's tables of zones change with Node and the system.
 *
 * test/domain/flow/expressions/rules.test.ts holds the outcomes.
 */
export const RULES = 2;

/**
 * Whether a workflow may evaluate this itself if it is little work. Otherwise an activity does and records the
 * result.
 */
export function isForWorkflow(sources: readonly Source[], rules = 1): boolean {
  return rules < 2 || !sources.some(({ language, source }) => language === "cel" && asksForZone(source));
}

/** Whether an expression may look up a zone by its name. Templates know only UTC. */
const asksForZone = cachedByText((source): boolean => {
  try {
    return asksIn(parseCel(source));
  } catch (error) {
    // Evaluating it fails at once.
    if (error instanceof CelSyntaxError) return false;
    throw error;
  }
});

const isFixed = (node: CelNode): boolean =>
  node.kind === "literal" && typeof node.value === "string" && isFixedZone(node.value);

const asksIn = (node: CelNode): boolean =>
  (node.kind === "call" && TIMESTAMP_PARTS.has(node.name) && !node.args.every(isFixed)) ||
  childrenOf(node).some(asksIn);
