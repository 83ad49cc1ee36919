import type { Db } from "../db.ts";
import { keysetSql } from "../keyset.ts";
import type { Keyset } from "../keyset.ts";

export const USER_ROLES = ["viewer", "editor", "admin"] as const;
export type UserRole = (typeof USER_ROLES)[number];

export interface User {
  readonly user_id: string;
  readonly org_id: string;
  readonly email: string;
  readonly role: UserRole;
  readonly created_at: string;
  readonly disabled_at: string | null;
}

export interface NewUser {
  readonly user_id: string;
  readonly org_id: string;
  readonly email: string;
  readonly password_hash: string;
  readonly role: UserRole;
}

/** Undefined members stay as they are. */
export interface UserChange {
  readonly role?: UserRole | undefined;
  readonly password_hash?: string | undefined;
  readonly disabled?: boolean | undefined;
}

const COLUMNS = "user_id, org_id, email, role, created_at, disabled_at";
export const USERS_EMAIL_KEY = "users_email_key";

/** Adds a user, or answers the one with the same id. Violates `users_email_key` when the address is taken, in any organisation. */
export async function insertUser(db: Db, user: NewUser): Promise<User> {
  const rows = await db.query<User>(
    {
      name: "insert_user",
      text: `insert into users (user_id, org_id, email, password_hash, role) values ($1::uuid, $2::uuid, $3::text, $4::text, $5::text)
        on conflict (user_id) do update set email = users.email returning ${COLUMNS}`,
    },
    [user.user_id, user.org_id, user.email, user.password_hash, user.role],
  );
  return rows[0] as User;
}

/** The user who signs in with this address, in any organisation: `/token` only. */
export async function findUserForSignIn(
  db: Db,
  email: string,
): Promise<(User & { readonly password_hash: string }) | null> {
  const rows = await db.query<User & { password_hash: string }>(
    {
      name: "find_user_for_sign_in",
      text: `select ${COLUMNS}, password_hash from users where lower(email) = lower($1::text)`,
    },
    [email],
  );
  return rows[0] ?? null;
}

export async function findUser(db: Db, userId: string): Promise<User | null> {
  const rows = await db.query<User>(
    { name: "find_user", text: `select ${COLUMNS} from users where org_id = current_org() and user_id = $1::uuid` },
    [userId],
  );
  return rows[0] ?? null;
}

/** Locks every user of the organisation until the transaction ends, so that the check for the last admin holds. */
export async function lockUsers(db: Db): Promise<User[]> {
  return db.query<User>({
    name: "lock_users",
    text: `select ${COLUMNS} from users where org_id = current_org() order by user_id for update`,
  });
}

export async function listUsers(db: Db, page: Keyset): Promise<User[]> {
  const { bound, compare, order, suffix } = keysetSql(page);
  return db.query<User>(
    {
      name: `list_users_${suffix}`,
      text: `select ${COLUMNS} from users where org_id = current_org() and user_id ${compare} $1::uuid order by user_id ${order} limit $2::int`,
    },
    [bound, page.limit],
  );
}

export async function updateUser(db: Db, userId: string, change: UserChange): Promise<User | null> {
  const rows = await db.query<User>(
    {
      name: "update_user",
      text: `update users set role = coalesce($2::text, role), password_hash = coalesce($3::text, password_hash),
          disabled_at = case when $4::boolean is null then disabled_at when $4::boolean then coalesce(disabled_at, now()) end
        where org_id = current_org() and user_id = $1::uuid returning ${COLUMNS}`,
    },
    [userId, change.role ?? null, change.password_hash ?? null, change.disabled ?? null],
  );
  return rows[0] ?? null;
}

/** Removes a user with all tokens. */
export async function deleteUser(db: Db, userId: string): Promise<boolean> {
  await db.query(
    {
      name: "delete_user_tokens",
      text: "delete from oauth_tokens where org_id = current_org() and user_id = $1::uuid",
    },
    [userId],
  );
  const rows = await db.query(
    {
      name: "delete_user",
      text: "delete from users where org_id = current_org() and user_id = $1::uuid returning user_id",
    },
    [userId],
  );
  return rows.length > 0;
}
