import type { JsonObject } from "../../domain/json.ts";
import type { Db } from "../db.ts";

export const RUN_EVENT_TYPES = [
  "run.state",
  "node.started",
  "node.retrying",
  "node.finished",
  "output.delta",
  "run.paused",
  "run.finished",
] as const;
export type RunEventType = (typeof RUN_EVENT_TYPES)[number];

/** An entry of a run's event log. The numbers have no gaps: a reader of one has seen all below it. */
export interface RunEventRow {
  readonly seq: number;
  readonly type: RunEventType;
  readonly at: string;
  readonly data: JsonObject;
}

/** The events of a run after number `after`, in their order. */
export async function listRunEvents(db: Db, runId: string, after: number, limit: number): Promise<RunEventRow[]> {
  return db.query(
    "select seq, type, at, data from run_events where run_id = $1::uuid and seq > $2::integer order by seq limit $3::integer",
    [runId, after, limit],
  );
}

/** The paths of the nodes that had finished by event number `seq`. */
export async function endedBefore(db: Db, runId: string, seq: number): Promise<string[]> {
  return db.column(
    `select data ->> 'path' as path from run_events
      where run_id = $1::uuid and seq <= $2::integer and type = 'node.finished'`,
    [runId, seq],
  );
}
