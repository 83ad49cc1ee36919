import type { ProjectRole } from "../../domain/accounts/principal.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";

export const USER_ROLES = ["member", "viewer", "editor", "admin"] as const;
export type UserRole = (typeof USER_ROLES)[number];

const ROW = columns(`user_id uuid, org_id uuid, email text, role text, created_at timestamptz,
  disabled_at timestamptz null`);

export interface User extends RowOf<typeof ROW> {
  readonly role: UserRole;
}

export interface NewUser extends Omit<User, "created_at" | "disabled_at"> {
  readonly password_hash: string;
}

/** Undefined fields are not changed. */
export interface UserChange {
  readonly role?: UserRole | undefined;
  readonly password_hash?: string | undefined;
  readonly disabled?: boolean | undefined;
}

const COLUMNS = ROW.select();
export const USERS_EMAIL_KEY = "users_email_key";

/**
 * Adds a user, or returns the existing one with the same id. Violates `users_email_key` if the organisation has the
 * address already.
 */
export async function insertUser(db: Db, user: NewUser): Promise<User> {
  return db.one(
    `insert into users (user_id, org_id, email, password_hash, role) values ($1::uuid, $2::uuid, $3::text, $4::text, $5::text)
      on conflict (user_id) do update set email = users.email returning ${COLUMNS}`,
    [user.user_id, user.org_id, user.email, user.password_hash, user.role],
  );
}

/** A user with the hash of the password. */
export interface UserSigningIn extends User {
  readonly password_hash: string;
}

/**
 * The users with this lower-case address, in any organisation or in one, the newest password first. For sign-ins only.
 */
export async function findUsersByAddress(
  db: Db,
  address: string,
  orgId: string | null = null,
): Promise<UserSigningIn[]> {
  return db.query(
    `select ${COLUMNS}, password_hash from users
      where lower(email collate "C") = $1::text and ($2::uuid is null or org_id = $2::uuid)
      order by password_set_at desc, user_id desc`,
    [address, orgId],
  );
}

/** Stores a hash of the same password with the current parameters. */
export async function replaceHash(db: Db, userId: string, passwordHash: string): Promise<void> {
  await db.query("update users set password_hash = $2::text where org_id = current_org() and user_id = $1::uuid", [
    userId,
    passwordHash,
  ]);
}

export async function findUser(db: Db, userId: string): Promise<User | null> {
  return db.first(`select ${COLUMNS} from users where org_id = current_org() and user_id = $1::uuid`, [userId]);
}

/** A user with the role in a project. */
export interface NamedUser extends User {
  readonly project_role: ProjectRole | null;
}

/** The organisation's users with these ids or e-mail addresses, all in lower case, with their roles in a project. */
export async function findUsersByName(
  db: Db,
  names: readonly string[],
  projectId: string | null,
): Promise<NamedUser[]> {
  return db.query(
    `select ${COLUMNS}, (select g.role from project_roles g where g.project_id = $2::uuid and g.user_id = users.user_id)
          as project_role from users where org_id = current_org()
      and (user_id::text = any ($1::text[]) or lower(email collate "C") = any ($1::text[]))`,
    [names, projectId],
  );
}

/** Locks the rows of all users of the organisation until the transaction ends, so that the check for the last admin holds. */
export async function lockUsers(db: Db): Promise<User[]> {
  return db.query(`select ${COLUMNS} from users where org_id = current_org() order by user_id for update`);
}

/** Keeps every user of the organisation unchanged until the transaction ends; readers do not wait for each other. */
export async function holdUsers(db: Db): Promise<User[]> {
  return db.query(`select ${COLUMNS} from users where org_id = current_org() order by user_id for share`);
}

export async function listUsers(db: Db, page: Keyset): Promise<User[]> {
  const select = `select ${COLUMNS} from users where org_id = current_org()`;
  return selectPage(db, page, "user_id", select);
}

export async function updateUser(db: Db, userId: string, change: UserChange): Promise<User | null> {
  return db.first(
    `update users set role = coalesce($2::text, role), password_hash = coalesce($3::text, password_hash),
        password_set_at = case when $3::text is null then password_set_at else now() end,
        disabled_at = case when $4::boolean is null then disabled_at when $4::boolean then coalesce(disabled_at, now()) end
      where org_id = current_org() and user_id = $1::uuid returning ${COLUMNS}`,
    [userId, change.role ?? null, change.password_hash ?? null, change.disabled ?? null],
  );
}

/** Deletes a user with all tokens. */
export async function deleteUser(db: Db, userId: string): Promise<boolean> {
  await db.query("delete from oauth_tokens where org_id = current_org() and user_id = $1::uuid", [userId]);
  return db.any("delete from users where org_id = current_org() and user_id = $1::uuid", [userId]);
}
