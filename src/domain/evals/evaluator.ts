import { z } from "zod";
import { jsonOrText } from "../exact-json.ts";
import type { Json, JsonObject } from "../json.ts";
import { EVALUATOR_TYPES, defaultThreshold, kindOf } from "./evaluators/index.ts";
import type { EvaluatorType, ParsedConfigs } from "./evaluators/index.ts";
import { DATA_TYPES, DIRECTIONS, EvaluatorError } from "./evaluators/kind.ts";
import type {
  DataType,
  DefaultThreshold,
  Direction,
  EvalSample,
  EvaluatorFault,
  Finding,
  Scale,
  Subject,
} from "./evaluators/kind.ts";
import { labelNumber } from "./evaluators/llm-judge.ts";
import type { JudgeLabel } from "./evaluators/llm-judge.ts";
import { beginning } from "../marks.ts";
import { parseJsonPath, valueAt } from "../json-path.ts";

const target = z
  .strictObject({
    output: z
      .string()
      .min(1)
      .max(64)
      .nullish()
      .describe("ID of the output node to score. Default: the flow's only output."),
    json_path: z
      .string()
      .max(500)
      .refine((text) => parseJsonPath(text) !== null, "Must be a path to one value, such as $.items[0].name")
      .nullish()
      .describe(
        "Path of the value inside the output, and inside the expected output if that is JSON. Text is parsed as JSON.",
      ),
  })
  .describe("The part of the run to score.");

const score = z
  .strictObject({
    data_type: z.enum(DATA_TYPES).optional(),
    direction: z.enum(DIRECTIONS).optional().describe("`maximize`: higher is better; `minimize`: lower is better."),
    pass_threshold: z
      .number()
      .nullish()
      .describe(
        "Value from which a run passes (with `minimize`: up to which). `null` means that scores neither pass nor fail. Required if the type has no default for the direction, and for a composite with an `expression`. A judge's default is 0.7 of its scale.",
      ),
  })
  .describe("Omitted fields use the defaults of the type.");

/** The definition of an evaluator as a caller sends it. */
export const evaluatorInputSchema = z.strictObject({
  type: z.enum(EVALUATOR_TYPES),
  config: z
    .record(z.string(), z.json())
    .default({})
    .describe("Settings for this evaluator type; `GET /v2/evals/evaluator-templates` returns the schema of each type."),
  target: target.default({}),
  score: score.default({}),
  negate: z
    .boolean()
    .default(false)
    .describe("`true` inverts the result: what would fail passes, and what would pass fails."),
  weight: z.number().min(0).max(1000).default(1).describe("Weight in the mean over an experiment's evaluators."),
});

/** Fields of every type, beside its configuration. */
interface DefinitionFields {
  readonly target: { readonly output: string | null; readonly json_path: string | null };
  readonly score: {
    readonly data_type: DataType;
    readonly direction: Direction;
    readonly pass_threshold: number | null;
  };
  readonly negate: boolean;
  readonly weight: number;
}

/** Types that cannot be part of a composite: composites do not nest, and a webhook needs its own secret. */
const NOT_PARTS = ["composite", "webhook"] as const satisfies readonly EvaluatorType[];
type PartType = Exclude<EvaluatorType, (typeof NOT_PARTS)[number]>;

/** The configuration by type. The parts of a composite have been checked as definitions. */
interface EvaluatorConfigs extends Omit<ParsedConfigs, "composite"> {
  readonly composite: Omit<ParsedConfigs["composite"], "parts"> & { readonly parts: readonly PartDefinition[] };
}

/** A checked evaluator definition with all defaults filled in. Its type determines its configuration. */
export type EvaluatorDefinition<Type extends EvaluatorType = EvaluatorType> = {
  [Each in Type]: DefinitionFields & { readonly type: Each; readonly config: EvaluatorConfigs[Each] };
}[Type];
type PartDefinition = EvaluatorDefinition<PartType> & { readonly name: string };

export type CheckedDefinition =
  | { readonly ok: true; readonly definition: EvaluatorDefinition }
  | { readonly ok: false; readonly faults: readonly EvaluatorFault[] };

/** Checks an evaluator's definition. Does not compile JSON Schemas in it, because their authors control what that costs. */
export function checkDefinition(input: unknown): CheckedDefinition {
  const parsed = evaluatorInputSchema.safeParse(input);
  if (!parsed.success) return { ok: false, faults: faultsOf(parsed.error) };
  const { type, negate, weight } = parsed.data;
  const kind = kindOf(type);
  const config = kind.config.safeParse(parsed.data.config);
  if (!config.success) return { ok: false, faults: faultsOf(config.error, ["config"]) };
  const faults: EvaluatorFault[] = (kind.faults?.(config.data as never) ?? []).map(({ path, message }) => ({
    path: ["config", ...path],
    message,
  }));
  const { data_type = kind.score.data_type, direction = kind.score.direction, pass_threshold } = parsed.data.score;
  if (data_type !== kind.score.data_type && !(kind.score.choices ?? []).includes(data_type))
    faults.push({
      path: ["score", "data_type"],
      message: `${type} returns ${(kind.score.choices ?? [kind.score.data_type]).join(" or ")} values`,
    });
  let threshold: DefaultThreshold = pass_threshold;
  if (threshold === undefined)
    threshold = data_type === "numeric" ? defaultThreshold(type, config.data, direction) : null;
  const scale = kind.scale?.(config.data as never) ?? null;
  if (scale !== null && data_type !== "numeric")
    faults.push({
      path: ["score", "data_type"],
      message: "Values on a scale are numeric: omit data_type, or use labels",
    });
  if (threshold === undefined) faults.push({ path: ["score", "pass_threshold"], message: THRESHOLD_MISSING });
  else if (scale !== null && threshold !== null && (threshold < scale.min || threshold > scale.max))
    faults.push({
      path: ["score", "pass_threshold"],
      message: `Must be on the scale, from ${scale.min} to ${scale.max}`,
    });
  let settled = config.data;
  if (type === "composite") {
    const composite = config.data as ParsedConfigs["composite"];
    const { parts, faults: ofParts } = checkParts(composite.parts);
    faults.push(...ofParts);
    settled = { ...composite, parts };
  }
  if (faults.length > 0) return { ok: false, faults };
  const fields: DefinitionFields = {
    target: { output: parsed.data.target.output ?? null, json_path: parsed.data.target.json_path ?? null },
    score: { data_type, direction, pass_threshold: threshold ?? null },
    negate,
    weight,
  };
  // The type's schema has produced this configuration, which the compiler cannot infer.
  return { ok: true, definition: { type, config: settled, ...fields } as EvaluatorDefinition };
}

const THRESHOLD_MISSING =
  "Required: this type has no default. Set the value from which a score passes, or null if no value passes or fails";

/** The range of a definition's values; null if it has none. */
export function scaleOf({ type, config }: Pick<EvaluatorDefinition, "type" | "config">): Scale | null {
  return kindOf(type).scale?.(config as never) ?? null;
}

function checkParts(given: ParsedConfigs["composite"]["parts"]): {
  readonly parts: PartDefinition[];
  readonly faults: EvaluatorFault[];
} {
  const faults: EvaluatorFault[] = [];
  const parts = given.flatMap(({ name, ...part }, index) => {
    const checked = checkDefinition(part);
    const place = ["config", "parts", index];
    if (!checked.ok) {
      faults.push(...checked.faults.map(({ path, message }) => ({ path: [...place, ...path], message })));
      return [];
    }
    if (isPart(checked.definition)) return [{ name, ...checked.definition }];
    faults.push({ path: [...place, "type"], message: `${checked.definition.type} cannot be part of a composite` });
    return [];
  });
  return { parts, faults };
}

function isPart(definition: EvaluatorDefinition): definition is EvaluatorDefinition<PartType> {
  return !NOT_PARTS.some((type) => type === definition.type);
}

function faultsOf(error: z.ZodError, before: ReadonlyArray<string | number> = []): EvaluatorFault[] {
  return error.issues.flatMap((issue): EvaluatorFault[] => {
    const path = [...before, ...(issue.path as Array<string | number>)];
    if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
    return issue.keys.map((key) => ({ path: [...path, key], message: "Extra inputs are not permitted" }));
  });
}

/** The definitions to score: the parts of a composite, otherwise the definition itself. */
export function partsOf(definition: EvaluatorDefinition): readonly EvaluatorDefinition[] {
  return definition.type === "composite" ? definition.config.parts : [definition];
}

/** The finding of a definition for a sample, or why there is none. */
export type Outcome =
  | { readonly ok: true; readonly finding: Finding }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** Whether a type is scored without calling anything. */
export function isLocal(type: EvaluatorType): boolean {
  return kindOf(type).find !== undefined;
}

/**
 * Scores samples with definitions that make no calls; for each sample, in the order of the definitions. The cost depends on user input, so
 * call it only where time and memory are limited.
 */
export function scoreLocally(definitions: readonly EvaluatorDefinition[], samples: readonly EvalSample[]): Outcome[][] {
  return samples.map((sample) =>
    definitions.map((definition) =>
      outcomeOf(() => {
        const { find } = kindOf(definition.type);
        if (find === undefined)
          throw new EvaluatorError("evaluator_failed", `${definition.type} cannot be scored in this process.`);
        return find(definition.config as never, subjectOf(definition, sample));
      }),
    ),
  );
}

function outcomeOf(work: () => Finding): Outcome {
  try {
    return { ok: true, finding: work() };
  } catch (error) {
    return failureOf(error);
  }
}

/** The outcome of an evaluator that threw. */
export function failureOf(error: unknown): Outcome {
  if (error instanceof EvaluatorError) return { ok: false, code: error.code, message: error.message.slice(0, 2000) };
  const message = error instanceof Error ? error.message : "The evaluator failed";
  return { ok: false, code: "evaluator_failed", message: message.slice(0, 500).toWellFormed() };
}

/** A sample with the output and expected value that the definition's target names. */
export function subjectOf({ target: { output, json_path } }: EvaluatorDefinition, sample: EvalSample): Subject {
  const pick = (values: JsonObject): Json | undefined => {
    const names = Object.keys(values);
    const name = output ?? (names.length === 1 ? names[0] : undefined);
    return name === undefined || !Object.hasOwn(values, name) ? undefined : values[name];
  };
  const steps = json_path === null ? null : parseJsonPath(json_path);
  const found = pick(sample.outputs);
  const expected = pick(sample.expected_outputs);
  if (steps === null) return { sample, output: found, expected };
  const place = (value: Json | undefined): Json | undefined => {
    const json = typeof value === "string" ? jsonOrText(value) : value;
    return json === undefined ? undefined : valueAt(json, steps);
  };
  const within = place(expected);
  // An expected value that is not an object or list may itself be the value expected at the path.
  const isWithin = within !== undefined || (typeof expected === "object" && expected !== null);
  return { sample, output: place(found), expected: isWithin ? within : expected };
}

/** A score as it is stored and shown. */
export interface ScoreResult {
  readonly value: number | boolean | string | null;
  readonly passed: boolean | null;
  readonly label: string | null;
  readonly reasoning: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

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

/** Checks that a result from outside fits the score's data type. Throws EvaluatorError. */
export function requireFinding(dataType: DataType, answer: unknown): Finding {
  const given = typeof answer === "object" && answer !== null ? (answer as Record<string, unknown>) : { value: answer };
  const { value, label, reasoning, passed } = given;
  // Without this check, the text "false" would be ignored and the value alone would decide, perhaps against the author's intent.
  if (passed !== undefined && passed !== null && typeof passed !== "boolean")
    throw new EvaluatorError(
      "unexpected_result",
      `\`passed\` must be true, false, null or omitted, not ${JSON.stringify(passed)?.slice(0, 100) ?? typeof passed}.`,
    );
  if (typeof value !== VALUE_TYPES[dataType] || (typeof value === "number" && !Number.isFinite(value)))
    throw new EvaluatorError(
      "unexpected_result",
      `Expected a ${dataType} score (a ${VALUE_TYPES[dataType]}, or an object with that as value), not ${JSON.stringify(value)?.slice(0, 100) ?? "nothing"}.`,
    );
  return {
    value: value as number | boolean | string,
    ...(typeof label === "string" ? { label } : {}),
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    ...(typeof passed === "boolean" ? { passed } : {}),
  };
}
