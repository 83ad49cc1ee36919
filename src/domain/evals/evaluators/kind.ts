import type { z } from "zod";
import { parseExactJson } from "../../exact-json.ts";
import type { Json, JsonObject } from "../../json.ts";
import type { RunState } from "../../runs/run.ts";

export const DATA_TYPES = ["numeric", "boolean", "categorical"] as const;
export type DataType = (typeof DATA_TYPES)[number];
export const DIRECTIONS = ["maximize", "minimize"] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** A finished node of a run. */
export interface SampleNode {
  readonly node_id: string;
  readonly type: string;
  readonly state: string;
}

export interface NodeDetail extends SampleNode {
  /** Null also for a value that is too long; `truncated` is set then. */
  readonly output: Json;
  readonly truncated: boolean;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly latency_ms: number | null;
}

/** A chunk found by a search of the run. */
export interface Passage {
  /** The node, or the tool call, that searched. */
  readonly path: string;
  readonly resource_id: string | null;
  readonly resource_path: string | null;
  readonly text: string;
  readonly score: number | null;
}

/** Details of a run that only judge, code and webhook evaluators receive. */
export interface SampleDetail {
  /** By path; the path of a top-level node is its ID. */
  readonly nodes: Readonly<Record<string, NodeDetail>>;
  readonly passages: readonly Passage[];
}

/** A source that an answer cites. */
export interface SampleCitation {
  readonly resource_id: string;
  readonly resource_path: string;
}

/** The sample to score: a run and its expected output. */
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
  /** Loaded only if an evaluator reads it, because it is long. */
  readonly detail?: SampleDetail;
}

/** A sample as one evaluator sees it, its target looked up; undefined if the target does not exist. */
export interface Subject {
  readonly sample: EvalSample;
  readonly output: Json | undefined;
  readonly expected: Json | undefined;
}

/** The result of an evaluator for one sample. */
export interface Finding {
  readonly value: number | boolean | string;
  readonly label?: string;
  readonly reasoning?: string;
  /** Set if the evaluator decides this itself; otherwise value, direction and threshold decide. */
  readonly passed?: boolean;
}

/** Thrown if a sample cannot be scored. This is an error, never a low score. */
export class EvaluatorError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: { cause: unknown }) {
    super(message.toWellFormed(), options);
    this.name = "EvaluatorError";
    this.code = code;
  }
}

export interface Scale {
  readonly min: number;
  readonly max: number;
}

/** Score settings that the evaluator type determines. */
export interface ScoreDefaults {
  readonly data_type: DataType;
  readonly direction: Direction;
  /** For the direction above. A type with its own `threshold` uses this value for its default scale only. */
  readonly pass_threshold: number | null;
  /** Other data types that the author may choose. */
  readonly choices?: readonly DataType[];
}

/** An invalid configuration: the location, and why. */
export interface EvaluatorFault {
  readonly path: ReadonlyArray<string | number>;
  readonly message: string;
}

export interface EvaluatorTemplate {
  readonly name: string;
  readonly description: string;
  readonly config: JsonObject;
  /** Set if the type has no default threshold for this configuration. */
  readonly pass_threshold?: number;
}

/**
 * The threshold used if the author names none: null means that no value passes or fails; undefined means that the author has to name one.
 */
export type DefaultThreshold = number | null | undefined;

export interface EvaluatorKind<Config> {
  readonly description: string;
  readonly config: z.ZodType<Config>;
  readonly score: ScoreDefaults;
  readonly templates: readonly EvaluatorTemplate[];
  /** The default threshold, if it depends on the configuration. */
  readonly threshold?: (config: Config, direction: Direction) => DefaultThreshold;
  /** The range of numeric values, if the configuration sets one. */
  readonly scale?: (config: Config) => Scale | null;
  /** Problems of a configuration that its schema cannot express. */
  readonly faults?: (config: Config) => readonly EvaluatorFault[];
  /**
   * Scores a sample; throws EvaluatorError. Absent for evaluators that make calls (to a model, the sandbox or a URL). The caller controls
   * the cost, so it runs with time and memory limits.
   */
  readonly find?: (config: Config, subject: Subject) => Finding;
}

/** Defines an evaluator type. By default it returns a boolean, and true passes. */
export function defineEvaluator<Config>(
  kind: Omit<EvaluatorKind<Config>, "score"> & Partial<Pick<EvaluatorKind<Config>, "score">>,
): EvaluatorKind<Config> {
  return { score: { data_type: "boolean", direction: "maximize", pass_threshold: null }, ...kind };
}

/** An evaluator type whose configuration has been parsed by its own schema. */
export type AnyKind = Omit<EvaluatorKind<unknown>, OfConfig> & Pick<EvaluatorKind<never>, OfConfig>;
type OfConfig = "threshold" | "scale" | "faults" | "find";

/** The outputs of an incomplete run are not its answer, so scoring them would mislead. */
export function requireCompleted({ state }: EvalSample): void {
  if (state !== "COMPLETED") throw nothingToScore(`the run is ${state}`);
}

/** The target's value. Throws EvaluatorError if there is none. */
export function requireOutput({ output, sample }: Subject): Json {
  requireCompleted(sample);
  if (output === undefined) throw nothingToScore("the run did not produce this output");
  return output;
}

function nothingToScore(why: string): EvaluatorError {
  return new EvaluatorError("no_output", `Nothing to score: ${why}.`);
}

/** The expected value from the configuration, otherwise from the row. Throws EvaluatorError if neither has one. */
export function requireExpected({ expected }: Subject, own?: Json): Json {
  // Null can be an expected value, so only undefined means that there is none.
  const found = own === undefined ? expected : own;
  if (found !== undefined) return found;
  throw new EvaluatorError("no_expected_output", "No expected output: set it in the evaluator or in the dataset row.");
}

/** A value as text: a string itself, an object with a string field `text` as that, anything else as JSON. */
export function textOf(value: Json): string {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && "text" in value && typeof value["text"] === "string")
    return value["text"];
  return JSON.stringify(value);
}

/** The value, or the JSON value that a string contains. Throws EvaluatorError for a string that is not JSON. */
export function jsonOf(value: Json): Json {
  if (typeof value !== "string") return value;
  try {
    return parseExactJson(value);
  } catch (error) {
    throw new EvaluatorError("not_json", "The output is text that is not valid JSON.", { cause: error });
  }
}
