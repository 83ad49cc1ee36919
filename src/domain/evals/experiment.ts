import { z } from "zod";
import type { JsonObject, StoredValue } from "../json.ts";

export const EXPERIMENT_STATES = ["DRAFT", "QUEUED", "RUNNING", "COMPLETED", "PARTIAL", "FAILED", "CANCELLED"] as const;
export type ExperimentState = (typeof EXPERIMENT_STATES)[number];
export const VERDICTS = ["passed", "failed", "inconclusive"] as const;
export type Verdict = (typeof VERDICTS)[number];
export const ROW_STATES = ["pending", "running", "completed", "failed", "cancelled"] as const;
export type RowState = (typeof ROW_STATES)[number];
export const JOB_KINDS = ["run", "rerun_failed", "rerun_rows", "score_only", "export", "cancel"] as const;
export type JobKind = (typeof JOB_KINDS)[number];
export const JOB_STATES = ["pending", "running", "completed", "failed", "cancelled"] as const;
export type JobState = (typeof JOB_STATES)[number];

/** Whether a job is under way, or will be. */
export function isActive(state: ExperimentState): boolean {
  return state === "QUEUED" || state === "RUNNING";
}

export const gateSchema = z
  .strictObject({
    metric: z.enum(["pass_rate", "mean", "p95_latency_ms", "cost_usd", "error_rate"]),
    evaluator_id: z.uuid().toLowerCase().nullish().describe("Of pass_rate and mean: whose."),
    op: z.enum(["gte", "gt", "lte", "lt", "eq"]),
    value: z.number(),
    vs: z
      .enum(["absolute", "baseline"])
      .default("absolute")
      .describe("`baseline`: the difference to the baseline is compared."),
  })
  .refine(({ metric, evaluator_id }) => evaluator_id != null || !(metric === "pass_rate" || metric === "mean"), {
    path: ["evaluator_id"],
    message: "pass_rate and mean are an evaluator's: name it",
  });
export type Gate = z.output<typeof gateSchema>;

/** What an experiment has come to, and where it stands. */
export interface ExperimentStatus {
  readonly counts: { readonly rows: number } & Readonly<Record<RowState, number>>;
  readonly scores: { readonly expected: number; readonly done: number; readonly errored: number };
  readonly per_evaluator: readonly EvaluatorStatus[];
  readonly usage: { readonly total_tokens: number; readonly cost_usd: number };
  readonly p95_latency_ms: number | null;
}

export interface EvaluatorStatus {
  readonly evaluator_id: string;
  readonly evaluator_version: number;
  readonly name: string;
  readonly n: number;
  readonly mean: number | null;
  readonly median: number | null;
  readonly stddev: number | null;
  readonly ci95: readonly [number, number] | null;
  readonly pass_rate: number | null;
  readonly errors: number;
  readonly baseline: BaselineComparison | null;
}

/** The same rows in both: the mean of the differences, and how many are better or worse. */
export interface BaselineComparison {
  readonly n: number;
  readonly diff: number | null;
  readonly ci95: readonly [number, number] | null;
  readonly improved: number;
  readonly regressed: number;
  readonly unchanged: number;
}

export interface GateResult extends Gate {
  readonly observed: number | null;
  readonly passed: boolean | null;
}

/** Whether gates are met; null where there is nothing to compare. */
export function checkGates(
  gates: readonly Gate[],
  status: ExperimentStatus,
  baseline: ExperimentStatus | null,
): GateResult[] {
  return gates.map((gate) => {
    const own = observedOf(gate, status);
    const other = gate.vs === "absolute" ? 0 : baseline === null ? null : observedOf(gate, baseline);
    const observed = own === null || other === null ? null : own - other;
    return { ...gate, observed, passed: observed === null ? null : holds(gate, observed) };
  });
}

function observedOf({ metric, evaluator_id }: Gate, status: ExperimentStatus): number | null {
  const evaluator = status.per_evaluator.find((each) => each.evaluator_id === evaluator_id);
  switch (metric) {
    case "mean":
      return evaluator?.mean ?? null;
    case "pass_rate":
      return evaluator?.pass_rate ?? null;
    case "p95_latency_ms":
      return status.p95_latency_ms;
    case "cost_usd":
      return status.usage.cost_usd;
    case "error_rate": {
      const { completed, failed, cancelled } = status.counts;
      const ended = completed + failed + cancelled;
      return ended === 0 ? null : failed / ended;
    }
    default:
      return metric satisfies never;
  }
}

/** What is lost where numbers are added and divided. */
const ROUNDING = 1e-9;

function holds({ op, value }: Gate, observed: number): boolean {
  switch (op) {
    case "gte":
      return observed >= value - ROUNDING;
    case "gt":
      return observed > value + ROUNDING;
    case "lte":
      return observed <= value + ROUNDING;
    case "lt":
      return observed < value - ROUNDING;
    case "eq":
      return Math.abs(observed - value) <= ROUNDING;
    default:
      return op satisfies never;
  }
}

/** What the gates say of an experiment that has ended: only one that is complete can pass. */
export function verdictOf(state: ExperimentState, gates: readonly GateResult[]): Verdict | null {
  if (gates.length === 0) return null;
  if (gates.some(({ passed }) => passed === false)) return "failed";
  return state === "COMPLETED" && gates.every(({ passed }) => passed === true) ? "passed" : "inconclusive";
}

/** What the workflow of a job is started with. */
export interface ExperimentJobInput {
  readonly org_id: string;
  readonly experiment_id: string;
  readonly job_id: string;
  readonly kind: JobKind;
  /** The task queues of runs and of their nodes. */
  readonly run_queue: string;
  readonly node_queue: string;
}

/** How the rows of a job are run: side by side in some workflows, each with some runs at once. */
export interface ExperimentLanes {
  readonly lanes: number;
  readonly concurrency: number;
}

/** One of the workflows that run the rows of a job: those whose place, divided by `lanes`, leaves `lane`. */
export interface LaneInput extends ExperimentJobInput, ExperimentLanes {
  readonly lane: number;
  /** The last place that it has taken. */
  readonly after: number;
}

/** A row to be run. */
export interface LaneRow {
  readonly place: number;
  /** What its run starts with; null: it has ended already. */
  readonly start: {
    readonly org_id: string;
    readonly run_id: string;
    readonly project_id: string;
    readonly flow_version: number;
    readonly user_id: string | null;
    readonly metadata: JsonObject;
    readonly inputs: Readonly<Record<string, StoredValue>>;
    readonly timeout_seconds: number;
    readonly limits: { readonly max_iterations: number };
    readonly depth: number;
  } | null;
}
