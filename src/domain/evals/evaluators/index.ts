import { composite } from "./composite.ts";
import type { AnyKind, DefaultThreshold, Direction, EvaluatorKind } from "./kind.ts";
import { llmJudge } from "./llm-judge.ts";
import { code, webhook } from "./own-scorers.ts";
import { citation, cost, errorFree, latency, path } from "./runs.ts";
import { contains, endsWith, exactMatch, levenshtein, regex, similarity, startsWith } from "./texts.ts";
import { jsonDiff, jsonSchema, jsonValid, numericDiff } from "./values.ts";

const KINDS = {
  exact_match: exactMatch,
  contains,
  starts_with: startsWith,
  ends_with: endsWith,
  regex,
  json_valid: jsonValid,
  json_schema: jsonSchema,
  json_diff: jsonDiff,
  numeric_diff: numericDiff,
  levenshtein,
  similarity,
  latency,
  cost,
  error_free: errorFree,
  path,
  citation,
  llm_judge: llmJudge,
  code,
  webhook,
  composite,
} as const;

export type EvaluatorType = keyof typeof KINDS;
export type ParsedConfigs = {
  readonly [Type in EvaluatorType]: (typeof KINDS)[Type] extends EvaluatorKind<infer Config> ? Config : never;
};
export const EVALUATOR_TYPES = Object.keys(KINDS) as [EvaluatorType, ...EvaluatorType[]];

export function kindOf(type: EvaluatorType): AnyKind {
  return KINDS[type];
}

/** The default pass threshold; undefined if the author has to name one. */
export function defaultThreshold(type: EvaluatorType, config: unknown, direction: Direction): DefaultThreshold {
  const { threshold, score: usual } = kindOf(type);
  if (threshold !== undefined) return threshold(config as never, direction);
  // With the opposite direction, the usual threshold would pass bad outputs.
  return direction === usual.direction || usual.pass_threshold === null ? usual.pass_threshold : undefined;
}

export const TEMPLATES = EVALUATOR_TYPES.flatMap((type) =>
  kindOf(type).templates.map((template) => ({
    template_id: `${type}.${template.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`,
    type,
    ...template,
  })),
);
