import type { Json } from "../../json.ts";
import { NodeFailure } from "../../runs/failure.ts";
import { requireStorable } from "../../storable.ts";
import type { NodePart } from "../../runs/run-report.ts";
import { evaluateCel, evaluateCondition } from "./cel/cel.ts";
import { renderTemplate } from "./liquid/liquid.ts";
import type { RenderLimits } from "./liquid/liquid.ts";
import type { Meter } from "./meter.ts";
import { configOf } from "./sources.ts";
import type { NodeConfigs } from "../nodes/index.ts";
import type { NodeResult, PlanNode, Scope } from "../plan/types.ts";

/** Wall-clock limits where there is a clock; inside a workflow there is none, and only bounded templates run there. */
export interface EvaluationLimits extends RenderLimits {
  /** One budget for all expressions of the part, as `templateMeter` for its templates; without them each text has its own. */
  readonly meter?: Meter;
}

/**
 * Evaluates a part of a node's configuration against a scope: the same function inside the workflow, where everything
 * is at hand, and in a local activity, where values have to be loaded. Throws NodeFailure.
 */
export function evaluatePart(node: PlanNode, part: NodePart, scope: Scope, limits: EvaluationLimits = {}): NodeResult {
  const result = evaluated(node, part, scope, limits);
  requireStorable(result.output, "The result");
  return result;
}

function evaluated(node: PlanNode, part: NodePart, scope: Scope, limits: EvaluationLimits): NodeResult {
  const { meter } = limits;
  switch (part) {
    case "skip_if":
      return { output: evaluateCondition(node.skip_if ?? "false", scope, meter) };
    case "node":
      return evaluateNode(node, scope, limits);
    case "items":
      return { output: items(configOf<"map">(node).items, scope, meter) };
    case "initial":
      return { output: evaluateCel(configOf<"loop">(node).initial ?? "null", scope, meter) };
    case "while":
      return { output: evaluateCondition(configOf<"loop">(node).while, scope, meter) };
    case "inputs":
      return { output: evaluateAll(configOf<"subflow">(node).inputs, scope, meter) };
    case "until":
      return { output: until(configOf<"delay">(node), scope, meter) };
    case "approval": {
      const { message, data } = configOf<"approval">(node);
      return {
        output: {
          message: renderTemplate(message, scope, limits),
          data: data === undefined ? null : evaluateCel(data, scope, meter),
        },
      };
    }
    default:
      return part satisfies never;
  }
}

/** Kinds whose whole work is to evaluate their configuration. */
function evaluateNode(node: PlanNode, scope: Scope, limits: EvaluationLimits): NodeResult {
  const { meter } = limits;
  switch (node.type) {
    case "template":
      return { output: renderTemplate(configOf<"template">(node).template, scope, limits) };
    case "output":
      return { output: renderTemplate(configOf<"output">(node).value ?? "", scope, limits) };
    case "set":
      return { output: evaluateAll(configOf<"set">(node).values, scope, meter) };
    case "condition": {
      const matched = configOf<"condition">(node).cases.find(({ when }) => evaluateCondition(when, scope, meter));
      return { output: { matched: matched?.id ?? "else" }, handles: [matched ? `case:${matched.id}` : "else"] };
    }
    case "guard": {
      const { check, message } = configOf<"guard">(node);
      if (evaluateCondition(check, scope, meter)) return { output: true };
      throw new NodeFailure(
        "guard_failed",
        renderTemplate(message, scope, limits) || "The guard's check does not hold.",
      );
    }
    default:
      throw new Error(`a node of kind ${node.type} is not evaluated`);
  }
}

function evaluateAll(expressions: Readonly<Record<string, string>>, scope: Scope, meter: Meter | undefined): Json {
  return Object.fromEntries(
    Object.entries(expressions).map(([name, source]) => [name, evaluateCel(source, scope, meter)]),
  );
}

function items(source: string, scope: Scope, meter: Meter | undefined): Json {
  const value = evaluateCel(source, scope, meter);
  if (Array.isArray(value)) return value;
  throw new NodeFailure("items_not_a_list", `The items of a map must be a list; "${source}" yields ${kindOf(value)}.`);
}

function until(delay: NodeConfigs["delay"], scope: Scope, meter: Meter | undefined): Json {
  const value = evaluateCel(delay.until ?? "null", scope, meter);
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
