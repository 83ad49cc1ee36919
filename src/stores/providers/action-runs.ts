import type { Json, StoredValue } from "../../domain/json.ts";
import type { ActionError, ActionRunState } from "../../domain/providers/action-run.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";

const ROW = columns(`action_run_id uuid, org_id uuid, provider_id text, action_id text, connection_id uuid null,
  dry_run boolean, timeout_seconds int, inputs jsonb, state text, outputs jsonb null, error jsonb null,
  rendered_request jsonb, latency_ms int null, created_at timestamptz, finished_at timestamptz null`);

export interface ActionRunRow extends RowOf<typeof ROW> {
  readonly inputs: StoredValue;
  readonly state: ActionRunState;
  readonly outputs: StoredValue | null;
  readonly error: ActionError | null;
  readonly rendered_request: Json;
}

const NEW = columns(`action_run_id uuid, org_id uuid, provider_id text, action_id text, connection_id uuid,
  dry_run boolean, timeout_seconds int, inputs jsonb, created_by uuid`);

export type NewActionRun = Pick<ActionRunRow, Exclude<NameOf<typeof NEW>, "created_by">> & {
  readonly created_by: string;
};

const COLUMNS = ROW.select();
const OWN = "org_id = current_org() and action_run_id = $1::uuid";

/** Adds a run of an action; an existing one of the same id (the request was retried) stays as it is. */
export async function insertActionRun(db: Db, run: NewActionRun): Promise<void> {
  await db.query(`insert into action_runs ${NEW.into} on conflict (action_run_id) do nothing`, NEW.values(run));
}

export async function findActionRun(db: Db, actionRunId: string): Promise<ActionRunRow | null> {
  return db.first(`select ${COLUMNS} from action_runs where ${OWN}`, [actionRunId]);
}

/** The result of a run of an action. */
export interface ActionRunEnd extends Pick<ActionRunRow, "outputs" | "error" | "rendered_request"> {
  readonly latency_ms: number;
}

/** Writes the result of a run of an action; an earlier result stays. */
export async function finishActionRun(db: Db, actionRunId: string, end: ActionRunEnd): Promise<void> {
  await db.query(
    `update action_runs set state = case when $3::jsonb is null then 'COMPLETED' else 'FAILED' end, outputs = $2::jsonb,
        error = $3::jsonb, rendered_request = $4::jsonb, latency_ms = $5::int, finished_at = now()
      where ${OWN} and finished_at is null`,
    [
      actionRunId,
      end.outputs && jsonb(end.outputs),
      end.error && jsonb(end.error),
      jsonb(end.rendered_request),
      end.latency_ms,
    ],
  );
}

/**
 * Records that a call is about to be made. False if that was recorded before, because the call may have been made already. `callKey` is the
 * same in each attempt of a call.
 */
export async function beginCall(db: Db, orgId: string, callKey: string): Promise<boolean> {
  return db.any(
    `insert into action_calls (org_id, call_key) values ($1::uuid, $2::text)
      on conflict (org_id, call_key) do nothing`,
    [orgId, callKey],
  );
}

/** Deletes the record of a call that certainly had no effect, so that it may be made again. */
export async function forgetCall(db: Db, callKey: string): Promise<void> {
  await db.query("delete from action_calls where org_id = current_org() and call_key = $1::text", [callKey]);
}

/** Removes action runs that finished, and records of calls that were made, more than `maxAgeMs` ago; returns how many. System only. */
export async function purgeActionRuns(db: Db, maxAgeMs: number, limit: number): Promise<number> {
  return db.count(
    `
with calls as (
  delete from action_calls where (org_id, call_key) in (
    select org_id, call_key from action_calls where begun_at < now() - make_interval(secs => $1::float8 / 1000) limit $2::int)
)
delete from action_runs where action_run_id in (
  select action_run_id from action_runs where finished_at < now() - make_interval(secs => $1::float8 / 1000) limit $2::int
)`,
    [maxAgeMs, limit],
  );
}
