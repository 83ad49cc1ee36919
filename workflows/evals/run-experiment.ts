import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowFailure,
  continueAsNew,
  condition,
  isCancellation,
  workflowInfo,
} from "@temporalio/workflow";
import { runWorkflowId } from "../../src/temporal/ids.ts";
import type { ExperimentJobInput, LaneInput, LaneRow } from "../../src/domain/evals/experiment.ts";
import type { RunOutcome, RunWorkflowInput } from "../../src/domain/runs/run.ts";
import { ownActivities } from "../activities.ts";
import { executeEndingChild } from "../ends-with-parent.ts";
import type { EvalActivities } from "../../activities/evals/types.ts";

const STEP_TIMEOUT_MS = 600_000;
/** For scoring all rows again, or writing all rows to a file. */
const JOB_TIMEOUT_MS = 12 * 3_600_000;
/** A lane continues as a new workflow before its history exceeds this (events, bytes). */
const MAX_HISTORY_EVENTS = 4000;
const MAX_HISTORY_BYTES = 4 * 1024 * 1024;
/** Most rows that are scored in one activity. */
const MAX_SCORED = 100;

/** Runs a job of an experiment. The result is in the rows of the job and of the experiment. */
export async function runExperiment(job: ExperimentJobInput): Promise<void> {
  const steps = ownActivities<EvalActivities>(STEP_TIMEOUT_MS);
  const long = ownActivities<EvalActivities>(JOB_TIMEOUT_MS);
  let failed: { readonly failure: string | null; readonly code?: string } = { failure: null };
  let cancelled = false;
  try {
    if (job.kind === "export") await long.exportExperiment(job);
    else {
      const lanes = await steps.beginExperiment(job);
      if (job.kind === "score_only") await long.scoreExperiment(job);
      else if (lanes !== null)
        await Promise.all(
          Array.from({ length: lanes.lanes }, (_, lane) => runLane({ ...job, ...lanes, lane, after: -1 })),
        );
    }
  } catch (error) {
    cancelled = isCancellation(error);
    if (!cancelled) failed = failureOf(error);
  }
  await CancellationScope.nonCancellable(() => steps.endExperiment({ ...job, cancelled, ...failed }));
}

/** The cause of a failed step in this workflow or in a lane. */
function failureOf(error: unknown): { readonly failure: string; readonly code?: string } {
  let reason = error;
  while (reason instanceof ActivityFailure || reason instanceof ChildWorkflowFailure) reason = reason.cause;
  if (!(reason instanceof Error)) return { failure: "The job failed." };
  const code = reason instanceof ApplicationFailure ? reason.type : null;
  return { failure: reason.message, ...(code ? { code } : {}) };
}

async function runLane(input: LaneInput): Promise<void> {
  await executeEndingChild<(input: LaneInput) => Promise<void>>("runExperimentLane", {
    workflowId: `${workflowInfo().workflowId}/${input.lane}`,
    args: [input],
  });
}

/** Runs a lane's share of an experiment's rows, several concurrently, and has them scored in batches as they finish. */
export async function runExperimentLane(input: LaneInput): Promise<void> {
  const { scoreRows, nextRows } = ownActivities<EvalActivities>(STEP_TIMEOUT_MS);
  let { after } = input;
  let waiting: LaneRow[] = [];
  let isAtEnd = false;
  let fetching: Promise<void> | undefined;
  let underWay = input.concurrency;
  const ended: number[] = [];

  const isLong = (): boolean => {
    const { historyLength, historySize, continueAsNewSuggested } = workflowInfo();
    return continueAsNewSuggested || historyLength > MAX_HISTORY_EVENTS || historySize > MAX_HISTORY_BYTES;
  };
  async function loadNext(): Promise<void> {
    const { rows, more } = await nextRows({ ...input, after });
    waiting = rows;
    isAtEnd = !more;
  }
  async function take(): Promise<LaneRow | undefined> {
    while (waiting.length === 0 && !isAtEnd && !isLong()) {
      fetching ??= loadNext().finally(() => (fetching = undefined));
      await fetching;
    }
    // All fetched rows must be run here, because the next workflow starts after them.
    const row = waiting.shift();
    if (row !== undefined) after = row.place;
    return row;
  }
  async function work(): Promise<void> {
    try {
      for (let row = await take(); row !== undefined; row = await take()) {
        if (row.start !== null)
          await runRow({ ...row.start, node_queue: input.node_queue, unattended: true }, input.run_queue);
        ended.push(row.place);
      }
    } finally {
      underWay -= 1;
    }
  }
  async function score(): Promise<void> {
    const enough = Math.min(MAX_SCORED, 2 * input.concurrency);
    for (;;) {
      await condition(() => ended.length >= enough || underWay === 0);
      const places = ended.splice(0, MAX_SCORED);
      if (places.length === 0) return;
      await scoreRows({ ...input, places });
    }
  }
  try {
    await Promise.all([...Array.from({ length: input.concurrency }, work), score()]);
  } catch (error) {
    // After a cancellation, runs that had already finished are still scored.
    if (isCancellation(error) && ended.length > 0) {
      await CancellationScope.nonCancellable(() => scoreRows({ ...input, places: ended.splice(0) }));
    }
    throw error;
  }
  if (!isAtEnd) await continueAsNew<typeof runExperimentLane>({ ...input, after });
}

/** Runs one row. The result is in the run's record, even if the run's workflow was terminated or belongs to another job. */
async function runRow(start: RunWorkflowInput, taskQueue: string): Promise<void> {
  try {
    await executeEndingChild<(input: RunWorkflowInput) => Promise<RunOutcome>>("runFlow", {
      workflowId: runWorkflowId(start.run_id),
      args: [start],
      taskQueue,
      workflowIdReusePolicy: "REJECT_DUPLICATE",
    });
  } catch (error) {
    if (isCancellation(error) && CancellationScope.current().consideredCancelled) throw error;
  }
}
