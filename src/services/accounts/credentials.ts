import { LRUCache } from "lru-cache";
import { completeLimits, isLimited } from "../../domain/accounts/key-limits.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { hashSecret, parseApiKey, parseToken } from "../../platform/secrets/crypto.ts";
import { findApiKeyByHash } from "../../stores/accounts/api-keys.ts";
import { findTokenByHash, type Token } from "../../stores/accounts/oauth-tokens.ts";
import { findSessionByHash, touchSession, type AuthenticatedSession } from "../../stores/accounts/sessions.ts";
import type { Database } from "../../stores/db.ts";

/** A process that has cached a revoked credential accepts it for at most this long. The contract allows 5 s. */
const CACHE_MS = 3000;
const MAX_CACHED = 10_000;
/** The last use of a session is written at most once in this time. */
const SEEN_EVERY_MS = 60_000;

export type CredentialLookup = ReturnType<typeof createCredentialLookup>;

interface Entry {
  readonly principal: Principal;
  readonly until: number;
}

/**
 * Finds the owners of credentials in the database, each at most once in 3 s, however many requests arrive with it. Calls
 * `onKeyUse` for every use of an API key; it must not block.
 */
export function createCredentialLookup(db: Database, onKeyUse: (keyId: string) => void) {
  const cache = new LRUCache<string, Principal>({ max: MAX_CACHED });
  const lookups = new Map<string, Promise<Entry | null>>();

  async function lookUp(credential: string): Promise<Entry | null> {
    if (parseApiKey(credential) !== null) return lookUpKey(db, hashSecret(credential));
    if (parseToken(credential) === "access") return lookUpToken(db, hashSecret(credential));
    return null;
  }

  /** `as` separates the two kinds in the cache, so that a session's secret never works as a bearer token or vice versa. */
  async function cached(
    as: "bearer" | "session",
    secret: string,
    find: () => Promise<Entry | null>,
  ): Promise<Principal | null> {
    // The key is a digest, so that a heap dump contains no credentials.
    const key = `${as} ${hashSecret(secret).toString("base64")}`;
    const known = cache.get(key);
    if (known) return known;
    const lookup = lookups.get(key) ?? find();
    lookups.set(key, lookup);
    try {
      const found = await lookup;
      if (!found) return null;
      const ttl = found.until - Date.now();
      // After `forget` a lookup that began before it may have read the old rights.
      if (ttl >= 1 && lookups.get(key) === lookup) cache.set(key, found.principal, { ttl });
      return found.principal;
    } finally {
      if (lookups.get(key) === lookup) lookups.delete(key);
    }
  }

  return {
    /** The owner of an API key or access token; null if it is unknown, expired or revoked. */
    async find(credential: string): Promise<Principal | null> {
      const principal = await cached("bearer", credential, () => lookUp(credential));
      if (principal?.type === "org_api_key") onKeyUse(principal.id);
      return principal;
    },
    /** The owner of a session cookie; null if the session has ended. */
    async findSession(secret: string): Promise<Principal | null> {
      if (parseToken(secret) !== "session") return null;
      return cached("session", secret, () => lookUpSession(db, hashSecret(secret)));
    },
    /** Drops a key, a session or all credentials of a user from the cache, so that this process sees a change immediately. */
    forget(id: string): void {
      lookups.clear();
      for (const [key, principal] of cache) if (principal.id === id || principal.session_id === id) cache.delete(key);
    },
  };
}

async function lookUpSession(db: Database, hash: Buffer): Promise<Entry | null> {
  const session = await db.system((connection) => findSessionByHash(connection, hash));
  if (!session) return null;
  if (Date.parse(session.last_seen_at) < Date.now() - SEEN_EVERY_MS)
    await db.system((connection) => touchSession(connection, session.session_id));
  return {
    principal: { ...userOf(session), session_id: session.session_id },
    until: Math.min(Date.now() + CACHE_MS, Date.parse(session.expires_at)),
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
  const limits = completeLimits(key);
  const limited = isLimited(limits) ? { limits } : {};
  return { principal: { org_id: key.org_id, type: "org_api_key", id: key.key_id, ...rights, ...limited }, until };
}

async function lookUpToken(db: Database, hash: Buffer): Promise<Entry | null> {
  const token = await db.system((connection) => findTokenByHash(connection, hash));
  if (!token || token.kind !== "access" || token.revoked_at !== null || token.disabled_at !== null) return null;
  const until = cacheUntil(token.expires_at);
  if (until === null) return null;
  return { principal: userOf(token), until };
}

function userOf({ org_id, user_id, role, grants }: Token | AuthenticatedSession): Principal {
  return { org_id, type: "user", id: user_id, access: "secret", role, ...(grants !== null && { grants }) };
}

function cacheUntil(expiresAt: string | null): number | null {
  const expiry = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  return expiry <= Date.now() ? null : Math.min(Date.now() + CACHE_MS, expiry);
}
