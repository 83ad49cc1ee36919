import type { Json, JsonObject } from "../../domain/json.ts";
import type { NodeKind } from "../../domain/flow/plan/types.ts";
import type { NodeState, RunError } from "../../domain/runs/run.ts";
import type { Db } from "../db.ts";

/** What is recorded of one node of one run. */
export interface NodeRunRow {
  readonly node_id: string;
  readonly type: NodeKind;
  /** Its path: "http-0", or "map-0[3]/http-0" inside an iteration. */
  readonly path: string;
  readonly state: NodeState;
  readonly attempts: number;
  readonly inputs: Json;
  readonly output: Json;
  readonly truncated: boolean;
  readonly error: RunError | null;
  readonly usage: JsonObject | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  /** When the next attempt begins; null unless one has failed and the next is waited for. */
  readonly next_attempt_at: string | null;
}

const COLUMNS =
  "node_id, type, path, state, attempts, inputs, output, truncated, error, usage, started_at, finished_at, next_attempt_at";

/** The nodes of a run, those of its top level first, each level in the order they started. At most `limit`. */
export async function listNodeRuns(db: Db, runId: string, limit: number): Promise<NodeRunRow[]> {
  return db.query<NodeRunRow>(
    {
      name: "list_node_runs",
      text: `select ${COLUMNS} from node_runs where run_id = $1::uuid
        order by path <> node_id, coalesce(started_at, finished_at), path limit $2::integer`,
    },
    [runId, limit],
  );
}

/** One node of a run, or null. */
export async function getNodeRun(db: Db, runId: string, path: string): Promise<NodeRunRow | null> {
  const rows = await db.query<NodeRunRow>(
    {
      name: "get_node_run",
      text: `select ${COLUMNS} from node_runs where run_id = $1::uuid and path = $2::text`,
    },
    [runId, path],
  );
  return rows[0] ?? null;
}

/** What the top level's output nodes of a run have yielded so far, by node id; values too long for the record are left out. */
export async function outputsSoFar(db: Db, runId: string): Promise<Record<string, Json>> {
  const rows = await db.query<{ node_id: string; output: Json }>(
    {
      name: "outputs_so_far",
      text: `select node_id, output from node_runs
        where run_id = $1::uuid and type = 'output' and path = node_id and state = 'COMPLETED' and not truncated order by finished_at, path`,
    },
    [runId],
  );
  return Object.fromEntries(rows.map((row) => [row.node_id, row.output]));
}

/** The nodes of a run that have not ended. */
export async function unfinishedNodes(db: Db, runId: string): Promise<NodeRunRow[]> {
  return db.query<NodeRunRow>(
    {
      name: "unfinished_nodes",
      text: `select ${COLUMNS} from node_runs where run_id = $1::uuid and state in ('RUNNING', 'RETRYING', 'PAUSED')`,
    },
    [runId],
  );
}

/** Where a run was when it was cancelled: the innermost of its nodes that did not get to their end; null when there is none. */
export async function cancelledPath(db: Db, runId: string): Promise<string | null> {
  const rows = await db.query<{ path: string }>(
    `select path from node_runs where run_id = $1::uuid and state = 'CANCELLED'
     order by cardinality(string_to_array(path, '/')) desc, started_at, path limit 1`,
    [runId],
  );
  return rows[0]?.path ?? null;
}
