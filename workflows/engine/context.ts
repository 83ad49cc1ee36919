import { getExternalWorkflowHandle, workflowInfo } from "@temporalio/workflow";
import { keepsClock } from "../../src/domain/flow/expressions/rules.ts";
import type { RunWorkflowInput } from "../../src/domain/runs/run.ts";
import type { RunIdentity } from "../../src/domain/runs/run-report.ts";
import { childIdleSignal } from "../messages.ts";
import { Ahead } from "./ahead.ts";
import { Budgets } from "./budgets.ts";
import { Cancellation } from "./cancellation.ts";
import { Clock } from "./clock.ts";
import { Pauses } from "./pauses.ts";
import { RunRecord } from "./record.ts";
import { Work } from "./work.ts";

/** The state that all nodes in one of a run's workflows share. */
export interface RunContext {
  readonly input: RunWorkflowInput;
  readonly identity: RunIdentity;
  readonly record: RunRecord;
  readonly work: Work;
  readonly pauses: Pauses;
  readonly budgets: Budgets;
  readonly clock: Clock;
  readonly cancellation: Cancellation;
  /** Whether this workflow is a slice instead of the run's own workflow. */
  readonly sliced: boolean;
  readonly ahead: Ahead;
}

/** What a slice needs to know about its run. */
export interface SliceOf {
  readonly identity: RunIdentity;
  readonly iterations: number;
  readonly parent_workflow_id: string;
}

/** The context of a run's own workflow, or of a slice. */
export function createRunContext(input: RunWorkflowInput, slice?: SliceOf): RunContext {
  const identity = slice?.identity ?? newIdentity(input);
  const cancellation = new Cancellation();
  const endsAt = slice ? null : Date.parse(identity.started_at) + input.timeout_seconds * 1000;
  const clock = new Clock(cancellation, endsAt);
  const work = new Work(clock);
  const record = new RunRecord(identity, work, cancellation);
  const parent = slice?.parent_workflow_id ?? input.parent?.workflow_id;
  const notifyParent = parent === undefined ? undefined : notifyIdle(parent);
  const pauses = new Pauses({
    work,
    record,
    clock,
    cancellation,
    writesState: !slice,
    notifyParent,
    unattended: input.unattended === true,
  });
  const budgets = new Budgets(input.limits.max_iterations, slice?.iterations ?? 0);
  const ahead = new Ahead();
  return { input, identity, record, work, pauses, budgets, clock, cancellation, ahead, sliced: slice !== undefined };
}

/** Stops the background work. Returns the writes that nothing awaits, if any. */
export function closeRunContext(
  { clock, pauses, record }: RunContext,
  rules: number | undefined,
): Promise<unknown> | undefined {
  // Temporal drops timers when the workflow ends; cancelling one first would cost an event.
  if (keepsClock(rules)) clock.stop();
  pauses.close();
  return record.close();
}

/** Tells another workflow whether this one waits only for people. Errors are ignored, because a finished workflow need not know. */
function notifyIdle(parentWorkflowId: string): (idle: boolean) => Promise<void> {
  const parent = getExternalWorkflowHandle(parentWorkflowId);
  const { workflowId } = workflowInfo();
  return (idle) => parent.signal(childIdleSignal, { workflow_id: workflowId, idle }).catch(() => undefined);
}

function newIdentity(input: RunWorkflowInput): RunIdentity {
  return {
    org_id: input.org_id,
    run_id: input.run_id,
    project_id: input.project_id,
    flow_version: input.flow_version,
    ...(input.bindings_id === undefined ? {} : { bindings_id: input.bindings_id }),
    temporal_run_id: workflowInfo().runId,
    started_at: new Date(Date.now()).toISOString(),
    ...(input.restart ? { restarted: true } : {}),
  };
}
