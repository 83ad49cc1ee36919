import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { removeSome } from "../remove-some.ts";
import { GRANTS_OF_USER } from "../rights.ts";
import type { Grants } from "./project-roles.ts";
import type { User } from "./users.ts";

/** The session that tokens belong to, and the client that uses it. */
export interface TokenSession {
  /** Shared by all tokens that were obtained from one another; null for tokens from before this existed. */
  readonly session_id: string | null;
  /** When the session received its first tokens; null means now. */
  readonly began_at: string | null;
  readonly user_agent: string;
  readonly address: string;
}

const NEW = columns(`token_id uuid, org_id uuid, user_id uuid, kind text, secret_hash bytea, scope text,
  session_id uuid, user_agent text, address text`);

export interface NewToken extends Partial<TokenSession>, Omit<RowOf<typeof NEW>, keyof TokenSession> {
  readonly kind: "access" | "refresh";
  readonly lifetime_seconds: number;
}

const ROW = columns(`token_id uuid, org_id uuid, user_id uuid, kind text, scope text, expires_at timestamptz,
  revoked_at timestamptz null, session_id uuid null`);

/** A token with its user's identity and role. */
export interface Token extends RowOf<typeof ROW>, Pick<User, "role" | "disabled_at"> {
  readonly kind: "access" | "refresh";
  readonly began_at: string;
  readonly grants: Grants | null;
}

export async function insertToken(db: Db, token: NewToken): Promise<void> {
  await db.query(
    `insert into oauth_tokens (${NEW.select()}, expires_at, began_at)
      values (${NEW.parameters}, now() + make_interval(secs => $10::double precision), coalesce($11::timestamptz, now()))`,
    [
      ...NEW.values({ session_id: null, user_agent: "", address: "", ...token }),
      token.lifetime_seconds,
      token.began_at ?? null,
    ],
  );
}

/** The token with this hash, valid or not: authentication only. */
export async function findTokenByHash(db: Db, hash: Buffer): Promise<Token | null> {
  return db.first(
    `select ${ROW.select("t")}, u.role, u.disabled_at, ${GRANTS_OF_USER}, coalesce(t.began_at, t.created_at) as began_at
      from oauth_tokens t join users u using (user_id) where t.secret_hash = $1::bytea`,
    [hash],
  );
}

/** Consumes a refresh token; false if it was used already. */
export async function consumeToken(db: Db, tokenId: string): Promise<boolean> {
  return db.any(
    `update oauth_tokens set revoked_at = now() where token_id = $1::uuid and revoked_at is null and expires_at > now()`,
    [tokenId],
  );
}

/**
 * Ends the session of a refresh token: any of the organisation's, or with `userId` only one of that user. Its tokens expire, so that a
 * later use does not look like theft. Returns the user; null if there is no such session.
 */
export async function endTokenSession(db: Db, sessionId: string, userId: string | null): Promise<string | null> {
  return db.value(
    `update oauth_tokens set revoked_at = now(), expires_at = least(expires_at, now())
      where org_id = current_org() and coalesce(session_id, token_id) = $1::uuid and ($2::uuid is null or user_id = $2::uuid)
        and revoked_at is null and exists (select from oauth_tokens r where r.org_id = current_org() and r.kind = 'refresh'
          and coalesce(r.session_id, r.token_id) = $1::uuid and r.revoked_at is null and r.expires_at > now())
      returning user_id`,
    [sessionId, userId],
  );
}

/** Revokes every token of a user. */
export async function revokeTokensOfUser(db: Db, userId: string): Promise<void> {
  await db.query("update oauth_tokens set revoked_at = now() where user_id = $1::uuid and revoked_at is null", [
    userId,
  ]);
}

/** Removes tokens that expired more than a day ago; returns how many. For a purge. */
export async function purgeExpiredTokens(db: Db, limit: number): Promise<number> {
  return removeSome(db, "oauth_tokens", "token_id", "expires_at < now() - interval '1 day'", limit);
}
