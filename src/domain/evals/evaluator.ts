import { z } from "zod";
import { textUpTo } from "../schema-parts.ts";
import { jsonOrText } from "../exact-json.ts";
import { ownMember, type Immutable, type Json, type JsonObject } from "../json.ts";
import {
  EVALUATOR_TYPES,
  defaultThreshold,
  kindOf,
  type EvaluatorType,
  type ParsedConfigs,
} from "./evaluators/index.ts";
import {
  DATA_TYPES,
  DIRECTIONS,
  EvaluatorError,
  type DefaultThreshold,
  type EvalSample,
  type EvaluatorFault,
  type Finding,
  type Scale,
  type Subject,
} from "./evaluators/kind.ts";
import { parseJsonPath, valueAt } from "../json-path.ts";

const target = z
  .strictObject({
    output: textUpTo(64).nullish().describe("ID of the output node to score. Default: the flow's only output."),
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
export const definitionShape = {
  target: z.object({ output: z.string().nullable(), json_path: z.string().nullable() }),
  score: z.object({
    data_type: z.enum(DATA_TYPES),
    direction: z.enum(DIRECTIONS),
    pass_threshold: z.number().nullable(),
  }),
  negate: evaluatorInputSchema.shape.negate.unwrap(),
  weight: z.number(),
};
type DefinitionFields = Immutable<z.output<z.ZodObject<typeof definitionShape>>>;

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
  const faults = within(["config"], kind.faults?.(config.data as never) ?? []);
  const refuse = (field: keyof DefinitionFields["score"], message: string) =>
    faults.push({ path: ["score", field], message });
  const { data_type = kind.score.data_type, direction = kind.score.direction, pass_threshold } = parsed.data.score;
  if (data_type !== kind.score.data_type && !(kind.score.choices ?? []).includes(data_type))
    refuse("data_type", `${type} returns ${(kind.score.choices ?? [kind.score.data_type]).join(" or ")} values`);
  let threshold: DefaultThreshold = pass_threshold;
  if (threshold === undefined)
    threshold = data_type === "numeric" ? defaultThreshold(type, config.data, direction) : null;
  const scale = scaleOf({ type, config: config.data as never });
  if (scale !== null && data_type !== "numeric")
    refuse("data_type", "Values on a scale are numeric: omit data_type, or use labels");
  if (threshold === undefined) refuse("pass_threshold", THRESHOLD_MISSING);
  else if (scale !== null && threshold !== null && (threshold < scale.min || threshold > scale.max))
    refuse("pass_threshold", `Must be on the scale, from ${scale.min} to ${scale.max}`);
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
    if (!checked.ok) faults.push(...within(place, checked.faults));
    else if (isPart(checked.definition)) return [{ name, ...checked.definition }];
    else faults.push({ path: [...place, "type"], message: `${checked.definition.type} cannot be part of a composite` });
    return [];
  });
  return { parts, faults };
}

/** Faults of a part of a definition, located in the whole. */
function within(place: EvaluatorFault["path"], faults: readonly EvaluatorFault[]): EvaluatorFault[] {
  return faults.map(({ path, message }) => ({ path: [...place, ...path], message }));
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
  return samples.map((sample) => definitions.map((definition) => scoreOne(definition, sample)));
}

function scoreOne(definition: EvaluatorDefinition, sample: EvalSample): Outcome {
  const { find } = kindOf(definition.type);
  try {
    if (find === undefined)
      throw new EvaluatorError("evaluator_failed", `${definition.type} cannot be scored in this process.`);
    return { ok: true, finding: find(definition.config as never, subjectOf(definition, sample)) };
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
    return name === undefined ? undefined : ownMember(values, name);
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
