import { randomBytes } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { completeLimits, type KeyLimits } from "../domain/accounts/key-limits.ts";
import { generateApiKey } from "../platform/secrets/crypto.ts";
import { recordAudit, type AuditedChange } from "../services/audit/audit.ts";
import { hashForUser } from "../services/accounts/sign-in.ts";
import { insertApiKey, revokeApiKey, type ApiKey, type ApiKeyKind } from "../stores/accounts/api-keys.ts";
import { isUniqueViolation, type Database, type Db } from "../stores/db.ts";
import { findOrganisationNamed, insertOrganisation } from "../stores/accounts/organisations.ts";
import { insertUser, USERS_EMAIL_KEY, type User, type UserRole } from "../stores/accounts/users.ts";
import { CommandFailure } from "./failure.ts";

/**
 * Creates an organisation and returns its ID. With `newName` it throws if an organisation has that name, because no command deletes an
 * organisation that was created by mistake.
 */
export async function createOrganisation(
  database: Database,
  name: string,
  { newName = false } = {},
): Promise<{ org_id: string; name: string }> {
  const organisation = { org_id: uuidv7(), name };
  await database.systemTransaction(async (db) => {
    const there = newName ? await findOrganisationNamed(db, name) : null;
    if (there !== null)
      throw new CommandFailure(
        `Organisation ${name} already exists: ${there.org_id}. Choose another name, or pass --same-name to create a second one.`,
      );
    await insertOrganisation(db, organisation);
    await recordCommand(db, organisation.org_id, "orgs create", {
      target: { type: "organisation", id: organisation.org_id },
      after: { name },
    });
  });
  return organisation;
}

export interface NewAccount {
  readonly org_id: string;
  readonly email: string;
  readonly role: UserRole;
  /** Generated if omitted. */
  readonly password?: string;
}

/** Creates a user; the result contains the password, which is stored nowhere. Throws if the e-mail address is taken. */
export async function createUser(database: Database, account: NewAccount): Promise<User & { password: string }> {
  const password = account.password ?? randomBytes(15).toString("base64url");
  const { org_id, email, role } = account;
  const user = { user_id: uuidv7(), org_id, email, role, password_hash: await hashForUser(database, email, password) };
  try {
    const made = await database.orgTransaction(org_id, async (db) => {
      const inserted = await insertUser(db, user);
      const target = { type: "user", id: user.user_id };
      await recordCommand(db, org_id, "users create", { target, after: { email, role }, secrets: ["password"] });
      return inserted;
    });
    return { ...made, password };
  } catch (error) {
    if (isUniqueViolation(error, USERS_EMAIL_KEY)) throw new CommandFailure(`User ${email} already exists.`);
    throw error;
  }
}

export interface KeyRequest extends Partial<KeyLimits> {
  readonly org_id: string;
  readonly name: string;
  readonly kind: ApiKeyKind;
  /** RFC 3339; null or omitted means that the key never expires. */
  readonly expires_at?: string | null;
}

/** Creates an API key; the result contains its value, which is stored nowhere. */
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
    ...completeLimits(request),
  };
  const made = await database.orgTransaction(request.org_id, async (db) => {
    const { name, kind, prefix, expires_at } = key;
    const after = { name, kind, prefix, expires_at, ...completeLimits(key) };
    await recordCommand(db, request.org_id, "keys create", { target: { type: "key", id: key.key_id }, after });
    return insertApiKey(db, key);
  });
  return { ...made, value: credential.value };
}

/** Revokes an API key; false if there is no valid key with this ID. */
export async function revokeKey(database: Database, orgId: string, keyId: string): Promise<boolean> {
  return database.orgTransaction(orgId, async (db) => {
    const revoked = await revokeApiKey(db, keyId);
    if (revoked === null) return false;
    const { name, kind, prefix } = revoked;
    await recordCommand(db, orgId, "keys revoke", {
      target: { type: "key", id: keyId },
      before: { name, kind, prefix },
    });
    return true;
  });
}

/** Records actions of a person with direct access to the installation. */
export async function recordCommand(db: Db, orgId: string, command: string, change: AuditedChange): Promise<void> {
  const nowhere = { actor_id: null, session_id: null, address: null, user_agent: null, request_id: null };
  await recordAudit(db, { ...nowhere, org_id: orgId, actor_type: "cli" }, command, change);
}
