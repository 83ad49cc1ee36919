import { MAX_VALUE_BYTES, nameOfType, type Json } from "../../json.ts";
import { NodeFailure } from "../../runs/failure.ts";
import { requireStorable } from "../../storable.ts";
import type { NodePart } from "../../runs/run-report.ts";
import { evaluateCel, evaluateCondition } from "./cel/cel.ts";
import { jsonSize } from "./json-size.ts";
import { renderTemplate } from "./liquid/liquid.ts";
import {
  cel,
  evaluateAll,
  evaluateNode,
  liquid,
  sourcesOfNode,
  type Evaluation,
  type Source,
} from "./evaluated-kinds.ts";
import type { NodeKind } from "../kinds.ts";
import type { NodeConfigs } from "../nodes/index.ts";
import { ofKind } from "../plan/by-kind.ts";
import type { PlanNode } from "../plan/types.ts";
import type { NodeResult, Scope } from "../scope.ts";

/**
 * Evaluates a part of a node's configuration against a scope. The workflow uses this for small amounts of work, activities for the rest.
 * `rules`: in a workflow, the rules of the plan. Throws NodeFailure.
 */
export function evaluatePart(node: PlanNode, part: NodePart, scope: Scope, rules?: number): NodeResult {
  const result = PARTS[part].evaluate(node, scope, rules);
  requireStorable(result.output, "The result");
  return result;
}

/** The expressions and templates in a part of a node's configuration. */
export function sourcesOf(node: PlanNode, part: NodePart): readonly Source[] {
  return PARTS[part].sources(node);
}

/** A part of the configuration of nodes of one type. */
function partOf<Kind extends NodeKind>(
  kind: Kind,
  sources: (config: NodeConfigs[Kind]) => readonly Source[],
  output: (config: NodeConfigs[Kind], scope: Scope, rules?: number) => Json,
): Evaluation<NodeKind> {
  const configOf = (node: PlanNode): NodeConfigs[Kind] => ofKind(node, kind).config as NodeConfigs[Kind];
  return {
    sources: (node) => sources(configOf(node)),
    evaluate: (node, scope, rules) => ({ output: output(configOf(node), scope, rules) }),
  };
}

const PARTS: Readonly<Record<NodePart, Evaluation<NodeKind>>> = {
  skip_if: {
    sources: ({ skip_if }) => [cel(skip_if)],
    evaluate: ({ skip_if = "false" }, scope) => ({ output: evaluateCondition(skip_if, scope) }),
  },
  node: { sources: sourcesOfNode, evaluate: evaluateNode },
  items: partOf("map", (map) => [cel(map.items)], items),
  initial: partOf(
    "loop",
    ({ initial }) => [cel(initial)],
    ({ initial = "null" }, scope) => evaluateCel(initial, scope),
  ),
  while: partOf(
    "loop",
    (loop) => [cel(loop.while)],
    (loop, scope) => evaluateCondition(loop.while, scope),
  ),
  inputs: partOf(
    "subflow",
    ({ inputs }) => Object.values(inputs).map(cel),
    ({ inputs }, scope) => evaluateAll(inputs, scope),
  ),
  until: partOf("delay", (delay) => [cel(delay.until)], until),
  approval: partOf(
    "approval",
    ({ message, data }) => [liquid(message), cel(data)],
    ({ message, data }, scope, rules) => ({
      message: renderTemplate(message, scope, rules),
      data: data === undefined ? null : evaluateCel(data, scope),
    }),
  ),
};

/** Evaluates several expressions and templates of a node together. Throws NodeFailure, also if the results are too long together. */
export function evaluateSources(sources: readonly Source[], scope: Scope): readonly Json[] {
  let chars = 0;
  return sources.map(({ language, source }) => {
    const value = language === "cel" ? evaluateCel(source, scope) : renderTemplate(source, scope);
    chars += typeof value === "string" ? value.length : jsonSize(value, MAX_VALUE_BYTES);
    if (chars <= MAX_VALUE_BYTES) return value;
    throw new NodeFailure("value_too_large", "The results of the node's expressions are larger than 25 MiB together.");
  });
}

function items({ items: source }: NodeConfigs["map"], scope: Scope): Json {
  const value = evaluateCel(source, scope);
  if (Array.isArray(value)) return value;
  throw new NodeFailure(
    "items_not_a_list",
    `The items of a map must be a list; "${source}" returns ${nameOfType(value)}.`,
  );
}

function until(delay: NodeConfigs["delay"], scope: Scope): Json {
  const value = evaluateCel(delay.until ?? "null", scope);
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  throw new NodeFailure(
    "until_not_a_time",
    `A delay's "until" must be an RFC 3339 time; the expression returns ${nameOfType(value)}.`,
  );
}
