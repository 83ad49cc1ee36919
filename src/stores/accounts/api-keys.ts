import type { KeyLimits } from "../../domain/accounts/key-limits.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";

export const API_KEY_KINDS = ["public", "secret"] as const;
export type ApiKeyKind = (typeof API_KEY_KINDS)[number];

const ROW = columns(`key_id uuid, org_id uuid, name text, kind text, prefix text, created_by uuid null,
  created_at timestamptz, expires_at timestamptz null, revoked_at timestamptz null, last_used_at timestamptz null,
  scopes text[] null, read_only boolean, projects uuid[] null, allowed_origins text[] null,
  allowed_addresses text[] null`);

export interface ApiKey extends KeyLimits, RowOf<typeof ROW> {
  readonly kind: ApiKeyKind;
}

export interface NewApiKey extends Omit<ApiKey, "created_at" | "revoked_at" | "last_used_at"> {
  readonly secret_hash: Buffer;
}

const NEW = columns(`key_id uuid, org_id uuid, name text, kind text, secret_hash bytea, prefix text, created_by uuid,
  expires_at timestamptz, scopes text[], read_only boolean, projects uuid[], allowed_origins text[],
  allowed_addresses text[]`);
const COLUMNS = ROW.select();

/**
 * Adds a key, or gives an existing key with the same ID a new secret: if the response to its creation was lost, a retry returns a valid
 * secret.
 */
export async function insertApiKey(db: Db, key: NewApiKey): Promise<ApiKey> {
  return db.one(
    `insert into api_keys ${NEW.into}
      on conflict (key_id) do update set secret_hash = excluded.secret_hash, prefix = excluded.prefix
      returning ${COLUMNS}`,
    NEW.values(key),
  );
}

/** The key with this hash in any organisation, valid or not: authentication only. */
export async function findApiKeyByHash(db: Db, hash: Buffer): Promise<ApiKey | null> {
  return db.first(`select ${COLUMNS} from api_keys where secret_hash = $1::bytea`, [hash]);
}

/** Whether a key is valid. It stays so until the transaction ends. */
export async function holdApiKey(db: Db, keyId: string): Promise<boolean> {
  return db.any(
    `select from api_keys where org_id = current_org() and key_id = $1::uuid and revoked_at is null
      and (expires_at is null or expires_at > now()) for share`,
    [keyId],
  );
}

/** A page of the organisation's keys that have not been revoked. */
export async function listApiKeys(db: Db, page: Keyset): Promise<ApiKey[]> {
  const select = `select ${COLUMNS} from api_keys where org_id = current_org() and revoked_at is null`;
  return selectPage(db, page, "key_id", select);
}

/** Revokes a key; null if there is none to revoke. */
export async function revokeApiKey(db: Db, keyId: string): Promise<ApiKey | null> {
  return db.first(
    "update api_keys set revoked_at = now() where org_id = current_org() and key_id = $1::uuid and revoked_at is null returning " +
      COLUMNS,
    [keyId],
  );
}

/** Revokes every key that a user created, directly or with such a key. Returns the IDs of revoked keys. */
export async function revokeKeysOfUser(db: Db, userId: string): Promise<string[]> {
  return db.column(
    `with recursive made as (
        select key_id from api_keys where org_id = current_org() and created_by = $1::uuid
        union
        select k.key_id from api_keys k join made m on k.created_by = m.key_id where k.org_id = current_org())
      update api_keys set revoked_at = now()
      where org_id = current_org() and key_id in (select key_id from made) and revoked_at is null returning key_id`,
    [userId],
  );
}

/** Records when these keys were last used. */
export async function touchApiKeys(db: Db, uses: ReadonlyArray<{ key_id: string; at: string }>): Promise<void> {
  await db.query(
    `update api_keys k set last_used_at = greatest(k.last_used_at, u.at)
      from unnest($1::uuid[], $2::timestamptz[]) as u (key_id, at) where k.key_id = u.key_id`,
    [uses.map((use) => use.key_id), uses.map((use) => use.at)],
  );
}
