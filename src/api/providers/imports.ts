import { z } from "zod";
import { jsonObjectSchema } from "../../domain/json-schema.ts";
import { deleteProvider, importProvider } from "../../services/providers/import-provider.ts";
import { refuseWhileUsed } from "../../services/projects/flow-references.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { presentProvider, providerSchema } from "./provider-presenter.ts";

const importBody = z
  .strictObject({
    openapi: z
      .union([jsonObjectSchema, z.url({ protocol: /^https?$/ }).max(2000)])
      .describe("An OpenAPI 3.0 or 3.1 document, or the address of one (JSON or YAML)."),
    provider_id: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "Lower-case letters, digits, - and _ are expected, 64 at most")
      .optional()
      .describe("Default: made of the name. An import under the id of an earlier one takes its place."),
    name: z.string().trim().min(1).max(200).optional().describe("Default: the document's title."),
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
const importedSchema = providerSchema.extend({ import: changes }).meta({ id: "ImportedProvider" });

const TAG = "Providers and actions";

/** Providers that organisations make themselves. */
export function createProviderImportOperations({ db, guardedFetch }: ApiDeps): Operation[] {
  return [
    defineOperation({
      id: "importProvider",
      method: "POST",
      path: "/v2/providers",
      tag: TAG,
      summary: "Make a provider of an OpenAPI document",
      description:
        "Each operation becomes an action. References within the document are followed, circles too; others are refused. Imported " +
        "again under the same id, the document takes the place of the earlier one, and `import` tells what that changed. " +
        "Connections keep the addresses that they were created with.",
      auth: "secret",
      body: importBody,
      idempotent: true,
      examples: {
        document: {
          openapi: {
            openapi: "3.1.0",
            info: { title: "Shop", version: "1" },
            servers: [{ url: "https://api.example.com" }],
            paths: { "/orders": { get: { operationId: "listOrders", responses: { 200: { description: "Orders" } } } } },
          },
        },
      },
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
      async handler({ body, principal: { org_id } }) {
        const {
          provider,
          created,
          operations,
          changes: made,
        } = await importProvider(
          { db, guardedFetch },
          { ...body, org_id, provider_id: body.provider_id, name: body.name },
        );
        const view = { ...presentProvider(provider), import: { operations, ...made } };
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
