import { Problem } from "../../domain/errors.ts";
import { hashSecret, parseApiKey, parseToken } from "../../platform/secrets/crypto.ts";
import { findApiKeyByHash } from "../../stores/accounts/api-keys.ts";
import type { Database } from "../../stores/db.ts";
import { findTokenByHash } from "../../stores/accounts/oauth-tokens.ts";
import { roleAllows } from "./principal.ts";
import type { Principal } from "./principal.ts";
import type { Operation } from "../http/operation.ts";

/** A revoked credential works for at most this long in a process that saw it before. The contract allows 5 s. */
const CACHE_MS = 3000;
const CACHE_ENTRIES = 10_000;

export interface Authenticator {
  /** Finds out who asks. Throws the 401 of a missing, unknown, expired or revoked credential. */
  authenticate(authorization: string | undefined): Promise<Principal>;
  /** Forgets what is cached of a key or of a user's tokens, so that this process sees a change at once. */
  readonly forget: (principalId: string) => void;
}

interface Entry {
  readonly principal: Principal;
  readonly until: number;
}

/** `onKeyUse` is told of every request made with an API key; it must return at once. */
export function createAuthenticator(db: Database, onKeyUse: (keyId: string) => void): Authenticator {
  const cache = new Map<string, Entry>();

  async function lookUp(credential: string): Promise<Entry | null> {
    if (parseApiKey(credential) !== null) return lookUpKey(db, hashSecret(credential));
    if (parseToken(credential) === "access") return lookUpToken(db, hashSecret(credential));
    return null;
  }

  return {
    async authenticate(authorization) {
      const credential = bearer(authorization);
      // The digest, so that a heap dump of the cache does not hold credentials.
      const key = hashSecret(credential).toString("base64");
      let entry = cache.get(key);
      if (!entry || entry.until <= Date.now()) {
        cache.delete(key);
        const found = await lookUp(credential);
        if (!found) throw unauthorized("The credential is not valid, has expired or was revoked.", true);
        entry = found;
        if (cache.size >= CACHE_ENTRIES) cache.delete(cache.keys().next().value ?? "");
        cache.set(key, entry);
      }
      if (entry.principal.type === "org_api_key") onKeyUse(entry.principal.id);
      return entry.principal;
    },
    forget(principalId) {
      for (const [key, entry] of cache) if (entry.principal.id === principalId) cache.delete(key);
    },
  };
}

async function lookUpKey(db: Database, hash: Buffer): Promise<Entry | null> {
  const key = await db.system((connection) => findApiKeyByHash(connection, hash));
  if (!key || key.revoked_at !== null) return null;
  const until = cacheUntil(key.expires_at);
  if (until === null) return null;
  const rights =
    key.kind === "secret"
      ? ({ access: "secret", role: "admin" } as const)
      : ({ access: "public", role: "viewer" } as const);
  return { principal: { org_id: key.org_id, type: "org_api_key", id: key.key_id, ...rights }, until };
}

async function lookUpToken(db: Database, hash: Buffer): Promise<Entry | null> {
  const token = await db.system((connection) => findTokenByHash(connection, hash));
  if (!token || token.kind !== "access" || token.revoked_at !== null || token.disabled_at !== null) return null;
  const until = cacheUntil(token.expires_at);
  if (until === null) return null;
  return {
    principal: { org_id: token.org_id, type: "user", id: token.user_id, access: "secret", role: token.role },
    until,
  };
}

function cacheUntil(expiresAt: string | null): number | null {
  const expiry = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  return expiry <= Date.now() ? null : Math.min(Date.now() + CACHE_MS, expiry);
}

/** The credential of an Authorization header, however its scheme is spelled. */
export function bearer(authorization: string | undefined): string {
  const match = /^Bearer +([^\s]+)$/i.exec((authorization ?? "").slice(0, 4096));
  if (!match?.[1])
    throw unauthorized("Send the credential as `Authorization: Bearer <credential>`.", authorization !== undefined);
  return match[1];
}

function unauthorized(detail: string, given: boolean): Problem {
  const challenge = given ? 'Bearer realm="millrace", error="invalid_token"' : 'Bearer realm="millrace"';
  return new Problem("unauthorized", detail, { headers: { "WWW-Authenticate": challenge } });
}

/** Throws the 403 of a credential that is valid but does not suffice for the operation. */
export function authorise(principal: Principal, operation: Operation): void {
  if (principal.access === "public") {
    if (operation.auth === "public") return;
    throw new Problem(
      "forbidden",
      "A public key may only run flows and upload documents. Use a secret key or a user's token.",
    );
  }
  const needed = operation.role ?? (operation.method === "GET" ? "viewer" : "editor");
  if (!roleAllows(principal.role, needed))
    throw new Problem("forbidden", `This needs the role ${needed}; yours is ${principal.role}.`);
}
