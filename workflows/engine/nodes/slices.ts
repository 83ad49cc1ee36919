import { patched, workflowInfo } from "@temporalio/workflow";
import { sliceWorkflowId } from "../../../src/temporal/ids.ts";
import type { PlanNode, PlanNodeOf } from "../../../src/domain/flow/plan/types.ts";
import type { StoredValue } from "../../../src/domain/json.ts";
import { executeEndingChild } from "../../ends-with-parent.ts";
import { address, storedScope, type Frame } from "../frame.ts";
import type { LoopState, SliceInput, SliceOutcome, SliceWork } from "../slice.ts";
import { childEnd } from "./child-end.ts";
import { eachUntilFailure } from "./each-until-failure.ts";
import { assemble } from "./results.ts";

/**
 * Most iterations with activities in one workflow. Longer maps and loops are divided into slices, each a child workflow, so that no history
 * comes near Temporal's limit of 50,000 events (an activity takes three events and a part of a workflow task's three).
 */
export const SLICE_SIZE = 250;
/** Limits the load of one run. */
const MAX_SLICES_AT_ONCE = 4;
/** The version marker of workflows in which the slices of a map share its concurrency. */
const SHARED_CONCURRENCY = "slices-share-concurrency";

/** Runs a long map as child workflows, several concurrently, and joins their lists. */
export async function runSlices(
  frame: Frame,
  node: PlanNodeOf<"map">,
  { items, count }: { items: StoredValue; count: number },
): Promise<StoredValue> {
  const parts: StoredValue[] = [];
  const most = patched(SHARED_CONCURRENCY) ? node.config.max_concurrency : undefined;
  const atOnce = most === undefined ? MAX_SLICES_AT_ONCE : slicesAtOnce(most);
  const share = most === undefined ? {} : { max_concurrency: most / atOnce };
  await eachUntilFailure(Math.ceil(count / SLICE_SIZE), atOnce, async (at) => {
    const from = at * SLICE_SIZE;
    const to = Math.min(from + SLICE_SIZE, count);
    const outcome = await runSlice(frame, node, { kind: "map", items, from, to, ...share });
    parts[at] = outcome.value;
  });
  return assemble(frame.ctx, "concat", parts);
}

/** How many slices run at a time, such that each has an equal share of the map's concurrency. */
function slicesAtOnce(maxConcurrency: number): number {
  for (let slices = MAX_SLICES_AT_ONCE; slices > 1; slices -= 1) if (maxConcurrency % slices === 0) return slices;
  return 1;
}

/** Runs the next iterations of a loop in a child workflow. */
export async function runLoopSlice(frame: Frame, node: PlanNode, state: LoopState, until: number): Promise<LoopState> {
  const outcome = await runSlice(frame, node, { kind: "loop", last: state.last, from: state.index, to: until });
  return { index: outcome.index, last: outcome.value, finished: outcome.finished };
}

async function runSlice(frame: Frame, node: PlanNode, work: SliceWork): Promise<SliceOutcome> {
  const { ctx } = frame;
  const { plan: _plan, reuse: _reuse, inputs: _inputs, ...input } = ctx.input;
  const scope = storedScope(frame, node);
  const where = address(frame, node);
  const workflowId = sliceWorkflowId(ctx.input.run_id, where.path, work.from);
  const slice: SliceInput = {
    input: { ...input, inputs: scope.inputs },
    identity: ctx.identity,
    parent_workflow_id: workflowInfo().workflowId,
    ...where,
    scope,
    iterations_before: ctx.budgets.iterations,
    work,
  };
  ctx.pauses.watch();
  return ctx.work.whileChildRuns(workflowId, async () => {
    const outcome = await childEnd(ctx, () => outcomeOf(slice, workflowId));
    ctx.budgets.spendIterations(outcome.iterations);
    return outcome;
  });
}

/** Starts a slice and waits for its end. */
function outcomeOf(slice: SliceInput, workflowId: string): Promise<SliceOutcome> {
  const { restarted } = slice.identity;
  // After a restart, cancellations before this time were meant for the earlier workflow.
  const identity = restarted ? { ...slice.identity, started_at: new Date(Date.now()).toISOString() } : slice.identity;
  return executeEndingChild<(slice: SliceInput) => Promise<SliceOutcome>>("runSlice", {
    workflowId,
    args: [{ ...slice, identity }],
  });
}
