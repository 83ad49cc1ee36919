import type { KeyLimits } from "../../domain/accounts/key-limits.ts";
import type { Db } from "../db.ts";
import { keysetSql } from "../keyset.ts";
import type { Keyset } from "../keyset.ts";

export const API_KEY_KINDS = ["public", "secret"] as const;
export type ApiKeyKind = (typeof API_KEY_KINDS)[number];

export interface ApiKey extends KeyLimits {
  readonly key_id: string;
  readonly org_id: string;
  readonly name: string;
  readonly kind: ApiKeyKind;
  readonly prefix: string;
  readonly created_by: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
}

export interface NewApiKey extends Omit<ApiKey, "created_at" | "revoked_at" | "last_used_at"> {
  readonly secret_hash: Buffer;
}

const COLUMNS =
  "key_id, org_id, name, kind, prefix, created_by, created_at, expires_at, revoked_at, last_used_at, scopes, read_only, projects, allowed_origins, allowed_addresses";

/**
 * Adds a key, or gives an existing key with the same ID a new secret: if the response to its creation was lost, a retry returns a valid
 * secret.
 */
export async function insertApiKey(db: Db, key: NewApiKey): Promise<ApiKey> {
  const rows = await db.query<ApiKey>(
    `insert into api_keys (key_id, org_id, name, kind, secret_hash, prefix, created_by, expires_at,
        scopes, read_only, projects, allowed_origins, allowed_addresses)
      values ($1::uuid, $2::uuid, $3::text, $4::text, $5::bytea, $6::text, $7::uuid, $8::timestamptz,
        $9::text[], $10::boolean, $11::uuid[], $12::text[], $13::text[])
      on conflict (key_id) do update set secret_hash = excluded.secret_hash, prefix = excluded.prefix
      returning ${COLUMNS}`,
    [
      key.key_id,
      key.org_id,
      key.name,
      key.kind,
      key.secret_hash,
      key.prefix,
      key.created_by,
      key.expires_at,
      key.scopes,
      key.read_only,
      key.projects,
      key.allowed_origins,
      key.allowed_addresses,
    ],
  );
  return rows[0] as ApiKey;
}

/** The key with this hash in any organisation, valid or not: authentication only. */
export async function findApiKeyByHash(db: Db, hash: Buffer): Promise<ApiKey | null> {
  return db.first<ApiKey>(`select ${COLUMNS} from api_keys where secret_hash = $1::bytea`, [hash]);
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
  const { bound, compare, order } = keysetSql(page);
  return db.query<ApiKey>(
    `select ${COLUMNS} from api_keys where org_id = current_org() and revoked_at is null and key_id ${compare} $1::uuid order by key_id ${order} limit $2::int`,
    [bound, page.limit],
  );
}

/** Revokes a key; null if there is none to revoke. */
export async function revokeApiKey(db: Db, keyId: string): Promise<ApiKey | null> {
  return db.first<ApiKey>(
    "update api_keys set revoked_at = now() where org_id = current_org() and key_id = $1::uuid and revoked_at is null returning " +
      COLUMNS,
    [keyId],
  );
}

/** Revokes every key that a user created, directly or with such a key. Returns the IDs of revoked keys. */
export async function revokeKeysOfUser(db: Db, userId: string): Promise<string[]> {
  return db.column<string>(
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
