import type { Json } from "../json.ts";
import { NodeFailure } from "../failure.ts";
import type { NodePart } from "../run-report.ts";
import { evaluateCel, evaluateCondition } from "./cel.ts";
import { renderTemplate } from "./liquid.ts";
import type { NodeConfigs } from "./nodes/index.ts";
import type { NodeKind, NodeResult, PlanNode, Scope } from "./types.ts";

/** Wall-clock limits where there is a clock; inside a workflow there is none, and only bounded templates run there. */
export interface EvaluationLimits {
  readonly renderMs?: number;
}

/**
 * Evaluates a part of a node's configuration against a scope: the same function inside the workflow, where everything
 * is at hand, and in a local activity, where values have to be loaded. Throws NodeFailure.
 */
export function evaluatePart(node: PlanNode, part: NodePart, scope: Scope, limits: EvaluationLimits = {}): NodeResult {
  switch (part) {
    case "skip_if":
      return { output: evaluateCondition(node.skip_if ?? "false", scope) };
    case "node":
      return evaluateNode(node, scope, limits);
    case "items":
      return { output: items(config<"map">(node).items, scope) };
    case "initial":
      return { output: evaluateCel(config<"loop">(node).initial ?? "null", scope) };
    case "while":
      return { output: evaluateCondition(config<"loop">(node).while, scope) };
    case "inputs":
      return { output: evaluateAll(config<"subflow">(node).inputs, scope) };
    case "until":
      return { output: until(config<"delay">(node), scope) };
    case "approval": {
      const { message, data } = config<"approval">(node);
      return {
        output: {
          message: renderTemplate(message, scope, limits),
          data: data === undefined ? null : evaluateCel(data, scope),
        },
      };
    }
    default:
      return part satisfies never;
  }
}

/** Kinds whose whole work is to evaluate their configuration. */
function evaluateNode(node: PlanNode, scope: Scope, limits: EvaluationLimits): NodeResult {
  switch (node.type) {
    case "template":
      return { output: renderTemplate(config<"template">(node).template, scope, limits) };
    case "output":
      return { output: renderTemplate(config<"output">(node).value ?? "", scope, limits) };
    case "set":
      return { output: evaluateAll(config<"set">(node).values, scope) };
    case "condition": {
      const matched = config<"condition">(node).cases.find(({ when }) => evaluateCondition(when, scope));
      return { output: { matched: matched?.id ?? "else" }, handles: [matched ? `case:${matched.id}` : "else"] };
    }
    case "guard": {
      const { check, message } = config<"guard">(node);
      if (evaluateCondition(check, scope)) return { output: true };
      throw new NodeFailure(
        "guard_failed",
        renderTemplate(message, scope, limits) || "The guard's check does not hold.",
      );
    }
    default:
      throw new Error(`a node of kind ${node.type} is not evaluated`);
  }
}

function config<Kind extends NodeKind>(node: PlanNode): NodeConfigs[Kind] {
  // Plans come from compileFlow, which parsed this with the kind's own schema.
  return node.config as unknown as NodeConfigs[Kind];
}

function evaluateAll(expressions: Readonly<Record<string, string>>, scope: Scope): Json {
  return Object.fromEntries(Object.entries(expressions).map(([name, source]) => [name, evaluateCel(source, scope)]));
}

function items(source: string, scope: Scope): Json {
  const value = evaluateCel(source, scope);
  if (Array.isArray(value)) return value;
  throw new NodeFailure("items_not_a_list", `The items of a map must be a list; "${source}" yields ${kindOf(value)}.`);
}

function until(delay: NodeConfigs["delay"], scope: Scope): Json {
  const value = evaluateCel(delay.until ?? "null", scope);
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  throw new NodeFailure(
    "until_not_a_time",
    `A delay's "until" must yield an RFC 3339 time; it yields ${kindOf(value)}.`,
  );
}

function kindOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
