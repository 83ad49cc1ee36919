import { z } from "zod";
import { timestampAt, timeText } from "../../domain/timestamps.ts";
import { sumUsage, USAGE_GROUPS } from "../../stores/models/model-calls.ts";
import { operationsOf } from "../http/operation.ts";
import { named } from "../http/schemas.ts";

const DEFAULT_DAYS = 30;
const DAY_MS = 86_400_000;
/** Longest model name (characters). */
const MAX_NAME = 256;

const usageReportSchema = named("UsageReport", {
  group_by: z.enum(USAGE_GROUPS),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  data: z.array(
    z.object({
      key: z.string().describe("A project ID (`judges` for evaluators), a model name, or a day in UTC (2026-01-31)."),
      calls: z.int(),
      input_tokens: z.int(),
      output_tokens: z.int(),
      total_tokens: z.int(),
      cached_tokens: z.int().describe("Input tokens that the endpoint read from its cache."),
      cost_usd: z.number().describe("Cost in US dollars of calls to models with a price."),
      calls_without_price: z.int(),
      estimated_calls: z
        .int()
        .describe(
          "Number of calls whose tokens were estimated from text lengths, because the endpoint did not report them.",
        ),
    }),
  ),
});

const define = operationsOf({ tag: "Models", auth: "secret" });

/** `/v2/usage`: tokens and cost of the organisation's model calls. */
export const usageOperations = [
  define({
    id: "getUsage",
    route: "GET /v2/usage",
    summary: "Get model usage and cost",
    description:
      "Returns calls, tokens and cost of language models by project, model or day. Failed calls count for the part that the model had answered.",
    query: z.object({
      group_by: z.enum(USAGE_GROUPS).default("day"),
      from: timeText.optional().describe(`RFC 3339; inclusive. Default: ${DEFAULT_DAYS} days before \`to\`.`),
      to: timeText.optional().describe("End of the time range: RFC 3339 time, exclusive. Default: now."),
      model: z.string().max(MAX_NAME).optional().describe("Only calls of this model."),
    }),
    success: { 200: { description: "One row per group with calls, ordered by its key.", schema: usageReportSchema } },
    async handler({ query: { group_by, from, to, model }, principal: { org_id } }, { reads }) {
      const until = to ?? timestampAt(Date.now());
      const since = from ?? timestampAt(Date.parse(until) - DEFAULT_DAYS * DAY_MS);
      const rows = await reads.org(org_id, (connection) =>
        sumUsage(connection, { group: group_by, from: since, to: until, model }),
      );
      const data = rows.map((row) => ({ ...row, total_tokens: row.input_tokens + row.output_tokens }));
      return { status: 200, body: { group_by, from: since, to: until, data } };
    },
  }),
];
