import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import { actionSchema, triggerSchema, type Action, type Trigger } from "../../domain/providers/action.ts";
import { credentialSchema, PROVIDER_SOURCES, type Provider } from "../../domain/providers/provider.ts";
import {
  listActions,
  listProviders,
  pageOfSorted,
  requireAction,
  requireProvider,
  searchActions,
} from "../../services/providers/providers.ts";
import type { Database } from "../../stores/db.ts";
import type { Keyset } from "../../stores/keyset.ts";
import { jsonObjectSchema } from "../../domain/json-schema.ts";
import { CONNECTION_SCHEMES, type ConnectionScheme } from "../../domain/providers/connection.ts";
import { listPage, listQuery, pageOf, type ListQuery } from "../http/list.ts";
import { operationsOf, linkTo } from "../http/operation.ts";
import { asDeclared, named } from "../http/schemas.ts";

export const providerSchema = named("Provider", {
  provider_id: z.string(),
  provider_version: z.string(),
  name: z.string(),
  description: z.string(),
  provider_group: z.array(z.string()),
  tags: z.array(z.string()),
  icon: z.string().nullable(),
  auth: z.object({
    required: z.boolean().describe("Whether its actions need a connection."),
    schemes: z.array(z.enum(CONNECTION_SCHEMES)),
    fields: jsonObjectSchema.describe(
      "JSON Schema of a connection's `credential`. With several schemes it is a `oneOf` with one schema per scheme; the scheme is its title.",
    ),
  }),
  source: z.enum(PROVIDER_SOURCES),
});

export function presentProvider(provider: Provider): z.infer<typeof providerSchema> {
  return asDeclared(providerSchema, {
    ...provider,
    auth: {
      required: provider.auth.required,
      schemes: Object.keys(provider.auth.schemes) as ConnectionScheme[],
      fields: credentialSchema(provider),
    },
  });
}

function presentAction(providerId: string, action: Action): z.infer<typeof actionSchema> {
  return asDeclared(actionSchema, { ...action, provider_id: providerId });
}

function presentTrigger(providerId: string, trigger: Trigger): z.infer<typeof triggerSchema> {
  return asDeclared(triggerSchema, { ...trigger, provider_id: providerId });
}

/** Ids of providers, actions and triggers. A malformed id is treated as an unknown one. */
const id = z.string().min(1).max(200);
const params = z.object({ provider_id: id });
const actionParams = params.extend({ action_id: id });
const triggerParams = params.extend({ trigger_id: id });
// Sorted by ID, because all providers come with a release or an import at the same time.
const byId = listQuery.extend({ order: z.enum(["asc", "desc"]).default("asc").describe("Sort order by ID.") });

const requireIn = (db: Database, orgId: string, providerId: string): Promise<Provider> =>
  db.org(orgId, (connection) => requireProvider(connection, providerId));

const define = operationsOf({ tag: "Providers and actions", auth: "secret" });

/** `/v2/providers`: the services that actions, triggers and connections belong to. */
export const providerOperations = [
  define({
    id: "listProviders",
    route: "GET /v2/providers",
    summary: "List providers",
    description: "Lists the built-in providers and the ones the organisation has imported, by ID.",
    query: byId,
    success: { 200: { description: "A page of providers.", schema: pageOf(providerSchema) } },
    async handler({ query, principal: { org_id } }, { db }) {
      const all = await db.org(org_id, listProviders);
      const idOf = (each: Provider): string => each.provider_id;
      const fetch = async (page: Keyset) => pageOfSorted(all, idOf, page);
      return pageById("providers", org_id, query, fetch, idOf, presentProvider);
    },
  }),
  define({
    id: "getProvider",
    route: "GET /v2/providers/{provider_id}",
    summary: "Get a provider",
    description: "Returns the provider with the credentials it accepts.",
    params,
    success: { 200: { description: "The provider.", schema: providerSchema } },
    async handler({ params: { provider_id }, principal: { org_id } }, { db }) {
      return { status: 200, body: presentProvider(await requireIn(db, org_id, provider_id)) };
    },
  }),
  define({
    id: "listActions",
    route: "GET /v2/providers/{provider_id}/actions",
    summary: "List or search a provider's actions",
    description: "Lists the provider's actions by name. `query` searches IDs, names and descriptions.",
    params,
    query: byId.extend({
      query: z
        .string()
        .trim()
        .min(1)
        .max(200)
        .optional()
        .describe(
          "Words that must occur in the action's ID, name or description. Best matches come first, on one page.",
        ),
    }),
    success: { 200: { description: "A page of actions.", schema: pageOf(actionSchema) } },
    async handler({ params: { provider_id }, query, principal: { org_id } }, { db, reads }) {
      const provider = await requireIn(db, org_id, provider_id);
      const present = (action: Action) => presentAction(provider_id, action);
      const words = query.query;
      if (words !== undefined) {
        const { actions, more } = await db.org(org_id, (connection) =>
          searchActions(connection, provider, words, query.page_size),
        );
        return { status: 200, body: { data: actions.map(present), cursor: null, has_more: more } };
      }
      const fetch = (page: Keyset) => reads.org(org_id, (connection) => listActions(connection, provider, page));
      return pageById(`actions of ${provider_id}`, org_id, query, fetch, (each) => each.action_id, present);
    },
  }),
  define({
    id: "getAction",
    route: "GET /v2/providers/{provider_id}/actions/{action_id}",
    summary: "Get an action",
    description: "Returns the action with the JSON Schemas of its inputs and outputs.",
    params: actionParams,
    success: {
      200: {
        description: "The action.",
        schema: actionSchema,
        links: { run: linkTo("runAction", ["provider_id", "action_id"]) },
      },
    },
    async handler({ params: { provider_id, action_id }, principal: { org_id } }, { db }) {
      const action = await db.org(org_id, async (connection) =>
        requireAction(connection, await requireProvider(connection, provider_id), action_id),
      );
      return { status: 200, body: presentAction(provider_id, action) };
    },
  }),
  define({
    id: "listProviderTriggers",
    route: "GET /v2/providers/{provider_id}/triggers",
    summary: "List a provider's triggers",
    description: "Lists the provider's events that can start runs.",
    params,
    query: byId,
    success: { 200: { description: "A page of triggers.", schema: pageOf(triggerSchema) } },
    async handler({ params: { provider_id }, query, principal: { org_id } }, { db }) {
      const { triggers } = await requireIn(db, org_id, provider_id);
      const idOf = (each: Trigger): string => each.trigger_id;
      const fetch = async (page: Keyset) => pageOfSorted(triggers, idOf, page);
      return pageById(`triggers of ${provider_id}`, org_id, query, fetch, idOf, (trigger) =>
        presentTrigger(provider_id, trigger),
      );
    },
  }),
  define({
    id: "getProviderTrigger",
    route: "GET /v2/providers/{provider_id}/triggers/{trigger_id}",
    summary: "Get a trigger",
    description: "Returns the trigger with the JSON Schemas of its configuration and payload, and a sample payload.",
    params: triggerParams,
    success: { 200: { description: "The trigger.", schema: triggerSchema } },
    async handler({ params: { provider_id, trigger_id }, principal: { org_id } }, { db }) {
      const { triggers } = await requireIn(db, org_id, provider_id);
      const trigger = triggers.find((each) => each.trigger_id === trigger_id);
      if (trigger === undefined) throw notFound("trigger");
      return { status: 200, body: presentTrigger(provider_id, trigger) };
    },
  }),
];

/** A page ordered by ID. */
async function pageById<Item, Shown>(
  list: string,
  orgId: string,
  query: ListQuery,
  fetch: (page: Keyset) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
  present: (item: Item) => Shown,
) {
  const isId = (text: string): boolean => text.length <= 200;
  const rows = async (page: Keyset): Promise<Item[]> => [...(await fetch(page))];
  return listPage(list, orgId, query, { fetch: rows, idOf, present, isId });
}
