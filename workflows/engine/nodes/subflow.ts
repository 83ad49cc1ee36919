import {
  CancellationScope,
  CancelledFailure,
  ChildWorkflowFailure,
  isCancellation,
  patched,
  TerminatedFailure,
  workflowInfo,
} from "@temporalio/workflow";
import { runWorkflowId } from "../../../src/temporal/ids.ts";
import type { CalledFlow } from "../../../src/domain/flow/nodes/called-flow.ts";
import type { PlanNode } from "../../../src/domain/flow/plan/types.ts";
import type { StoredValue } from "../../../src/domain/json.ts";
import type { ChildRunStart } from "../../../src/domain/runs/run-report.ts";
import type { ParentRun, RunError, RunOutcome, RunWorkflowInput } from "../../../src/domain/runs/run.ts";
import { local } from "../../activities.ts";
import { asksAgain, executeEndingChild } from "../../ends-with-parent.ts";
import type { RunContext } from "../context.ts";
import { NodeFailed } from "../failure.ts";
import { address, earlierRunOf, type Frame } from "../frame.ts";
import { evaluate } from "../values.ts";
import { childEnd } from "./child-end.ts";
import type { Executor } from "./executor.ts";
import { assemble } from "./results.ts";

const SUBFLOW_FAILED = "subflow_failed";
/** The version marker of workflows in which a child may learn of a cancellation before this run. */
const CHILD_LEARNS_FIRST = "child-learns-of-cancellation-first";

/** Runs another project's flow as a child run and waits for its outputs. */
export const executeSubflow: Executor = async (frame, node, interpreter) => {
  const { value: inputs } = await evaluate(frame, node, "inputs");
  interpreter.announce();
  return { value: await runChild(frame, node, { path: address(frame, node).path, inputs }) };
};

export interface ChildCall {
  /** The path of the call in this run. */
  readonly path: string;
  readonly inputs: StoredValue;
  /** The flow to call; by default the one that the node names. */
  readonly called?: CalledFlow;
}

/** Runs a child run for a node and waits for its outputs. Throws NodeFailed. */
export async function runChild(frame: Frame, node: PlanNode, { path, ...call }: ChildCall): Promise<StoredValue> {
  const { ctx } = frame;
  const earlierRun = earlierRunOf(frame, node);
  const create = (): Promise<ChildRunStart> =>
    ctx.work.whileLocalActivityRuns(() =>
      ctx.record.carry((flush) =>
        local.createChildRun({
          ...address(frame, node),
          path,
          run: ctx.identity,
          progress: ctx.record.progress,
          flush,
          ...call,
          ...(earlierRun === undefined ? {} : { earlier_run: earlierRun }),
          user_id: ctx.input.user_id,
          metadata: ctx.input.metadata,
          depth: ctx.input.depth + 1,
        }),
      ),
    );
  const run = async (): Promise<{ run_id: string; outcome: ChildEnd }> => {
    const { ended, ...created } = await create();
    const start: RunWorkflowInput = { ...created, node_queue: ctx.input.node_queue, parent: parentOf(ctx, path) };
    ctx.pauses.watch();
    return {
      run_id: start.run_id,
      outcome: ended ?? (await ctx.work.whileChildRuns(runWorkflowId(start.run_id), () => outcomeOf(start))),
    };
  };
  const { run_id, outcome } = await childEnd(ctx, run);
  if (outcome.state === "COMPLETED") {
    return assemble(ctx, "object", Object.values(outcome.outputs), Object.keys(outcome.outputs));
  }
  // The child run records its own cancellation. This one was caused by the cancellation of this run.
  if (outcome.state === "CANCELLED" && (CancellationScope.current().consideredCancelled || (await isStopping(ctx)))) {
    throw new CancelledFailure("the run was cancelled");
  }
  throw new NodeFailed({
    code: outcome.state === "CANCELLED" ? "subflow_cancelled" : SUBFLOW_FAILED,
    message:
      outcome.state === "CANCELLED" ? `The child run ${run_id} was cancelled` : failureMessage(run_id, outcome.error),
    node_id: node.id,
    path,
    attempt: 1,
    retryable: false,
    ...(outcome.error?.upstream ? { upstream: true } : {}),
  });
}

/**
 * Whether this run is being cancelled, too: a child that starts reads from the record that a run around it is being
 * cancelled, while the cancellation is still on its way to this workflow.
 */
async function isStopping({ identity: { org_id, run_id }, cancellation, work }: RunContext): Promise<boolean> {
  if (!patched(CHILD_LEARNS_FIRST)) return false;
  const request = await work.whileLocalActivityRuns(() => local.cancelRequested({ org_id, run_id }));
  if (request) cancellation.cancel(request.reason);
  return request !== null;
}

/** Names the child run that failed first and the path in it, only once however deep it is nested. */
function failureMessage(runId: string, error: RunError | null): string {
  if (error?.code === SUBFLOW_FAILED) return error.message;
  const place = error?.path ? ` at ${error.path}` : "";
  return `The child run ${runId} failed${place}: ${error?.message ?? "no reason is known"}`;
}

/** What a child run needs to know of its outer runs, so that all of them can show its pauses. */
function parentOf({ identity, input }: RunContext, path: string): ParentRun {
  const prefix = `${path}/`;
  const around = input.parent?.runs.map((run) => ({ run_id: run.run_id, prefix: run.prefix + prefix })) ?? [];
  return { workflow_id: workflowInfo().workflowId, runs: [{ run_id: identity.run_id, prefix }, ...around] };
}

type ChildEnd = Pick<RunOutcome, "state" | "outputs" | "error">;

/** Starts the child run's workflow and waits for its end. A workflow that was ended outside Millrace has no outcome. */
async function outcomeOf(start: RunWorkflowInput): Promise<ChildEnd> {
  try {
    return await executeEndingChild<(input: RunWorkflowInput) => Promise<RunOutcome>>("runFlow", {
      workflowId: runWorkflowId(start.run_id),
      args: [start],
    });
  } catch (error) {
    if (isCancellation(error)) {
      // A child workflow that was cancelled after its start returns its outcome. This one never started, so only its record must be
      // cancelled.
      const { org_id, run_id } = start;
      if (asksAgain()) await CancellationScope.nonCancellable(() => local.cancelUnstartedRun({ org_id, run_id }));
      throw error;
    }
    if (!(error instanceof ChildWorkflowFailure)) throw error;
    if (error.cause instanceof TerminatedFailure) return { state: "CANCELLED", outputs: {}, error: null };
    const message = "its workflow was ended outside Millrace";
    const failure = { code: "workflow_failed", message, node_id: null, path: null, attempt: 1, retryable: true };
    return { state: "FAILED", outputs: {}, error: failure };
  }
}
