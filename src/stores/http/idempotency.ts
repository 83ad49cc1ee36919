import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";

/** How long a claim lasts without renewal: after this time the request of a crashed process may be retried. */
export const LEASE_SECONDS = 30;

/** A stored response. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes of the body, as text; base64 if sealed. */
  readonly body?: string;
  /** The blob of a long body. */
  readonly blob?: string;
  readonly sealed?: boolean;
  /** Digest of the request body, if `request_hash` does not cover it. */
  readonly digest?: string;
}

const NEW = columns("org_id uuid, key text, operation text, request_hash bytea, resource_id uuid, lease_id uuid");

export interface Claim extends RowOf<typeof NEW> {
  /** Used if the key has no resource id yet. */
  readonly resource_id: string;
  /** Takes an exclusive lease of the key; 0 only fixes its resource ID and does not affect an existing lease. */
  readonly lease_seconds: number;
  /** Distinguishes this lease from earlier and later ones. */
  readonly lease_id: string;
  /** Whether the resource is a run, so that the response can be built from its row once it has completed. */
  readonly makes_run: boolean;
}

/** A key held by one request, until another one takes it over. */
export interface Lease {
  readonly key: string;
  readonly lease_id: string;
}

export type ClaimResult =
  | {
      readonly outcome: "claimed";
      readonly resource_id: string;
      readonly repeated: boolean;
      /** If the request took no exclusive lease, this is the lease that all requests of the key share. */
      readonly lease_id: string;
    }
  | { readonly outcome: "answered"; readonly resource_id: string; readonly response: StoredAnswer }
  | { readonly outcome: "completed"; readonly resource_id: string }
  | { readonly outcome: "in_progress" }
  | { readonly outcome: "conflict" };

/**
 * Claims a key for one request. Only one of several processes gets it. The same request can take over a claim that was released or whose
 * lease has expired, with the same resource ID.
 */
export async function claimKey(db: Db, claim: Claim): Promise<ClaimResult> {
  // The row can be purged or released between the two statements; then the claim is retried.
  for (;;) {
    const taken = await takeKey(db, claim);
    if (taken) return { outcome: "claimed", ...taken, repeated: taken.resource_id !== claim.resource_id };
    const row = await db.first<{
      resource_id: string;
      same: boolean;
      locked: boolean;
      completed: boolean;
      response: StoredAnswer | null;
    }>(
      `select resource_id, response, request_hash = $2::bytea as same, coalesce(locked_until > now(), false) as locked,
          exists (select from runs where run_id = resource_id and state = 'COMPLETED') as completed
        from idempotency_keys where org_id = current_org() and key = $1::text`,
      [claim.key, claim.request_hash],
    );
    if (!row) continue;
    if (!row.same) return { outcome: "conflict" };
    if (row.response) return { outcome: "answered", resource_id: row.resource_id, response: row.response };
    if (claim.makes_run && row.completed) return { outcome: "completed", resource_id: row.resource_id };
    if (row.locked) return { outcome: "in_progress" };
  }
}

async function takeKey(db: Db, claim: Claim): Promise<{ resource_id: string; lease_id: string } | null> {
  return db.first(
    `insert into idempotency_keys as k (${NEW.select()}, locked_until)
      values (${NEW.parameters}, now() + make_interval(secs => nullif($7::int, 0)))
      on conflict (org_id, key) do update set
        operation = excluded.operation, request_hash = excluded.request_hash, locked_until = excluded.locked_until, response = null,
        lease_id = case when $7::int = 0 and k.created_at >= now() - interval '24 hours' then k.lease_id else excluded.lease_id end,
        resource_id = case when k.created_at < now() - interval '24 hours' then excluded.resource_id else k.resource_id end,
        created_at = case when k.created_at < now() - interval '24 hours' then now() else k.created_at end
      where k.created_at < now() - interval '24 hours' and coalesce(k.locked_until <= now(), true)
        or k.response is null and coalesce(k.locked_until <= now(), true) and k.request_hash = excluded.request_hash
      returning resource_id, lease_id`,
    [...NEW.values(claim), claim.lease_seconds],
  );
}

/** Renews the lease of a request in progress. */
export async function renewClaim(db: Db, { key, lease_id }: Lease): Promise<void> {
  await db.query(
    `update idempotency_keys set locked_until = now() + make_interval(secs => $3::int)
      where org_id = current_org() and key = $1::text and lease_id = $2::uuid and response is null and locked_until is not null`,
    [key, lease_id, LEASE_SECONDS],
  );
}

/** Releases a claim, so that the same request may be retried immediately. */
export async function releaseClaim(db: Db, { key, lease_id }: Lease): Promise<void> {
  await db.query(
    `update idempotency_keys set locked_until = null
      where org_id = current_org() and key = $1::text and lease_id = $2::uuid and response is null`,
    [key, lease_id],
  );
}

/** Whether a lease is still valid. No other request can take the key over until the transaction ends. */
export async function lockClaim(db: Db, { key, lease_id }: Lease): Promise<boolean> {
  return db.any(
    `select from idempotency_keys
      where org_id = current_org() and key = $1::text and lease_id = $2::uuid for no key update`,
    [key, lease_id],
  );
}

/** Stores the response of a claimed key; an earlier response stays. False if the lease is lost. */
export async function storeAnswer(db: Db, { key, lease_id }: Lease, response: StoredAnswer): Promise<boolean> {
  return db.any(
    `update idempotency_keys set response = $3::jsonb, locked_until = null
      where org_id = current_org() and key = $1::text and lease_id = $2::uuid and response is null`,
    [key, lease_id, JSON.stringify(response)],
  );
}

/**
 * The stored response of a key, which a retry of the same request may have taken over; null if there is none yet; undefined if the key
 * belongs to another request.
 */
export async function findAnswer(db: Db, key: string, requestHash: Buffer): Promise<StoredAnswer | null | undefined> {
  const row = await db.first<{ response: StoredAnswer | null }>(
    `select response from idempotency_keys
      where org_id = current_org() and key = $1::text and request_hash = $2::bytea`,
    [key, requestHash],
  );
  return row?.response;
}

/** Removes up to `limit` keys older than a day, of all organisations; returns the keys of their blobs. For a purge. */
export async function purgeIdempotencyKeys(db: Db, limit: number): Promise<{ removed: number; blobs: string[] }> {
  const keys = await db.column<string | null>(
    `delete from idempotency_keys where (org_id, key) in (
        select org_id, key from idempotency_keys
        where created_at < now() - interval '24 hours' and coalesce(locked_until < now(), true) limit $1::int)
      returning response ->> 'blob' as blob`,
    [limit],
  );
  return { removed: keys.length, blobs: keys.filter((key) => key !== null) };
}
