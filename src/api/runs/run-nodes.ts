import { z } from "zod";
import { required } from "../../domain/errors.ts";
import { NODE_VALUES, type NodeValue } from "../../domain/runs/run.ts";
import { readPage, valueOf } from "../../services/runs/value-pages.ts";
import { requireRun } from "../../services/runs/require-run.ts";
import { listModelCalls } from "../../stores/runs/node-model-calls.ts";
import { citationsAt, getNodeRun, type NodeRunDetailRow } from "../../stores/runs/node-runs.ts";
import { named } from "../http/schemas.ts";
import { nodeRunSchema, viewNodeRows } from "./node-run-presenter.ts";
import { runParams, define } from "./runs.ts";

const modelCallSchema = named("ModelCall", {
  attempt: z.int(),
  step: z.int().describe("Step of the node's conversation, starting at 1."),
  model: z.string(),
  connection_id: z.uuid().nullable(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cached_tokens: z.int().describe("Input tokens read from the endpoint's cache."),
  cost_usd: z.number().nullable().describe("Cost in US dollars; `null` if the model has no price."),
  latency_ms: z.int(),
  finish_reason: z.string().describe("Why the model stopped, or the error code."),
  estimated: z.boolean(),
  created_at: z.iso.datetime(),
});

const nodeDetailSchema = named("NodeRunDetail", {
  ...nodeRunSchema.shape,
  model_calls: z.array(modelCallSchema).describe("Up to 500 model calls of the node, in order."),
  citations: z.array(z.unknown()).describe("Chunks the value cites."),
  long_values: z
    .array(z.enum(NODE_VALUES))
    .describe("Values that the record shows only in part; `getRunNodeValue` returns all of them."),
});

const pathQuery = z
  .string()
  .min(1)
  .max(1000)
  .describe("Path of the node: `http-0`, or `map-0[3]/http-0` inside an iteration.");

/** A character never takes more bytes, so every page has at least one. */
const MIN_PAGE_BYTES = 4;
const PAGE_BYTES = 64 * 1024;
const MAX_PAGE_BYTES = 1024 * 1024;

const nodeValuePageSchema = named("NodeValuePage", {
  text: z.string().describe("Part of the value's JSON text."),
  offset: z.int().describe("Position of the text's first byte."),
  next_offset: z.int().nullable().describe("Position of the next page; `null` at the end."),
  size: z.int().describe("Length of the whole JSON text in bytes."),
});

/** `/v2/runs/{run_id}/node`: one node of a run, and its values page by page. */
export const runNodeOperations = [
  define({
    id: "getRunNode",
    route: "GET /v2/runs/{run_id}/node",
    summary: "Get a node of a run",
    description:
      "Returns the node with its attempts, model calls and citations. An agent's steps and tool calls are recorded as nodes: `llm-0/steps[0]`, `llm-0/tools[3]`.",
    params: runParams,
    query: z.object({ path: pathQuery }),
    success: { 200: { description: "The node.", schema: nodeDetailSchema } },
    async handler({ params: { run_id }, query: { path }, principal: { org_id } }, { db }) {
      await requireRun(db, org_id, run_id);
      const body = await db.org(org_id, async (connection) => {
        const row = required(await getNodeRun(connection, run_id, path), "node");
        const nodes = await viewNodeRows(connection, run_id, [row]);
        const model_calls = await listModelCalls(connection, run_id, path);
        const citations = await citationsAt(connection, run_id, path);
        return nodes.map((node) => ({ ...node, model_calls, citations, long_values: longValuesOf(row) }))[0];
      });
      return { status: 200, body };
    },
  }),
  define({
    id: "getRunNodeValue",
    route: "GET /v2/runs/{run_id}/node/value",
    summary: "Read a node's input or output in pages",
    description:
      "Returns the JSON text of a node's inputs or output in pages, however long it is. `offset` and the page size are bytes of UTF-8; a page never splits a character. Continue from `next_offset` until it is `null`, and join the texts of all pages. Values that the flow redacts are masked. Returns 404 if the value is not stored: for runs from older Millrace versions, or after its document was deleted.",
    params: runParams,
    query: z.object({
      path: pathQuery,
      member: z.enum(NODE_VALUES).default("output").describe("`inputs` or `output`."),
      offset: z.coerce
        .number()
        .int()
        .min(0)
        .max(Number.MAX_SAFE_INTEGER)
        .default(0)
        .describe("Position of the page's first byte."),
      limit: z.coerce
        .number()
        .int()
        .min(MIN_PAGE_BYTES)
        .max(MAX_PAGE_BYTES)
        .default(PAGE_BYTES)
        .describe("Maximum bytes per page. A page is a few bytes shorter if it would split a character."),
    }),
    success: {
      200: {
        description: "A page of the value.",
        schema: nodeValuePageSchema,
        example: { text: '"Dear Ada, ', offset: 0, next_offset: 11, size: 250_000 },
      },
    },
    async handler({ params: { run_id }, query, principal: { org_id } }, { db, blobs }) {
      const { path, member, offset, limit } = query;
      await requireRun(db, org_id, run_id);
      const row = required(await db.org(org_id, (connection) => getNodeRun(connection, run_id, path)), "node");
      const value = valueOf(row, member);
      return { status: 200, body: await readPage(blobs, value, { offset, limit }) };
    },
  }),
];

function longValuesOf({ long_values }: NodeRunDetailRow): NodeValue[] {
  return NODE_VALUES.filter((member) => long_values?.[member] !== undefined);
}
