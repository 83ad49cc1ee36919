import type { JsonObject } from "../../domain/json.ts";
import { jsonb } from "../jsonb.ts";
import type { Db } from "../db.ts";
import { lockRoundRobin } from "../round-robin.ts";
import { OPEN } from "../states.ts";

/** Why a run is to be started. */
export interface NewFiring {
  readonly run_id: string;
  readonly org_id: string;
  readonly trigger_id: string;
  /** A trigger fires once for each key. */
  readonly key: string;
  readonly depth: number;
  /** The first run of the chain, if a run has made the request that fires it. */
  readonly root?: string | undefined;
}

/** A firing whose run is not started yet. */
export interface DueFiring extends NewFiring {
  readonly payload: JsonObject;
  readonly attempts: number;
}

/** Records a firing and returns its run, or the run of an earlier firing with the same key. */
export async function recordFiring(db: Db, firing: NewFiring): Promise<string> {
  const runId = await db.value<string>(
    // An update without a change: a second writer waits for the first one, and sees its run.
    `insert into trigger_firings (run_id, org_id, trigger_id, key, depth, root)
      values ($1::uuid, $2::uuid, $3::uuid, $4::text, $5::int, $6::text)
      on conflict (trigger_id, key) do update set key = excluded.key returning run_id`,
    [firing.run_id, firing.org_id, firing.trigger_id, firing.key, firing.depth, firing.root ?? null],
  );
  return runId ?? firing.run_id;
}

/** Records firings whose runs are started later, by whoever takes them. An existing one stays as it is. */
export async function queueFirings(
  db: Db,
  firings: ReadonlyArray<NewFiring & { readonly payload: JsonObject }>,
): Promise<void> {
  await db.query(
    `insert into trigger_firings (run_id, org_id, trigger_id, key, depth, payload, due_at)
      select run_id, org_id, trigger_id, key, depth, payload, now() from jsonb_to_recordset($1::jsonb)
        as f (run_id uuid, org_id uuid, trigger_id uuid, key text, depth int, payload jsonb)
      on conflict do nothing`,
    [jsonb(firings)],
  );
}

/** How many firings of one organisation are taken at once: another's new firing must not wait for many. */
const MOST_OF_ONE = 3;
const DUE = lockRoundRobin({
  table: "trigger_firings",
  key: "run_id",
  where: "due_at <= now() and org_id <> all ($2::uuid[])",
  order: "due_at, run_id",
  limit: "$1::int",
  most: MOST_OF_ONE,
});

/**
 * Takes due firings, a few of each organisation except those in `except`, in the order in which they were queued.
 * Another process takes them again later, unless their runs have been started. System only.
 */
export async function takeDueFirings(db: Db, limit: number, except: readonly string[] = []): Promise<DueFiring[]> {
  const taken = await db.query<DueFiring>(
    `update trigger_firings set attempts = attempts + 1, due_at = now() + least(interval '10 minutes', interval '5 seconds' * 2 ^ least(attempts, 10))
      where run_id in (${DUE})
      returning run_id, org_id, trigger_id, key, depth, payload, attempts`,
    [limit, except],
  );
  // An update returns rows in any order. Their ids begin with their time.
  return taken.toSorted((a, b) => (a.run_id < b.run_id ? -1 : 1));
}

/** Removes a firing that has started no run, so that its cause may fire again. */
export async function dropFiring(db: Db, runId: string): Promise<void> {
  await db.query("delete from trigger_firings where run_id = $1::uuid", [runId]);
}

/** Records that the run of a firing has been started. */
export async function finishFiring(db: Db, runId: string): Promise<void> {
  await db.query("update trigger_firings set due_at = null, payload = null where run_id = $1::uuid", [runId]);
}

/** The depth of runs that triggers started. System only. */
export async function depthsOf(db: Db, runIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await db.query<{ run_id: string; depth: number }>(
    "select run_id, depth from trigger_firings where run_id = any ($1::uuid[])",
    [runIds],
  );
  return new Map(rows.map(({ run_id, depth }) => [run_id, depth]));
}

/**
 * Records the depth of a run that another run started without a trigger, and the first run of its chain, as its key.
 */
export async function recordDepth(
  db: Db,
  run: { readonly run_id: string; readonly org_id: string; readonly depth: number; readonly root: string },
): Promise<void> {
  await db.query(
    `insert into trigger_firings (run_id, org_id, key, depth) values ($1::uuid, $2::uuid, $3::text, $4::int)
      on conflict (run_id) do nothing`,
    [run.run_id, run.org_id, run.root, run.depth],
  );
}

/** The depth of a run, which its sub-runs share. */
export async function depthOf(db: Db, runId: string): Promise<number> {
  return (await chainOf(db, runId)).depth;
}

/** The depth of a run and the first run of its chain: itself if no run started it. */
export async function chainOf(db: Db, runId: string): Promise<{ depth: number; root: string }> {
  const rows = await db.query<{ depth: number; root: string }>(
    `with recursive up as (
        select $1::uuid as run_id, 0 as level
        union all
        select r.parent_run_id, up.level + 1 from up join runs r on r.run_id = up.run_id
        where r.org_id = current_org() and r.parent_run_id is not null and up.level < 1000)
      select coalesce(max(f.depth), 0) as depth,
        coalesce((array_agg(coalesce(f.root, f.key) order by up.level)
            filter (where f.root is not null or f.run_id is not null and f.trigger_id is null))[1],
          (array_agg(up.run_id::text order by up.level desc))[1]) as root
      from up left join trigger_firings f on f.run_id = up.run_id and f.org_id = current_org()`,
    [runId],
  );
  return rows[0] ?? { depth: 0, root: runId };
}

/** How many open runs descend from a run, counted up to `max`. */
export async function countLiveRunsOfRoot(db: Db, root: string, max: number): Promise<number> {
  const n = await db.value<number>(
    `select count(*)::integer as n from (
      select 1 from runs r join trigger_firings f on f.run_id = r.run_id
      where r.org_id = current_org() and r.state in (${OPEN})
        and f.org_id = current_org() and (f.root = $1::text or f.trigger_id is null and f.key = $1::text) limit $2::int) as live`,
    [root, max],
  );
  return n ?? 0;
}

/**
 * Removes finished firings older than `maxAgeMs`, and deleted triggers without firings; returns how many firings.
 * System only.
 */
export async function purgeFirings(db: Db, maxAgeMs: number, limit: number): Promise<number> {
  const removed = await db.count(
    `delete from trigger_firings where run_id in (
        select run_id from trigger_firings where created_at < now() - make_interval(secs => $1::float8 / 1000) and due_at is null
        order by created_at limit $2::int
      )`,
    [maxAgeMs, limit],
  );
  await db.query(
    `delete from triggers t where deleted_at < now() - make_interval(secs => $1::float8 / 1000)
      and (kind not in ('schedule', 'poll') or applied_revision >= revision)
      and not exists (select from trigger_firings f where f.trigger_id = t.id)`,
    [maxAgeMs],
  );
  return removed;
}
