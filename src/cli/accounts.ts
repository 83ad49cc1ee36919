import { randomBytes } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { generateApiKey } from "../platform/secrets/crypto.ts";
import { hashForUser } from "../services/accounts/sign-in.ts";
import { insertApiKey } from "../stores/accounts/api-keys.ts";
import type { ApiKey, ApiKeyKind } from "../stores/accounts/api-keys.ts";
import type { Database } from "../stores/db.ts";
import { insertOrganisation } from "../stores/accounts/organisations.ts";
import { insertUser, USERS_EMAIL_KEY } from "../stores/accounts/users.ts";
import type { User, UserRole } from "../stores/accounts/users.ts";
import { isUniqueViolation } from "../stores/db.ts";

/** Creates an organisation and returns its id. */
export async function createOrganisation(database: Database, name: string): Promise<{ org_id: string; name: string }> {
  const organisation = { org_id: uuidv7(), name };
  await database.system((db) => insertOrganisation(db, organisation));
  return organisation;
}

export interface NewAccount {
  readonly org_id: string;
  readonly email: string;
  readonly role: UserRole;
  /** Generated when left out. */
  readonly password?: string;
}

/** Creates a user; the answer carries the password, which is stored nowhere. Throws when the address is taken. */
export async function createUser(database: Database, account: NewAccount): Promise<User & { password: string }> {
  const password = account.password ?? randomBytes(15).toString("base64url");
  const { org_id, email, role } = account;
  const user = { user_id: uuidv7(), org_id, email, role, password_hash: await hashForUser(database, email, password) };
  try {
    return { ...(await database.org(org_id, (db) => insertUser(db, user))), password };
  } catch (error) {
    if (isUniqueViolation(error, USERS_EMAIL_KEY))
      throw new Error(`There is already a user ${email}.`, { cause: error });
    throw error;
  }
}

export interface KeyRequest {
  readonly org_id: string;
  readonly name: string;
  readonly kind: ApiKeyKind;
  /** RFC 3339; never expires when null or left out. */
  readonly expires_at?: string | null;
}

/** Creates an API key; the answer carries its value, which is stored nowhere. */
export async function createKey(database: Database, request: KeyRequest): Promise<ApiKey & { value: string }> {
  const credential = generateApiKey(request.kind);
  const key = {
    key_id: uuidv7(),
    org_id: request.org_id,
    name: request.name,
    kind: request.kind,
    secret_hash: credential.hash,
    prefix: credential.prefix,
    created_by: null,
    expires_at: request.expires_at ?? null,
  };
  return { ...(await database.org(request.org_id, (db) => insertApiKey(db, key))), value: credential.value };
}
