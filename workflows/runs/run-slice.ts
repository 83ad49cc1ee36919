import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  setHandler,
} from "@temporalio/workflow";
import { ofKind } from "../../src/domain/flow/plan/by-kind.ts";
import type { Plan, PlanNode } from "../../src/domain/flow/plan/types.ts";
import { local } from "../activities.ts";
import { closeRunContext, createRunContext, type RunContext } from "../engine/context.ts";
import { NodeFailed } from "../engine/failure.ts";
import { topFrame, type Frame } from "../engine/frame.ts";
import { runFrame } from "../engine/interpret.ts";
import { runRounds } from "../engine/nodes/loop.ts";
import { mapItems } from "../engine/nodes/map.ts";
import type { SliceInput, SliceOutcome } from "../engine/slice.ts";
import { resumeSignal, childIdleSignal } from "../messages.ts";

/** Runs some iterations of a map or loop that is too long for one workflow's history. */
export async function runSlice(slice: SliceInput): Promise<SliceOutcome> {
  const { work, identity } = slice;
  const ctx = createRunContext(slice.input, {
    identity,
    iterations: slice.iterations_before,
    parent_workflow_id: slice.parent_workflow_id,
  });
  setHandler(resumeSignal, ({ pause_id, resolution }) => ctx.pauses.answer(pause_id, resolution));
  setHandler(childIdleSignal, ({ workflow_id, idle }) => ctx.work.childIdle(workflow_id, idle));
  // The parent cancels its child workflows in this way.
  CancellationScope.current().cancelRequested.catch(() => ctx.cancellation.cancel(null));
  ctx.record.writeWhileWaiting();
  try {
    const { org_id, project_id, flow_version, run_id, bindings_id } = identity;
    const plan = await local.loadPlan({
      org_id,
      project_id,
      flow_version,
      run_id,
      ...(bindings_id === undefined ? {} : { bindings_id }),
    });
    if (!plan) throw new CancelledFailure("the run was cancelled");
    const { frame, node } = enter(ctx, plan, slice);
    // The workflow that contains the map or loop records it, not its slices.
    const nothing = () => undefined;
    const interpreter = { runFrame, onAttempt: nothing, announce: nothing, complete: nothing };
    const outcome = await ctx.cancellation.scope.run(async () => {
      if (work.kind === "loop") {
        const state = await runRounds(
          frame,
          node,
          { index: work.from, last: work.last, finished: false },
          work.to,
          interpreter,
        );
        return { value: state.last, index: state.index, finished: state.finished };
      }
      const { items } = await local.splitItems({ org_id, items: work.items, from: work.from, to: work.to });
      return {
        value: await mapItems(frame, ofKind(node, "map"), items, work.from, interpreter, work.max_concurrency),
        index: work.to,
        finished: true,
      };
    });
    // If the slice was stopped between two iterations, no running node has thrown, so the check is made here.
    if (ctx.cancellation.stopped) throw new CancelledFailure("the run was cancelled");
    return { ...outcome, iterations: ctx.budgets.iterations - slice.iterations_before };
  } catch (error) {
    if (isCancellation(error) || !(error instanceof NodeFailed)) throw error;
    const { code, message, retryable } = error.error;
    throw ApplicationFailure.nonRetryable(message, code, {
      retryable,
      upstream: error.error.upstream === true,
      origin: error.error,
    });
  } finally {
    await CancellationScope.nonCancellable(async () => {
      await closeRunContext(ctx, undefined);
      await ctx.record.write();
    });
  }
}

/** Rebuilds the outer frames as far as the nested flow can read them. */
function enter(ctx: RunContext, plan: Plan, slice: SliceInput): { frame: Frame; node: PlanNode } {
  let flow = plan;
  let node: PlanNode | undefined;
  for (const id of slice.plan_path.split("/")) {
    node = flow.nodes.find((candidate) => candidate.id === id);
    if (node?.nested) flow = node.nested;
  }
  if (!node) throw new Error(`the plan has no node ${slice.plan_path}`);
  const { item, index, last } = slice.scope;
  const frame: Frame = {
    ...topFrame(ctx, plan),
    prefix: slice.path.slice(0, slice.path.length - node.id.length),
    planPrefix: slice.plan_path.slice(0, slice.plan_path.length - node.id.length),
    values: new Map(
      Object.entries(slice.scope.nodes).map(([id, value]) => [id, { value, handles: [], state: "COMPLETED" as const }]),
    ),
    iteration: { ...(item ? { item } : {}), ...(index === undefined ? {} : { index }), ...(last ? { last } : {}) },
  };
  return { frame, node };
}
