import { z } from "zod";
import { jsonLength, type Immutable } from "../json.ts";
import { EvaluatorError, type DataType, type Finding } from "./evaluators/kind.ts";
import { labelNumber, type JudgeLabel } from "./evaluators/llm-judge.ts";
import { beginning } from "../marks.ts";
import type { EvaluatorDefinition, Outcome } from "./evaluator.ts";

/** A score as it is stored and shown. */
export const scoreResultSchema = z.object({
  value: z.union([z.number(), z.boolean(), z.string()]).nullable(),
  passed: z.boolean().nullable().describe("Whether the score passes; `null` if no pass threshold applies."),
  label: z.string().nullable(),
  reasoning: z.string().nullable(),
  error: z
    .object({ code: z.string(), message: z.string() })
    .nullable()
    .describe("Why no score was produced. A failure is never reported as a low score."),
});
export type ScoreResult = Immutable<z.output<typeof scoreResultSchema>>;

/** The result of an outcome under a definition: whether the sample passes, negated if the definition says so. */
export function resultOf(definition: EvaluatorDefinition, outcome: Outcome): ScoreResult {
  const { score, negate } = definition;
  if (!outcome.ok) {
    const { code, message } = outcome;
    return { value: null, passed: null, label: null, reasoning: null, error: { code, message } };
  }
  const { value, label, reasoning, passed } = outcome.finding;
  if (!isStorable(value)) {
    const message = "The evaluator's value cannot be averaged: it is too large, or not a number.";
    return resultOf(definition, { ok: false, code: "value_out_of_range", message });
  }
  const verdict = passed ?? passes(score, value);
  const name = label ?? (typeof value === "string" ? value : null);
  const text = reasoning === undefined ? null : beginning(storable(reasoning), 10_000);
  return {
    value: negate && typeof value === "boolean" ? !value : value,
    passed: negate && verdict !== null ? !verdict : verdict,
    label: name === null ? null : beginning(storable(name), 200),
    reasoning: text,
    error: null,
  };
}

/** Replaces what Postgres refuses in text. */
const storable = (text: string): string => text.replaceAll("\u0000", "\uFFFD").toWellFormed();

/** Up to this size, means and deviations are finite; Postgres refuses to add up larger numbers. In JSON, Infinity becomes null. */
const MAX_NUMBER = 1e100;

function isStorable(value: Finding["value"] | null): boolean {
  return typeof value === "number" ? Math.abs(value) <= MAX_NUMBER : value !== null;
}

function passes({ direction, pass_threshold }: EvaluatorDefinition["score"], value: Finding["value"]): boolean | null {
  if (typeof value === "boolean") return direction === "maximize" ? value : !value;
  if (typeof value === "string" || pass_threshold === null) return null;
  return direction === "maximize" ? value >= pass_threshold : value <= pass_threshold;
}

/** Whether a value from outside, such as a person's score, passes under a definition. */
export function verdictOf(definition: EvaluatorDefinition, value: Finding["value"]): boolean | null {
  const labels = definition.type === "llm_judge" ? definition.config.labels : undefined;
  const verdict =
    labels === undefined || typeof value === "boolean" ? passes(definition.score, value) : passesAs(labels, value);
  return verdict === null ? null : verdict !== definition.negate;
}

/** Whether the labels with this name or number pass; null if none has it, or they disagree. */
function passesAs(labels: readonly JudgeLabel[], value: string | number): boolean | null {
  const named = labels.filter((each) => value === (typeof value === "string" ? each.label : labelNumber(each)));
  const [first] = named;
  return first !== undefined && named.every(({ passes: one }) => one === first.passes) ? first.passes : null;
}

/** The number that a score contributes to means: a number itself, a boolean as 1 or 0, a label as 1 or 0 by whether it passes. */
export function numberOf({ value, passed }: Pick<ScoreResult, "value" | "passed">): number | null {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  return passed === null ? null : passed ? 1 : 0;
}

/** The `typeof` of each data type's values. */
export const VALUE_TYPES = { numeric: "number", boolean: "boolean", categorical: "string" } as const;

const unexpected = (message: string): EvaluatorError => new EvaluatorError("unexpected_result", message);
const shown = (value: unknown): string | undefined => JSON.stringify(value)?.slice(0, 100);

/** Checks that a result from outside fits the score's data type. Throws EvaluatorError. */
export function requireFinding(dataType: DataType, answer: unknown): Finding {
  const given = typeof answer === "object" && answer !== null ? (answer as Record<string, unknown>) : { value: answer };
  const { value, label, reasoning, passed } = given;
  // Without this check, the text "false" would be ignored and the value alone would decide, perhaps against the author's intent.
  if (passed !== undefined && passed !== null && typeof passed !== "boolean")
    throw unexpected(`\`passed\` must be true, false, null or omitted, not ${shown(passed) ?? typeof passed}.`);
  if (typeof value !== VALUE_TYPES[dataType] || (typeof value === "number" && !Number.isFinite(value)))
    throw unexpected(
      `Expected a ${dataType} score (a ${VALUE_TYPES[dataType]}, or an object with that as value), not ${shown(value) ?? "nothing"}.`,
    );
  return {
    value: value as number | boolean | string,
    ...(typeof label === "string" ? { label } : {}),
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    ...(typeof passed === "boolean" ? { passed } : {}),
  };
}

/** Longest metadata, bytes of JSON. */
const MAX_METADATA_BYTES = 16 * 1024;

/** Metadata that a person or program attaches to a score. */
export const scoreMetadataSchema = z
  .record(z.string(), z.json())
  .refine(
    (metadata) => jsonLength(metadata) <= MAX_METADATA_BYTES,
    `Must be at most ${MAX_METADATA_BYTES} bytes of JSON`,
  );
