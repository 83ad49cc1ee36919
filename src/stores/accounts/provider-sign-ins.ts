import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { removeSome } from "../remove-some.ts";

const NEW = columns(`state_hash bytea, browser_hash bytea, provider_id text, nonce text, code_verifier text,
  return_to text`);

export interface NewProviderSignIn extends RowOf<typeof NEW> {
  readonly lifetime_seconds: number;
}

/** A sign-in whose browser is at the identity provider. */
export type ProviderSignIn = Omit<RowOf<typeof NEW>, "state_hash" | "browser_hash">;

export async function insertProviderSignIn(db: Db, signIn: NewProviderSignIn): Promise<void> {
  await db.query(
    `insert into provider_sign_ins (${NEW.select()}, expires_at)
      values (${NEW.parameters}, now() + make_interval(secs => $7::double precision))`,
    [...NEW.values(signIn), signIn.lifetime_seconds],
  );
}

/**
 * Consumes a sign-in; null if none has this state, provider and browser, or it has expired. A request from another browser does not consume
 * it.
 */
export async function takeProviderSignIn(
  db: Db,
  stateHash: Buffer,
  browserHash: Buffer,
  providerId: string,
): Promise<ProviderSignIn | null> {
  return db.first(
    `with taken as (
        delete from provider_sign_ins where state_hash = $1::bytea and browser_hash = $2::bytea and provider_id = $3::text returning *)
      select provider_id, nonce, code_verifier, return_to from taken where expires_at > now()`,
    [stateHash, browserHash, providerId],
  );
}

/** Removes expired sign-ins; returns how many. For a purge. */
export async function purgeProviderSignIns(db: Db, limit: number): Promise<number> {
  return removeSome(db, "provider_sign_ins", "state_hash", "expires_at < now()", limit);
}
