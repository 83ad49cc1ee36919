import { z } from "zod";
import { roleAllows } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import { CONNECTION_SCHEMES } from "../../domain/providers/connection.ts";
import { deleteProvider, importDocument } from "../../services/providers/import-provider.ts";
import { importServer } from "../../services/providers/import-server.ts";
import { refuseWhileUsed } from "../../services/projects/flow-references.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
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
  .meta({ id: "ProviderImport" });

const changes = z
  .object({
    operations: z.int().describe("How many actions the provider has now."),
    added: z.array(z.string()).describe("Ids of actions."),
    changed: z.array(z.string()),
    removed: z.array(z.string()),
  })
  .meta({ id: "ProviderImportChanges" });
const importedSchema = providerSchema
  .extend({
    import: changes,
    connection_id: z.uuid().optional().describe("The connection that was made of `connection`."),
  })
  .meta({ id: "ImportedProvider" });

const TAG = "Providers and actions";

/** Providers that organisations make themselves. */
export function createProviderImportOperations(deps: ApiDeps): Operation[] {
  const { db } = deps;
  return [
    defineOperation({
      id: "importProvider",
      method: "POST",
      path: "/v2/providers",
      tag: TAG,
      summary: "Make a provider of an OpenAPI document or an MCP server",
      description:
        "Each operation of a document, each tool of a server becomes an action. References within a document are followed, circles too; " +
        "others are refused. Imported again under the same id, it takes the place of what was imported before, and `import` tells " +
        "what that changed. Connections keep the addresses that they were created with. `connection` needs an admin.",
      auth: "secret",
      body: importBody,
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
        server: {
          mcp: { url: "https://mcp.example.com/mcp" },
          connection: { scheme: "bearer", credential: { token: "..." } },
        },
      },
      problems: ["not_found", "service_unavailable"],
      success: {
        201: {
          description: "The new provider.",
          schema: importedSchema,
          headers: { Location: "Its address." },
          links: {
            actions: { operationId: "listActions", parameters: { provider_id: "$response.body#/provider_id" } },
          },
        },
        200: { description: "The provider that was there, made anew.", schema: importedSchema },
      },
      async handler({ body, principal, newId }) {
        const { mcp, openapi, connection } = body;
        if (connection && !roleAllows(principal.role, "admin"))
          throw new Problem(
            "forbidden",
            `To create a connection the role admin is needed; yours is ${principal.role}.`,
          );
        const { provider_id, name } = body;
        const {
          provider,
          created,
          operations,
          changes: made,
          connection_id,
        } = mcp
          ? await importServer(deps, {
              org_id: principal.org_id,
              url: mcp.url,
              provider_id,
              name,
              connection,
              connection_id: body.connection_id,
              created_by: principal.id,
              import_id: newId(),
            })
          : {
              connection_id: null,
              ...(await importDocument(deps, { org_id: principal.org_id, openapi, provider_id, name })),
            };
        const view = {
          ...presentProvider(provider),
          import: { operations, ...made },
          ...(connection_id === null ? {} : { connection_id }),
        };
        if (!created) return { status: 200, body: view };
        return { status: 201, body: view, headers: { Location: `/v2/providers/${provider.provider_id}` } };
      },
    }),
    defineOperation({
      id: "deleteProvider",
      method: "DELETE",
      path: "/v2/providers/{provider_id}",
      tag: TAG,
      summary: "Delete an imported provider",
      description: "One that published flows or connections use stays, and so does what is built in.",
      auth: "secret",
      params: z.object({ provider_id: z.string().min(1).max(200) }),
      problems: ["in_use", "conflict"],
      success: { 204: { description: "It is gone." } },
      async handler({ params: { provider_id }, principal: { org_id } }) {
        await deleteProvider(db, org_id, provider_id, (connection) =>
          refuseWhileUsed(connection, "provider", provider_id),
        );
        return { status: 204 };
      },
    }),
  ];
}
