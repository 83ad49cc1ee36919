import { executeChild, workflowInfo } from "@temporalio/workflow";
import { sliceWorkflowId } from "../../../src/temporal/ids.ts";
import type { PlanNode } from "../../../src/domain/flow/plan/types.ts";
import type { StoredValue } from "../../../src/domain/json.ts";
import { ENDS_WITH_PARENT } from "../../ends-with-parent.ts";
import { address, storedScope } from "../frame.ts";
import type { Frame } from "../frame.ts";
import type { LoopState, SliceInput, SliceOutcome, SliceWork } from "../slice.ts";
import { childEnd } from "./child-end.ts";
import { eachAtOnce } from "./each-at-once.ts";
import { assemble } from "./results.ts";

/** Items of a slice, and concurrent slices: together they bound both a history and the load of one run. */
const MAX_SLICE_ITEMS = 250;
const MAX_SLICES_AT_ONCE = 4;

/** Runs a long map as child workflows, some concurrently, and joins their lists. */
export async function runSlices(
  frame: Frame,
  node: PlanNode,
  { items, count }: { items: StoredValue; count: number },
): Promise<StoredValue> {
  const parts: StoredValue[] = [];
  await eachAtOnce(Math.ceil(count / MAX_SLICE_ITEMS), MAX_SLICES_AT_ONCE, async (at) => {
    const from = at * MAX_SLICE_ITEMS;
    const to = Math.min(from + MAX_SLICE_ITEMS, count);
    const outcome = await runSlice(frame, node, { kind: "map", items, from, to });
    parts[at] = outcome.value;
  });
  return assemble(frame.ctx, "concat", parts);
}

/** Runs the next rounds of a loop in a child workflow. */
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
  // Cancellations before this time belong to the earlier workflow.
  const identity = restarted ? { ...slice.identity, started_at: new Date(Date.now()).toISOString() } : slice.identity;
  return executeChild<(slice: SliceInput) => Promise<SliceOutcome>>("runSlice", {
    workflowId,
    args: [{ ...slice, identity }],
    ...ENDS_WITH_PARENT,
  });
}
