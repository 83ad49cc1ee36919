import type { Json } from "../../domain/json.ts";
import type { RunJobInput } from "../../domain/runs/run-job.ts";
import type { RunState, RunType } from "../../domain/runs/run.ts";
import { firstIdOf } from "../../domain/uuid.ts";
import { plannedAnew, type Db } from "../db.ts";
import { keysetSql, type Keyset } from "../keyset.ts";
import type { RunRow } from "./runs.ts";

/** Which runs to list; undefined fields restrict nothing, and a run must match all others. */
export interface RunFilter {
  /** IDs of the runs to list. */
  readonly run_id?: readonly string[] | undefined;
  readonly project_id?: string | undefined;
  /** Only runs of one of these projects. */
  readonly among?: readonly string[] | undefined;
  readonly states?: readonly RunState[] | undefined;
  readonly run_type?: RunType | undefined;
  readonly environment?: string | undefined;
  /** Excludes child runs, which belong to their parents. */
  readonly withoutChildren?: boolean | undefined;
  readonly user_id?: string | undefined;
  readonly parent_run_id?: string | undefined;
  /** Only runs that resume this one. */
  readonly resumed_from?: string | undefined;
  readonly tag?: string | undefined;
  /** Only stuck runs, which have made no progress for `afterMs` (ms), or only the others. */
  readonly stuck?: { readonly is: boolean; readonly afterMs: number } | undefined;
  /** RFC 3339, both exclusive. */
  readonly created_after?: string | undefined;
  readonly created_before?: string | undefined;
}

/** A value in a list: the whole value, or the beginning of a value that is too long for a list. */
export type ListedValue =
  | { readonly v: Json }
  | { readonly ref: { readonly size: number } }
  | { readonly cut: { readonly size: number; readonly preview: string } };

/** A run as lists have it: its values are shortened by the database, so that a page of 200 stays small. */
export interface RunListRow extends Omit<
  RunRow,
  "inputs" | "outputs" | "start_input" | "citations" | "ignored_inputs"
> {
  readonly inputs: Readonly<Record<string, ListedValue>>;
  readonly outputs: Readonly<Record<string, ListedValue>> | null;
}

/** Longest JSON text (bytes) of a value in a list, and how much (characters) is shown of a longer one. */
const LISTED_BYTES = 4096;
const PREVIEW_CHARACTERS = 256;

/** How long before its row a run's ID may have been made (ms), unless its first attempt crashed. */
export const ID_LEADS_MS = 60_000;

const shortened = (column: string): string => `
  (select jsonb_object_agg(key, case when octet_length((value->'v')::text) > ${LISTED_BYTES}
     then jsonb_build_object('cut', jsonb_build_object('size', octet_length((value->'v')::text), 'preview', left((value->'v')::text, ${PREVIEW_CHARACTERS})))
     else value end) from jsonb_each(${column}))`;
// Most runs are small and forwarded unchanged, without parsing.
const listed = (column: string): string =>
  `case when pg_column_size(r.${column}) <= ${LISTED_BYTES} and octet_length(r.${column}::text) <= 2 * ${LISTED_BYTES} then r.${column}
     else ${shortened(`r.${column}`)} end as ${column}`;

const COLUMNS = `r.run_id, r.org_id, r.project_id, r.flow_version, r.state, r.state_reason, ${listed("inputs")}, ${listed("outputs")},
  r.error, r.run_type, r.environment, r.bindings_id, r.ran_by_type, r.ran_by_id, r.user_id, r.parent_run_id, r.resumed_from, r.metadata, r.tags, r.usage, r.run_at,
  r.timeout_seconds, r.total_nodes, r.started_nodes, r.completed_nodes, r.skipped_nodes, r.current_node, r.event_seq, r.created_at,
  r.started_at, r.paused_at, r.finished_at, r.updated_at, r.temporal_run_id, r.cancel_requested`;

/** States in which a run makes progress without a person. */
const MOVING: readonly RunState[] = ["PENDING", "RUNNING", "RESUMED"];

/** SQL condition: run `r` has made no progress since a time, although it waits for no approval, delay or child run. */
const stuckSince = (time: string): string => `(case
  when r.state = 'PENDING' then greatest(r.created_at, r.run_at) < ${time}
  when r.state in ('RUNNING', 'RESUMED') then
    exists (select from node_runs n where n.run_id = r.run_id and n.state = 'RETRYING' and n.started_at < ${time})
    or r.updated_at < ${time}
      and not exists (select from node_runs n where n.run_id = r.run_id and n.state = 'RUNNING' and n.type in ('delay', 'subflow'))
  else false end)`;

/**
 * One page of an organisation's runs. The organisation is a parameter in addition to the row-level policy, because the planner then knows
 * how large its share is. Every page is a walk along an index in the order of the IDs, so its cost does not grow with the depth. With
 * several states, one walk per state is made and the results are merged.
 */
export async function listRuns(db: Db, orgId: string, filter: RunFilter, page: Keyset): Promise<RunListRow[]> {
  const { values, order, walk, walks } = walkRuns(orgId, filter, page);
  if (walks.length === 0) return [];
  if (walks.length === 1) return db.query(plannedAnew(walk(COLUMNS, walks[0])), values);
  return db.query(
    plannedAnew(
      `select ${COLUMNS} from (${merged(walk, walks)} order by run_id ${order} limit ${page.limit}) as found join runs r using (run_id) order by r.run_id ${order}`,
    ),
    values,
  );
}

/** How many runs of an organisation a filter matches, counted up to `most`. */
export async function countRuns(db: Db, orgId: string, filter: RunFilter, most: number): Promise<number> {
  const { values, walk, walks } = walkRuns(orgId, filter, { beyond: null, ascending: true, limit: most });
  if (walks.length === 0) return 0;
  return db.number(
    plannedAnew(`select least(count(*), ${most})::int as n from (${merged(walk, walks)}) as found`),
    values,
  );
}

/** Stores the runs that a filter matches, `most` at most, for a job; returns how many there are. */
export async function keepRunsOf(
  db: Db,
  { org_id, job_id }: RunJobInput,
  filter: RunFilter,
  most: number,
): Promise<number> {
  const { values, walk, walks } = walkRuns(org_id, filter, { beyond: null, ascending: true, limit: most });
  if (walks.length === 0) return 0;
  const found = merged(walk, walks);
  const job = `$${values.push(job_id)}::uuid`;
  return db.count(
    plannedAnew(`insert into run_job_runs (job_id, org_id, run_id)
        select ${job}, current_org(), run_id from (${found}) as found order by run_id limit ${most}`),
    values,
  );
}

interface RunWalk {
  readonly values: unknown[];
  readonly order: string;
  /** Walks along the runs of one state, or of all. */
  readonly walk: (columns: string, state: RunState | undefined) => string;
  /** The states to walk along, one walk each; empty if no run can match. */
  readonly walks: ReadonlyArray<RunState | undefined>;
}

/** One walk for each state, planned for it: with `state = any (...)` Postgres may filter all runs instead. */
const merged = (walk: RunWalk["walk"], walks: RunWalk["walks"]): string =>
  walks.map((state) => `(${walk("r.run_id", state)})`).join(" union all ");

function walkRuns(orgId: string, filter: RunFilter, page: Keyset): RunWalk {
  const { bound, compare, order } = keysetSql(page);
  const values: unknown[] = [];
  const add = (value: unknown, type: string): string => `$${values.push(value)}::${type}`;
  const conditions = [`r.org_id = ${add(orgId, "uuid")}`];
  const where = (condition: string): number => conditions.push(condition);
  const limit = add(page.limit, "integer");

  // With a tag, the walk is along the table of tags.
  const key = filter.tag === undefined ? "r.run_id" : "t.run_id";
  let from = "runs r";
  if (filter.tag !== undefined) {
    from = "run_tags t join runs r on r.run_id = t.run_id";
    where(`t.org_id = ${add(orgId, "uuid")} and t.tag = ${add(filter.tag, "text")}`);
  }
  where(`${key} ${compare} ${add(bound, "uuid")}`);
  if (filter.run_id !== undefined) where(`${key} = any (${add(filter.run_id, "uuid[]")})`);
  if (filter.project_id !== undefined) where(`r.project_id = ${add(filter.project_id, "uuid")}`);
  if (filter.among !== undefined) where(`r.project_id = any (${add(filter.among, "uuid[]")})`);
  if (filter.run_type !== undefined) where(`r.run_type = ${add(filter.run_type, "text")}`);
  if (filter.environment !== undefined) where(`r.environment = ${add(filter.environment, "text")}`);
  if (filter.withoutChildren === true) where("r.run_type <> 'sub_workflow'");
  if (filter.user_id !== undefined) where(`r.user_id = ${add(filter.user_id, "text")}`);
  if (filter.parent_run_id !== undefined) where(`r.parent_run_id = ${add(filter.parent_run_id, "uuid")}`);
  if (filter.resumed_from !== undefined) where(`r.resumed_from ->> 'run_id' = ${add(filter.resumed_from, "text")}`);
  // The time in the ID bounds the walk; the row's time decides. Milliseconds, as clients see them.
  if (filter.created_after !== undefined) {
    where(`${key} >= ${add(firstIdOf(Date.parse(filter.created_after) - ID_LEADS_MS), "uuid")}`);
    where(`date_trunc('milliseconds', r.created_at) > ${add(filter.created_after, "timestamptz")}`);
  }
  if (filter.created_before !== undefined) {
    where(`${key} < ${add(firstIdOf(Date.parse(filter.created_before) + ID_LEADS_MS), "uuid")}`);
    where(`date_trunc('milliseconds', r.created_at) < ${add(filter.created_before, "timestamptz")}`);
  }

  if (filter.stuck !== undefined) {
    const long = `now() - make_interval(secs => ${add(filter.stuck.afterMs / 1000, "float8")})`;
    where(`${filter.stuck.is ? "" : "not "}${stuckSince(long)}`);
  }

  const walk = (columns: string, state?: RunState): string => `select ${columns} from ${from}
    where ${conditions.join(" and ")}${state === undefined ? "" : ` and r.state = ${add(state, "text")}`}
    order by ${key} ${order} limit ${limit}`;
  // Runs in other states are never stuck, so only these are walked.
  const among =
    filter.stuck?.is === true ? (filter.states ?? MOVING).filter((state) => MOVING.includes(state)) : filter.states;
  if (among?.length === 0 && filter.stuck?.is === true) return { values, order, walk, walks: [] };
  const states = [...new Set(among ?? [])];
  return { values, order, walk, walks: states.length === 0 ? [undefined] : states };
}
