import { z } from "zod";
import { roleAllows } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import { CONNECTION_SCHEMES } from "../../domain/providers/connection.ts";
import { importChangesSchema, importPreviewSchema } from "../../domain/providers/jobs.ts";
import { deleteProvider, importDocument } from "../../services/providers/import-provider.ts";
import { importServer } from "../../services/providers/import-server.ts";
import { requireProvider } from "../../services/providers/providers.ts";
import { refuseWhileUsed } from "../../services/projects/flow-references.ts";
import { created, operationsOf, linkTo } from "../http/operation.ts";
import { givenId, named } from "../http/schemas.ts";
import { presentProvider, providerSchema } from "./providers.ts";

const address = z.url({ protocol: /^https?$/ }).max(2000);
const importBody = z
  .strictObject({
    openapi: z
      .union([jsonObjectSchema, address])
      .optional()
      .describe("An OpenAPI 3.0 or 3.1 document, or the URL of one (JSON or YAML)."),
    mcp: z
      .strictObject({ url: address.describe("URL of the MCP endpoint; only Streamable HTTP is supported.") })
      .optional()
      .describe("An MCP server to import instead of an `openapi` document."),
    connection: z
      .strictObject({
        name: z
          .string()
          .trim()
          .min(1)
          .max(200)
          .optional()
          .describe("Name of the connection. Default: the provider's name."),
        scheme: z.enum(CONNECTION_SCHEMES).default("bearer"),
        credential: z.record(z.string().max(100), jsonValueSchema),
      })
      .optional()
      .describe(
        "Credential for the MCP server, stored as a connection of the provider: `bearer` {token}, `api_key` {api_key, in, name}, `basic`, or `oauth2_client_credentials` {token_url, client_id, client_secret}.",
      ),
    connection_id: givenId
      .optional()
      .describe(
        "An existing connection of the provider, instead of `connection`, if the MCP server was imported before.",
      ),
    provider_id: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "Must be at most 64 lowercase letters, digits, - and _")
      .optional()
      .describe(
        "ID of the provider. Default: made from the name. Importing with the ID of an earlier import replaces it.",
      ),
    name: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .optional()
      .describe("Name of the provider. Default: the document's title or the server's name."),
    dry_run: z
      .boolean()
      .default(false)
      .describe("`true` only reports what the import would change. Nothing is stored."),
    force: z
      .boolean()
      .default(false)
      .describe("`true` also removes actions that published flows use; their nodes then fail."),
    accept_changes: z
      .boolean()
      .default(false)
      .describe("For an MCP server imported before: confirms that an admin has checked the changed and new tools."),
    trust_annotations: z
      .boolean()
      .optional()
      .describe(
        "Only for an MCP server: whether to trust what the server states about its tools' effects (`readOnlyHint` and so on), which decides whether calls are retried. Default: the earlier import's value, or false.",
      ),
  })
  .refine(({ openapi, mcp }) => (openapi === undefined) !== (mcp === undefined), {
    path: ["openapi"],
    message: "Send either openapi or mcp",
  })
  .refine(({ mcp, connection, connection_id }) => mcp !== undefined || (connection ?? connection_id) === undefined, {
    path: ["connection"],
    message: "Allowed only with mcp: documents are read without a credential",
  })
  .refine(({ connection, connection_id }) => connection === undefined || connection_id === undefined, {
    path: ["connection_id"],
    message: "Send either connection or connection_id",
  })
  .refine(({ mcp, accept_changes, trust_annotations }) => mcp !== undefined || !(accept_changes || trust_annotations), {
    path: ["accept_changes"],
    message: "accept_changes and trust_annotations are allowed only with mcp",
  })
  .meta({ id: "ProviderImport" });

export const importedSchema = named("ImportedProvider", {
  ...providerSchema.shape,
  import: importChangesSchema,
  connection_id: z.uuid().optional().describe("The connection created from `connection`."),
});

const define = operationsOf({ tag: "Providers and actions", auth: "secret" });

/** Operations on providers that organisations import. */
export const providerImportOperations = [
  define({
    id: "importProvider",
    route: "POST /v2/providers",
    summary: "Import a provider",
    description:
      "Imports a provider; each operation of an OpenAPI document or tool of an MCP server becomes an action. References within a document are followed, including circular ones; external references are rejected.\n\nImporting with the same `provider_id` or URL replaces the earlier import; `import` lists the changes. A matching title alone returns 409. Returns 409 `in_use` if the import would remove an action that a published flow uses, unless you send `force`. Returns 409 `tools_changed` if an imported MCP server has changed or new tools, until an admin sends `accept_changes`. Connections keep the URLs they were created with. Only admins can send `connection`, `accept_changes` and `trust_annotations`.",
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
      201: created("The new provider.", importedSchema, { actions: linkTo("listActions", ["provider_id"]) }),
      200: {
        description: "The replaced provider or, for a dry run, the changes.",
        schema: z.union([importedSchema, importPreviewSchema]),
      },
    },
    async handler({ body, principal, newId, audit, handOverAudit }, deps) {
      const { db } = deps;
      const { mcp, openapi, connection, accept_changes, trust_annotations } = body;
      const needsAdmin = connection ? "create a connection" : accept_changes ? "accept changed tools" : null;
      const reason = needsAdmin ?? (trust_annotations === true ? "trust a server" : null);
      if (reason !== null && !roleAllows(principal.role, "admin"))
        throw new Problem("forbidden", `To ${reason} you need the role admin; your role is ${principal.role}.`);
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
      const provider = await db.org(org_id, (connection) => requireProvider(connection, made.provider_id));
      const view = {
        ...presentProvider(provider),
        import: { operations, added, changed: others, removed },
        ...(connection_id === null ? {} : { connection_id }),
      };
      if (!made.created) return { status: 200, body: view };
      return { status: 201, body: view, headers: { Location: `/v2/providers/${provider.provider_id}` } };
    },
  }),
  define({
    id: "deleteProvider",
    route: "DELETE /v2/providers/{provider_id}",
    summary: "Delete an imported provider",
    description:
      "Deletes an imported provider. Returns 409 `in_use` if published flows or connections use it. Built-in providers cannot be deleted.",
    params: z.object({ provider_id: z.string().min(1).max(200) }),
    problems: ["in_use", "conflict"],
    success: { 204: { description: "Deleted." } },
    async handler({ params: { provider_id }, principal: { org_id }, audit }, { db }) {
      await deleteProvider(
        db,
        org_id,
        provider_id,
        (connection) => refuseWhileUsed(connection, "provider", provider_id),
        { audit, target: { type: "provider", id: provider_id }, view: presentProvider },
      );
    },
  }),
];
