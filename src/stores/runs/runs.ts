import type { Json, JsonObject, StoredValue } from "../../domain/json.ts";
import type {
  CheckpointNode,
  Progress,
  RanByType,
  Resumed,
  RunError,
  RunLimits,
  RunState,
  RunType,
} from "../../domain/runs/run.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import { jsonb } from "../jsonb.ts";
import type { Db } from "../db.ts";
import { lockRoundRobin } from "../round-robin.ts";
import { OPEN, TERMINAL } from "../states.ts";
import type { RunTraceRow } from "./run-traces.ts";

/** Start parameters that the row does not hold otherwise. The workflow's first write clears them. */
export interface StartInput {
  readonly limits?: RunLimits;
  readonly depth?: number;
  /** Set only if the row's own inputs are redacted. */
  readonly inputs?: Readonly<Record<string, StoredValue>>;
  /** Those inputs, encrypted; `inputs` then has only the ones in blobs. `data` is base64. */
  readonly sealed?: { readonly key_id: string; readonly data: string };
  readonly reuse?: Readonly<Record<string, CheckpointNode>>;
  readonly resumes?: Resumed;
}

/** The run that this one resumes. */
export interface ResumedFrom {
  readonly run_id: string;
  /** The top-level node that it resumes from; null if it runs all nodes again, or no node was left to run. */
  readonly node_id: string | null;
  /** The exact path at which the earlier run stopped: that node or a path within it. */
  readonly path: string | null;
}

const NEW = columns(`run_id uuid, org_id uuid, project_id uuid, flow_version int, inputs jsonb, run_type text,
  ran_by_type text, ran_by_id uuid null, user_id text null, parent_run_id uuid null, resumed_from jsonb, metadata jsonb,
  tags text[], start_input jsonb, run_at timestamptz null, timeout_seconds int, total_nodes int, ignored_inputs text[],
  key_id uuid, caused_by uuid, environment text, bindings_id uuid`);
type Optional = "ignored_inputs" | "key_id" | "caused_by" | "environment" | "bindings_id";

/** The data of a new run's row. */
export interface NewRun extends Omit<RowOf<typeof NEW>, Optional> {
  readonly inputs: Readonly<Record<string, StoredValue>>;
  readonly run_type: RunType;
  readonly ran_by_type: RanByType;
  /** The key whose quotas count the run, if it is not the key that started it. */
  readonly key_id?: string | null;
  /** The name of the environment; null for drafts and explicit versions. */
  readonly environment?: string | null;
  /** The promotion whose connections replace those of the flow. */
  readonly bindings_id?: string | null;
  readonly resumed_from: ResumedFrom | null;
  /** The run that started this one, or whose values it reused, unless that is its parent or the run that it resumes. */
  readonly caused_by?: string | null;
  readonly metadata: JsonObject;
  readonly start_input: StartInput;
  /** Fields of the request body that no input uses. */
  readonly ignored_inputs?: readonly string[];
  /** The trace, if it cannot be computed from the run's ID. */
  readonly trace?: RunTraceRow | undefined;
}

/** A run as its row has it. Times are RFC 3339. */
export interface RunRow extends Omit<NewRun, "trace">, Progress {
  readonly environment: string | null;
  readonly bindings_id: string | null;
  readonly state: RunState;
  readonly state_reason: string | null;
  readonly outputs: Readonly<Record<string, StoredValue>> | null;
  readonly citations: Json | null;
  readonly error: RunError | null;
  readonly usage: JsonObject;
  readonly event_seq: number;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly paused_at: string | null;
  readonly finished_at: string | null;
  readonly updated_at: string;
  readonly temporal_run_id: string | null;
  readonly cancel_requested: { readonly reason: string | null; readonly at: string } | null;
  readonly ignored_inputs: readonly string[];
}

const NAMES = NEW.select();

const INSERT = `
insert into runs (${NAMES}, check_at)
values (${NEW.parameters}, coalesce($15::timestamptz, now()) + interval '5 seconds')
on conflict (run_id) do nothing
returning run_id, org_id`;

const INSERT_TRACED = `
with run as (${INSERT}),
trace as (
  insert into run_traces (run_id, org_id, trace_id, parent_id, sampled, linked_run_id)
  select run_id, org_id, $23, $24, $25::boolean, $26::uuid from run
)
select run_id from run`;

/** Inserts a PENDING run; false if the id exists (the same request, retried). */
export async function insertRun(db: Db, run: NewRun): Promise<boolean> {
  const { trace } = run;
  const traced = trace ? [trace.trace_id, trace.parent_id, trace.sampled, trace.linked_run_id] : [];
  const given = { ignored_inputs: [], key_id: null, caused_by: null, environment: null, bindings_id: null, ...run };
  return db.any(trace ? INSERT_TRACED : INSERT, [...NEW.values(given), ...traced]);
}

/**
 * Records the runs that a new run's pinned values were copied from, and keeps them from being deleted until the transaction ends. Returns
 * how many of them exist.
 */
export async function insertRunPins(db: Db, runId: string, sources: readonly string[]): Promise<number> {
  return db.count(
    `with source as materialized (
        select run_id, org_id from runs where org_id = current_org() and run_id = any ($2::uuid[]) order by run_id for key share)
      insert into run_pins (run_id, source_run_id, org_id) select $1::uuid, run_id, org_id from source`,
    [runId, sources],
  );
}

/** SQL for columns that a run in JSON may leave out, or that are null in it. */
const WHEN_ABSENT: { readonly [Name in NameOf<typeof NEW>]?: string } = {
  resumed_from: "nullif(resumed_from, 'null')",
  ignored_inputs: "coalesce(ignored_inputs, '{}')",
};

const INSERT_ALL = `
with wanted as (
  select * from jsonb_to_recordset($1::jsonb) as r (${NEW.recordset}, trace jsonb)
), run as (
  insert into runs (${NAMES}, check_at)
  select ${NEW.names.map((name) => WHEN_ABSENT[name] ?? name).join(", ")}, coalesce(run_at, now()) + interval '5 seconds'
  from wanted
  on conflict (run_id) do nothing
  returning run_id
), traced as (
  insert into run_traces (run_id, org_id, trace_id, parent_id, sampled, linked_run_id)
  select run_id, org_id, t.trace_id, t.parent_id, t.sampled, t.linked_run_id
  from wanted join run using (run_id),
    jsonb_to_record(trace) as t (trace_id text, parent_id text, sampled boolean, linked_run_id uuid)
  where trace is not null
)
select run_id from run`;

/** Inserts PENDING runs of one organisation. Returns the ids of new ones. */
export async function insertRuns(db: Db, runs: readonly NewRun[]): Promise<ReadonlySet<string>> {
  const runIds = await db.column<string>(INSERT_ALL, [jsonb(runs)]);
  return new Set(runIds);
}

/** One run, or null. */
export async function getRun(db: Db, runId: string): Promise<RunRow | null> {
  return db.first("select * from runs where run_id = $1::uuid", [runId]);
}

/** The name of a run's environment; null if it has none. */
export async function environmentOfRun(db: Db, runId: string): Promise<string | null> {
  return db.value("select environment from runs where org_id = current_org() and run_id = $1::uuid", [runId]);
}

/** The projects of existing runs, by run. */
export async function projectsOfRuns(db: Db, runIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  return db.pairs("select run_id, project_id from runs where org_id = current_org() and run_id = any ($1::uuid[])", [
    runIds,
  ]);
}

/** The organisations of runs, by run. System only. */
export async function organisationsOfRuns(db: Db, runIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  return db.pairs("select run_id, org_id from runs where run_id = any ($1::uuid[])", [runIds]);
}

/** The child run of a run whose ID ends with these 22 characters; null if there is none. */
export async function findChildRun(db: Db, parentRunId: string, idEnd: string): Promise<RunRow | null> {
  return db.first(
    // Matches a column rather than an expression on the id: a run may have ten thousand children.
    "select * from runs where parent_run_id = $1::uuid and child_end = $2::text",
    [parentRunId, idEnd],
  );
}

/** Serialises additions of runs to the organisation until the transaction ends. */
export async function lockRunCounts(db: Db, orgId: string): Promise<void> {
  // A separate statement: the count must begin after the lock, or it does not see runs added concurrently.
  await db.query("select pg_advisory_xact_lock(hashtextextended('live runs ' || $1::uuid, 0))", [orgId]);
}

/** Selects the runs of a project, or the runs that a key's quotas count; empty selects all runs of the organisation. */
export type RunsOf = { readonly project_id?: string } | { readonly key_id?: string };

/** How many runs are unfinished in the organisation, or in a part of it, without runs of experiments and child runs. Counts up to `max`. */
export async function countLiveRuns(db: Db, orgId: string, of: RunsOf, max: number): Promise<number> {
  // A separate statement for each scope, because a shared plan would use no scope's index.
  const [conditions, id] =
    "project_id" in of
      ? [["project_id = $2::uuid"], of.project_id]
      : "key_id" in of
        ? [["ran_by_id = $2::uuid and ran_by_type = 'org_api_key'", "key_id = $2::uuid"], of.key_id]
        : [["$2::uuid is null"], null];
  const live = conditions.map(
    (
      condition,
    ) => `(select 1 from runs where org_id = $1::uuid and ${condition} and run_type not in ('batch', 'sub_workflow')
        and state in (${OPEN}) limit $3)`,
  );
  return db.number(`select least(count(*), $3)::integer as n from (${live.join(" union all ")}) as live`, [
    orgId,
    id,
    max,
  ]);
}

/** Records a pending cancellation of a run; null if the run does not exist. The state does not change. */
export async function requestCancel(db: Db, runId: string, reason: string | null): Promise<{ state: RunState } | null> {
  return db.first(
    `update runs set
       cancel_requested = case when state in (${TERMINAL}) then cancel_requested
         else coalesce(cancel_requested, jsonb_build_object('reason', $2::text, 'at', now())) end,
       check_at = case when state in (${TERMINAL}) then check_at else now() + interval '5 seconds' end
     where run_id = $1::uuid returning state`,
    [runId, reason],
  );
}

/** Records a pending cancellation of runs whose workflow has not started; the sweeper finalises them. */
export async function requestCancelOfPending(db: Db, runIds: readonly string[]): Promise<void> {
  await db.query(
    `update runs set cancel_requested = coalesce(cancel_requested, jsonb_build_object('reason', null, 'at', now())), check_at = now()
     where run_id = any ($1::uuid[]) and state = 'PENDING'`,
    [runIds],
  );
}

const TO_CHECK = lockRoundRobin({
  table: "runs",
  key: "run_id",
  where: `state in (${OPEN}) and check_at <= now()`,
  order: "check_at",
  limit: "$1::int",
});

/**
 * Takes the runs due for a check, the oldest of each organisation first. Each check is postponed, so that no other process makes it at the
 * same time.
 */
export async function takeRunsToCheck(db: Db, limit: number, againAfterMs: number): Promise<RunRow[]> {
  return db.query(
    // Checks back off while nothing changes, as a run may wait for weeks. Starts and cancellations are urgent.
    `update runs set check_at = now() + greatest(
       case when state = 'PENDING' or cancel_requested is not null then interval '5 seconds' else make_interval(secs => $2::float8 / 1000) end,
       least((now() - updated_at) / 4, interval '10 minutes'))
     where run_id in (${TO_CHECK}) returning *`,
    [limit, againAfterMs],
  );
}

/** The unfinished child runs of a run. */
export async function liveChildren(db: Db, runId: string): Promise<string[]> {
  return db.column(`select run_id from runs where parent_run_id = $1::uuid and state in (${OPEN})`, [runId]);
}

/** The completed nodes of a failed or cancelled run, by node id. */
export async function getCheckpoint(db: Db, runId: string): Promise<Record<string, CheckpointNode> | null> {
  return db.value("select nodes from run_checkpoints where run_id = $1::uuid", [runId]);
}
