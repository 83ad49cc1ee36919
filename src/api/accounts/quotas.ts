import { z } from "zod";
import { QUOTAS } from "../../domain/accounts/quotas.ts";
import { notFound } from "../../domain/errors.ts";
import { changeKeyQuotas, defaultQuotas, quotaStatus } from "../../services/accounts/quotas.ts";
import { holdApiKey } from "../../stores/accounts/api-keys.ts";
import { limitsOf, listQuotas } from "../../stores/quotas/quotas.ts";
import type { HandlerDeps } from "../deps.ts";
import { contentTag, ifMatchHeaders, requireMatch } from "../http/etag.ts";
import { operationsOf } from "../http/operation.ts";
import { named, namedStrict, pathId } from "../http/schemas.ts";

const quotasSchema = named("QuotaStates", {
  quotas: z.array(
    named("QuotaState", {
      quota: z
        .enum(QUOTAS)
        .describe(
          "`concurrent_runs`: unfinished runs at one time, including paused runs; runs of experiments and child runs are not counted. `concurrent_nodes`: nodes that workers execute at one time. `runs_per_minute`: runs started in a minute. `storage_bytes`: bytes of uploaded documents, knowledge base documents and skills. `model_usd_month`: model cost in US dollars this month (UTC).",
        ),
      limit: z.number().nullable().describe("The quota; `null` means unlimited."),
      used: z
        .number()
        .nullable()
        .describe("Current usage; `null` if it is not counted, as for `concurrent_nodes` without a quota."),
      resets_at: z.iso
        .datetime()
        .nullable()
        .describe("When usage returns to zero; `null` if usage falls as work finishes."),
    }),
  ),
});

const count = z.int().min(0).max(1_000_000_000).nullable().optional();
const changeBody = namedStrict("KeyQuotasChange", {
  concurrent_runs: count,
  concurrent_nodes: z.int().min(1).max(1_000_000_000).nullable().optional(),
  runs_per_minute: count,
  model_usd_month: z.number().min(0).max(1_000_000_000).nullable().optional(),
});

const ETAG = { ETag: "Current ETag of the limits, without the usage; send it as `If-Match`." };
const keyParams = z.object({ key_id: pathId("API key") });

async function ofKey({ db, config }: HandlerDeps, org_id: string, key_id: string) {
  const { quotas, tag } = await db.orgTransaction(org_id, async (connection) => {
    if (!(await holdApiKey(connection, key_id))) throw notFound("API key");
    return {
      quotas: await quotaStatus(connection, org_id, key_id, defaultQuotas(config)),
      tag: contentTag(limitsOf(await listQuotas(connection), key_id)),
    };
  });
  return { status: 200, body: { quotas }, headers: { ETag: tag } };
}

const define = operationsOf({ tag: "API keys", auth: "secret" });

/** `/v2/quotas` and the quotas of API keys. */
export const quotaOperations = [
  define({
    id: "getQuotas",
    route: "GET /v2/quotas",
    summary: "Get the organisation's quotas and usage",
    description:
      "Returns the quotas that the operator sets, and how much of each is used. A request beyond a quota returns 429 `quota_exceeded`; nodes beyond `concurrent_nodes` wait.",
    success: { 200: { description: "The quotas.", schema: quotasSchema } },
    async handler({ principal: { org_id } }, { db, config }) {
      const quotas = await db.orgTransaction(org_id, (connection) =>
        quotaStatus(connection, org_id, null, defaultQuotas(config)),
      );
      return { status: 200, body: { quotas } };
    },
  }),
  define({
    id: "getKeyQuotas",
    route: "GET /v2/api-keys/{key_id}/quotas",
    summary: "Get an API key's quotas and usage",
    description: "Returns the quotas of a key and how much of each is used. The organisation's quotas apply too.",
    role: "admin",
    params: keyParams,
    success: { 200: { description: "The quotas.", schema: quotasSchema, headers: ETAG } },
    handler: ({ params: { key_id }, principal: { org_id } }, deps) => ofKey(deps, org_id, key_id),
  }),
  define({
    id: "changeKeyQuotas",
    route: "PATCH /v2/api-keys/{key_id}/quotas",
    summary: "Set an API key's quotas",
    description:
      "Sets quotas up to the organisation's; `null` clears one. They count runs that the key starts, runs that these runs start with the action `start_run`, runs of triggers that the key tests or repeats, the nodes of all these runs and the model cost in them. Changes take effect within five seconds.",
    role: "admin",
    params: keyParams,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: {
      several: { concurrent_runs: 20, runs_per_minute: 120, model_usd_month: 50 },
      none: { model_usd_month: null },
    },
    success: { 200: { description: "The updated quotas.", schema: quotasSchema, headers: ETAG } },
    async handler({ params: { key_id }, headers, body, principal: { org_id }, audit }, deps) {
      await changeKeyQuotas(
        deps.db,
        { org_id, key_id },
        body,
        defaultQuotas(deps.config),
        (limits) => requireMatch(headers["if-match"], contentTag(limits)),
        { audit, target: { type: "key", id: key_id }, view: (limits) => limits },
      );
      return ofKey(deps, org_id, key_id);
    },
  }),
];
