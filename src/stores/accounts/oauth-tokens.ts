import { columns } from "../columns.ts";
import type { Db } from "../db.ts";
import { GRANTS_OF_USER } from "../rights.ts";
import type { Grants } from "./project-roles.ts";
import type { UserRole } from "./users.ts";

/** The session that tokens belong to, and the client that uses it. */
export interface TokenSession {
  /** Shared by all tokens that were obtained from one another; null for tokens from before this existed. */
  readonly session_id: string | null;
  /** When the session received its first tokens; null means now. */
  readonly began_at: string | null;
  readonly user_agent: string;
  readonly address: string;
}

export interface NewToken extends Partial<TokenSession> {
  readonly token_id: string;
  readonly org_id: string;
  readonly user_id: string;
  readonly kind: "access" | "refresh";
  readonly secret_hash: Buffer;
  readonly scope: string;
  readonly lifetime_seconds: number;
}

/** A token with its user's identity and role. */
export interface Token {
  readonly session_id: string | null;
  readonly began_at: string;
  readonly token_id: string;
  readonly org_id: string;
  readonly user_id: string;
  readonly kind: "access" | "refresh";
  readonly scope: string;
  readonly expires_at: string;
  readonly revoked_at: string | null;
  readonly role: UserRole;
  readonly grants: Grants | null;
  readonly disabled_at: string | null;
}

const NEW = columns(`token_id uuid, org_id uuid, user_id uuid, kind text, secret_hash bytea, scope text,
  session_id uuid, user_agent text, address text`);

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
    `select t.token_id, t.org_id, t.user_id, t.kind, t.scope, t.expires_at, t.revoked_at, u.role, u.disabled_at, ${GRANTS_OF_USER},
        t.session_id, coalesce(t.began_at, t.created_at) as began_at
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
  return db.count(
    `delete from oauth_tokens where token_id in
      (select token_id from oauth_tokens where expires_at < now() - interval '1 day' limit $1::int)`,
    [limit],
  );
}
