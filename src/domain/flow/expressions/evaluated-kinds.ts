import type { Json } from "../../json.ts";
import { NodeFailure } from "../../runs/failure.ts";
import type { NodeKind } from "../kinds.ts";
import type { PlanNode, PlanNodeOf } from "../plan/types.ts";
import type { NodeResult, Scope } from "../scope.ts";
import { evaluateCel, evaluateCondition } from "./cel/cel.ts";
import { renderTemplate } from "./liquid/liquid.ts";

/** An expression or a template. */
export interface Source {
  readonly language: "cel" | "liquid";
  readonly source: string;
}

export const cel = (source = "null"): Source => ({ language: "cel", source });
export const liquid = (source: string): Source => ({ language: "liquid", source });

/** How a node, or a part of its configuration, is evaluated. */
export interface Evaluation<Kind extends NodeKind> {
  sources(node: PlanNodeOf<Kind>): readonly Source[];
  /** Throws NodeFailure. */
  evaluate(node: PlanNodeOf<Kind>, scope: Scope, rules?: number): NodeResult;
}

/** How a node of each type is evaluated; null for types that do more than evaluate their configuration. */
const EVALUATED: { readonly [Kind in NodeKind]: Evaluation<Kind> | null } = {
  template: {
    sources: ({ config }) => [liquid(config.template)],
    evaluate: ({ config }, scope, rules) => ({ output: renderTemplate(config.template, scope, rules) }),
  },
  output: {
    sources: ({ config }) => [liquid(config.value ?? "")],
    evaluate: ({ config }, scope, rules) => ({ output: renderTemplate(config.value ?? "", scope, rules) }),
  },
  set: {
    sources: ({ config }) => Object.values(config.values).map(cel),
    evaluate: ({ config }, scope) => ({ output: evaluateAll(config.values, scope) }),
  },
  condition: {
    sources: ({ config }) => config.cases.map(({ when }) => cel(when)),
    evaluate({ config }, scope) {
      const matched = config.cases.find(({ when }) => evaluateCondition(when, scope));
      return { output: { matched: matched?.id ?? "else" }, handles: [matched ? `case:${matched.id}` : "else"] };
    },
  },
  guard: {
    sources: ({ config }) => [cel(config.check), liquid(config.message)],
    evaluate({ config: { check, message } }, scope, rules) {
      if (evaluateCondition(check, scope)) return { output: true };
      throw new NodeFailure("guard_failed", renderTemplate(message, scope, rules) || "The guard's check failed.");
    },
  },
  input: null,
  string: null,
  url: null,
  files: null,
  audio: null,
  image: null,
  http: null,
  code: null,
  knowledge: null,
  llm: null,
  router: null,
  action: null,
  map: null,
  loop: null,
  subflow: null,
  delay: null,
  approval: null,
};

const evaluationOf = (node: PlanNode): Evaluation<NodeKind> | null => EVALUATED[node.type];

/** The expressions of a node whose type only evaluates its configuration; empty for any other node. */
export function sourcesOfNode(node: PlanNode): readonly Source[] {
  return evaluationOf(node)?.sources(node) ?? [];
}

/** Evaluates a node whose type only evaluates its configuration. Throws NodeFailure. */
export function evaluateNode(node: PlanNode, scope: Scope, rules?: number): NodeResult {
  const evaluation = evaluationOf(node);
  if (evaluation === null) throw new Error(`a node of kind ${node.type} is not evaluated`);
  return evaluation.evaluate(node, scope, rules);
}

export function evaluateAll(expressions: Readonly<Record<string, string>>, scope: Scope): Json {
  return Object.fromEntries(Object.entries(expressions).map(([name, source]) => [name, evaluateCel(source, scope)]));
}
