import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";
import { GRANTS_OF_USER } from "../rights.ts";
import type { Grants } from "./project-roles.ts";
import type { User } from "./users.ts";

/** A session ends when it has not been used for this long. */
const IDLE = "interval '12 hours'";
/** Every session ends after this long, however often it is used, because an open page keeps polling. */
const LONGEST = "interval '7 days'";
const LIVE = `ended_at is null and last_seen_at > now() - ${IDLE} and s.created_at > now() - ${LONGEST}`;

const NEW = columns(`session_id uuid, org_id uuid, user_id uuid, secret_hash bytea, user_agent text, address text,
  provider_id text null, id_token bytea null`);

export interface NewSession extends RowOf<typeof NEW> {
  /** The identity provider of the sign-in. */
  readonly provider_id: string | null;
  /** The sealed ID token of the sign-in. */
  readonly id_token: Buffer | null;
}

const ROW = columns(`session_id uuid, org_id uuid, user_id uuid, user_agent text, address text, created_at timestamptz,
  last_seen_at timestamptz, provider_id text null`);

/** A valid session, with its user. */
export interface Session extends RowOf<typeof ROW>, Pick<User, "email" | "role"> {
  readonly expires_at: string;
}

/** A valid session with its user's roles in projects. */
export interface AuthenticatedSession extends Session {
  readonly grants: Grants | null;
}

/** A session as people see it: of the console, or the tokens of a script that has signed in. */
export interface ListedSession extends Session {
  readonly kind: "console" | "token";
}

const COLUMNS = `${ROW.select("s")}, u.email, u.role,
  least(s.last_seen_at + ${IDLE}, s.created_at + ${LONGEST}) as expires_at`;

export async function insertSession(db: Db, session: NewSession): Promise<void> {
  await db.query(`insert into sessions ${NEW.into}`, NEW.values(session));
}

/** The session with this secret in any organisation; null if it has ended or its user is disabled. Authentication only. */
export async function findSessionByHash(db: Db, hash: Buffer): Promise<AuthenticatedSession | null> {
  return db.first(
    `select ${COLUMNS}, ${GRANTS_OF_USER} from sessions s join users u using (user_id)
      where s.secret_hash = $1::bytea and u.disabled_at is null and ${LIVE}`,
    [hash],
  );
}

/** Records the use of a session. */
export async function touchSession(db: Db, sessionId: string): Promise<void> {
  await db.query("update sessions set last_seen_at = now() where session_id = $1::uuid", [sessionId]);
}

/** A page of open sessions: those of one user or, with null, those of the whole organisation. */
export async function listSessions(db: Db, userId: string | null, page: Keyset): Promise<ListedSession[]> {
  const select = `select * from (
      select 'console' as kind, ${COLUMNS} from sessions s join users u using (user_id)
      where s.org_id = current_org() and ($1::uuid is null or s.user_id = $1::uuid) and ${LIVE}
      union all
      select 'token' as kind, coalesce(t.session_id, t.token_id), t.org_id, t.user_id, t.user_agent, t.address,
        coalesce(t.began_at, t.created_at), t.created_at, null, u.email, u.role, t.expires_at
      from oauth_tokens t join users u using (user_id)
      where t.org_id = current_org() and ($1::uuid is null or t.user_id = $1::uuid)
        and t.kind = 'refresh' and t.revoked_at is null and t.expires_at > now()
    ) as open where true`;
  return selectPage(db, page, "session_id", select, [userId]);
}

export type EndedSession = Pick<Session, "user_id" | "provider_id"> & Pick<NewSession, "id_token">;

/** Ends a session: any of the organisation's, or with `userId` only one of that user. Returns it; null if there is no such session. */
export async function endSession(db: Db, sessionId: string, userId: string | null): Promise<EndedSession | null> {
  return db.first(
    `with ended as (
        select session_id, id_token from sessions s where org_id = current_org() and session_id = $1::uuid
          and ($2::uuid is null or user_id = $2::uuid) and ${LIVE} for no key update)
      update sessions s set ended_at = now(), id_token = null from ended where s.session_id = ended.session_id
      returning s.user_id, s.provider_id, ended.id_token`,
    [sessionId, userId],
  );
}

/** Ends every session of a user, and the sign-in links that would open another. */
export async function endSessionsOfUser(db: Db, userId: string): Promise<void> {
  await db.query(
    "update sessions set ended_at = now(), id_token = null where user_id = $1::uuid and ended_at is null",
    [userId],
  );
  await db.query("delete from sign_in_links where user_id = $1::uuid", [userId]);
}

const LINK = columns("secret_hash bytea, org_id uuid, user_id uuid");

export interface NewSignInLink extends RowOf<typeof LINK> {
  readonly lifetime_seconds: number;
}

export async function insertSignInLink(db: Db, link: NewSignInLink): Promise<void> {
  await db.query(
    `insert into sign_in_links (${LINK.select()}, expires_at)
      values (${LINK.parameters}, now() + make_interval(secs => $4::double precision))`,
    [...LINK.values(link), link.lifetime_seconds],
  );
}

/** Consumes a sign-in link; null if it is missing, used or expired, or its user is disabled. */
export async function takeSignInLink(db: Db, hash: Buffer): Promise<{ org_id: string; user_id: string } | null> {
  return db.first(
    `with taken as (delete from sign_in_links where secret_hash = $1::bytea returning org_id, user_id, expires_at)
      select t.org_id, t.user_id from taken t join users u using (user_id) where t.expires_at > now() and u.disabled_at is null`,
    [hash],
  );
}

/** Removes sessions and links that ended a day ago; returns how many. For a purge. */
export async function purgeSessions(db: Db, limit: number): Promise<number> {
  return db.count(
    `with links as (delete from sign_in_links where expires_at < now() - interval '1 day')
      delete from sessions where session_id in
        (select session_id from sessions where last_seen_at < now() - interval '2 days' limit $1::int)`,
    [limit],
  );
}
