import { isWithin } from "../../src/domain/accounts/kept-rights.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { MAX_SUBFLOW_DEPTH } from "../../src/domain/flow/definition/limits.ts";
import type { CalledFlow } from "../../src/domain/flow/nodes/called-flow.ts";
import type { Plan } from "../../src/domain/flow/plan/types.ts";
import { validateRunInputs } from "../../src/domain/flow/io/run-inputs.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import { isTerminal, type Resumed } from "../../src/domain/runs/run.ts";
import { ofKind } from "../../src/domain/flow/plan/by-kind.ts";
import type { ChildRunStart, CreateChildRunInput } from "../../src/domain/runs/run-report.ts";
import { loadValue, type BlobStore } from "../../src/platform/blobs/blobs.ts";
import { childRunEnd, childRunId } from "../../src/services/runs/child-run-id.ts";
import { keepsInputs, keepsOutputs, restartInput } from "../../src/services/runs/restart-run.ts";
import { newRunRow, storeInputs, type RunLimits } from "../../src/services/runs/create-run.ts";
import { startInput, type StartInputs } from "../../src/services/runs/start-inputs.ts";
import type { Database } from "../../src/stores/db.ts";
import { reachOfVersion } from "../../src/services/projects/version-rights.ts";
import { versionForChild } from "../../src/services/projects/environment-pointers.ts";
import { getProjectInEnvironments } from "../../src/services/projects/projects.ts";
import { lockRun } from "../../src/stores/runs/run-record.ts";
import { environmentOfRun, findChildRun, insertRun, type RunRow } from "../../src/stores/runs/runs.ts";
import type { PlanCache } from "../../src/services/projects/plans.ts";
import type { RunRecorder } from "../../src/services/runs/run-recorder.ts";

export interface ChildRunDeps {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly startInputs: StartInputs;
  readonly plans: PlanCache;
  readonly recorder: RunRecorder;
  readonly limits: RunLimits & { readonly max_input_bytes: number };
}

/** Inserts a child run, exactly one however many workers attempt its node. */
export function createChildRuns({ db, blobs, startInputs, plans, recorder, limits }: ChildRunDeps) {
  const ownLimits = { max_iterations: limits.max_iterations };
  return async function createChildRun(input: CreateChildRunInput): Promise<ChildRunStart> {
    const { run, depth, progress, flush } = input;
    await recorder.record({ run, progress, nodes: flush });
    if (depth > MAX_SUBFLOW_DEPTH) {
      throw new NodeFailure(
        "subflow_too_deep",
        `Subflows can be nested at most ${MAX_SUBFLOW_DEPTH} levels deep. Check whether this flow calls itself.`,
      );
    }
    const id = childRunId(run.run_id, input.path);
    const end = childRunEnd(run.run_id, input.path);
    const known = await db.org(run.org_id, (connection) => findChildRun(connection, run.run_id, end));
    if (known) return isRestarted(known, run) ? await goOn(known, depth) : startInputs.open(known);
    const node = (await plans.get(run)).node(input.plan_path);
    const call: CalledFlow = input.called ?? ofKind(node, "subflow").config;
    const { project_id } = call;
    const reach = await db.org(run.org_id, (connection) => reachOfVersion(connection, run, "editor"));
    const called = isWithin(reach, project_id) ? await findCalled(run, call) : null;
    if (!called) {
      throw new NodeFailure(
        "subflow_not_found",
        `The subflow ${project_id} was deleted, has no version${call.environment === undefined ? "" : ` in ${call.environment}`} to run, or cannot be run by the user who deployed this flow.`,
      );
    }
    const { version, environment } = called;
    const bindings_id = environment?.bindings_id ?? null;
    const { plan } = await plans.get({ org_id: run.org_id, project_id, flow_version: version, bindings_id });
    const body = await loadValue(blobs, input.inputs);
    const { inputs, issues } = validateRunInputs(
      plan,
      body,
      { max_input_bytes: limits.max_input_bytes },
      { loc: [], reserved: [] },
    );
    if (issues.length > 0) {
      const places = issues.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
      throw new NodeFailure("subflow_inputs_invalid", `These inputs are not valid for the subflow: ${places}`);
    }
    const resumes = await resumedBy(input, plan);
    const row = newRunRow(
      {
        ...(resumes ? { resumes } : {}),
        org_id: run.org_id,
        run_id: id,
        project_id,
        version,
        plan,
        environment,
        user_id: input.user_id,
        metadata: input.metadata as JsonObject,
        run_type: "sub_workflow",
        ran_by_type: "system",
        ran_by_id: null,
        parent_run_id: run.run_id,
      },
      await storeInputs(blobs, run.org_id, inputs),
      limits,
      depth,
    );
    const stored = await startInputs.seal(row);
    const earlier = await db.orgTransaction(run.org_id, async (connection) => {
      // The lock is needed because the worker of the earlier attempt may still be alive.
      await lockRun(connection, run.run_id);
      const found = await findChildRun(connection, run.run_id, end);
      if (!found) await insertRun(connection, stored);
      return found;
    });
    return earlier ? startInputs.open(earlier) : startInput(row);
  };

  /** The version that a child run of this run executes. */
  async function findCalled({ org_id, run_id }: CreateChildRunInput["run"], call: CalledFlow) {
    const project = await getProjectInEnvironments(db, org_id, call.project_id);
    const environment = await db.org(org_id, (connection) => environmentOfRun(connection, run_id));
    return project && versionForChild(project, environment, call);
  }

  /** The child of a restarted run continues from its record as well; a finished child is not executed again. */
  async function goOn(child: RunRow, depth: number): Promise<ChildRunStart> {
    const { plan } = await plans.get(child);
    const { run_id, state, outputs, error } = child;
    const isKept = state === "COMPLETED" ? keepsOutputs(plan) : isTerminal(state) || keepsInputs(plan);
    if (!isKept)
      throw new NodeFailure(
        "workflow_lost",
        `The child run ${run_id} cannot be resumed: values it needs are redacted.`,
      );
    if (isTerminal(state)) return { ...startInput(child), ended: { state, outputs: outputs ?? {}, error } };
    return { ...(await restartInput({ db, blobs, limits: ownLimits }, child, plan)), depth };
  }

  /** The earlier run's child run at this path, whose model answers the agents of the new child run reuse. */
  async function resumedBy({ run, earlier_run, path }: CreateChildRunInput, plan: Plan): Promise<Resumed | null> {
    if (earlier_run === undefined) return null;
    const end = childRunEnd(earlier_run, path);
    const child = await db.org(run.org_id, (connection) => findChildRun(connection, earlier_run, end));
    return child && { run_id: child.run_id, nodes: plan.nodes.map(({ id }) => id) };
  }
}

/** Whether an existing child run had started in a workflow that was lost. */
function isRestarted(child: RunRow, run: CreateChildRunInput["run"]): boolean {
  return run.restarted === true && child.state !== "PENDING";
}
