import type { Json, JsonObject, StoredValue } from "../../domain/json.ts";
import type { NodeKind } from "../../domain/flow/kinds.ts";
import type { LongValues, NodeState, RunError } from "../../domain/runs/run.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";

const ROW = columns(`node_id text, type text, path text, state text, attempts int, truncated boolean, error jsonb null,
  usage jsonb null, started_at timestamptz null, finished_at timestamptz null, next_attempt_at timestamptz null,
  reused boolean`);

/** The record of one node of one run. */
export interface NodeRunRow extends RowOf<typeof ROW> {
  readonly type: NodeKind;
  /** Its path: "http-0", or "map-0[3]/http-0" inside an iteration. */
  readonly path: string;
  readonly state: NodeState;
  readonly inputs: Json;
  readonly output: Json;
  readonly error: RunError | null;
  readonly usage: JsonObject | null;
  /** When the next attempt starts; null unless an attempt has failed and will be retried. */
  readonly next_attempt_at: string | null;
  /** Whether it was reused from the run that this one resumes. */
  readonly reused: boolean;
}

const FACTS = ROW.select();
const COLUMNS = `${FACTS}, inputs, output`;

/** The nodes of a run, the top level first, each level in the order they started. At most `limit`. */
export async function listNodeRuns(db: Db, runId: string, limit: number): Promise<NodeRunRow[]> {
  return db.query(
    `select ${COLUMNS} from node_runs where run_id = $1::uuid
      order by path <> node_id, coalesce(started_at, finished_at), path limit $2::integer`,
    [runId, limit],
  );
}

/** The nodes of a run without inputs and outputs. */
export async function outlineNodeRuns(db: Db, runId: string, limit: number): Promise<NodeRunRow[]> {
  return db.query(
    `select ${FACTS}, null as inputs, null as output from node_runs where run_id = $1::uuid
      order by path <> node_id, coalesce(started_at, finished_at), path limit $2::integer`,
    [runId, limit],
  );
}

/** One attempt of a node, as its event has it. */
export interface AttemptRow {
  readonly path: string;
  readonly type: "node.retrying" | "node.finished";
  readonly at: string;
  readonly attempt: number;
  readonly started_at: string | null;
  readonly next_attempt_at: string | null;
  readonly error: RunError | null;
}

/** Most events read for one list of attempts. */
const MAX_ATTEMPTS = 20_000;

/** The start and end events of the attempts of a run's nodes, in the order in which they were recorded. */
export async function listAttempts(db: Db, runId: string, paths: readonly string[]): Promise<AttemptRow[]> {
  return db.query(
    `select data ->> 'path' as path, type, at, coalesce(data ->> 'attempt', data ->> 'attempts')::integer as attempt,
        (data ->> 'started_at')::timestamptz as started_at, (data ->> 'next_attempt_at')::timestamptz as next_attempt_at,
        nullif(data -> 'error', 'null') as error
      from run_events where run_id = $1::uuid and type in ('node.retrying', 'node.finished') and data ->> 'path' = any ($2::text[])
      order by seq limit ${MAX_ATTEMPTS}`,
    [runId, paths],
  );
}

/** The child runs of a run whose IDs end with one of these texts. */
export async function childRunIds(db: Db, runId: string, ends: readonly string[]): Promise<string[]> {
  return db.column("select run_id from runs where parent_run_id = $1::uuid and child_end = any ($2::text[])", [
    runId,
    ends,
  ]);
}

/** The citations that a node's value is based on. For a model with tools, they belong to its steps. */
export async function citationsAt(db: Db, runId: string, path: string): Promise<Json[]> {
  const lists = await db.column<Json[]>(
    `select citations from node_runs where run_id = $1::uuid and citations is not null
      and (path = $2::text or path ^@ ($2::text || '/steps[')) order by path`,
    [runId, path],
  );
  return lists.flat(1);
}

/** A node with the details that only its own page shows. */
export interface NodeRunDetailRow extends NodeRunRow {
  readonly long_values: LongValues | null;
}

/** One node of a run, or null. */
export async function getNodeRun(db: Db, runId: string, path: string): Promise<NodeRunDetailRow | null> {
  return db.first(`select ${COLUMNS}, long_values from node_runs where run_id = $1::uuid and path = $2::text`, [
    runId,
    path,
  ]);
}

/** The outputs so far of a run's top-level output nodes, by node ID, except values too long for the record. */
export async function outputsSoFar(db: Db, runId: string): Promise<Record<string, Json>> {
  const outputs = await db.pairs<string, Json>(
    `select node_id, output from node_runs
      where run_id = $1::uuid and type = 'output' and path = node_id and state = 'COMPLETED' and not truncated order by finished_at, path`,
    [runId],
  );
  return Object.fromEntries(outputs);
}

/** The outputs of a run's top-level nodes that are stored whole. */
export async function recordedValues(db: Db, runId: string): Promise<Array<{ node_id: string; value: StoredValue }>> {
  return db.query(
    `select node_id, case when truncated then jsonb_build_object('ref', long_values -> 'output')
        else jsonb_build_object('v', output) end as value from node_runs
      where run_id = $1::uuid and path = node_id and state = 'COMPLETED' and (not truncated or long_values ? 'output')`,
    [runId],
  );
}

export async function unfinishedNodes(db: Db, runId: string): Promise<NodeRunRow[]> {
  return db.query(
    `select ${COLUMNS} from node_runs where run_id = $1::uuid and state in ('RUNNING', 'RETRYING', 'PAUSED')`,
    [runId],
  );
}

/** When the delays at these paths end, according to their start events. */
export async function dueTimes(db: Db, runId: string, paths: readonly string[]): Promise<Map<string, string>> {
  return db.pairs(
    // If a replacement workflow of the run started the delay again, its later event counts.
    `select data ->> 'path' as path, data ->> 'due_at' as due_at from run_events
      where run_id = $1::uuid and type = 'node.started' and data ->> 'path' = any ($2::text[]) and data ? 'due_at' order by seq`,
    [runId, paths],
  );
}

/** Where a run was when it was cancelled: the innermost of its unfinished nodes; null if there is none. */
export async function cancelledPath(db: Db, runId: string): Promise<string | null> {
  return db.value(
    `select path from node_runs where run_id = $1::uuid and state = 'CANCELLED'
     order by cardinality(string_to_array(path, '/')) desc, started_at, path limit 1`,
    [runId],
  );
}

/** Whether a run has a pending cancellation, or one of these maps of it has failed, so that no further node of them should start. */
export async function isStopping(db: Db, runId: string, mapPaths: readonly string[]): Promise<boolean> {
  return db.holds(
    `select exists (select from node_runs where run_id = $1::uuid and path = any ($2::text[]) and error is not null)
      or exists (select from runs where run_id = $1::uuid and cancel_requested is not null)`,
    [runId, mapPaths],
  );
}

/** A node whose attempt has failed and which is being retried or will be. */
export interface RetryingNode extends Pick<
  NodeRunRow,
  "node_id" | "path" | "attempts" | "started_at" | "next_attempt_at"
> {
  readonly run_id: string;
  /** The error of the failed attempt; null while the next attempt is running. */
  readonly error: RunError | null;
}

/** For each of these runs, the node that has been retried for longest; runs without such a node are omitted. */
export async function longestRetrying(db: Db, runIds: readonly string[]): Promise<RetryingNode[]> {
  return db.query(
    `select distinct on (run_id) run_id, node_id, path, error, attempts, started_at, next_attempt_at
      from node_runs where run_id = any ($1::uuid[]) and state = 'RETRYING' order by run_id, started_at, path`,
    [runIds],
  );
}
