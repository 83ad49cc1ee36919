import type { JsonObject } from "../../domain/json.ts";
import type { RunState } from "../../domain/runs/run.ts";
import type { FiringState } from "../../domain/triggers/firing.ts";
import { columns, type RowOf } from "../columns.ts";
import { jsonb } from "../jsonb.ts";
import type { Db } from "../db.ts";
import { keysetSql, type Keyset } from "../keyset.ts";
import { lockRoundRobin } from "../round-robin.ts";
import { OPEN } from "../states.ts";

/** A firing that has to start a run. */
export interface NewFiring {
  readonly run_id: string;
  readonly org_id: string;
  readonly trigger_id: string;
  /** A trigger fires once for each key. */
  readonly key: string;
  readonly depth: number;
  /** The first run of the chain, if a run made the request that fires the trigger. */
  readonly root?: string | undefined;
  /** The firing whose payload is used again. */
  readonly repeat_of?: string | undefined;
}

const ROW = columns(`run_id uuid, trigger_id uuid, state text, error text null, payload jsonb null,
  repeat_of uuid null, created_at timestamptz`);

/** A firing and its outcome. Its ID is also that of the run that it starts. */
export interface FiringRow extends RowOf<typeof ROW> {
  readonly state: FiringState;
  /** Why it failed, or what it waits for. */
  readonly error: string | null;
  /** `null` if the payload is not kept. */
  readonly payload: JsonObject | null;
  /** `null` if the run does not exist yet, or has been deleted. */
  readonly run_state: RunState | null;
}

/** A firing whose run is not started yet. */
export interface DueFiring extends NewFiring {
  readonly payload: JsonObject;
  readonly attempts: number;
}

const NEW = columns("run_id uuid, org_id uuid, trigger_id uuid, key text, depth int, root text, repeat_of uuid");

/** Records a firing, or returns the earlier one with the same key. */
export async function recordFiring(db: Db, firing: NewFiring): Promise<Pick<FiringRow, "run_id" | "state">> {
  const found = await db.first<Pick<FiringRow, "run_id" | "state">>(
    // An update without a change makes a second writer wait for the first one, and then see its run.
    `insert into trigger_firings ${NEW.into}
      on conflict (trigger_id, key) do update set key = excluded.key returning run_id, state`,
    NEW.values({ root: null, repeat_of: null, ...firing }),
  );
  return found ?? { run_id: firing.run_id, state: "pending" };
}

/** Records firings whose runs a worker starts later; firings with an error start none. Existing firings stay. */
export async function queueFirings(
  db: Db,
  firings: ReadonlyArray<NewFiring & { readonly payload: JsonObject; readonly error?: string }>,
): Promise<void> {
  await db.query(
    `insert into trigger_firings (run_id, org_id, trigger_id, key, depth, payload, error, state, due_at)
      select run_id, org_id, trigger_id, key, depth, payload, error, case when error is null then 'pending' else 'failed' end,
          case when error is null then now() end from jsonb_to_recordset($1::jsonb)
        as f (run_id uuid, org_id uuid, trigger_id uuid, key text, depth int, payload jsonb, error text)
      on conflict do nothing`,
    [jsonb(firings)],
  );
}

const FIRING = `${ROW.select("f")}, r.state as run_state`;

/** A page of a trigger's firings, in one state or in any. */
export async function listFirings(
  db: Db,
  triggerId: string,
  state: FiringState | null,
  page: Keyset,
): Promise<FiringRow[]> {
  const { bound, compare, order } = keysetSql(page);
  const inState = state === null ? "" : "and state = $4::text";
  return db.query(
    `select ${FIRING} from (select * from trigger_firings where org_id = current_org() and trigger_id = $3::uuid
        and run_id ${compare} $1::uuid ${inState} order by run_id ${order} limit $2::int) f
      left join runs r on r.run_id = f.run_id and r.org_id = current_org() order by f.run_id ${order}`,
    [bound, page.limit, triggerId, ...(state === null ? [] : [state])],
  );
}

export async function findFiring(db: Db, triggerId: string, firingId: string): Promise<FiringRow | null> {
  return db.first(
    `select ${FIRING} from trigger_firings f left join runs r on r.run_id = f.run_id and r.org_id = current_org()
      where f.org_id = current_org() and f.trigger_id = $1::uuid and f.run_id = $2::uuid`,
    [triggerId, firingId],
  );
}

const MAX_ERROR_CHARS = 1000;

/** Most firings of one organisation that are taken together, so that a new firing of another organisation need not wait for many. */
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
 * Takes due firings, a few of each organisation except those in `except`, in the order in which they were queued. If their runs are not
 * started in time, another process takes them again. System only.
 */
export async function takeDueFirings(db: Db, limit: number, except: readonly string[] = []): Promise<DueFiring[]> {
  const taken = await db.query<DueFiring>(
    `update trigger_firings set attempts = attempts + 1, due_at = now() + least(interval '10 minutes', interval '5 seconds' * 2 ^ least(attempts, 10))
      where run_id in (${DUE})
      returning run_id, org_id, trigger_id, key, depth, payload, attempts`,
    [limit, except],
  );
  // An update returns rows in any order, so sort by ID: IDs begin with their time.
  return taken.toSorted((a, b) => (a.run_id < b.run_id ? -1 : 1));
}

/** Records that the run of a firing has been started. `null` means that the payload is not kept. */
export async function finishFiring(db: Db, runId: string, payload: JsonObject | null): Promise<void> {
  await db.query(
    "update trigger_firings set state = 'started', due_at = null, error = null, payload = $2::jsonb where run_id = $1::uuid",
    [runId, payload === null ? null : jsonb(payload)],
  );
}

/** Records why a firing starts no run. Its cause may fire again. `null` means that the payload is not kept. */
export async function failFiring(db: Db, runId: string, message: string, payload: JsonObject | null): Promise<void> {
  await db.query(
    `update trigger_firings set state = 'failed', due_at = null, error = $2::text, payload = $3::jsonb
      where run_id = $1::uuid and state <> 'started'`,
    [runId, message.slice(0, MAX_ERROR_CHARS), payload === null ? null : jsonb(payload)],
  );
}

/** Records what a firing waits for. */
export async function noteFiringWaits(db: Db, runId: string, message: string): Promise<void> {
  await db.query("update trigger_firings set error = $2::text where run_id = $1::uuid and state = 'pending'", [
    runId,
    message.slice(0, MAX_ERROR_CHARS),
  ]);
}

/** The depth of runs that triggers started. System only. */
export async function depthsOf(db: Db, runIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  return db.pairs("select run_id, depth from trigger_firings where run_id = any ($1::uuid[])", [runIds]);
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

/** The depth of a run; child runs have the depth of their parent. */
export async function depthOf(db: Db, runId: string): Promise<number> {
  return (await chainOf(db, runId)).depth;
}

/** The depth of a run and the first run of its chain: itself if no run started it. */
export async function chainOf(db: Db, runId: string): Promise<{ depth: number; root: string }> {
  return db.one(
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
}

/** How many unfinished runs descend from a run, counted up to `max`. */
export async function countLiveRunsOfRoot(db: Db, root: string, max: number): Promise<number> {
  return db.number(
    `select count(*)::integer as n from (
      select 1 from runs r join trigger_firings f on f.run_id = r.run_id
      where r.org_id = current_org() and r.state in (${OPEN})
        and f.org_id = current_org() and (f.root = $1::text or f.trigger_id is null and f.key = $1::text) limit $2::int) as live`,
    [root, max],
  );
}

/**
 * Removes finished firings older than `maxAgeMs`, and deleted triggers without firings; returns how many firings.
 * System only.
 */
export async function purgeFirings(db: Db, maxAgeMs: number, limit: number): Promise<number> {
  const removed = await db.count(
    // A trigger may still show the error of its last firing, which may quote what an end user has written.
    `with gone as (
        delete from trigger_firings where run_id in (
          select run_id from trigger_firings where created_at < now() - make_interval(secs => $1::float8 / 1000) and due_at is null
          order by created_at limit $2::int)
        returning trigger_id, error),
      quoted as (
        update triggers t set last_error = 'It failed longer ago than firings are kept.' from gone g
        where t.id = g.trigger_id and t.last_error = g.error)
      select from gone`,
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
