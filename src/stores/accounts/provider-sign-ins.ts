import type { Db } from "../db.ts";

/** A sign-in whose browser is at the identity provider. */
export interface ProviderSignIn {
  readonly provider_id: string;
  readonly nonce: string;
  readonly code_verifier: string;
  readonly return_to: string;
}

export interface NewProviderSignIn extends ProviderSignIn {
  readonly state_hash: Buffer;
  readonly browser_hash: Buffer;
  readonly lifetime_seconds: number;
}

export async function insertProviderSignIn(db: Db, signIn: NewProviderSignIn): Promise<void> {
  await db.query(
    `insert into provider_sign_ins (state_hash, browser_hash, provider_id, nonce, code_verifier, return_to, expires_at)
      values ($1::bytea, $2::bytea, $3::text, $4::text, $5::text, $6::text, now() + make_interval(secs => $7::double precision))`,
    [
      signIn.state_hash,
      signIn.browser_hash,
      signIn.provider_id,
      signIn.nonce,
      signIn.code_verifier,
      signIn.return_to,
      signIn.lifetime_seconds,
    ],
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
  return db.first<ProviderSignIn>(
    `with taken as (
        delete from provider_sign_ins where state_hash = $1::bytea and browser_hash = $2::bytea and provider_id = $3::text returning *)
      select provider_id, nonce, code_verifier, return_to from taken where expires_at > now()`,
    [stateHash, browserHash, providerId],
  );
}

/** Removes expired sign-ins; returns how many. For a purge. */
export async function purgeProviderSignIns(db: Db, limit: number): Promise<number> {
  return db.count(
    `delete from provider_sign_ins where state_hash in
      (select state_hash from provider_sign_ins where expires_at < now() limit $1::int)`,
    [limit],
  );
}
