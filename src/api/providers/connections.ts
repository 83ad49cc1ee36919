import { z } from "zod";
import { Problem } from "../../domain/errors.ts";
import { jsonValueSchema } from "../../domain/json-schema.ts";
import { CONNECTION_SCHEMES, CONNECTION_STATUSES } from "../../domain/providers/connection.ts";
import {
  changeConnection,
  createConnection,
  deleteConnection,
  requireConnection,
} from "../../services/providers/connections.ts";
import { listConnections, type ConnectionRow } from "../../stores/providers/connections.ts";
import type { HandlerDeps } from "../deps.ts";
import { ETAG, asCreated, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linkTo } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";

const connectionSchema = named("Connection", {
  connection_id: z.uuid(),
  name: z.string(),
  provider_id: z.string(),
  scheme: z.enum(CONNECTION_SCHEMES),
  status: z
    .enum(CONNECTION_STATUSES)
    .describe(
      "`active`: the service accepted the credential; `error`: it rejected the credential; `unverified`: not checked yet; `disabled`: switched off.",
    ),
  status_reason: z.string().nullable().describe("Why the last check failed."),
  last_checked_at: z.iso.datetime().nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

export const presentConnection = (connection: ConnectionRow) => asDeclared(connectionSchema, connection);

/** Longest wait for a check (ms). A longer check continues in the background. */
const CHECK_WAIT_MS = 5000;

const params = z.object({ connection_id: pathId("connection") });
const name = z.string().trim().min(1).max(200);
const providerId = z.string().min(1).max(200);
const scheme = z.enum(CONNECTION_SCHEMES);
const credential = z
  .record(z.string().max(100), jsonValueSchema)
  .describe("Fields of the provider's `auth.fields`. No response contains them.");

const createBody = namedStrict("ConnectionCreate", {
  name,
  provider_id: providerId,
  scheme: scheme.optional().describe("Can be omitted if the provider has only one scheme."),
  credential: credential.default({}),
});
const changeBody = namedStrict("ConnectionChange", {
  name: name.optional(),
  scheme: scheme.optional().describe("Sign-in scheme of the new credential; send it together with `credential`."),
  credential: credential.optional().describe("New credential; replaces the whole current one."),
  disabled: z.boolean().optional().describe("`true` disables the connection: nodes and actions that need it fail."),
});

const LINKS = {
  get: linkTo("getConnection", ["connection_id"]),
  check: linkTo("checkConnection", ["connection_id"]),
};

const toResponse = (connection: ConnectionRow) =>
  tagged(presentConnection(connection), revisionTag(connection.revision));

/** The connection after a check. If the check could not be started, the connection stays unverified and can be checked later. */
async function checked({ db, providerJobs, logger }: HandlerDeps, connection: ConnectionRow): Promise<ConnectionRow> {
  const { org_id, connection_id } = connection;
  try {
    await providerJobs.check(connection, CHECK_WAIT_MS);
  } catch (err) {
    logger.warn({ err, connection_id }, "could not check the connection");
  }
  return db.org(org_id, (connection) => requireConnection(connection, connection_id));
}

const define = operationsOf({ tag: "Connections", auth: "secret" });

/** `/v2/connections`: credentials for other services, which no one can read again. */
export const connectionOperations = [
  define({
    role: "admin",
    id: "createConnection",
    route: "POST /v2/connections",
    summary: "Create a connection",
    description:
      "Creates a connection. Encrypts the credential and checks it if the provider supports a check; see `status`. A rejected credential is stored with status `error`.",
    body: createBody,
    idempotent: true,
    confidential: true,
    examples: {
      model: {
        name: "Local models",
        provider_id: "openai_compatible",
        scheme: "none",
        credential: { base_url: "http://localhost:11434/v1" },
      },
      github: { name: "Our GitHub", provider_id: "github", credential: { token: "..." } },
      oauth2: {
        name: "Billing",
        provider_id: "http",
        scheme: "oauth2_client_credentials",
        credential: {
          base_url: "https://billing.example.com/api",
          token_url: "https://login.example.com/oauth2/token",
          client_id: "millrace",
          client_secret: "...",
        },
      },
    },
    success: { 201: created("The connection.", connectionSchema, LINKS, ETAG) },
    async handler({ body, principal: { org_id, id }, newId, audit }, deps) {
      const connection_id = newId();
      const created = await createConnection(deps, {
        ...body,
        scheme: body.scheme,
        connection_id,
        org_id,
        created_by: id,
        audited: { audit, view: presentConnection },
      });
      return asCreated(toResponse(await checked(deps, created)), `/v2/connections/${connection_id}`);
    },
  }),
  define({
    id: "listConnections",
    route: "GET /v2/connections",
    summary: "List connections",
    description: "Lists connections, newest first, without their credentials.",
    query: listQuery.extend({
      provider_id: providerId.optional().describe("Only connections of this provider."),
      status: z.enum(CONNECTION_STATUSES).optional(),
    }),
    success: { 200: { description: "A page of connections.", schema: pageOf(connectionSchema) } },
    async handler({ query, principal: { org_id } }, { reads }) {
      const filters = { provider_id: query.provider_id, status: query.status };
      return listPage("connections", org_id, query, {
        filters,
        fetch: (keyset) => reads.org(org_id, (connection) => listConnections(connection, filters, keyset)),
        idOf: (connection) => connection.connection_id,
        present: presentConnection,
      });
    },
  }),
  define({
    id: "getConnection",
    route: "GET /v2/connections/{connection_id}",
    summary: "Get a connection",
    description: "Returns the connection, never with its credential.",
    params,
    success: { 200: { description: "The connection.", schema: connectionSchema, headers: ETAG } },
    async handler({ params: { connection_id }, principal: { org_id } }, { db }) {
      return toResponse(await db.org(org_id, (connection) => requireConnection(connection, connection_id)));
    },
  }),
  define({
    role: "admin",
    id: "changeConnection",
    route: "PATCH /v2/connections/{connection_id}",
    summary: "Change a connection",
    description:
      "Renames, disables or enables a connection, or replaces its credential. A new credential is checked as in `createConnection`.",
    params,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: {
      rename: { name: "GitHub of the platform team" },
      rotate: { credential: { token: "..." } },
      disable: { disabled: true },
    },
    success: { 200: { description: "The updated connection.", schema: connectionSchema, headers: ETAG } },
    async handler({ params: { connection_id }, headers, body, principal: { org_id }, audit }, deps) {
      const changed = await changeConnection(deps, org_id, connection_id, body, matchesRevision(headers), {
        audit,
        target: { type: "connection", id: connection_id },
        view: presentConnection,
        secrets: body.credential === undefined ? [] : ["credential"],
      });
      const isNew = body.credential !== undefined || body.disabled === false;
      return toResponse(isNew && changed.status !== "disabled" ? await checked(deps, changed) : changed);
    },
  }),
  define({
    role: "admin",
    id: "deleteConnection",
    route: "DELETE /v2/connections/{connection_id}",
    summary: "Delete a connection",
    description:
      "Deletes a connection with its credential. Returns 409 `in_use` while a published flow, a knowledge base or a trigger uses it.",
    params,
    problems: ["in_use"],
    success: { 204: { description: "Deleted." } },
    async handler({ params: { connection_id }, principal: { org_id }, audit }, { db }) {
      const target = { type: "connection", id: connection_id };
      await deleteConnection(db, org_id, connection_id, { audit, target, view: presentConnection });
    },
  }),
  define({
    id: "checkConnection",
    route: "POST /v2/connections/{connection_id}/check",
    summary: "Check a connection's credential",
    description: `Checks with the provider's service whether it accepts the credential, and returns the connection with its status. The status does not change if the service cannot be reached or the provider supports no check. A check that takes longer than ${CHECK_WAIT_MS / 1000} s continues in the background; the response then has the earlier status.`,
    params,
    idempotent: true,
    problems: ["conflict"],
    success: { 200: { description: "The updated connection.", schema: connectionSchema, headers: ETAG } },
    async handler({ params: { connection_id }, principal: { org_id } }, { db, providerJobs }) {
      const found = await db.org(org_id, (connection) => requireConnection(connection, connection_id));
      if (found.status === "disabled") {
        throw new Problem("conflict", "The connection is disabled: enable it, then check it.");
      }
      await providerJobs.check(found, CHECK_WAIT_MS);
      return toResponse(await db.org(org_id, (connection) => requireConnection(connection, connection_id)));
    },
  }),
];
