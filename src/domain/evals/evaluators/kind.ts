import { z } from "zod";
import type { Json, JsonObject } from "../../json.ts";
import type { RunState } from "../../runs/run.ts";

export const DATA_TYPES = ["numeric", "boolean", "categorical"] as const;
export type DataType = (typeof DATA_TYPES)[number];
export const DIRECTIONS = ["maximize", "minimize"] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** A node of a run that has come to an end. */
export interface SampleNode {
  readonly node_id: string;
  readonly type: string;
  readonly state: string;
}

/** What is known of a node beyond that. */
export interface NodeDetail extends SampleNode {
  /** Null also where it is too long: then `truncated` is set. */
  readonly output: Json;
  readonly truncated: boolean;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly latency_ms: number | null;
}

/** A passage that a search of the run has found. */
export interface Passage {
  /** The node that has searched, or the call of a tool. */
  readonly path: string;
  readonly resource_id: string | null;
  readonly resource_path: string | null;
  readonly text: string;
  readonly score: number | null;
}

/** Details of a run that only judges, code and webhooks get. */
export interface SampleDetail {
  /** By path: of a node at the top level its id. */
  readonly nodes: Readonly<Record<string, NodeDetail>>;
  readonly passages: readonly Passage[];
}

/** A source that an answer rests on. */
export interface SampleCitation {
  readonly resource_id: string;
  readonly resource_path: string;
}

/** The sample to score: a run, and what was expected of it. */
export interface EvalSample {
  readonly run_id: string | null;
  readonly state: RunState;
  readonly inputs: JsonObject;
  readonly outputs: JsonObject;
  readonly expected_outputs: JsonObject;
  readonly metadata: JsonObject;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly latency_ms: number | null;
  readonly cost_usd: number | null;
  readonly usage: JsonObject;
  /** In the order in which they started. */
  readonly nodes: readonly SampleNode[];
  readonly citations: readonly SampleCitation[];
  /** Only where an evaluator reads it: it is long. */
  readonly detail?: SampleDetail;
}

/** A sample as one evaluator sees it: its target is looked up. Undefined: there is none. */
export interface Subject {
  readonly sample: EvalSample;
  readonly output: Json | undefined;
  readonly expected: Json | undefined;
}

/** What an evaluator finds. */
export interface Finding {
  readonly value: number | boolean | string;
  readonly label?: string;
  readonly reasoning?: string;
  /** Set if the evaluator itself knows; else it follows from value, direction and threshold. */
  readonly passed?: boolean;
}

/** Thrown if a sample cannot be scored: an error, never a low score. */
export class EvaluatorError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: { cause: unknown }) {
    super(message.toWellFormed(), options);
    this.name = "EvaluatorError";
    this.code = code;
  }
}

/** Members of a score that the kind determines. */
export interface ScoreDefaults {
  readonly data_type: DataType;
  readonly direction: Direction;
  readonly pass_threshold: number | null;
  /** Data types that may be chosen instead. */
  readonly choices?: readonly DataType[];
}

/** Why a configuration cannot be used, and where in it. */
export interface EvaluatorFault {
  readonly path: ReadonlyArray<string | number>;
  readonly message: string;
}

export interface EvaluatorTemplate {
  readonly name: string;
  readonly description: string;
  readonly config: JsonObject;
}

/** A kind of evaluator as one value. */
export interface EvaluatorKind<Config> {
  readonly description: string;
  readonly config: z.ZodType<Config>;
  readonly score: ScoreDefaults;
  readonly templates: readonly EvaluatorTemplate[];
  /** What is wrong with a configuration beyond its shape. */
  readonly faults?: (config: Config) => readonly EvaluatorFault[];
  /**
   * Scores a sample; throws EvaluatorError. Absent of kinds that call something: a model, the sandbox, an address. What it
   * costs is the caller's choice, so it runs where time and memory are limited.
   */
  readonly find?: (config: Config, subject: Subject) => Finding;
}

/** A kind whose configuration was parsed by its own schema. */
export interface AnyKind extends Omit<EvaluatorKind<unknown>, "faults" | "find"> {
  readonly faults?: (config: never) => readonly EvaluatorFault[];
  readonly find?: (config: never, subject: Subject) => Finding;
}

/** The outputs of an incomplete run are not its answer, so scoring them would mislead. */
export function requireCompleted({ state }: EvalSample): void {
  if (state !== "COMPLETED") throw nothingToScore(`the run is ${state}`);
}

/** The target's value, or what is wrong. */
export function requireOutput({ output, sample }: Subject): Json {
  requireCompleted(sample);
  if (output === undefined) throw nothingToScore("the run has no such output");
  return output;
}

/** Kinds that also score runs that have not completed. They get the reason. */
export const failedRuns = z
  .boolean()
  .default(false)
  .describe(
    "Whether runs that have not completed are scored too: `state` and `error` say why. Else they have an error.",
  );

function nothingToScore(why: string): EvaluatorError {
  return new EvaluatorError("no_output", `There is nothing to score: ${why}.`);
}

/** The expected value: the configuration's own, else the row's. */
export function requireExpected({ expected }: Subject, own?: Json): Json {
  // Null is a value that can be expected.
  const found = own === undefined ? expected : own;
  if (found !== undefined) return found;
  throw new EvaluatorError(
    "no_expected_output",
    "Nothing is expected of this output: neither by the evaluator nor by the row.",
  );
}

/** Texts as they are, values with a `text` as that, others as JSON. */
export function textOf(value: Json): string {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && "text" in value && typeof value["text"] === "string")
    return value["text"];
  return JSON.stringify(value);
}

/** A value; a text that is JSON is parsed. */
export function jsonOf(value: Json): Json {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as Json;
  } catch (error) {
    throw new EvaluatorError("not_json", "The output is a text that is not JSON.", { cause: error });
  }
}
