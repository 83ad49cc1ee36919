import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import { requireRun } from "../../services/runs/require-run.ts";
import { listModelCalls } from "../../stores/runs/node-model-calls.ts";
import { citationsAt, getNodeRun } from "../../stores/runs/node-runs.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { nodeRunSchema } from "./node-run-presenter.ts";
import { viewNodeRows } from "./node-run-views.ts";
import { runParams } from "./runs.ts";

const modelCallSchema = z
  .object({
    attempt: z.int(),
    step: z.int().describe("The step of the node's conversation, from 1."),
    model: z.string(),
    connection_id: z.uuid().nullable(),
    input_tokens: z.int(),
    output_tokens: z.int(),
    cached_tokens: z.int().describe("Input tokens from the endpoint's cache."),
    cost_usd: z.number().nullable().describe("Null where the model has no price."),
    latency_ms: z.int(),
    finish_reason: z.string().describe("Why the model stopped, or the code of the failure."),
    estimated: z.boolean(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "ModelCall" });

const nodeDetailSchema = nodeRunSchema
  .extend({
    model_calls: z.array(modelCallSchema).describe("The calls of the node in their order; 500 at most."),
    citations: z.array(z.unknown()).describe("The passages that its value rests on."),
  })
  .meta({ id: "NodeRunDetail" });

/** `/v2/runs/{run_id}/node`: one node of a run. */
export function createRunNodeOperations({ db }: ApiDeps): Operation[] {
  return [
    defineOperation({
      id: "getRunNode",
      method: "GET",
      path: "/v2/runs/{run_id}/node",
      tag: "Runs",
      summary: "Get a node of a run",
      description:
        "Its record with its attempts, the calls of models it has made, and the passages it rests on. Steps and calls of tools of a model are nodes themselves: `llm-0/steps[0]`, `llm-0/tools[3]`.",
      auth: "secret",
      params: runParams,
      query: z.object({
        path: z
          .string()
          .min(1)
          .max(1000)
          .describe("The place of the node: `http-0`, or `map-0[3]/http-0` inside an iteration."),
      }),
      success: { 200: { description: "The node.", schema: nodeDetailSchema } },
      async handler({ params: { run_id }, query: { path }, principal: { org_id } }) {
        await requireRun(db, org_id, run_id);
        const body = await db.org(org_id, async (client) => {
          const row = await getNodeRun(client, run_id, path);
          if (!row) throw notFound("node");
          const nodes = await viewNodeRows(client, run_id, [row]);
          const model_calls = await listModelCalls(client, run_id, path);
          const citations = await citationsAt(client, run_id, path);
          return nodes.map((node) => ({ ...node, model_calls, citations }))[0];
        });
        return { status: 200, body };
      },
    }),
  ];
}
