import type { ExperimentState, Gate, ExperimentStatus, Verdict } from "../../domain/evals/experiment.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { selectPage, type Keyset } from "../keyset.ts";

const ROW = columns(`experiment_id uuid, org_id uuid, name text, description text, project_id uuid, flow_version int,
  dataset_id uuid, dataset_version int, splits text[] null, evaluators jsonb, repetitions int, max_concurrency int,
  baseline_experiment_id uuid null, gates jsonb, max_cost_usd float8 null, state text, verdict text null,
  error jsonb null, cost_usd float8, result jsonb null, progress jsonb null, revision int, created_at timestamptz,
  updated_at timestamptz, started_at timestamptz null, finished_at timestamptz null`);

export interface ExperimentRow extends RowOf<typeof ROW> {
  readonly evaluators: ReadonlyArray<{ readonly evaluator_id: string; readonly version: number }>;
  readonly gates: readonly Gate[];
  readonly state: ExperimentState;
  readonly verdict: Verdict | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly result: ExperimentStatus | null;
  /** The status as it was computed some time ago, while a job runs. */
  readonly progress: ExperimentStatus | null;
}

const PLANNED = `name text, description text, project_id uuid, flow_version int, dataset_id uuid, dataset_version int, splits text[],
  evaluators jsonb, repetitions int, max_concurrency int, baseline_experiment_id uuid, gates jsonb, max_cost_usd float8`;
const PLAN = columns(PLANNED);
const NEW = columns(`experiment_id uuid, org_id uuid, ${PLANNED}`);

/** The definition of an experiment. */
export type ExperimentPlan = Pick<ExperimentRow, NameOf<typeof PLAN>>;

const COLUMNS = ROW.select();
const ONE = "org_id = current_org() and experiment_id = $1::uuid and deleted_at is null";

/** Inserts an experiment, DRAFT; false if the id exists (the same request, retried). */
export async function insertExperiment(
  db: Db,
  orgId: string,
  experimentId: string,
  plan: ExperimentPlan,
): Promise<boolean> {
  return db.any(
    `insert into experiments ${NEW.into} on conflict (experiment_id) do nothing`,
    NEW.values({ experiment_id: experimentId, org_id: orgId, ...plan }),
  );
}

/** One experiment, or null; `lock` locks it until the transaction ends. */
export async function findExperiment(db: Db, experimentId: string, lock = false): Promise<ExperimentRow | null> {
  return db.first(`select ${COLUMNS} from experiments where ${ONE} ${lock ? "for update" : ""}`, [experimentId]);
}

export interface ExperimentSearch {
  readonly project_id: string | null;
  readonly dataset_id: string | null;
  readonly state: ExperimentState | null;
}

/** A page of the organisation's experiments. */
export async function listExperiments(db: Db, search: ExperimentSearch, page: Keyset): Promise<ExperimentRow[]> {
  const select = `select ${COLUMNS} from experiments where org_id = current_org() and deleted_at is null
    and ($1::uuid is null or project_id = $1) and ($2::uuid is null or dataset_id = $2) and ($3::text is null or state = $3)`;
  return selectPage(db, page, "experiment_id", select, [search.project_id, search.dataset_id, search.state]);
}

/** Writes the definition of an experiment that the caller has locked. */
export async function updateExperiment(
  db: Db,
  experimentId: string,
  plan: ExperimentPlan,
  verdict: Verdict | null,
): Promise<void> {
  await db.query(
    `update experiments set ${PLAN.set(2)}, verdict = $15::text, revision = revision + 1, updated_at = now() where ${ONE}`,
    [experimentId, ...PLAN.values(plan), verdict],
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
  return db.query(
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
  return db.first(
    `select ${view("b")} as before, ${view("a")} as after
      from experiments a join experiments b on b.dataset_id = a.dataset_id and b.evaluators = a.evaluators
      where ${done("a")} and ${done("b")} and a.flow_version = $3::int and b.flow_version = $2::int
      order by a.experiment_id desc, b.experiment_id desc limit 1`,
    [projectId, versions.before, versions.after],
  );
}
