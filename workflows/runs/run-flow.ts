import { CancellationScope, isCancellation, setHandler, workflowInfo } from "@temporalio/workflow";
import { RECORDED_CHARS, jsonLength, type StoredValue } from "../../src/domain/json.ts";
import type { Plan } from "../../src/domain/flow/plan/types.ts";
import {
  isTerminal,
  type CheckpointNode,
  type RunError,
  type RunOutcome,
  type RunWorkflowInput,
  type TerminalState,
} from "../../src/domain/runs/run.ts";
import { local } from "../activities.ts";
import { closeRunContext, createRunContext, type RunContext } from "../engine/context.ts";
import { NodeFailed } from "../engine/failure.ts";
import { topFrame, type Frame } from "../engine/frame.ts";
import { runFrame } from "../engine/interpret.ts";
import { outputsOf, outputsSoFar } from "../engine/values.ts";
import { cancelSignal, positionQuery, resumeSignal, childIdleSignal } from "../messages.ts";

/** Longer outputs (characters in total) are in the workflow's result by reference. */
const MAX_RESULT_CHARS = 256 * 1024;

/**
 * Runs a flow from its inputs to a terminal state. The run's record has the end before the workflow closes; if that write was lost, the
 * sweeper completes the record from the workflow's result.
 */
export async function runFlow(input: RunWorkflowInput): Promise<RunOutcome> {
  const ctx = createRunContext(input);
  const { cancellation, pauses, record, work } = ctx;
  setHandler(cancelSignal, ({ reason }) => cancellation.cancel(reason));
  setHandler(resumeSignal, ({ pause_id, resolution }) => pauses.answer(pause_id, resolution));
  setHandler(childIdleSignal, ({ workflow_id, idle }) => work.childIdle(workflow_id, idle));
  setHandler(positionQuery, () => ({ running: [...work.running], paused: pauses.open, settled: record.settled }));

  // The parent cancels a child run in this way. Recorded immediately: if another event has arrived, Temporal rejects the workflow step and
  // repeats it with that event, and the repeated step must end the same way.
  CancellationScope.current().cancelRequested.catch(() => cancellation.cancel(null));

  let frame: Frame | undefined;
  let end: { state: TerminalState; reason: string | null; error: RunError | null };
  try {
    const isLate = input.start_by !== undefined && workflowInfo().startTime.getTime() > Date.parse(input.start_by);
    const plan = input.plan && !isLate ? input.plan : await cancellation.scope.run(() => planFor(ctx, isLate));
    if (plan) {
      frame = topFrame(ctx, plan);
      record.expect(plan.nodes.length);
      const walk = runFrame(frame);
      if (walk) await walk;
    }
    // If the run was stopped between two nodes, no running node has thrown, so the check is made here.
    if (frame?.walk.done || !cancellation.stopped) end = { state: "COMPLETED", reason: null, error: null };
    else end = cancellation.timedOut ? timedOut(input) : cancelled(ctx);
  } catch (error) {
    if (cancellation.timedOut) end = timedOut(input);
    else if (cancellation.cancelled || isCancellation(error)) end = cancelled(ctx);
    else if (error instanceof NodeFailed) end = { state: "FAILED", reason: error.error.code, error: error.error };
    else throw error;
  }

  const { state, reason, error } = end;
  // Awaited only if necessary, because the SDK keeps a stack trace of each promise.
  const writes = closeRunContext(ctx, frame?.plan.rules);
  if (writes) await writes;
  const resumed = state === "COMPLETED" ? pauses.writeResumed() : undefined;
  if (resumed) await resumed;
  const outputs = frame ? (state === "COMPLETED" ? outputsOf(frame) : outputsSoFar(frame)) : {};
  const carried = areLong(outputs) ? await storeOutputs(ctx, outputs) : outputs;
  const { progress } = record;
  const written = {
    state,
    state_reason: reason,
    outputs,
    error,
    ...(frame ? checkpointAt(state, frame) : {}),
  };
  if (cancellation.stopped) {
    // Temporal rejects the step that ends a run if a cancellation or the end of a node has arrived in the meantime. The repeated step may
    // come to another end than the recorded one, and then the recorded one counts.
    const recorded = await record.write(written);
    if (recorded !== state && isTerminal(recorded))
      return { state: recorded, reason: null, outputs: carried, error: null, progress };
  } else record.writeEnd(written);
  return { state, reason, outputs: carried, error, progress };
}

/** The plan of a run that starts late or was passed without its plan; undefined if the run was cancelled before it started. */
async function planFor({ input, cancellation }: RunContext, isLate: boolean): Promise<Plan | undefined> {
  const { org_id, run_id, project_id, flow_version, bindings_id, plan } = input;
  if (isLate) {
    const request = await local.cancelRequested({ org_id, run_id });
    if (request) {
      cancellation.cancel(request.reason);
      return undefined;
    }
  }
  if (plan) return plan;
  const loaded = await local.loadPlan({
    org_id,
    project_id,
    flow_version,
    run_id,
    ...(bindings_id === undefined ? {} : { bindings_id }),
  });
  if (!loaded) cancellation.cancel(null);
  return loaded ?? undefined;
}

function areLong(outputs: Readonly<Record<string, StoredValue>>): boolean {
  let chars = 0;
  for (const value of Object.values(outputs)) if ("v" in value) chars += jsonLength(value.v);
  return chars > MAX_RESULT_CHARS;
}

/** Also works when the run is cancelled. */
function storeOutputs(
  { input }: RunContext,
  outputs: Readonly<Record<string, StoredValue>>,
): Promise<Readonly<Record<string, StoredValue>>> {
  return CancellationScope.nonCancellable(() => local.storeOutputs({ org_id: input.org_id, outputs }));
}

function cancelled(ctx: RunContext): { state: "CANCELLED"; reason: string | null; error: null } {
  return { state: "CANCELLED", reason: ctx.cancellation.reason, error: null };
}

function timedOut(input: RunWorkflowInput): { state: "FAILED"; reason: string; error: RunError } {
  const message = `The run did not finish within its time limit of ${input.timeout_seconds} seconds.`;
  return {
    state: "FAILED",
    reason: "run_timeout",
    error: { code: "run_timeout", message, node_id: null, path: null, attempt: 1, retryable: false },
  };
}

/** The nodes' state for a later run that resumes this one. For a completed run, only what the nodes' records lack. */
function checkpointAt(state: TerminalState, frame: Frame): { checkpoint?: Record<string, CheckpointNode> } {
  const checkpoint = checkpointOf(frame);
  if (state !== "COMPLETED") return { checkpoint };
  const masked = (frame.plan.settings.redact ?? []).length > 0;
  const untold = Object.entries(checkpoint).filter(([, node]) => masked || !isRecorded(node));
  return untold.length === 0 ? {} : { checkpoint: Object.fromEntries(untold) };
}

/** Whether a node's record contains everything that later nodes need. */
function isRecorded({ value, handles, state }: CheckpointNode): boolean {
  const isPlain = state === "COMPLETED" && handles.length === 1 && handles[0] === "out";
  return isPlain && "v" in value && JSON.stringify(value.v).length <= RECORDED_CHARS;
}

/** The nodes that a run can reuse when it resumes this one. */
function checkpointOf(frame: Frame): Record<string, CheckpointNode> {
  return Object.fromEntries(
    [...frame.values].flatMap(([id, { value, handles, state }]) =>
      state === "COMPLETED" || (state === "SKIPPED" && frame.walk.stateOf(id) === "settled")
        ? [[id, { value, handles, state }]]
        : [],
    ),
  );
}
