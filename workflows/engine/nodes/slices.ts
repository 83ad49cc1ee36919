import {
  CancellationScope,
  executeChild,
  ParentClosePolicy,
  ChildWorkflowCancellationType,
  workflowInfo,
} from "@temporalio/workflow";
import { sliceWorkflowId } from "../../../src/temporal/ids.ts";
import type { PlanNode } from "../../../src/domain/flow/plan/types.ts";
import type { StoredValue } from "../../../src/domain/json.ts";
import { address, storedScope } from "../frame.ts";
import type { Frame } from "../frame.ts";
import type { LoopState, SliceInput, SliceOutcome, SliceWork } from "../slice.ts";
import { childEnd } from "./child-end.ts";
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
  const starts = Array.from({ length: Math.ceil(count / MAX_SLICE_ITEMS) }, (_, at) => at * MAX_SLICE_ITEMS);
  const parts: StoredValue[] = [];
  // Its own scope: if one slice fails, the others are cancelled, and the flow goes on only when they have ended.
  const scope = new CancellationScope();
  let next = 0;
  let failure: { readonly error: unknown } | undefined;
  const work = async (): Promise<void> => {
    while (next < starts.length && !failure) {
      const at = next;
      next += 1;
      const from = starts[at] ?? 0;
      const to = Math.min(from + MAX_SLICE_ITEMS, count);
      try {
        const outcome = await runSlice(frame, node, { kind: "map", items, from, to });
        parts[at] = outcome.value;
      } catch (error) {
        failure ??= { error };
        scope.cancel();
      }
    }
  };
  await scope.run(() => Promise.all(Array.from({ length: Math.min(MAX_SLICES_AT_ONCE, starts.length) }, work)));
  if (failure) throw failure.error;
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
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
}
