import { MAX_VALUE_BYTES, nameOfType } from "../../json.ts";
import type { Json } from "../../json.ts";
import { NodeFailure } from "../../runs/failure.ts";
import { requireStorable } from "../../storable.ts";
import type { NodePart } from "../../runs/run-report.ts";
import { evaluateCel, evaluateCondition } from "./cel/cel.ts";
import { jsonSize } from "./json-size.ts";
import { renderTemplate } from "./liquid/liquid.ts";
import { evaluateAll, evaluateNode } from "./evaluated-kinds.ts";
import type { Source } from "./evaluated-kinds.ts";
import type { NodeConfigs } from "../nodes/index.ts";
import { ofKind } from "../plan/by-kind.ts";
import type { PlanNode } from "../plan/types.ts";
import type { NodeResult, Scope } from "../scope.ts";

/**
 * Evaluates a part of a node's configuration against a scope. The workflow uses this for small amounts of work, activities for the rest.
 * `rules`: in a workflow, the rules of the plan. Throws NodeFailure.
 */
export function evaluatePart(node: PlanNode, part: NodePart, scope: Scope, rules?: number): NodeResult {
  const result = evaluated(node, part, scope, rules);
  requireStorable(result.output, "The result");
  return result;
}

function evaluated(node: PlanNode, part: NodePart, scope: Scope, rules?: number): NodeResult {
  switch (part) {
    case "skip_if":
      return { output: evaluateCondition(node.skip_if ?? "false", scope) };
    case "node":
      return evaluateNode(node, scope, rules);
    case "items":
      return { output: items(ofKind(node, "map").config.items, scope) };
    case "initial":
      return { output: evaluateCel(ofKind(node, "loop").config.initial ?? "null", scope) };
    case "while":
      return { output: evaluateCondition(ofKind(node, "loop").config.while, scope) };
    case "inputs":
      return { output: evaluateAll(ofKind(node, "subflow").config.inputs, scope) };
    case "until":
      return { output: until(ofKind(node, "delay").config, scope) };
    case "approval": {
      const { message, data } = ofKind(node, "approval").config;
      return {
        output: {
          message: renderTemplate(message, scope, rules),
          data: data === undefined ? null : evaluateCel(data, scope),
        },
      };
    }
    default:
      return part satisfies never;
  }
}

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

function items(source: string, scope: Scope): Json {
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
