import { z } from "zod";
import { roleAllows } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import { CONNECTION_SCHEMES } from "../../domain/providers/connection.ts";
import { deleteProvider, importDocument } from "../../services/providers/import-provider.ts";
import { importServer } from "../../services/providers/import-server.ts";
import { requireProvider } from "../../services/providers/providers.ts";
import { refuseWhileUsed } from "../../services/projects/flow-references.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { presentProvider, providerSchema } from "./provider-presenter.ts";

const address = z.url({ protocol: /^https?$/ }).max(2000);
const importBody = z
  .strictObject({
    openapi: z
      .union([jsonObjectSchema, address])
      .optional()
      .describe("An OpenAPI 3.0 or 3.1 document, or the address of one (JSON or YAML)."),
    mcp: z
      .strictObject({ url: address.describe("Its endpoint; there is no transport but Streamable HTTP.") })
      .optional()
      .describe("In place of `openapi`: an MCP server."),
    connection: z
      .strictObject({
        name: z.string().trim().min(1).max(200).optional().describe("Default: the provider's."),
        scheme: z.enum(CONNECTION_SCHEMES).default("bearer"),
        credential: z.record(z.string().max(100), jsonValueSchema),
      })
      .optional()
      .describe(
        "What the MCP server wants as credential: `bearer` {token}, `api_key` {api_key, in, name}, `basic`, or " +
          "`oauth2_client_credentials` {token_url, client_id, client_secret}. It becomes a connection of the provider.",
      ),
    connection_id: z
      .uuid()
      .toLowerCase()
      .optional()
      .describe("In place of `connection`, where the MCP server was imported before: a connection of the provider."),
    provider_id: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "Lower-case letters, digits, - and _ are expected, 64 at most")
      .optional()
      .describe("Default: made of the name. An import under the id of an earlier one takes its place."),
    name: z.string().trim().min(1).max(200).optional().describe("Default: the document's title, the server's name."),
    dry_run: z.boolean().default(false).describe("Only reports what the import would change. Nothing is stored."),
    force: z.boolean().default(false).describe("Actions that published flows use may go; their nodes then fail."),
    accept_changes: z
      .boolean()
      .default(false)
      .describe("For an MCP server imported before: an admin has looked at the changed and new tools."),
    trust_annotations: z
      .boolean()
      .optional()
      .describe(
        "Of an MCP server: whether an admin believes what it says of its tools' effects (`readOnlyHint` and so on), by which calls " +
          "are tried again. Default: as before, which is not at first.",
      ),
  })
  .refine(({ openapi, mcp }) => (openapi === undefined) !== (mcp === undefined), {
    path: ["openapi"],
    message: "Give either openapi or mcp",
  })
  .refine(({ mcp, connection, connection_id }) => mcp !== undefined || (connection ?? connection_id) === undefined, {
    path: ["connection"],
    message: "Only with mcp: a document is read without a credential",
  })
  .refine(({ connection, connection_id }) => connection === undefined || connection_id === undefined, {
    path: ["connection_id"],
    message: "Give either connection or connection_id",
  })
  .refine(({ mcp, accept_changes, trust_annotations }) => mcp !== undefined || !(accept_changes || trust_annotations), {
    path: ["accept_changes"],
    message: "accept_changes and trust_annotations are for MCP servers",
  })
  .meta({ id: "ProviderImport" });

const changed = {
  added: z.array(z.string()).describe("Ids of actions."),
  changed: z.array(z.string()),
  removed: z.array(z.string()),
};
const changes = z
  .object({ operations: z.int().describe("How many actions the provider has now."), ...changed })
  .meta({ id: "ProviderImportChanges" });
const previewSchema = z
  .object({
    ...changed,
    used_by: z
      .array(z.object({ project_id: z.uuid(), name: z.string(), action_ids: z.array(z.string()) }))
      .describe("The published flows that use what changes or goes, a hundred at most."),
    differences: z
      .array(
        z.object({
          action_id: z.string(),
          members: z.array(z.string()).describe("Which of its members differ."),
          description: z.object({ before: z.string().nullable(), after: z.string().nullable() }),
        }),
      )
      .describe("How actions change, fifty at most; `description` is what models read."),
  })
  .meta({ id: "ProviderImportPreview" });
const importedSchema = providerSchema
  .extend({
    import: changes,
    connection_id: z.uuid().optional().describe("The connection that was made of `connection`."),
  })
  .meta({ id: "ImportedProvider" });

const COMMON = { tag: "Providers and actions", auth: "secret" } as const;

/** Providers that organisations make themselves. */
export function createProviderImportOperations(deps: ApiDeps): Operation[] {
  const { db } = deps;
  return [
    defineOperation({
      ...COMMON,
      id: "importProvider",
      method: "POST",
      path: "/v2/providers",
      summary: "Make a provider of an OpenAPI document or an MCP server",
      description:
        "Each operation of a document, each tool of a server becomes an action. References within a document are followed, circles too; " +
        "others are refused. Imported again under the same `provider_id`, or from the same address, it takes the place of what was imported " +
        "before, and `import` tells what that changed; the same title alone is a 409. What would remove an action that a published flow " +
        "uses is a 409 `in_use` unless `force` is sent. Changed and new tools of an MCP server that was imported before are a 409 " +
        "`tools_changed` until an admin sends `accept_changes`. Connections keep the addresses that they were created with. `connection`, " +
        "`accept_changes` and `trust_annotations` need an admin.",
      body: importBody,
      wideBody: true,
      idempotent: true,
      confidential: true,
      examples: {
        renewed: {
          mcp: { url: "https://mcp.example.com/mcp" },
          connection_id: "0197f0a0-0000-7000-8000-000000000000",
        },
        document: {
          openapi: {
            openapi: "3.1.0",
            info: { title: "Shop", version: "1" },
            servers: [{ url: "https://api.example.com" }],
            paths: { "/orders": { get: { operationId: "listOrders", responses: { 200: { description: "Orders" } } } } },
          },
        },
        preview: {
          openapi: {
            openapi: "3.1.0",
            info: { title: "Shop", version: "2" },
            servers: [{ url: "https://api.example.com" }],
            paths: { "/carts": { get: { operationId: "listCarts", responses: { 200: { description: "Carts" } } } } },
          },
          provider_id: "shop",
          dry_run: true,
        },
        server: {
          mcp: { url: "https://mcp.example.com/mcp" },
          connection: { scheme: "bearer", credential: { token: "..." } },
        },
      },
      problems: ["not_found", "conflict", "in_use", "tools_changed", "service_unavailable"],
      success: {
        201: {
          description: "The new provider.",
          schema: importedSchema,
          headers: { Location: "Its address." },
          links: { actions: linkTo("listActions", ["provider_id"]) },
        },
        200: {
          description: "The provider that was there, made anew; of a dry run what would change.",
          schema: z.union([importedSchema, previewSchema]),
        },
      },
      async handler({ body, principal, newId, audit, handOverAudit }) {
        const { mcp, openapi, connection, accept_changes, trust_annotations } = body;
        const needsAdmin = connection ? "create a connection" : accept_changes ? "accept changed tools" : null;
        const reason = needsAdmin ?? (trust_annotations === true ? "trust a server" : null);
        if (reason !== null && !roleAllows(principal.role, "admin"))
          throw new Problem("forbidden", `To ${reason} the role admin is needed; yours is ${principal.role}.`);
        const { org_id } = principal;
        const { provider_id, name, dry_run, force } = body;
        const common = { org_id, provider_id, name, dry_run, force };
        const { connection_id, ...made } = mcp
          ? await importServer(deps, {
              ...common,
              url: mcp.url,
              connection,
              connection_id: body.connection_id,
              accept_changes,
              trust_annotations: trust_annotations ?? null,
              created_by: principal.id,
              import_id: newId(),
              audited: handOverAudit(),
            })
          : { connection_id: null, ...(await importDocument(deps, { ...common, openapi, audit })) };
        const { added, changed: others, removed, used_by, differences, operations } = made;
        if (!made.stored) return { status: 200, body: { added, changed: others, removed, used_by, differences } };
        const provider = await db.org(org_id, (each) => requireProvider(each, made.provider_id));
        const view = {
          ...presentProvider(provider),
          import: { operations, added, changed: others, removed },
          ...(connection_id === null ? {} : { connection_id }),
        };
        if (!made.created) return { status: 200, body: view };
        return { status: 201, body: view, headers: { Location: `/v2/providers/${provider.provider_id}` } };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "deleteProvider",
      method: "DELETE",
      path: "/v2/providers/{provider_id}",
      summary: "Delete an imported provider",
      description: "A provider that published flows or connections use cannot be deleted; nor can a built-in one.",
      params: z.object({ provider_id: z.string().min(1).max(200) }),
      problems: ["in_use", "conflict"],
      success: { 204: { description: "It is gone." } },
      async handler({ params: { provider_id }, principal: { org_id }, audit }) {
        await deleteProvider(
          db,
          org_id,
          provider_id,
          (connection) => refuseWhileUsed(connection, "provider", provider_id),
          { audit, target: { type: "provider", id: provider_id }, view: presentProvider },
        );
        return { status: 204 };
      },
    }),
  ];
}
