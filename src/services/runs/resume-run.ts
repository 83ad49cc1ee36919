import { Problem, invalid, ValidationProblem, type ValidationIssue } from "../../domain/errors.ts";
import { reuseFor } from "../../domain/flow/plan/rerun.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { CheckpointNode } from "../../domain/runs/run.ts";
import { createInlineBudget, loadValue, type BlobStore } from "../../platform/blobs/blobs.ts";
import { cancelledPath } from "../../stores/runs/node-runs.ts";
import { getCheckpoint, type RunRow } from "../../stores/runs/runs.ts";
import type { Database } from "../../stores/db.ts";
import type { DeployedFlow } from "../projects/flow-cache.ts";
import type { RunRequest } from "./create-run.ts";
import type { RunService } from "./run-service.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import type { StartedBy } from "../triggers/chain.ts";
import { recordedNodes } from "./recorded-nodes.ts";
import { outsideOfOthers, ranBy, requireInputs } from "./run-inputs.ts";
import type { Parts } from "../parts.ts";
import { REDACTED } from "../../domain/flow/redact.ts";
import type { Json } from "../../domain/json.ts";

/** Longest total of reused values carried inline (bytes of JSON), since a workflow's input is limited to 2 MiB. */
const CARRIED_BYTES = 256 * 1024;

export interface ResumeDeps extends Parts<"db" | "blobs" | "maxInputBytes" | "flows"> {
  readonly runService: Pick<RunService, "create">;
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
 * Starts a rerun: a new run of the same flow with the same inputs. Throws 404 for an unknown version, and 422 if the
 * inputs were redacted or do not fit that version.
 */
export async function replayRun(
  deps: ResumeDeps,
  run: RunRow,
  version: number | undefined,
  identity: NewRunIdentity,
): Promise<RunRow> {
  const flows = await flowsOf(deps, run, version);
  return startAgain(deps, run, flows, identity, { resumed_from: { run_id: run.run_id, node_id: null, path: null } });
}

/**
 * Starts a new run that continues where a failed or cancelled run stopped, or from a node of a finished run. Throws 404
 * for an unknown version, and 422 for an unknown node or invalid inputs.
 */
export async function resumeRun(
  deps: ResumeDeps,
  run: RunRow,
  request: ResumeRequest,
  identity: NewRunIdentity,
): Promise<RunRow> {
  const { db } = deps;
  const flows = await flowsOf(deps, run, request.version);
  const { plan, version } = flows.next;
  const checkpoint = await finishedNodes(db, run, flows.before.plan);
  // "failed" always means the failed node, even if some node has that ID.
  const from = request.from === "failed" ? ("failed" as const) : { node_id: request.from };
  const reuse = reuseFor({ plan, checkpoint, from, replaced: Object.keys(request.inputs ?? {}) });
  if (!reuse) {
    const message = `Version ${version} of the flow has no node ${request.from} at its top level`;
    throw invalid(["body", request.place ?? "from"], message);
  }
  const { run_id } = run;
  const stopped = from === "failed" ? await whereItStopped(db, run, plan, reuse) : { ...from, path: from.node_id };
  // Completed nodes that are executed again start from the beginning, so their answers are not reused.
  const nodes = plan.nodes.map(({ id }) => id).filter((id) => !Object.hasOwn(checkpoint, id));
  const more = { resumed_from: { run_id, ...stopped }, reuse, resumes: { run_id, nodes } };
  return startAgain(deps, run, flows, identity, more, request.inputs);
}

/** The flow of an earlier run, whose version decides what was redacted, and the flow of the new run. */
interface Flows {
  readonly before: DeployedFlow;
  readonly next: DeployedFlow;
}

async function flowsOf({ flows }: ResumeDeps, run: RunRow, version: number | undefined): Promise<Flows> {
  const before = await flows.ofRun(run);
  return { before, next: version === undefined ? before : await flows.again(run, version) };
}

/** Starts a run with the properties and inputs of an earlier one; `anew` overrides inputs. */
async function startAgain(
  { db, blobs, runService, maxInputBytes }: ResumeDeps,
  run: RunRow,
  { before, next: { version, plan, environment } }: Flows,
  { run_id, repeated, principal, started_by }: NewRunIdentity,
  { reuse, ...more }: Pick<RunRequest, "resumed_from" | "reuse" | "resumes">,
  anew?: ResumeRequest["inputs"],
): Promise<RunRow> {
  const { org_id, project_id, user_id, metadata, tags, timeout_seconds } = run;
  const same = { org_id, project_id, user_id, metadata, tags, timeout_seconds };
  const given = await earlierInputs(blobs, run, before.plan, anew);
  const reader = { org_id, project_id, user_id, plan, ...(reuse && { reused: reuse }) };
  const place = { loc: ["body", "inputs"], reserved: [] };
  const { inputs } = await requireInputs({ db, maxInputBytes }, reader, given, place);
  const request: RunRequest = {
    ...same,
    run_id,
    version,
    plan,
    environment,
    inputs,
    run_type: outsideOfOthers(run.run_type, version),
    ...ranBy(principal),
    started_by,
    ...more,
    ...(reuse && { reuse: await carry(blobs, org_id, reuse) }),
  };
  return runService.create(request, { repeated, asynchronous: true });
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

/** An earlier run's inputs, overridden by new ones. Throws 422 if the earlier inputs were redacted. */
async function earlierInputs(
  blobs: BlobStore,
  run: RunRow,
  plan: Plan,
  anew: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, unknown>> {
  const issues: ValidationIssue[] = [];
  const inputs: Array<[string, unknown]> = [];
  const redacts = (plan.settings.redact ?? []).length > 0;
  for (const [id, value] of Object.entries(run.inputs)) {
    if (Object.hasOwn(anew, id)) continue;
    const json: Json = await loadValue(blobs, value);
    const msg = "This input of the earlier run was not kept; send it again";
    if (redacts && JSON.stringify(json).includes(REDACTED))
      issues.push({ loc: ["body", "inputs", id], msg, type: "missing" });
    inputs.push([id, json]);
  }
  if (issues.length > 0) throw new ValidationProblem(issues);
  return Object.fromEntries([...inputs, ...Object.entries(anew)]);
}
