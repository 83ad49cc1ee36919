import { z } from "zod";
import { HOLDS, isBelow } from "./alert.ts";
import type { Immutable } from "../json.ts";
import type { RunInput } from "../runs/run.ts";

export const EXPERIMENT_STATES = ["DRAFT", "QUEUED", "RUNNING", "COMPLETED", "PARTIAL", "FAILED", "CANCELLED"] as const;
export type ExperimentState = (typeof EXPERIMENT_STATES)[number];
export const VERDICTS = ["passed", "failed", "inconclusive"] as const;
export type Verdict = (typeof VERDICTS)[number];
export const ROW_STATES = ["pending", "running", "completed", "failed", "cancelled"] as const;
export type RowState = (typeof ROW_STATES)[number];
export const JOB_KINDS = ["run", "rerun_failed", "rerun_rows", "score_only", "export", "cancel"] as const;
export type JobKind = (typeof JOB_KINDS)[number];
export type JobState = RowState;

/** The state of a row or job as the API spells it: in capitals, like states of runs. */
export const SHOWN_STATES = ["PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"] as const satisfies Array<
  Uppercase<RowState>
>;

export function publicState(state: RowState): Uppercase<RowState> {
  return state.toUpperCase() as Uppercase<RowState>;
}

/** Whether a job is running or will run. */
export function isActive(state: ExperimentState): boolean {
  return state === "QUEUED" || state === "RUNNING";
}

export const gateSchema = z
  .strictObject({
    metric: z.enum(["pass_rate", "mean", "p95_latency_ms", "cost_usd", "error_rate"]),
    evaluator_id: z
      .uuid()
      .toLowerCase()
      .nullish()
      .describe("Required for `pass_rate` and `mean`: the evaluator whose scores count."),
    op: z.enum(["gte", "gt", "lte", "lt", "eq"]),
    value: z.number(),
    vs: z
      .enum(["absolute", "baseline"])
      .default("absolute")
      .describe("`absolute` compares the metric itself with `value`, `baseline` its difference to the baseline."),
  })
  .refine(({ metric, evaluator_id }) => evaluator_id != null || !(metric === "pass_rate" || metric === "mean"), {
    path: ["evaluator_id"],
    message: "pass_rate and mean need an evaluator: name it",
  });
export type Gate = z.output<typeof gateSchema>;

export const unscoredCount = z
  .int()
  .describe("Number of expected scores without a value, because the row could not be run or not be scored.");

const interval = z
  .array(z.number())
  .length(2)
  .nullable()
  .describe("95 % confidence interval of the mean (Student's t).");

/** Differences between the scores of the same rows. */
export const baselineShape = {
  n: z.int().describe("Number of rows that the same evaluator version has scored in both experiments."),
  diff: z.number().nullable().describe("Mean of the row-by-row differences."),
  ci95: interval,
  improved: z.int(),
  regressed: z.int(),
  unchanged: z.int(),
};

/** The part of an experiment's status that is counted from its rows and scores. */
export const resultsSchema = z.object({
  counts: z.object({
    rows: z.int().describe("Dataset rows × repetitions."),
    pending: z.int(),
    running: z.int(),
    completed: z.int(),
    failed: z.int(),
    cancelled: z.int(),
  }),
  scores: z.object({
    expected: z.int().describe("Rows × evaluators."),
    done: z.int().describe("Scores made so far, including errors."),
    errored: z.int(),
    unscored: unscoredCount,
  }),
  per_evaluator: z.array(
    z.object({
      evaluator_id: z.uuid(),
      evaluator_version: z.int(),
      name: z.string(),
      n: z.int().describe("Number of scores in the mean: numbers, and booleans as 1 and 0."),
      mean: z.number().nullable(),
      median: z.number().nullable(),
      stddev: z.number().nullable().describe("Sample standard deviation (n − 1)."),
      ci95: interval,
      pass_rate: z
        .number()
        .nullable()
        .describe("Share of passes among the scores that pass or fail. Gates divide by `expected` instead."),
      passed: z.int(),
      errors: z.int().describe("Scores that could not be made. `unscored` counts them too."),
      expected: z.int().describe("Number of scores expected so far: one per finished row."),
      unscored: unscoredCount,
      baseline: z.object(baselineShape).nullable(),
    }),
  ),
  usage: z
    .object({ total_tokens: z.int(), cost_usd: z.number() })
    .describe("Usage of the runs; the cost includes judges."),
});
export const gateResultSchema = z.object({
  ...gateSchema.shape,
  observed: z.number().nullable(),
  passed: z
    .boolean()
    .nullable()
    .describe("`null` if there is nothing to compare, or if only part of the rows could be evaluated."),
  unscored: unscoredCount,
});
export type GateResult = Immutable<z.output<typeof gateResultSchema>>;

export interface ExperimentStatus extends Immutable<z.output<typeof resultsSchema>> {
  readonly p95_latency_ms: number | null;
  /** Rows that finished without a run, so that their latency and cost are unknown. */
  readonly unrun: number;
}
export type EvaluatorStatus = ExperimentStatus["per_evaluator"][number];

/** The experiment and its baseline on the rows that both have: the mean difference, and how many rows improved or regressed. */
export type BaselineComparison = NonNullable<EvaluatorStatus["baseline"]>;

/**
 * Evaluates gates. `passed` is null if there is nothing to compare, or only for some of the rows that the gate is about. Missing results
 * count against a gate: a pass rate is a share of all scores that should exist, and a mean, latency or cost of only some rows cannot pass.
 * If the baseline lacks results, a gate passes only if it would pass whatever they were.
 */
export function checkGates(
  gates: readonly Gate[],
  status: ExperimentStatus,
  baseline: ExperimentStatus | null,
): GateResult[] {
  return gates.map((gate) => {
    const own = observedOf(gate, status);
    const other = gate.vs === "absolute" ? NOTHING : baseline === null ? null : observedOf(gate, baseline);
    const unscored = evaluatorOf(gate, status)?.unscored ?? 0;
    if (own === null || other === null) return { ...gate, observed: null, passed: null, unscored };
    const observed = hardest(gate, own, other);
    const passed = holds(gate, observed) || (holds(gate, kindest(gate, own, other)) ? null : false);
    const isKnown =
      !(passed === true && isPartial(gate, status)) &&
      !(gate.vs === "baseline" && baseline !== null && isPartial(gate, baseline));
    return { ...gate, observed, passed: isKnown ? passed : null, unscored };
  });
}

/** The lowest and highest possible value of a number, depending on the missing scores. */
type Bounds = readonly [number, number];
const NOTHING: Bounds = [0, 0];

/** The observed value, or its difference to the baseline, that is worst for the gate. */
function hardest({ op, value }: Gate, own: Bounds, other: Bounds): number {
  const [least, most] = [own[0] - other[1], own[1] - other[0]];
  if (op === "eq") return Math.abs(least - value) > Math.abs(most - value) ? least : most;
  return isBelow(op) ? most : least;
}

/**
 * The value that is best for the gate as far as the baseline's missing scores go; the ones that the experiment itself lacks still count
 * against it.
 */
function kindest(gate: Gate, own: Bounds, other: Bounds): number {
  const equal = Math.min(Math.max(own[0] - gate.value, other[0]), other[1]);
  const against = [...other, equal].map((each) => hardest(gate, own, [each, each]));
  return against.find((each) => holds(gate, each)) ?? against[0] ?? 0;
}

function evaluatorOf({ evaluator_id }: Gate, status: ExperimentStatus): EvaluatorStatus | undefined {
  return status.per_evaluator.find((each) => each.evaluator_id === evaluator_id);
}

/** How a metric is observed, and how many results are missing in what it covers; rates already count missing results. */
interface Metric {
  observed(status: ExperimentStatus, evaluator: EvaluatorStatus | undefined): Bounds | null;
  missing?(status: ExperimentStatus, evaluator: EvaluatorStatus | undefined): number;
}

const exactly = (value: number | null): Bounds | null => (value === null ? null : [value, value]);

const METRICS: Readonly<Record<Gate["metric"], Metric>> = {
  mean: {
    observed: (_, evaluator) => exactly(evaluator?.mean ?? null),
    missing: (_, evaluator) => evaluator?.unscored ?? 0,
  },
  pass_rate: { observed: (_, evaluator) => (evaluator === undefined ? null : passRateOf(evaluator)) },
  p95_latency_ms: { observed: (status) => exactly(status.p95_latency_ms), missing: ({ unrun }) => unrun },
  cost_usd: { observed: ({ usage }) => exactly(usage.cost_usd), missing: ({ unrun }) => unrun },
  error_rate: { observed: (status) => exactly(errorRateOf(status)) },
};

function observedOf(gate: Gate, status: ExperimentStatus): Bounds | null {
  return METRICS[gate.metric].observed(status, evaluatorOf(gate, status));
}

/** Whether the observed value covers only some of the rows. */
function isPartial(gate: Gate, status: ExperimentStatus): boolean {
  return (METRICS[gate.metric].missing?.(status, evaluatorOf(gate, status)) ?? 0) > 0;
}

/** The share of finished rows that failed; null if no row has finished. */
export function errorRateOf({ counts: { completed, failed, cancelled } }: ExperimentStatus): number | null {
  const ended = completed + failed + cancelled;
  return ended === 0 ? null : failed / ended;
}

/** The lowest and highest possible share of expected scores that pass. */
function passRateOf({ passed, expected, unscored, pass_rate }: EvaluatorStatus): Bounds | null {
  const isJudging = pass_rate !== null || unscored === expected;
  return expected === 0 || !isJudging ? null : [passed / expected, (passed + unscored) / expected];
}

/** Tolerance for the rounding errors of sums and quotients. */
const ROUNDING = 1e-9;

function holds({ op, value }: Gate, observed: number): boolean {
  return op === "eq" ? Math.abs(observed - value) <= ROUNDING : HOLDS[op](observed, value, ROUNDING);
}

/** The verdict of the gates on a finished experiment: only a completed one can pass; a cancelled one is inconclusive. */
export function verdictOf(state: ExperimentState, gates: readonly GateResult[]): Verdict | null {
  if (gates.length === 0) return null;
  if (state === "CANCELLED") return "inconclusive";
  if (gates.some(({ passed }) => passed === false)) return "failed";
  return state === "COMPLETED" && gates.every(({ passed }) => passed === true) ? "passed" : "inconclusive";
}

/** The input of a job's workflow. */
export interface ExperimentJobInput {
  readonly org_id: string;
  readonly experiment_id: string;
  readonly job_id: string;
  readonly kind: JobKind;
  /** The task queues of runs and of their nodes. */
  readonly run_queue: string;
  readonly node_queue: string;
}

/** How a job finished. */
export interface ExperimentEndInput extends ExperimentJobInput {
  readonly cancelled: boolean;
  /** The reason of a failure, with its code; null if the job did not fail. */
  readonly failure: string | null;
  readonly code?: string;
}

/** How many workflows run the rows of a job side by side, and how many runs each has at a time. */
export interface ExperimentLanes {
  readonly lanes: number;
  readonly concurrency: number;
}

/** The input of one of the workflows that run the rows of a job: it runs the rows whose index modulo `lanes` is `lane`. */
export interface LaneInput extends ExperimentJobInput, ExperimentLanes {
  readonly lane: number;
  /** The last row position that this lane has fetched. */
  readonly after: number;
}

export interface LaneRow {
  readonly place: number;
  /** The input of its run; null if the row has already finished. */
  readonly start: Omit<RunInput, "plan"> | null;
}
