import { uuidv7 } from "uuidv7";
import { aroundRun, STOPPED_AROUND } from "../around.ts";
import type { Db } from "../db.ts";
import { removeSome } from "../remove-some.ts";

/** Longest wait for the database (ms), so that an unreachable database does not delay nodes. */
const PATIENCE_MS = 3000;

/** The organisations that have a quota of concurrent nodes, for themselves or for one of their keys. System only. */
export async function listNodeQuotas(db: Db): Promise<string[]> {
  return db.column({
    text: "select distinct org_id from quotas where what = 'concurrent_nodes'",
    query_timeout: PATIENCE_MS,
  });
}

export interface WantedPlace {
  readonly place_id: string;
  readonly org_id: string;
  readonly run_id: string;
  /** Identifies the node's execution: the same in every attempt. */
  readonly task: string;
}

/**
 * Takes a slot for a node for `seconds`; "none" means that none is free; "stopped" means that its run, or a run it is a child of, has
 * finished or has a pending cancellation. `most` is the limit of an organisation without its own quota.
 */
export async function takeNodePlace(
  db: Db,
  { org_id, place_id, task, run_id }: WantedPlace,
  seconds: number,
  most: number | undefined,
): Promise<"taken" | "none" | "stopped"> {
  const taken = await db.value<boolean>(
    {
      text: `with recursive ${aroundRun("$4")}
        select case when ${STOPPED_AROUND} then null
          else take_node_place($1::uuid, $2::uuid, $3::text, $4, $5::float8, $6::numeric, $7::uuid, $8::uuid) end as taken`,
      query_timeout: PATIENCE_MS,
    },
    [org_id, place_id, task, run_id, seconds, most ?? null, uuidv7(), uuidv7()],
  );
  return taken === null ? "stopped" : taken ? "taken" : "none";
}

/** Extends slots: they expire `seconds` from now. System only. */
export async function keepNodePlaces(db: Db, placeIds: readonly string[], seconds: number): Promise<void> {
  await db.query(
    {
      text: `update node_places set expires_at = clock_timestamp() + make_interval(secs => $2::float8) where place_id = any($1::uuid[])`,
      query_timeout: PATIENCE_MS,
    },
    [placeIds, seconds],
  );
}

export async function releaseNodePlace(db: Db, placeId: string): Promise<void> {
  await db.query("delete from node_places where place_id = $1::uuid", [placeId]);
}

/** How many slots the organisation, or one of its keys, uses. */
export async function countNodePlaces(db: Db, keyId: string | null): Promise<number> {
  return db.number(
    `select count(*)::int as places from node_places
      where org_id = current_org() and ($1::uuid is null or key_id = $1::uuid) and expires_at > clock_timestamp()`,
    [keyId],
  );
}

/** Removes slots that expired at least an hour ago because their workers died. System only. */
export async function purgeNodePlaces(db: Db, limit: number): Promise<number> {
  return removeSome(db, "node_places", "place_id", "expires_at < now() - interval '1 hour'", limit);
}
