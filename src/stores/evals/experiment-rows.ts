import type { RowState } from "../../domain/evals/experiment.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { RunError, RunState } from "../../domain/runs/run.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";

/**
 * Makes an experiment's rows from its dataset's version, one repetition after the other. A repeated call adds nothing.
 * Returns how many there are.
 */
export async function makeRows(db: Db, experimentId: string): Promise<number> {
  await db.query(
    {
      text: `insert into experiment_rows (experiment_id, place, org_id, row_id, repetition)
      select e.experiment_id, row_number() over (order by n.repetition, r.row_id) - 1, e.org_id, r.row_id, n.repetition
      from experiments e
      join eval_dataset_rows r on r.dataset_id = e.dataset_id and r.from_version <= e.dataset_version
        and (r.to_version is null or r.to_version > e.dataset_version) and r.status = 'active'
        and (e.splits is null or r.split = any (e.splits))
      cross join lateral generate_series(1, e.repetitions) n(repetition)
      where e.org_id = current_org() and e.experiment_id = $1::uuid
      on conflict do nothing`,
      query_timeout: 120_000,
    },
    [experimentId],
  );
  return db.number("select count(*) as n from experiment_rows where experiment_id = $1::uuid", [experimentId]);
}

/** Selects the rows that a job runs again: some rows of the dataset, or all incomplete ones. Returns how many. */
export async function resetRows(db: Db, experimentId: string, rowIds: readonly string[] | null): Promise<number> {
  return db.count(
    `update experiment_rows set state = 'pending', attempt = attempt + 1, run_id = null, scored = false, error = null,
        latency_ms = null, cost_usd = null, tokens = null
      where org_id = current_org() and experiment_id = $1::uuid
        and case when $2::uuid[] is null then state <> 'completed' else row_id = any ($2) end`,
    [experimentId, rowIds],
  );
}

/** SQL: joins the experiment `e` of a row `x`, and the state `r` of the dataset's row that it runs. */
export const WITH_DATASET_ROW = `join experiments e using (experiment_id)
  join eval_dataset_rows r on r.row_id = x.row_id and r.dataset_id = e.dataset_id and r.from_version <= e.dataset_version
    and (r.to_version is null or r.to_version > e.dataset_version)`;

const OPEN = columns("place int, row_id uuid, repetition int, attempt int, run_id uuid null");

/** A row to be run, with its inputs. */
export interface OpenRow extends RowOf<typeof OPEN> {
  readonly inputs: JsonObject;
  readonly source_run_id: string | null;
}

/** The next unscored rows of a lane. */
export async function openRows(
  db: Db,
  experimentId: string,
  { lane, lanes, after }: { readonly lane: number; readonly lanes: number; readonly after: number },
  limit: number,
): Promise<OpenRow[]> {
  return db.query(
    `select ${OPEN.select("x")}, r.inputs, r.source_run_id
      from (select * from experiment_rows where org_id = current_org() and experiment_id = $1::uuid and place > $2::int
        and place % $3::int = $4::int and (state in ('pending', 'running') or not scored) order by place limit $5::int) x
      ${WITH_DATASET_ROW}
      order by x.place`,
    [experimentId, after, lanes, lane, limit],
  );
}

/** Assigns runs to rows. A row that has one keeps it. */
export async function assignRuns(
  db: Db,
  experimentId: string,
  runs: ReadonlyArray<{ readonly place: number; readonly run_id: string }>,
): Promise<void> {
  await db.query(
    `update experiment_rows x set run_id = a.run_id, state = 'running' from jsonb_to_recordset($2::jsonb) a(place int, run_id uuid)
      where x.org_id = current_org() and x.experiment_id = $1::uuid and x.place = a.place and x.place = any ($3::int[])
        and x.run_id is null`,
    [experimentId, jsonb(runs), runs.map(({ place }) => place)],
  );
}

const END = columns(`place int, state text, error jsonb null, latency_ms float8 null, cost_usd float8 null,
  tokens bigint null`);

/** The result of a row's run. */
export interface RowEnd extends RowOf<typeof END> {
  readonly state: RowState;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/**
 * Records the results of rows; `scored` means that their evaluators have finished. Returns the cost of rows that were not scored before.
 */
export async function endRows(db: Db, experimentId: string, ends: readonly RowEnd[]): Promise<number> {
  const costs = await db.column<number | null>(
    `update experiment_rows x set state = e.state, error = nullif(e.error, 'null'::jsonb), latency_ms = e.latency_ms,
        cost_usd = e.cost_usd, tokens = e.tokens, scored = true
      from jsonb_to_recordset($2::jsonb) e(${END.recordset})
      where x.org_id = current_org() and x.experiment_id = $1::uuid and x.place = e.place and x.place = any ($3::int[])
        and not x.scored
      returning x.cost_usd`,
    [experimentId, jsonb(ends), ends.map(({ place }) => place)],
  );
  return costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0);
}

/** Ends the unfinished rows, because their runs will never finish. Returns the IDs of runs that were made for them. */
export async function cancelRows(db: Db, experimentId: string): Promise<string[]> {
  const runIds = await db.column<string | null>(
    `update experiment_rows set state = 'cancelled', scored = true
      where org_id = current_org() and experiment_id = $1::uuid and state in ('pending', 'running') returning run_id`,
    [experimentId],
  );
  return runIds.filter((id) => id !== null);
}

/** A row to be scored, with its expected outputs and the result of its run. */
export interface RanRow extends Omit<RowEnd, "state" | "error"> {
  readonly run_id: string;
  readonly expected_outputs: JsonObject;
  readonly metadata: JsonObject;
  readonly run_state: RunState;
  readonly state_reason: string | null;
  readonly error: RunError | null;
}

/**
 * Rows of an experiment that have a run: some by index, a page of completed ones from an index on, or unfinished
 * ones.
 */
export async function ranRows(
  db: Db,
  experimentId: string,
  which: { readonly places: readonly number[] } | { readonly after: number; readonly limit: number } | "running",
): Promise<RanRow[]> {
  const [condition, value, limit] =
    which === "running"
      ? ["$2::int is null and state = 'running'", null, null]
      : "places" in which
        ? ["place = any ($2::int[])", which.places, which.places.length]
        : ["place > $2::int and state in ('completed', 'failed')", which.after, which.limit];
  return db.query(
    `select x.place, x.run_id, r.expected_outputs, r.metadata, u.state as run_state, u.state_reason, u.error,
        extract(epoch from u.finished_at - coalesce(u.started_at, u.created_at)) * 1000 as latency_ms,
        (u.usage->>'cost_usd')::float8 as cost_usd, (u.usage->>'total_tokens')::bigint as tokens
      from (select * from experiment_rows where org_id = current_org() and experiment_id = $1::uuid
        and ${condition} order by place limit $3::int) x
      ${WITH_DATASET_ROW}
      join runs u on u.run_id = x.run_id
      order by x.place`,
    [experimentId, value, limit],
  );
}
