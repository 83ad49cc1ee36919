import { z } from "zod";
import { QUOTAS } from "../../domain/accounts/quotas.ts";
import { notFound } from "../../domain/errors.ts";
import { changeKeyQuotas, defaultQuotas, quotaStatus } from "../../services/accounts/quotas.ts";
import { holdApiKey } from "../../stores/accounts/api-keys.ts";
import { limitsOf, listQuotas } from "../../stores/quotas.ts";
import type { ApiDeps } from "../deps.ts";
import { contentTag, ifMatchHeaders, requireMatch } from "../http/etag.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";

const quotasSchema = z
  .object({
    quotas: z.array(
      z
        .object({
          quota: z
            .enum(QUOTAS)
            .describe(
              "Runs under way at once, without those of experiments and sub-flows; nodes that workers execute at once; runs started in a minute; bytes of documents, resources of knowledge bases and skills; US dollars that models have cost this month (UTC).",
            ),
          limit: z.number().nullable().describe("null: there is none."),
          used: z.number().nullable().describe("null: not counted, as there is no limit of nodes."),
          resets_at: z.iso
            .datetime()
            .nullable()
            .describe("From when on nothing is used; null: when what is used ends."),
        })
        .meta({ id: "QuotaState" }),
    ),
  })
  .meta({ id: "QuotaStates" });

const count = z.int().min(0).max(1_000_000_000).nullable().optional();
const changeBody = z
  .strictObject({
    concurrent_runs: count,
    concurrent_nodes: z.int().min(1).max(1_000_000_000).nullable().optional(),
    runs_per_minute: count,
    model_usd_month: z.number().min(0).max(1_000_000_000).nullable().optional(),
  })
  .meta({ id: "KeyQuotasChange" });

const ETAG = { ETag: "For If-Match: of the limits, without what is used of them." };
const keyParams = z.object({ key_id: pathId("API key") });

const COMMON = { tag: "API keys", auth: "secret" } as const;

/** `/v2/quotas`, and those of keys. */
export function createQuotaOperations({ config, db }: ApiDeps): Operation[] {
  const ofKey = async (org_id: string, key_id: string) => {
    const { quotas, tag } = await db.orgTransaction(org_id, async (connection) => {
      if (!(await holdApiKey(connection, key_id))) throw notFound("API key");
      return {
        quotas: await quotaStatus(connection, org_id, key_id, defaultQuotas(config)),
        tag: contentTag(limitsOf(await listQuotas(connection), key_id)),
      };
    });
    return { status: 200, body: { quotas }, headers: { ETag: tag } };
  };
  return [
    defineOperation({
      ...COMMON,
      id: "getQuotas",
      method: "GET",
      path: "/v2/quotas",
      summary: "Get the organisation's quotas, and what is used of them",
      description:
        "Whoever runs the installation sets them. What would exceed one is answered with 429 `quota_exceeded`; nodes beyond `concurrent_nodes` wait.",
      success: { 200: { description: "The quotas.", schema: quotasSchema } },
      async handler({ principal: { org_id } }) {
        const quotas = await db.orgTransaction(org_id, (connection) =>
          quotaStatus(connection, org_id, null, defaultQuotas(config)),
        );
        return { status: 200, body: { quotas } };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getKeyQuotas",
      method: "GET",
      path: "/v2/api-keys/{key_id}/quotas",
      summary: "Get the quotas of an API key, and what is used of them",
      description: "They hold beside the organisation's.",
      role: "admin",
      params: keyParams,
      success: { 200: { description: "The quotas.", schema: quotasSchema, headers: ETAG } },
      handler: ({ params: { key_id }, principal: { org_id } }) => ofKey(org_id, key_id),
    }),
    defineOperation({
      ...COMMON,
      id: "changeKeyQuotas",
      method: "PATCH",
      path: "/v2/api-keys/{key_id}/quotas",
      summary: "Set quotas of an API key",
      description:
        "At most what the organisation has; null unsets. They hold for runs started with the key, for the nodes of those runs, and for what models cost in them. It takes up to five seconds until every process goes by them.",
      role: "admin",
      params: keyParams,
      headers: ifMatchHeaders,
      body: changeBody,
      examples: {
        several: { concurrent_runs: 20, runs_per_minute: 120, model_usd_month: 50 },
        none: { model_usd_month: null },
      },
      success: { 200: { description: "The quotas as they are now.", schema: quotasSchema, headers: ETAG } },
      async handler({ params: { key_id }, headers, body, principal: { org_id }, audit }) {
        await changeKeyQuotas(
          db,
          { org_id, key_id },
          body,
          defaultQuotas(config),
          (limits) => requireMatch(headers["if-match"], contentTag(limits)),
          { audit, target: { type: "key", id: key_id }, view: (limits) => limits },
        );
        return ofKey(org_id, key_id);
      },
    }),
  ];
}
