import { Problem, invalid } from "../../domain/errors.ts";
import { reuseFor } from "../../domain/flow/plan/rerun.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { CheckpointNode } from "../../domain/runs/run.ts";
import { createInlineBudget } from "../../platform/blobs/blobs.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import { cancelledPath } from "../../stores/runs/node-runs.ts";
import { getCheckpoint } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { Database } from "../../stores/db.ts";
import type { FlowCache } from "../projects/flow-cache.ts";
import type { RunService } from "./run-service.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import type { StartedBy } from "../triggers/chain.ts";
import { recordedNodes } from "./recorded-nodes.ts";
import { earlierInputs } from "./earlier-inputs.ts";
import { outsideOfOthers, ranBy, requireInputs } from "./run-inputs.ts";

/** Longest total of reused values carried inline (bytes of JSON), since a workflow's input is limited to 2 MiB. */
const CARRIED_BYTES = 256 * 1024;

export interface ResumeDeps {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly flows: FlowCache;
  readonly runService: Pick<RunService, "create">;
  readonly maxInputBytes: number;
}

export interface ResumeRequest {
  /** "failed", or the ID of a node. */
  readonly from: string;
  /** The request's field for `from`, used in errors; default `from`. */
  readonly place?: string | undefined;
  readonly version?: number | undefined;
  readonly inputs?: Readonly<Record<string, unknown>> | undefined;
}

export interface NewRunIdentity {
  readonly run_id: string;
  readonly repeated: boolean;
  readonly principal: Principal;
  readonly started_by?: StartedBy | undefined;
}

/**
 * Starts a new run that continues where a failed or cancelled run stopped, or from a node of a finished run. Throws 404
 * for an unknown version, and 422 for an unknown node or invalid inputs.
 */
export async function resumeRun(
  { db, blobs, flows, runService, maxInputBytes }: ResumeDeps,
  run: RunRow,
  request: ResumeRequest,
  { run_id, repeated, principal, started_by }: NewRunIdentity,
): Promise<RunRow> {
  // The earlier run's version decides what was redacted.
  const before = await flows.ofRun(run);
  const { version, plan, environment } =
    request.version === undefined ? before : await flows.again(run, request.version);
  const checkpoint = await finishedNodes(db, run, before.plan);
  // "failed" always means the failed node, even if some node has that ID.
  const from = request.from === "failed" ? ("failed" as const) : { node_id: request.from };
  const reuse = reuseFor({ plan, checkpoint, from, replaced: Object.keys(request.inputs ?? {}) });
  if (!reuse)
    throw invalid(
      ["body", request.place ?? "from"],
      `Version ${version} of the flow has no node ${request.from} at its top level`,
    );
  const given = await earlierInputs(blobs, run, before.plan, request.inputs);
  const { org_id, project_id, user_id } = run;
  const { inputs } = await requireInputs(
    { db, maxInputBytes },
    { org_id, project_id, user_id, plan, reused: reuse },
    given,
    {
      loc: ["body", "inputs"],
      reserved: [],
    },
  );
  return runService.create(
    {
      org_id: run.org_id,
      run_id,
      project_id: run.project_id,
      version,
      plan,
      environment,
      inputs,
      user_id: run.user_id,
      metadata: run.metadata,
      tags: run.tags,
      run_type: outsideOfOthers(run.run_type, version),
      ...ranBy(principal),
      timeout_seconds: run.timeout_seconds,
      resumed_from: {
        run_id: run.run_id,
        ...(from === "failed" ? await whereItStopped(db, run, plan, reuse) : { ...from, path: from.node_id }),
      },
      reuse: await carry(blobs, run.org_id, reuse),
      // Completed nodes that are executed again start from the beginning, so their answers are not reused.
      resumes: {
        run_id: run.run_id,
        nodes: plan.nodes.map(({ id }) => id).filter((id) => !Object.hasOwn(checkpoint, id)),
      },
      started_by,
    },
    { repeated, asynchronous: true },
  );
}

/**
 * The completed top-level nodes of a run. The record adds nodes that the checkpoint lacks: those of a completed or lost
 * run, and the ones that an activity had executed when the run was stopped.
 */
async function finishedNodes(db: Database, run: RunRow, plan: Plan): Promise<Record<string, CheckpointNode>> {
  const kept = await db.org(run.org_id, (connection) => getCheckpoint(connection, run.run_id));
  return { ...(await recordedNodes(db, run, plan)), ...kept };
}

/** The node where a run failed or was cancelled, or else the first node of the plan that is not reused. */
async function whereItStopped(
  db: Database,
  run: RunRow,
  plan: Plan,
  reuse: Readonly<Record<string, CheckpointNode>>,
): Promise<{ node_id: string | null; path: string | null }> {
  const path =
    run.error?.path ??
    (await db.org(run.org_id, (connection) => cancelledPath(connection, run.run_id))) ??
    plan.nodes.find(({ id }) => !Object.hasOwn(reuse, id))?.id ??
    null;
  return { node_id: path?.split(/[[/]/, 1)[0] ?? null, path };
}

/** The reused values for a workflow's input; beyond the total limit even short ones are passed by reference. */
export async function carry(
  blobs: BlobStore,
  orgId: string,
  nodes: Readonly<Record<string, CheckpointNode>>,
): Promise<Record<string, CheckpointNode>> {
  const within = createInlineBudget(blobs, orgId, CARRIED_BYTES);
  const kept: Array<[string, CheckpointNode]> = [];
  for (const [id, node] of Object.entries(nodes)) kept.push([id, { ...node, value: await within(node.value) }]);
  return Object.fromEntries(kept);
}

/** The 409 for a run that cannot be resumed in its state. */
export function notResumable(run: RunRow, detail: string): Problem {
  return new Problem("run_not_resumable", detail, { extra: { run_id: run.run_id, state: run.state } });
}
