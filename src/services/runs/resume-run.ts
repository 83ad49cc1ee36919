import { Problem, invalid } from "../../domain/errors.ts";
import { reuseFor } from "../../domain/flow/plan/reuse.ts";
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

/** Reused values travel inline up to this total (bytes of JSON): the input of a workflow has room for 2 MiB. */
const CARRIED_BYTES = 256 * 1024;

export interface ResumeDeps {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly flows: FlowCache;
  readonly runService: Pick<RunService, "create">;
  readonly maxInputBytes: number;
}

export interface ResumeRequest {
  /** "failed", or the id of a node. */
  readonly from: string;
  /** The member of the request that names it; default `from`. */
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
 * Starts a new run that goes on where a failed or cancelled one stopped, or from a node of an ended one. Throws 404
 * for an unknown version, and 422 for an unknown node or inputs that do not fit.
 */
export async function resumeRun(
  { db, blobs, flows, runService, maxInputBytes }: ResumeDeps,
  run: RunRow,
  request: ResumeRequest,
  { run_id, repeated, principal, started_by }: NewRunIdentity,
): Promise<RunRow> {
  const { version, plan } = await flows.get(run.org_id, run.project_id, request.version ?? run.flow_version);
  const checkpoint = await finishedNodes({ db, flows }, run);
  // Even if a node is called "failed", the word keeps its meaning.
  const from = request.from === "failed" ? ("failed" as const) : { node_id: request.from };
  const reuse = reuseFor({ plan, checkpoint, from, replaced: Object.keys(request.inputs ?? {}) });
  if (!reuse)
    throw invalid(
      ["body", request.place ?? "from"],
      `Version ${version} of the flow has no node ${request.from} at its top level`,
    );
  const given = await earlierInputs(blobs, run, plan, request.inputs);
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
      inputs,
      user_id: run.user_id,
      metadata: run.metadata,
      tags: run.tags,
      run_type: outsideOfOthers(run.run_type),
      ...ranBy(principal),
      timeout_seconds: run.timeout_seconds,
      resumed_from: {
        run_id: run.run_id,
        ...(from === "failed" ? await whereItStopped(db, run, plan, reuse) : { ...from, path: from.node_id }),
      },
      reuse: await carry(blobs, run.org_id, reuse),
      // A completed node that runs again starts anew.
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
 * The completed top-level nodes of a run. If a run completed or was lost, the record fills in what the checkpoint
 * lacks.
 */
async function finishedNodes(
  { db, flows }: Pick<ResumeDeps, "db" | "flows">,
  run: RunRow,
): Promise<Record<string, CheckpointNode>> {
  const kept = await db.org(run.org_id, (client) => getCheckpoint(client, run.run_id));
  if (kept !== null && run.state !== "COMPLETED") return kept;
  const { plan } = await flows.get(run.org_id, run.project_id, run.flow_version);
  return { ...(await recordedNodes(db, run, plan)), ...kept };
}

/** The place where a run failed or was cancelled, or else the first node of the plan that is not reused. */
async function whereItStopped(
  db: Database,
  run: RunRow,
  plan: Plan,
  reuse: Readonly<Record<string, CheckpointNode>>,
): Promise<{ node_id: string | null; path: string | null }> {
  const path =
    run.error?.path ??
    (await db.org(run.org_id, (client) => cancelledPath(client, run.run_id))) ??
    plan.nodes.find(({ id }) => !Object.hasOwn(reuse, id))?.id ??
    null;
  return { node_id: path?.split(/[[/]/, 1)[0] ?? null, path };
}

/** The reused values as the input of a workflow: beyond a total, even short ones go by reference. */
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

/** The 409 for a run whose state leaves nothing to resume. */
export function notResumable(run: RunRow, detail: string): Problem {
  return new Problem("run_not_resumable", detail, { extra: { run_id: run.run_id, state: run.state } });
}
