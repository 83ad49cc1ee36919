import { Problem, ValidationProblem, invalid } from "../../domain/errors.ts";
import type { ValidationIssue } from "../../domain/errors.ts";
import { REDACTED } from "../../domain/flow/redact.ts";
import { reuseFor } from "../../domain/flow/plan/reuse.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Json } from "../../domain/json.ts";
import type { CheckpointNode } from "../../domain/runs/run.ts";
import { createInlineBudget, loadValue } from "../../platform/blobs/blobs.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import { cancelledPath } from "../../stores/runs/node-runs.ts";
import { getCheckpoint } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { Database } from "../../stores/db.ts";
import type { FlowCache } from "../projects/flow-cache.ts";
import type { RunService } from "./run-service.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { ranBy, requireInputs } from "./run-inputs.ts";

/** Values that are taken over travel inline up to this sum (bytes of JSON): a workflow's start has room for 2 MiB in all. */
const CARRIED_BYTES = 256 * 1024;

export interface ResumeDeps {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly flows: FlowCache;
  readonly runService: RunService;
  readonly maxInputBytes: number;
}

export interface ResumeRequest {
  /** "failed", or the id of a node. */
  readonly from: string;
  readonly version?: number | undefined;
  readonly inputs?: Readonly<Record<string, unknown>> | undefined;
}

export interface NewRunIdentity {
  readonly run_id: string;
  readonly repeated: boolean;
  readonly principal: Principal;
}

/**
 * Starts a new run that goes on where a failed or cancelled one stopped, or from a node of it. Throws 404 for an unknown
 * version, 422 for an unknown node or inputs that do not fit.
 */
export async function resumeRun(
  { db, blobs, flows, runService, maxInputBytes }: ResumeDeps,
  run: RunRow,
  request: ResumeRequest,
  { run_id, repeated, principal }: NewRunIdentity,
): Promise<RunRow> {
  const { version, plan } = await flows.get(run.org_id, run.project_id, request.version ?? run.flow_version);
  const checkpoint = (await db.org(run.org_id, (client) => getCheckpoint(client, run.run_id))) ?? {};
  // A node may be called "failed"; then the word means the node no more than it does elsewhere.
  const from = request.from === "failed" ? ("failed" as const) : { node_id: request.from };
  const reuse = reuseFor({ plan, checkpoint, from, replaced: Object.keys(request.inputs ?? {}) });
  if (!reuse)
    throw invalid(["body", "from"], `Version ${version} of the flow has no node ${request.from} at its top level`);
  const given = await inputsOf(blobs, run, plan, request);
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
      // A child run, or one of an experiment, has nobody any more who waits for it.
      run_type: run.run_type === "sub_workflow" || run.run_type === "batch" ? "api" : run.run_type,
      ...ranBy(principal),
      timeout_seconds: run.timeout_seconds,
      resumed_from: {
        run_id: run.run_id,
        ...(from === "failed" ? await whereItStopped(db, run, plan, reuse) : { ...from, path: from.node_id }),
      },
      reuse: await carry(blobs, run.org_id, reuse),
    },
    { repeated, nobodyWaits: true },
  );
}

/** The place where a run failed or was cancelled, or else the first node of the plan that was left to run. */
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
  return { node_id: path?.replace(/[[/].*$/, "") ?? null, path };
}

/** What is taken over, as a workflow can be started with it: beyond a sum, short values too go by reference. */
async function carry(
  blobs: BlobStore,
  orgId: string,
  nodes: Readonly<Record<string, CheckpointNode>>,
): Promise<Record<string, CheckpointNode>> {
  const within = createInlineBudget(blobs, orgId, CARRIED_BYTES);
  const kept: Array<[string, CheckpointNode]> = [];
  for (const [id, node] of Object.entries(nodes)) kept.push([id, { ...node, value: await within(node.value) }]);
  return Object.fromEntries(kept);
}

/** The inputs of the earlier run, with those that are given anew. */
async function inputsOf(
  blobs: BlobStore,
  run: RunRow,
  plan: Plan,
  request: ResumeRequest,
): Promise<Record<string, unknown>> {
  const issues: ValidationIssue[] = [];
  const inputs: Array<[string, unknown]> = [];
  const redacts = (plan.settings.redact ?? []).length > 0;
  for (const [id, value] of Object.entries(run.inputs)) {
    if (Object.hasOwn(request.inputs ?? {}, id)) continue;
    const json: Json = await loadValue(blobs, value);
    if (redacts && JSON.stringify(json).includes(REDACTED)) {
      issues.push({
        loc: ["body", "inputs", id],
        msg: "What the earlier run was given was not kept; give it again",
        type: "missing",
      });
    }
    inputs.push([id, json]);
  }
  if (issues.length > 0) throw new ValidationProblem(issues);
  return Object.fromEntries([...inputs, ...Object.entries(request.inputs ?? {})]);
}

/** The 409 for a run in a state that has nothing to resume. */
export function notResumable(run: RunRow, detail: string): Problem {
  return new Problem("run_not_resumable", detail, { extra: { run_id: run.run_id, state: run.state } });
}
