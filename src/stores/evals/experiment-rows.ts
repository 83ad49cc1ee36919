import type { EvaluatorStatus, RowState } from "../../domain/evals/experiment.ts";
import type { JsonObject, StoredValue } from "../../domain/json.ts";
import type { RunError, RunState } from "../../domain/runs/run.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import type { Keyset } from "../keyset.ts";

/** Makes the rows of an experiment of its dataset's version, each repetition one after the other. Again it adds nothing. Returns how many there are. */
export async function makeRows(db: Db, experimentId: string): Promise<number> {
  await db.query(
    {
      name: "make_experiment_rows",
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
  const rows = await db.query<{ n: number }>(
    { name: "count_experiment_rows", text: "select count(*) as n from experiment_rows where experiment_id = $1::uuid" },
    [experimentId],
  );
  return rows[0]?.n ?? 0;
}

/** Which rows a job runs again: those of some dataset rows, or all that have not completed. Returns how many. */
export async function resetRows(db: Db, experimentId: string, rowIds: readonly string[] | null): Promise<number> {
  const rows = await db.query(
    {
      name: "reset_experiment_rows",
      text: `update experiment_rows set state = 'pending', attempt = attempt + 1, run_id = null, scored = false, error = null,
          latency_ms = null, cost_usd = null, tokens = null
        where org_id = current_org() and experiment_id = $1::uuid
          and case when $2::uuid[] is null then state <> 'completed' else row_id = any ($2) end returning 1`,
    },
    [experimentId, rowIds],
  );
  return rows.length;
}

/** A row that is to be run, with what it is run with. */
export interface OpenRow {
  readonly place: number;
  readonly row_id: string;
  readonly repetition: number;
  readonly attempt: number;
  readonly run_id: string | null;
  readonly inputs: JsonObject;
}

/** The next rows of a lane that have not been scored. */
export async function openRows(
  db: Db,
  experimentId: string,
  { lane, lanes, after }: { readonly lane: number; readonly lanes: number; readonly after: number },
  limit: number,
): Promise<OpenRow[]> {
  return db.query<OpenRow & Record<string, unknown>>(
    {
      name: "open_experiment_rows",
      text: `select x.place, x.row_id, x.repetition, x.attempt, x.run_id, r.inputs
        from (select * from experiment_rows where org_id = current_org() and experiment_id = $1::uuid and place > $2::int
          and place % $3::int = $4::int and (state in ('pending', 'running') or not scored) order by place limit $5::int) x
        join experiments e using (experiment_id)
        join eval_dataset_rows r on r.row_id = x.row_id and r.dataset_id = e.dataset_id and r.from_version <= e.dataset_version
          and (r.to_version is null or r.to_version > e.dataset_version)
        order by x.place`,
    },
    [experimentId, after, lanes, lane, limit],
  );
}

/** Gives rows their runs; those that have one keep it. */
export async function assignRuns(
  db: Db,
  experimentId: string,
  runs: ReadonlyArray<{ readonly place: number; readonly run_id: string }>,
): Promise<void> {
  await db.query(
    {
      name: "assign_experiment_runs",
      text: `update experiment_rows x set run_id = a.run_id, state = 'running' from jsonb_to_recordset($2::jsonb) a(place int, run_id uuid)
        where x.org_id = current_org() and x.experiment_id = $1::uuid and x.place = a.place and x.place = any ($3::int[])
          and x.run_id is null`,
    },
    [experimentId, jsonb(runs), runs.map(({ place }) => place)],
  );
}

/** How a row has ended. */
export interface RowEnd {
  readonly place: number;
  readonly state: RowState;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly latency_ms: number | null;
  readonly cost_usd: number | null;
  readonly tokens: number | null;
}

/** Writes how rows have ended; `scored`: their evaluators have had their say. Returns what those that had not been scored have cost. */
export async function endRows(db: Db, experimentId: string, ends: readonly RowEnd[]): Promise<number> {
  const rows = await db.query<{ cost_usd: number | null }>(
    {
      name: "end_experiment_rows",
      text: `update experiment_rows x set state = e.state, error = nullif(e.error, 'null'::jsonb), latency_ms = e.latency_ms,
          cost_usd = e.cost_usd, tokens = e.tokens, scored = true
        from jsonb_to_recordset($2::jsonb) e(place int, state text, error jsonb, latency_ms float8, cost_usd float8, tokens bigint)
        where x.org_id = current_org() and x.experiment_id = $1::uuid and x.place = e.place and x.place = any ($3::int[])
          and not x.scored
        returning x.cost_usd`,
    },
    [experimentId, jsonb(ends), ends.map(({ place }) => place)],
  );
  return rows.reduce((sum, row) => sum + (row.cost_usd ?? 0), 0);
}

/** Ends the rows that have not been run, where nobody will run them. Returns the ids of runs that were made for them. */
export async function cancelRows(db: Db, experimentId: string): Promise<string[]> {
  const rows = await db.query<{ run_id: string | null }>(
    {
      name: "cancel_experiment_rows",
      text: `update experiment_rows set state = 'cancelled', scored = true
        where org_id = current_org() and experiment_id = $1::uuid and state in ('pending', 'running') returning run_id`,
    },
    [experimentId],
  );
  return rows.flatMap(({ run_id }) => (run_id === null ? [] : [run_id]));
}

/** A row to be scored, with what is expected of it and how its run has ended. */
export interface RanRow {
  readonly place: number;
  readonly run_id: string;
  readonly expected_outputs: JsonObject;
  readonly metadata: JsonObject;
  readonly run_state: RunState;
  readonly state_reason: string | null;
  readonly error: RunError | null;
  readonly latency_ms: number | null;
  readonly cost_usd: number | null;
  readonly tokens: number | null;
}

/** Rows of an experiment that have a run: those of some places, or a page of those that have completed, from a place on. */
export async function ranRows(
  db: Db,
  experimentId: string,
  which: { readonly places: readonly number[] } | { readonly after: number; readonly limit: number },
): Promise<RanRow[]> {
  const places = "places" in which ? which.places : null;
  const page = "places" in which ? { after: -1, limit: which.places.length } : which;
  return db.query<RanRow & Record<string, unknown>>(
    {
      name: places === null ? "page_of_ran_rows" : "ran_rows",
      text: `select x.place, x.run_id, r.expected_outputs, r.metadata, u.state as run_state, u.state_reason, u.error,
          extract(epoch from u.finished_at - coalesce(u.started_at, u.created_at)) * 1000 as latency_ms,
          (u.usage->>'cost_usd')::float8 as cost_usd, (u.usage->>'total_tokens')::bigint as tokens
        from (select * from experiment_rows where org_id = current_org() and experiment_id = $1::uuid
          and ${places === null ? "place > $2::int and state in ('completed', 'failed')" : "place = any ($2::int[])"}
          order by place limit $3::int) x
        join experiments e using (experiment_id)
        join eval_dataset_rows r on r.row_id = x.row_id and r.dataset_id = e.dataset_id and r.from_version <= e.dataset_version
          and (r.to_version is null or r.to_version > e.dataset_version)
        join runs u on u.run_id = x.run_id
        order by x.place`,
    },
    [experimentId, places ?? page.after, page.limit],
  );
}

/** How many rows are in which state. */
export async function countStates(db: Db, experimentId: string): Promise<Array<{ state: RowState; n: number }>> {
  return db.query<{ state: RowState; n: number }>(
    {
      name: "count_experiment_states",
      text: `select state, count(*) as n from experiment_rows where org_id = current_org() and experiment_id = $1::uuid group by state`,
    },
    [experimentId],
  );
}

/** How many rows are in which state, and what the ended ones took. */
export async function countRows(
  db: Db,
  experimentId: string,
): Promise<{
  counts: Array<{ state: RowState; n: number }>;
  p95: number | null;
  cost_usd: number;
  tokens: number;
  scored: number;
}> {
  const counts = await db.query<{
    state: RowState;
    n: number;
    scored: number;
    cost_usd: number | null;
    tokens: number | null;
  }>(
    {
      name: "count_experiment_rows_by_state",
      text: `select state, count(*) as n, count(*) filter (where scored and run_id is not null) as scored, sum(cost_usd) as cost_usd, sum(tokens)::bigint as tokens
        from experiment_rows where org_id = current_org() and experiment_id = $1::uuid group by state`,
    },
    [experimentId],
  );
  const [times] = await db.query<{ p95: number | null }>(
    {
      name: "experiment_latency",
      text: `select percentile_cont(0.95) within group (order by latency_ms) as p95
        from experiment_rows where org_id = current_org() and experiment_id = $1::uuid and latency_ms is not null`,
    },
    [experimentId],
  );
  const sum = (pick: (row: (typeof counts)[number]) => number | null): number =>
    counts.reduce((total, row) => total + (pick(row) ?? 0), 0);
  return {
    counts,
    p95: times?.p95 ?? null,
    cost_usd: sum((row) => row.cost_usd),
    tokens: sum((row) => row.tokens),
    scored: sum((row) => row.scored),
  };
}

// An experiment's pages and batches are taken before anything is joined to them: what they cost does not grow with its rows,
// whatever Postgres knows of the tables. The sums below are planned anew each time (they have no name), and look up the scores
// of a row by its run (offset 0 keeps Postgres from the other order): by another plan all rows would be read for each score,
// until the tables are analysed.

/** What an evaluator's version says of the rows of an experiment. */
export type Summary = Omit<EvaluatorStatus, "ci95" | "baseline" | "pass_rate" | "name"> & {
  readonly passes: number;
  readonly judged: number;
  readonly judge_cost_usd: number;
};

/** Summaries of an experiment's scores, an evaluator's version each. */
export async function summarise(db: Db, experimentId: string): Promise<Summary[]> {
  return db.query<Summary & Record<string, unknown>>(
    `select s.evaluator_id, s.evaluator_version, count(s.number) as n, avg(s.number) as mean,
          percentile_cont(0.5) within group (order by s.number) as median, stddev_samp(s.number) as stddev,
          count(*) filter (where s.error is not null) as errors, count(*) filter (where s.passed) as passes,
          count(s.passed) as judged, coalesce(sum((s.usage->>'cost_usd')::float8), 0) as judge_cost_usd
        from experiment_rows x
        cross join lateral (select * from scores where run_id = x.run_id and source = 'evaluator' offset 0) s
        join experiments e on e.experiment_id = x.experiment_id
        join lateral jsonb_to_recordset(e.evaluators) p(evaluator_id uuid, version int)
          on p.evaluator_id = s.evaluator_id and p.version = s.evaluator_version
        where x.org_id = current_org() and x.experiment_id = $1::uuid group by 1, 2`,
    [experimentId],
  );
}

/** The differences of an evaluator's scores of the same rows in two experiments. */
export interface Difference {
  readonly evaluator_id: string;
  readonly n: number;
  readonly diff: number | null;
  readonly stddev: number | null;
  readonly higher: number;
  readonly lower: number;
  readonly same: number;
}

/** How far scores differ by less is unchanged. */
const SAME = 1e-9;

/** Compares the same rows in the same repetition, where both were scored by the same version. */
export async function compareRows(db: Db, experimentId: string, baselineId: string): Promise<Difference[]> {
  return db.query<Difference & Record<string, unknown>>(
    `select s.evaluator_id, count(*) as n, avg(s.number - b.number) as diff, stddev_samp(s.number - b.number) as stddev,
          count(*) filter (where s.number - b.number > ${SAME}) as higher, count(*) filter (where s.number - b.number < -${SAME}) as lower,
          count(*) filter (where abs(s.number - b.number) <= ${SAME}) as same
        from experiment_rows x
        join experiment_rows y on y.experiment_id = $2::uuid and y.row_id = x.row_id and y.repetition = x.repetition
        cross join lateral (select * from scores where run_id = x.run_id and source = 'evaluator' and number is not null offset 0) s
        cross join lateral (select * from scores where run_id = y.run_id and evaluator_id = s.evaluator_id
          and evaluator_version = s.evaluator_version and source = 'evaluator' and number is not null offset 0) b
        where x.org_id = current_org() and y.org_id = current_org() and x.experiment_id = $1::uuid group by 1`,
    [experimentId, baselineId],
  );
}

/** A score beside its row. */
export interface RowScore {
  readonly evaluator_id: string;
  readonly evaluator_version: number;
  readonly value: number | boolean | string | null;
  readonly passed: boolean | null;
  readonly label: string | null;
  readonly reasoning: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** A row as it is shown. */
export interface ShownRow {
  readonly place: number;
  readonly row_id: string;
  readonly external_id: string | null;
  readonly repetition: number;
  readonly run_id: string | null;
  readonly state: RowState;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly latency_ms: number | null;
  readonly cost_usd: number | null;
  readonly tokens: number | null;
  readonly inputs: JsonObject;
  readonly expected_outputs: JsonObject;
  readonly outputs: Readonly<Record<string, StoredValue>> | null;
  readonly scores: readonly RowScore[];
  readonly baseline: { readonly run_id: string | null; readonly scores: readonly RowScore[] } | null;
}

const scoresOf = (
  alias: string,
): string => `coalesce((select jsonb_agg(jsonb_build_object('evaluator_id', s.evaluator_id,
    'evaluator_version', s.evaluator_version, 'value', s.value, 'passed', s.passed, 'label', s.label, 'reasoning', s.comment, 'error', s.error)
    order by s.evaluator_id) from scores s
    join lateral jsonb_to_recordset(e.evaluators) p(evaluator_id uuid, version int)
      on p.evaluator_id = s.evaluator_id and p.version = s.evaluator_version
    where s.run_id = ${alias}.run_id and s.source = 'evaluator'), '[]')`;

/** A page of an experiment's rows, by their place. */
export async function listExperimentRows(
  db: Db,
  experimentId: string,
  search: { readonly state: RowState | null; readonly row_id: string | null },
  { beyond, ascending, limit }: Keyset,
): Promise<ShownRow[]> {
  const bound = beyond === null ? (ascending ? -1 : 2_147_483_647) : Number(beyond);
  const [compare, order] = ascending ? [">", "asc"] : ["<", "desc"];
  return db.query<ShownRow & Record<string, unknown>>(
    `select x.place, x.row_id, r.external_id, x.repetition, x.run_id, x.state, x.error, x.latency_ms, x.cost_usd, x.tokens,
          r.inputs, r.expected_outputs, u.outputs, ${scoresOf("x")} as scores,
          case when b.experiment_id is null then null else jsonb_build_object('run_id', b.run_id, 'scores', ${scoresOf("b")}) end as baseline
        from (select * from experiment_rows where org_id = current_org() and experiment_id = $1::uuid
          and ($2::text is null or state = $2) and ($3::uuid is null or row_id = $3) and place ${compare} $4::int
          order by place ${order} limit $5::int) x
        join experiments e using (experiment_id)
        join eval_dataset_rows r on r.row_id = x.row_id and r.dataset_id = e.dataset_id and r.from_version <= e.dataset_version
          and (r.to_version is null or r.to_version > e.dataset_version)
        left join runs u on u.run_id = x.run_id
        left join experiment_rows b on b.experiment_id = e.baseline_experiment_id and b.row_id = x.row_id and b.repetition = x.repetition
        order by x.place ${order}`,
    [experimentId, search.state, search.row_id, bound, limit],
  );
}
