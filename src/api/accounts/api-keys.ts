import { z } from "zod";
import { apiKeyName, defaultExpiry, hasExpired } from "../../domain/accounts/accounts.ts";
import { completeLimits, keyLimits, shownKeyLimits } from "../../domain/accounts/key-limits.ts";
import { invalid, required } from "../../domain/errors.ts";
import { timeText } from "../../domain/timestamps.ts";
import { generateApiKey } from "../../platform/secrets/crypto.ts";
import { holdAdmin } from "../../services/accounts/hold-admin.ts";
import { unknownProjects } from "../../services/projects/projects.ts";
import type { Database } from "../../stores/db.ts";
import { API_KEY_KINDS, insertApiKey, listApiKeys, revokeApiKey, type ApiKey } from "../../stores/accounts/api-keys.ts";
import { unauthorized } from "../auth/authenticate.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf, linkTo } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";

const apiKeySchema = named("ApiKey", {
  key_id: z.uuid(),
  name: z.string(),
  kind: z.enum(API_KEY_KINDS),
  prefix: z.string().describe("The first characters of the key, to recognise it."),
  created_by: z.uuid().nullable().describe("ID of the user or API key that created it."),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
  last_used_at: z.iso
    .datetime()
    .nullable()
    .describe("Time of the last request with the key, accurate to the minute. `null` if it was never used."),
  ...shownKeyLimits,
});

const newApiKeySchema = named("NewApiKey", {
  ...apiKeySchema.shape,
  key: z.string().describe("The key itself. Only this response contains it."),
});

const presentApiKey = (key: ApiKey) => asDeclared(apiKeySchema, key);

const createBody = namedStrict("ApiKeyCreate", {
  name: apiKeyName,
  kind: z
    .enum(API_KEY_KINDS)
    .describe("`public`: runs flows and uploads documents, safe in a web page. `secret`: can do everything."),
  expires_at: timeText
    .nullish()
    .describe(
      "Time at which the key expires. `null`: never expires. If omitted, secret keys use the installation's default lifetime; public keys never expire.",
    ),
  ...keyLimits,
});

/** Throws 422 if a project does not exist in the organisation. */
async function requireKnown(db: Database, orgId: string, projects: readonly string[] | null): Promise<void> {
  const [at] = projects === null ? [] : await unknownProjects(db, orgId, projects);
  if (at !== undefined) throw invalid(["body", "projects", at], "Project not found");
}

const define = operationsOf({ tag: "API keys", auth: "secret", role: "admin" });

/** `/v2/api-keys`. */
export const apiKeyOperations = [
  define({
    id: "createApiKey",
    route: "POST /v2/api-keys",
    summary: "Create an API key",
    description:
      "Creates an API key. The response contains the key: copy it now, you cannot see it again. Public keys run published flows and upload documents; secret keys can do everything. `scopes`, `read_only`, `projects`, `allowed_origins` and `allowed_addresses` restrict a key; a restricted key can never create keys or users. The key is revoked when the user who created it is deleted, disabled or loses the admin role.",
    body: createBody,
    idempotent: true,
    confidential: true,
    examples: {
      public: { name: "Web shop", kind: "public" },
      expiring: { name: "CI", kind: "secret", expires_at: "2030-01-01T00:00:00Z" },
      limited: { name: "Dashboard", kind: "secret", scopes: ["runs:read"], allowed_addresses: ["192.0.2.0/24"] },
    },
    success: {
      201: {
        description: "The key with its value.",
        schema: newApiKeySchema,
        links: { revoke: linkTo("revokeApiKey", ["key_id"]) },
      },
    },
    async handler({ body, principal, newId, requireHeld, audit }, { config, db }) {
      const expires_at =
        body.expires_at === undefined ? defaultExpiry(body.kind, config.MILLRACE_SECRET_KEY_DAYS) : body.expires_at;
      if (expires_at !== null && hasExpired(expires_at)) {
        throw invalid(["body", "expires_at"], "Must be in the future");
      }
      const secret = generateApiKey(body.kind);
      const key = {
        key_id: newId(),
        org_id: principal.org_id,
        name: body.name,
        kind: body.kind,
        secret_hash: secret.hash,
        prefix: secret.prefix,
        created_by: principal.id,
        expires_at,
        ...completeLimits(body),
      };
      await requireKnown(db, principal.org_id, key.projects);
      const row = await db.orgTransaction(principal.org_id, async (connection) => {
        if (!(await holdAdmin(connection, principal)))
          throw unauthorized("The credential that creates this key has expired.", true);
        await requireHeld(connection);
        const created = await insertApiKey(connection, key);
        await audit(connection, { target: { type: "key", id: created.key_id }, after: presentApiKey(created) });
        return created;
      });
      return { status: 201, body: { ...presentApiKey(row), key: secret.value } };
    },
  }),
  define({
    id: "listApiKeys",
    route: "GET /v2/api-keys",
    summary: "List API keys",
    description: "Lists API keys that are not revoked, newest first, without their values.",
    query: listQuery,
    success: { 200: { description: "A page of keys.", schema: pageOf(apiKeySchema) } },
    async handler({ query, principal }, { db }) {
      return listPage("api-keys", principal.org_id, query, {
        fetch: (keyset) => db.org(principal.org_id, (connection) => listApiKeys(connection, keyset)),
        idOf: (key) => key.key_id,
        present: presentApiKey,
      });
    },
  }),
  define({
    id: "revokeApiKey",
    route: "DELETE /v2/api-keys/{key_id}",
    summary: "Revoke an API key",
    description: "Revokes the key. Requests that use it are rejected within five seconds.",
    params: z.object({ key_id: pathId("API key") }),
    success: { 204: { description: "Revoked." } },
    async handler({ params: { key_id }, principal, audit }, { db, credentials }) {
      await db.orgTransaction(principal.org_id, async (connection) => {
        const revoked = required(await revokeApiKey(connection, key_id), "API key");
        await audit(connection, { target: { type: "key", id: key_id }, before: presentApiKey(revoked) });
      });
      credentials.forget(key_id.toLowerCase());
    },
  }),
];
