import type { ExperimentState, Gate, ExperimentStatus, Verdict } from "../../domain/evals/experiment.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { keysetSql } from "../keyset.ts";
import type { Keyset } from "../keyset.ts";

export interface ExperimentRow {
  readonly experiment_id: string;
  readonly org_id: string;
  readonly name: string;
  readonly description: string;
  readonly project_id: string;
  readonly flow_version: number;
  readonly dataset_id: string;
  readonly dataset_version: number;
  readonly splits: readonly string[] | null;
  readonly evaluators: ReadonlyArray<{ readonly evaluator_id: string; readonly version: number }>;
  readonly repetitions: number;
  readonly max_concurrency: number;
  readonly baseline_experiment_id: string | null;
  readonly gates: readonly Gate[];
  readonly max_cost_usd: number | null;
  readonly state: ExperimentState;
  readonly verdict: Verdict | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly cost_usd: number;
  readonly result: ExperimentStatus | null;
  /** The status as it was computed some time ago, while a job runs. */
  readonly progress: ExperimentStatus | null;
  readonly revision: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

/** The definition of an experiment. */
export type ExperimentPlan = Pick<
  ExperimentRow,
  | "name"
  | "description"
  | "project_id"
  | "flow_version"
  | "dataset_id"
  | "dataset_version"
  | "splits"
  | "evaluators"
  | "repetitions"
  | "max_concurrency"
  | "baseline_experiment_id"
  | "gates"
  | "max_cost_usd"
>;

const COLUMNS = `experiment_id, org_id, name, description, project_id, flow_version, dataset_id, dataset_version, splits, evaluators,
  repetitions, max_concurrency, baseline_experiment_id, gates, max_cost_usd, state, verdict, error, cost_usd, result, progress, revision,
  created_at, updated_at, started_at, finished_at`;
const ONE = "org_id = current_org() and experiment_id = $1::uuid and deleted_at is null";

const values = (plan: ExperimentPlan): unknown[] => [
  plan.name,
  plan.description,
  plan.project_id,
  plan.flow_version,
  plan.dataset_id,
  plan.dataset_version,
  plan.splits,
  jsonb(plan.evaluators),
  plan.repetitions,
  plan.max_concurrency,
  plan.baseline_experiment_id,
  jsonb(plan.gates),
  plan.max_cost_usd,
];

/** Inserts an experiment, DRAFT; false if the id exists (the same request, retried). */
export async function insertExperiment(
  db: Db,
  orgId: string,
  experimentId: string,
  plan: ExperimentPlan,
): Promise<boolean> {
  return db.any(
    `insert into experiments (experiment_id, org_id, name, description, project_id, flow_version, dataset_id, dataset_version,
        splits, evaluators, repetitions, max_concurrency, baseline_experiment_id, gates, max_cost_usd)
      values ($1::uuid, $2::uuid, $3::text, $4::text, $5::uuid, $6::int, $7::uuid, $8::int, $9::text[], $10::jsonb, $11::int, $12::int,
        $13::uuid, $14::jsonb, $15::float8) on conflict (experiment_id) do nothing`,
    [experimentId, orgId, ...values(plan)],
  );
}

/** One experiment, or null; `lock` locks it until the transaction ends. */
export async function findExperiment(db: Db, experimentId: string, lock = false): Promise<ExperimentRow | null> {
  return db.first<ExperimentRow>(`select ${COLUMNS} from experiments where ${ONE} ${lock ? "for update" : ""}`, [
    experimentId,
  ]);
}

export interface ExperimentSearch {
  readonly project_id: string | null;
  readonly dataset_id: string | null;
  readonly state: ExperimentState | null;
}

/** A page of the organisation's experiments. */
export async function listExperiments(db: Db, search: ExperimentSearch, page: Keyset): Promise<ExperimentRow[]> {
  const { bound, compare, order } = keysetSql(page);
  return db.query<ExperimentRow>(
    `select ${COLUMNS} from experiments where org_id = current_org() and deleted_at is null
      and ($1::uuid is null or project_id = $1) and ($2::uuid is null or dataset_id = $2) and ($3::text is null or state = $3)
      and experiment_id ${compare} $4::uuid order by experiment_id ${order} limit $5::int`,
    [search.project_id, search.dataset_id, search.state, bound, page.limit],
  );
}

/** Writes the definition of an experiment that the caller has locked. */
export async function updateExperiment(
  db: Db,
  experimentId: string,
  plan: ExperimentPlan,
  verdict: Verdict | null,
): Promise<void> {
  await db.query(
    `update experiments set name = $2::text, description = $3::text, project_id = $4::uuid, flow_version = $5::int,
      dataset_id = $6::uuid, dataset_version = $7::int, splits = $8::text[], evaluators = $9::jsonb, repetitions = $10::int,
      max_concurrency = $11::int, baseline_experiment_id = $12::uuid, gates = $13::jsonb, max_cost_usd = $14::float8,
      verdict = $15::text, revision = revision + 1, updated_at = now() where ${ONE}`,
    [experimentId, ...values(plan), verdict],
  );
}

/** Moves an experiment to another state; undefined fields are not changed. */
export async function moveExperiment(
  db: Db,
  experimentId: string,
  state: ExperimentState,
  end?: {
    readonly verdict: Verdict | null;
    readonly error: ExperimentRow["error"];
    /** `null` if the result could not be computed. */
    readonly result: ExperimentStatus | null;
  },
): Promise<void> {
  await db.query(
    `update experiments set state = $2::text, updated_at = now(),
        started_at = case when $2 = 'RUNNING' then now() when $2 = 'QUEUED' then null else started_at end,
        finished_at = case when $6::boolean then now() end, verdict = $4::text, error = $5::jsonb, result = coalesce($3::jsonb, result),
        progress = null, progress_due_at = null
      where ${ONE}`,
    [
      experimentId,
      state,
      end?.result ? jsonb(end.result) : null,
      end?.verdict ?? null,
      end?.error ? jsonb(end.error) : null,
      end !== undefined,
    ],
  );
}

/** Claims the update of an experiment's progress for a while; false if another process has claimed it. */
export async function claimProgressUpdate(db: Db, experimentId: string): Promise<boolean> {
  return db.any(
    `update experiments set progress_due_at = now() + interval '1 minute'
      where ${ONE} and state = 'RUNNING' and (progress_due_at is null or progress_due_at < now())`,
    [experimentId],
  );
}

/** Stores the progress of an experiment, and when it is computed next. */
export async function noteProgress(
  db: Db,
  experimentId: string,
  progress: ExperimentStatus,
  nextInMs: number,
): Promise<void> {
  await db.query(
    `update experiments set progress = $2::jsonb, progress_due_at = now() + make_interval(secs => $3::float8 / 1000)
      where ${ONE} and state = 'RUNNING'`,
    [experimentId, jsonb(progress), nextInMs],
  );
}

/** Adds the cost of runs and judges. */
export async function addCost(db: Db, experimentId: string, costUsd: number): Promise<void> {
  if (costUsd === 0) return;
  await db.query(`update experiments set cost_usd = cost_usd + $2::float8 where ${ONE}`, [experimentId, costUsd]);
}

/** Deletes an experiment for all later requests. False if there is none. */
export async function markExperimentDeleted(db: Db, experimentId: string): Promise<boolean> {
  return db.any(`update experiments set deleted_at = now() where ${ONE}`, [experimentId]);
}

const USES = {
  dataset_id: "dataset_id = $1::uuid",
  baseline_experiment_id: "baseline_experiment_id = $1::uuid",
  evaluator_id: "evaluators @> jsonb_build_array(jsonb_build_object('evaluator_id', $1::uuid))",
} as const;

/** Experiments that use a dataset, have another one as baseline, or have pinned a version of an evaluator. */
export async function experimentsUsing(
  db: Db,
  what: keyof typeof USES,
  id: string,
  limit: number,
): Promise<Array<{ experiment_id: string; name: string }>> {
  return db.query<{ experiment_id: string; name: string }>(
    `select experiment_id, name from experiments where org_id = current_org() and ${USES[what]} and deleted_at is null
      order by experiment_id limit $2::int`,
    [id, limit],
  );
}

/** Writes the result of a finished experiment after one of its scores changed; the caller has locked it. */
export async function reviseResult(
  db: Db,
  experimentId: string,
  result: ExperimentStatus,
  verdict: Verdict | null,
): Promise<void> {
  await db.query(
    `update experiments set result = $2::jsonb, verdict = $3::text, revision = revision + 1, updated_at = now() where ${ONE}`,
    [experimentId, jsonb(result), verdict],
  );
}

/** The results of a completed experiment. */
export type CompletedExperiment = Pick<ExperimentRow, "experiment_id" | "dataset_id"> & {
  readonly result: ExperimentStatus;
};

/** The newest completed experiments of two versions of a flow with the same dataset and evaluators; null if there are none. */
export async function comparableExperiments(
  db: Db,
  projectId: string,
  versions: { readonly before: number; readonly after: number },
): Promise<{ readonly before: CompletedExperiment; readonly after: CompletedExperiment } | null> {
  const view = (row: string): string =>
    `json_build_object('experiment_id', ${row}.experiment_id, 'dataset_id', ${row}.dataset_id, 'result', ${row}.result)`;
  const done = (row: string): string =>
    `${row}.org_id = current_org() and ${row}.project_id = $1::uuid and ${row}.deleted_at is null
      and ${row}.state = 'COMPLETED' and ${row}.result is not null`;
  return db.first<{ before: CompletedExperiment; after: CompletedExperiment }>(
    `select ${view("b")} as before, ${view("a")} as after
      from experiments a join experiments b on b.dataset_id = a.dataset_id and b.evaluators = a.evaluators
      where ${done("a")} and ${done("b")} and a.flow_version = $3::int and b.flow_version = $2::int
      order by a.experiment_id desc, b.experiment_id desc limit 1`,
    [projectId, versions.before, versions.after],
  );
}
