import { conflict, invalid, required } from "../../domain/errors.ts";
import { checkGates, isActive, verdictOf, type Gate, type GateResult } from "../../domain/evals/experiment.ts";
import type { Db } from "../../stores/db.ts";
import { findDataset } from "../../stores/evals/datasets.ts";
import { refuseUsed } from "./datasets.ts";
import { activeJob, askToCancel, insertJob, type JobOptions, type JobRow } from "../../stores/evals/experiment-jobs.ts";
import {
  experimentsUsing,
  findExperiment,
  insertExperiment,
  markExperimentDeleted,
  moveExperiment,
  updateExperiment,
  type ExperimentPlan,
  type ExperimentRow,
} from "../../stores/evals/experiments.ts";
import { wantStarts } from "../../stores/starts/workflow-starts.ts";
import { changeChecked, stated, type Given } from "../change.ts";
import { requireProject } from "../projects/projects.ts";
import { pinEvaluators } from "./evaluators.ts";
import { statusOf } from "./experiment-status.ts";
import { recordCreated, recordDeleted, type RowAudit } from "../audit/audit.ts";
import type { Parts } from "../parts.ts";

export type ExperimentDeps = Parts<"db" | "plans">;

/** The request for an experiment. Absent versions mean the current ones; other absent fields take their defaults. */
export interface ExperimentRequest extends Omit<ExperimentPlan, "dataset_version" | "evaluators"> {
  /** The flow version; -1 means the published one. */
  readonly flow_version: number;
  readonly dataset_version?: number | undefined;
  readonly evaluator_ids: readonly string[];
}

/** The experiment with this ID. Throws 404. */
export async function requireExperiment(db: Db, experimentId: string, lock = false): Promise<ExperimentRow> {
  return required(await findExperiment(db, experimentId, lock), "experiment");
}

/** Pins the current versions. Throws 404 for a missing resource, and 422 if the parts do not fit together. */
async function planOf(
  { db, plans }: Pick<ExperimentDeps, "db" | "plans">,
  orgId: string,
  request: ExperimentRequest,
): Promise<ExperimentPlan> {
  const project = await requireProject(db, orgId, request.project_id, "project");
  const flow_version = request.flow_version === -1 ? project.published_version : request.flow_version;
  if (flow_version === null) throw invalid(["body", "flow_version"], "The project has no published flow");
  const plan = await plans.find({ org_id: orgId, project_id: request.project_id, flow_version });
  if (plan === null) throw invalid(["body", "flow_version"], "The flow does not have this version");
  return await db.org(orgId, async (connection) => {
    const dataset = required(await findDataset(connection, request.dataset_id), "dataset");
    const dataset_version = request.dataset_version ?? dataset.version;
    if (dataset_version > dataset.version)
      throw invalid(["body", "dataset_version"], "The dataset does not have this version");
    const evaluators = await pinEvaluators(connection, request.evaluator_ids);
    if (request.baseline_experiment_id !== null) await requireExperiment(connection, request.baseline_experiment_id);
    checkGatesOf(request.gates, evaluators, request.baseline_experiment_id);
    return { ...request, flow_version, dataset_version, evaluators };
  });
}

function checkGatesOf(gates: readonly Gate[], evaluators: ExperimentPlan["evaluators"], baseline: string | null): void {
  for (const [index, gate] of gates.entries()) {
    if (gate.evaluator_id != null && !evaluators.some(({ evaluator_id }) => evaluator_id === gate.evaluator_id))
      throw invalid(["body", "gates", index, "evaluator_id"], "Not an evaluator of this experiment");
    if (gate.vs === "baseline" && baseline === null)
      throw invalid(["body", "gates", index, "vs"], "The experiment has no baseline");
  }
}

/** Creates an experiment, which does nothing until a job runs it. */
export async function createExperiment(
  deps: ExperimentDeps,
  orgId: string,
  experimentId: string,
  request: ExperimentRequest,
  audited: RowAudit<ExperimentRow>,
): Promise<ExperimentRow> {
  const plan = await planOf(deps, orgId, request);
  return await deps.db.orgTransaction(orgId, async (connection) => {
    const created = await insertExperiment(connection, orgId, experimentId, plan);
    const row = await requireExperiment(connection, experimentId);
    if (created) await recordCreated(connection, audited, row);
    return row;
  });
}

const ALWAYS: ReadonlyArray<keyof ExperimentRequest> = ["name", "description", "gates"];

/**
 * Changes an experiment: any field of a draft, and only name, description and gates later. Calls `check` with it before
 * it changes anything.
 */
export async function changeExperiment(
  deps: ExperimentDeps,
  orgId: string,
  experimentId: string,
  change: Given<ExperimentRequest>,
  check: (row: ExperimentRow) => void,
  audited: RowAudit<ExperimentRow>,
): Promise<ExperimentRow> {
  const given: Partial<ExperimentRequest> = stated(change);
  const fixed = (Object.keys(given) as Array<keyof ExperimentRequest>).filter((name) => !ALWAYS.includes(name));
  const refuse = ({ state }: ExperimentRow): void => {
    if (state !== "DRAFT" && fixed.length > 0)
      throw conflict(
        `The experiment is ${state}: only name, description and gates can be changed. Create a new experiment for other changes.`,
      );
  };
  return await changeChecked(deps.db, orgId, {
    audited,
    read: (connection, lock) => requireExperiment(connection, experimentId, lock),
    requireMatch: check,
    revisionOf: ({ revision }) => revision,
    async prepare(row) {
      refuse(row);
      return fixed.length > 0 ? await planOf(deps, orgId, requestOf(row, given)) : null;
    },
    async write(connection, row, pinned) {
      // Checked again, because a job may have started meanwhile without changing the revision.
      refuse(row);
      if (Object.keys(given).length === 0) return row;
      const { name = row.name, description = row.description, gates = row.gates } = given;
      const plan = pinned ?? { ...row, name, description, gates };
      checkGatesOf(plan.gates, plan.evaluators, plan.baseline_experiment_id);
      const verdict =
        row.result === null
          ? row.verdict
          : verdictOf(row.state, await gatesOf(connection, { ...row, ...plan }, row.result));
      await updateExperiment(connection, experimentId, plan, verdict);
      return await requireExperiment(connection, experimentId);
    },
  });
}

/** An experiment as a request, with the given fields changed. */
function requestOf(row: ExperimentRow, given: Partial<ExperimentRequest>): ExperimentRequest {
  return {
    ...row,
    evaluator_ids: row.evaluators.map(({ evaluator_id }) => evaluator_id),
    // A pinned version means nothing for another flow or dataset, so it is reset to the default.
    ...(given.project_id === undefined ? {} : { flow_version: -1 }),
    ...(given.dataset_id === undefined ? {} : { dataset_version: undefined }),
    ...given,
  };
}

/** The verdict of an experiment's gates on a status. */
export async function gatesOf(
  db: Db,
  { gates, baseline_experiment_id }: Pick<ExperimentRow, "gates" | "baseline_experiment_id">,
  status: Parameters<typeof checkGates>[1],
): Promise<GateResult[]> {
  const needed = gates.some(({ vs }) => vs === "baseline");
  const baseline = needed && baseline_experiment_id !== null ? await findExperiment(db, baseline_experiment_id) : null;
  return checkGates(gates, status, baseline === null ? null : (baseline.result ?? (await statusOf(db, baseline))));
}

/** Deletes an experiment. Throws 404, and 409 if it is running or is another one's baseline. */
export async function deleteExperiment(
  { db }: Pick<ExperimentDeps, "db">,
  orgId: string,
  experimentId: string,
  audited: RowAudit<ExperimentRow>,
): Promise<void> {
  await db.orgTransaction(orgId, async (connection) => {
    const experiment = await requireExperiment(connection, experimentId, true);
    if (isActive(experiment.state)) throw conflict("The experiment is running: cancel it first.");
    const used_by = await experimentsUsing(connection, "baseline_experiment_id", experimentId, 100);
    refuseUsed(used_by, "Other experiments use this experiment as their baseline.");
    await markExperimentDeleted(connection, experimentId);
    await recordDeleted(connection, audited, experiment);
  });
}

export type JobRequest = Pick<JobRow, "job_id" | "kind"> & { readonly options: JobOptions };

/**
 * Accepts a job and starts it; the same ID again returns the same job. Throws 404, 409 if the experiment's state does
 * not allow it, and 422.
 */
export async function startJob(
  deps: ExperimentDeps,
  orgId: string,
  experimentId: string,
  request: JobRequest,
): Promise<void> {
  const { job_id, kind, options } = request;
  await deps.db.orgTransaction(orgId, async (connection) => {
    const experiment = await requireExperiment(connection, experimentId, true);
    const active = await activeJob(connection, experimentId);
    if (active?.job_id === job_id) return;
    requireAllowed(experiment, active, request);
    const job = { job_id, org_id: orgId, experiment_id: experimentId, kind, options };
    const inserted = await insertJob(connection, { ...job, state: kind === "cancel" ? "completed" : "pending" });
    if (!inserted) return;
    const cancel = kind === "cancel";
    const started = cancel ? active : request;
    if (started === null) return;
    if (cancel) await askToCancel(connection, started.job_id);
    else if (kind !== "export") await moveExperiment(connection, experimentId, "QUEUED");
    const start = { org_id: orgId, experiment_id: experimentId, job_id: started.job_id, kind: started.kind, cancel };
    await wantStarts(connection, "experiment_job", [start]);
  });
}

function requireAllowed(
  { state, evaluators }: ExperimentRow,
  active: JobRow | null,
  { kind, options }: JobRequest,
): void {
  const foreign =
    options.evaluator_ids?.findIndex((id) => !evaluators.some(({ evaluator_id }) => evaluator_id === id)) ?? -1;
  if (foreign !== -1) throw invalid(["body", "evaluator_ids", foreign], "Not an evaluator of this experiment");
  if (kind === "cancel") {
    if (active === null) throw conflict(`Nothing to cancel: the experiment is ${state}.`);
    return;
  }
  if (kind === "export") {
    if (state === "DRAFT") throw conflict("The experiment has not run: there is nothing to export.");
    return;
  }
  if (active !== null) throw conflict(`A job of kind ${active.kind} is running: wait for it, or cancel it.`);
  if (kind === "run" && state !== "DRAFT")
    throw conflict(
      `The experiment has already run (${state}): use rerun_failed, rerun_rows or score_only, or create a new experiment.`,
    );
  if (kind !== "run" && state === "DRAFT")
    throw conflict("The experiment has not run yet: start it with a job of kind run.");
}
