import type { Spending } from "../../domain/accounts/quotas.ts";
import { aroundRun } from "../around.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { removeSome } from "../remove-some.ts";

/** The limits of a model call. */
export interface SpendingLimits {
  /** The outermost run around the call, and the key whose quotas count it; null if there is none. */
  readonly root: string | null;
  readonly key_id: string | null;
  /** Whether the run, or a run it is a child of, has a cost limit. */
  readonly budgeted: boolean;
  /** The monthly cost limits of the organisation and of that key. */
  readonly org_most: number | null;
  readonly key_most: number | null;
}

/** `runId`: the calling run; null for a judge. */
export async function spendingLimits(db: Db, runId: string | null): Promise<SpendingLimits> {
  return db.one(
    `with recursive ${aroundRun("$1")},
      top as (
        select run_id, key_id from around order by level desc limit 1
      )
      select (select run_id from top) as root, (select key_id from top) as key_id,
        exists (select from around join flow_versions v on v.project_id = around.project_id and v.version = around.flow_version
          where v.plan -> 'settings' ? 'max_cost_usd') as budgeted,
        (select most::float8 from quotas where org_id = current_org() and what = 'model_usd_month' and key_id is null) as org_most,
        (select most::float8 from quotas where org_id = current_org() and what = 'model_usd_month'
          and key_id = (select key_id from top)) as key_most`,
    [runId],
  );
}

/** Until the transaction ends, no other model call of this run or of its child runs is admitted. */
export async function lockCosts(db: Db, root: string): Promise<void> {
  await db.query("select pg_advisory_xact_lock(hashtextextended('costs of ' || $1::uuid, 0))", [root]);
}

/** The cost limits of the run and of the runs it is a child of, with what each has spent and reserved. */
export async function budgetsOf(db: Db, runId: string): Promise<Spending[]> {
  return db.query(
    `with recursive ${aroundRun("$1")},
      within as (
        select around.run_id as root, (v.plan -> 'settings' ->> 'max_cost_usd')::numeric as most, around.run_id
        from around join flow_versions v on v.project_id = around.project_id and v.version = around.flow_version
        where v.plan -> 'settings' ? 'max_cost_usd'
        union all
        select within.root, within.most, r.run_id from within join runs r on r.parent_run_id = within.run_id
      )
      select root, most::float8 as most,
        coalesce(sum((select sum(m.cost_usd) from model_calls m where m.run_id = within.run_id)), 0)::float8 as spent,
        coalesce(sum((select sum(c.amount) from cost_reservations c where c.run_id = within.run_id and c.expires_at > now())),
          0)::float8 as reserved
      from within group by root, most`,
    [runId],
  );
}

const NEW = columns("call_id uuid, org_id uuid, key_id uuid null, run_id uuid null, path text, amount numeric");

export interface Reservation extends RowOf<typeof NEW> {
  readonly amount: number;
}

export async function insertReservation(db: Db, reserved: Reservation, seconds: number): Promise<void> {
  await db.query(
    `insert into cost_reservations (${NEW.select()}, expires_at)
      values (${NEW.parameters}, clock_timestamp() + make_interval(secs => $7::float8))`,
    [...NEW.values(reserved), seconds],
  );
}

/** Extends a reservation: it expires `seconds` from now. */
export async function extendReservation(db: Db, callId: string, seconds: number): Promise<void> {
  await db.query(
    "update cost_reservations set expires_at = clock_timestamp() + make_interval(secs => $2::float8) where call_id = $1::uuid",
    [callId, seconds],
  );
}

export async function deleteReservation(db: Db, callId: string): Promise<void> {
  await db.query("delete from cost_reservations where call_id = $1::uuid", [callId]);
}

/** Deletes the reservations of an earlier attempt of a node, whose process has died. */
export async function deleteReservationsOf(db: Db, runId: string, path: string): Promise<void> {
  await db.query("delete from cost_reservations where run_id = $1::uuid and path = $2::text", [runId, path]);
}

/** Removes reservations that have expired. System only. */
export async function purgeReservations(db: Db, limit: number): Promise<number> {
  return removeSome(db, "cost_reservations", "call_id", "expires_at < now()", limit);
}
