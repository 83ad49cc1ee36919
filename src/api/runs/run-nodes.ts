import { z } from "zod";
import { required } from "../../domain/errors.ts";
import { NODE_VALUES } from "../../domain/runs/run.ts";
import type { NodeValue } from "../../domain/runs/run.ts";
import { readPage, valueOf } from "../../services/runs/value-pages.ts";
import { requireRun } from "../../services/runs/require-run.ts";
import { listModelCalls } from "../../stores/runs/node-model-calls.ts";
import { citationsAt, getNodeRun } from "../../stores/runs/node-runs.ts";
import type { NodeRunDetailRow } from "../../stores/runs/node-runs.ts";
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
    long_values: z
      .array(z.enum(NODE_VALUES))
      .describe("Which of its values the record shows in part and `getRunNodeValue` has whole."),
  })
  .meta({ id: "NodeRunDetail" });

const pathQuery = z
  .string()
  .min(1)
  .max(1000)
  .describe("The place of the node: `http-0`, or `map-0[3]/http-0` inside an iteration.");

/** No character is longer: every page has at least one. */
const MIN_PAGE_BYTES = 4;
const PAGE_BYTES = 64 * 1024;
const MAX_PAGE_BYTES = 1024 * 1024;

const nodeValuePageSchema = z
  .object({
    text: z.string().describe("A part of the value's JSON text."),
    offset: z.int().describe("Where it begins (bytes)."),
    next_offset: z.int().nullable().describe("Where the next page begins; null at the end."),
    size: z.int().describe("Length of the whole JSON text (bytes)."),
  })
  .meta({ id: "NodeValuePage" });

const COMMON = { tag: "Runs", auth: "secret" } as const;

/** `/v2/runs/{run_id}/node`: one node of a run, and its values page by page. */
export function createRunNodeOperations({ db, blobs }: ApiDeps): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: "getRunNode",
      method: "GET",
      path: "/v2/runs/{run_id}/node",
      summary: "Get a node of a run",
      description:
        "Its record with its attempts, the calls of models it has made, and the passages it rests on. Steps and calls of tools of a model are nodes themselves: `llm-0/steps[0]`, `llm-0/tools[3]`.",
      params: runParams,
      query: z.object({ path: pathQuery }),
      success: { 200: { description: "The node.", schema: nodeDetailSchema } },
      async handler({ params: { run_id }, query: { path }, principal: { org_id } }) {
        await requireRun(db, org_id, run_id);
        const body = await db.org(org_id, async (client) => {
          const row = required(await getNodeRun(client, run_id, path), "node");
          const nodes = await viewNodeRows(client, run_id, [row]);
          const model_calls = await listModelCalls(client, run_id, path);
          const citations = await citationsAt(client, run_id, path);
          return nodes.map((node) => ({ ...node, model_calls, citations, long_values: longValuesOf(row) }))[0];
        });
        return { status: 200, body };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getRunNodeValue",
      method: "GET",
      path: "/v2/runs/{run_id}/node/value",
      summary: "Read a value of a node page by page",
      description:
        "The JSON text of what a node was given or has yielded, however long it is: a page from `offset` on, both in bytes of UTF-8. A page ends with a whole character. Read on from `next_offset` until it is null; the texts of all pages together are the JSON. What the flow redacts is masked, as in the record. 404 if the value is not kept: of runs of earlier versions, or if its document was deleted.",
      params: runParams,
      query: z.object({
        path: pathQuery,
        member: z.enum(NODE_VALUES).default("output").describe("What it was given, or what it has yielded."),
        offset: z.coerce
          .number()
          .int()
          .min(0)
          .max(Number.MAX_SAFE_INTEGER)
          .default(0)
          .describe("Where the page begins."),
        limit: z.coerce
          .number()
          .int()
          .min(MIN_PAGE_BYTES)
          .max(MAX_PAGE_BYTES)
          .default(PAGE_BYTES)
          .describe("The longest page. It is a few bytes shorter if it would end within a character."),
      }),
      success: {
        200: {
          description: "A page of the value.",
          schema: nodeValuePageSchema,
          example: { text: '"Dear Ada, ', offset: 0, next_offset: 11, size: 250_000 },
        },
      },
      async handler({ params: { run_id }, query: { path, member, offset, limit }, principal: { org_id } }) {
        await requireRun(db, org_id, run_id);
        const row = required(await db.org(org_id, (client) => getNodeRun(client, run_id, path)), "node");
        const value = valueOf(row, member);
        return { status: 200, body: await readPage(blobs, value, { offset, limit }) };
      },
    }),
  ];
}

function longValuesOf({ long_values }: NodeRunDetailRow): NodeValue[] {
  return NODE_VALUES.filter((member) => long_values?.[member] !== undefined);
}
