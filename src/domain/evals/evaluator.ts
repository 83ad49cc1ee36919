import { z } from "zod";
import { jsonOrText } from "../json.ts";
import type { Json, JsonObject } from "../json.ts";
import { EVALUATOR_TYPES, kindOf } from "./evaluators/index.ts";
import type { EvaluatorType, ParsedConfigs } from "./evaluators/index.ts";
import { DATA_TYPES, DIRECTIONS, EvaluatorError } from "./evaluators/kind.ts";
import type { DataType, Direction, EvalSample, EvaluatorFault, Finding, Subject } from "./evaluators/kind.ts";
import { parseJsonPath, valueAt } from "../json-path.ts";

const target = z
  .strictObject({
    output: z.string().min(1).max(64).nullish().describe("Id of the output node. Default: the flow's only output."),
    json_path: z
      .string()
      .max(500)
      .refine((text) => parseJsonPath(text) !== null, "A path to one place is expected, such as $.items[0].name")
      .nullish()
      .describe("The place within the output, and within what is expected where that is JSON too. A text is parsed."),
  })
  .describe("The part of the run that is scored.");

const score = z
  .strictObject({
    data_type: z.enum(DATA_TYPES).optional(),
    direction: z.enum(DIRECTIONS).optional().describe("Whether more is better."),
    pass_threshold: z
      .number()
      .nullish()
      .describe("The value from which (or, with `minimize`, up to which) a run passes; null: none does or fails."),
  })
  .describe("Members left out follow from the type.");

/** The definition of an evaluator, as a person writes it. */
export const evaluatorInputSchema = z.strictObject({
  type: z.enum(EVALUATOR_TYPES),
  config: z
    .record(z.string(), z.json())
    .default({})
    .describe("By type: GET /v2/evals/evaluator-templates has each type's schema."),
  target: target.default({}),
  score: score.default({}),
  negate: z.boolean().default(false).describe("Passes what would fail, and the other way round."),
  weight: z.number().min(0).max(1000).default(1).describe("In the mean over an experiment's evaluators."),
});

/** Members that every type has beside its configuration. */
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

/** Types that cannot be parts: a composite would nest, and a webhook has a secret of its own. */
const NOT_PARTS = ["composite", "webhook"] as const satisfies readonly EvaluatorType[];
type PartType = Exclude<EvaluatorType, (typeof NOT_PARTS)[number]>;

/** The configuration by type. The parts of a composite have been checked as definitions. */
interface EvaluatorConfigs extends Omit<ParsedConfigs, "composite"> {
  readonly composite: Omit<ParsedConfigs["composite"], "parts"> & { readonly parts: readonly PartDefinition[] };
}

/** What an evaluator does: checked, and with every default. Its type says which configuration it has. */
export type EvaluatorDefinition<Type extends EvaluatorType = EvaluatorType> = {
  [Each in Type]: DefinitionFields & { readonly type: Each; readonly config: EvaluatorConfigs[Each] };
}[Type];
type PartDefinition = EvaluatorDefinition<PartType> & { readonly name: string };

export type CheckedDefinition =
  | { readonly ok: true; readonly definition: EvaluatorDefinition }
  | { readonly ok: false; readonly faults: readonly EvaluatorFault[] };

/** Checks what an evaluator is to do. Schemas of users within it are not compiled here: that costs what they like. */
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
      message: `${type} gives ${(kind.score.choices ?? [kind.score.data_type]).join(" or ")} values`,
    });
  let settled = config.data;
  if (type === "composite") {
    const composite = config.data as ParsedConfigs["composite"];
    const { parts, faults: ofParts } = checkParts(composite.parts);
    faults.push(...ofParts);
    settled = { ...composite, parts };
  }
  if (faults.length > 0) return { ok: false, faults };
  const threshold =
    pass_threshold === undefined && data_type === "numeric" ? kind.score.pass_threshold : (pass_threshold ?? null);
  const fields: DefinitionFields = {
    target: { output: parsed.data.target.output ?? null, json_path: parsed.data.target.json_path ?? null },
    score: { data_type, direction, pass_threshold: threshold },
    negate,
    weight,
  };
  // The schema is that of the type, which the compiler cannot follow.
  return { ok: true, definition: { type, config: settled, ...fields } as EvaluatorDefinition };
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
    faults.push({ path: [...place, "type"], message: `${checked.definition.type} cannot be a part` });
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

/** Scores samples without calling anything: of each sample, in the order of the definitions. For where time and memory are limited. */
export function scoreLocally(definitions: readonly EvaluatorDefinition[], samples: readonly EvalSample[]): Outcome[][] {
  return samples.map((sample) =>
    definitions.map((definition) =>
      outcomeOf(() => {
        const { find } = kindOf(definition.type);
        if (find === undefined) throw new EvaluatorError("evaluator_failed", `${definition.type} is not scored here.`);
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

/** The outcome of an evaluator that has thrown. */
export function failureOf(error: unknown): Outcome {
  if (error instanceof EvaluatorError) return { ok: false, code: error.code, message: error.message.slice(0, 2000) };
  const message = error instanceof Error ? error.message : "The evaluator failed";
  return { ok: false, code: "evaluator_failed", message: message.slice(0, 500).toWellFormed() };
}

/** A sample with the target of a definition looked up. */
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
  // The expected value may be the value of that place itself.
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

/** What an outcome means by a definition: whether the sample passes, and negated where that is wanted. */
export function resultOf(definition: EvaluatorDefinition, outcome: Outcome): ScoreResult {
  const { score, negate } = definition;
  if (!outcome.ok) {
    const { code, message } = outcome;
    return { value: null, passed: null, label: null, reasoning: null, error: { code, message } };
  }
  const { value, label, reasoning, passed } = outcome.finding;
  if (!isStorable(value)) {
    const message = "The evaluator's value is no number that can be averaged: it is too large, or none.";
    return resultOf(definition, { ok: false, code: "value_out_of_range", message });
  }
  const verdict = passed ?? passes(score, value);
  const text = reasoning?.replaceAll("\u0000", "\uFFFD").toWellFormed().slice(0, 10_000);
  return {
    value: negate && typeof value === "boolean" ? !value : value,
    passed: negate && verdict !== null ? !verdict : verdict,
    label:
      label?.replaceAll("\u0000", "\uFFFD").toWellFormed().slice(0, 200) ??
      (typeof value === "string" ? value.slice(0, 200) : null),
    reasoning: text ?? null,
    error: null,
  };
}

/** Means and deviations of these are numbers; beyond, Postgres refuses to add them up. Infinity comes out of JSON as null. */
const MAX_NUMBER = 1e100;

function isStorable(value: Finding["value"] | null): boolean {
  return typeof value === "number" ? Math.abs(value) <= MAX_NUMBER : value !== null;
}

function passes({ direction, pass_threshold }: EvaluatorDefinition["score"], value: Finding["value"]): boolean | null {
  if (typeof value === "boolean") return direction === "maximize" ? value : !value;
  if (typeof value === "string" || pass_threshold === null) return null;
  return direction === "maximize" ? value >= pass_threshold : value <= pass_threshold;
}

/** Whether a value given by somebody else passes by a definition. */
export function verdictOf({ score, negate }: EvaluatorDefinition, value: Finding["value"]): boolean | null {
  const verdict = passes(score, value);
  return verdict === null ? null : verdict !== negate;
}

/** What a score counts in means: numbers as they are, booleans 1 or 0, labels by whether they pass. */
export function numberOf({ value, passed }: Pick<ScoreResult, "value" | "passed">): number | null {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  return passed === null ? null : passed ? 1 : 0;
}

/** What a value is, as typeof has it. */
export const VALUE_TYPES = { numeric: "number", boolean: "boolean", categorical: "string" } as const;

/** Checks that a finding fits the score's data type; throws EvaluatorError. For answers from outside. */
export function requireFinding(dataType: DataType, answer: unknown): Finding {
  const given = typeof answer === "object" && answer !== null ? (answer as Record<string, unknown>) : { value: answer };
  const { value, label, reasoning, passed } = given;
  if (typeof value !== VALUE_TYPES[dataType] || (typeof value === "number" && !Number.isFinite(value)))
    throw new EvaluatorError(
      "unexpected_result",
      `A ${dataType} score was expected (a ${VALUE_TYPES[dataType]}, or an object with that as value), not ${JSON.stringify(value)?.slice(0, 100) ?? "nothing"}.`,
    );
  return {
    value: value as number | boolean | string,
    ...(typeof label === "string" ? { label } : {}),
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    ...(typeof passed === "boolean" ? { passed } : {}),
  };
}
