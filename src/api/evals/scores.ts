import { z } from "zod";
import { invalid } from "../../domain/errors.ts";
import { VALUE_TYPES } from "../../domain/evals/evaluator.ts";
import { DATA_TYPES } from "../../domain/evals/evaluators/kind.ts";
import { jsonLength } from "../../domain/json.ts";
import { giveScore, requireScore } from "../../services/evals/give-score.ts";
import { hasNodeRun, requireRun } from "../../services/runs/require-run.ts";
import { SCORE_SOURCES, listScores } from "../../stores/evals/scores.ts";
import type { ApiDeps } from "../deps.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { visibleText } from "../http/text-fields.ts";
import { presentScore, scoreSchema } from "./score-presenter.ts";

const TAG = "Run scores";
const RUN_SCORES = "/v2/evals/runs/{run_id}/scores";
const SCORES = "/v2/evals/scores";
const params = z.object({ run_id: pathId("run") });
const name = visibleText(200);
const nodeId = visibleText(500).describe("A node of the run; inside an iteration its path, such as `map-0[2]/http-0`.");

/** Longest metadata, bytes of JSON. */
const MAX_METADATA_BYTES = 16 * 1024;

const createBody = z
  .strictObject({
    name: name.describe("What is scored. One name may be given any number of times."),
    data_type: z.enum(DATA_TYPES),
    value: z
      .union([z.number().min(-1_000_000_000).max(1_000_000_000), z.boolean(), visibleText(200)])
      .describe("A number if numeric, true or false if boolean, a label if categorical."),
    passed: z
      .boolean()
      .nullish()
      .describe(
        "Whether that is good enough; without it a boolean passes where it is true, and others are not judged.",
      ),
    node_id: nodeId.nullish(),
    comment: z.string().max(4000).nullish(),
    metadata: z
      .record(z.string(), z.json())
      .refine((metadata) => jsonLength(metadata) <= MAX_METADATA_BYTES, `At most ${MAX_METADATA_BYTES} bytes of JSON`)
      .default({}),
  })
  .superRefine(({ data_type, value }, context) => {
    const type = VALUE_TYPES[data_type];
    if (typeof value !== type)
      context.addIssue({ code: "custom", path: ["value"], message: `The value of a ${data_type} score is a ${type}` });
  })
  .meta({ id: "ScoreCreate" });

/** `/v2/evals/runs/{run_id}/scores` and `/v2/evals/scores`: what programs, people and evaluators say of a run. */
export function createScoreOperations({ db }: ApiDeps): Operation[] {
  return [
    defineOperation({
      id: "createRunScore",
      method: "POST",
      path: RUN_SCORES,
      tag: TAG,
      summary: "Score a run, or a node of it",
      description: "Its `source` is `human` where a signed-in user gives it, `api` where an API key does.",
      auth: "secret",
      params,
      body: createBody,
      idempotent: true,
      examples: {
        number: { name: "helpfulness", data_type: "numeric", value: 0.8, passed: true, comment: "Clear, a bit long." },
        node: { name: "grounded", data_type: "boolean", value: false, node_id: "ai-0" },
        label: { name: "tone", data_type: "categorical", value: "friendly", metadata: { round: 2 } },
      },
      success: {
        201: {
          description: "The score.",
          schema: scoreSchema,
          headers: { Location: "Its address." },
          links: { getScore: { operationId: "getScore", parameters: { score_id: "$response.body#/score_id" } } },
        },
      },
      async handler({ params: { run_id }, body, principal: { org_id, type, id }, newId }) {
        await requireRun(db, org_id, run_id);
        const { node_id = null, value } = body;
        if (node_id !== null && !(await hasNodeRun(db, org_id, run_id, node_id)))
          throw invalid(
            ["body", "node_id"],
            "The run has no record of a node of this id or path: see GET /v2/runs/{run_id}?expand=nodes",
          );
        const row = await giveScore(db, org_id, {
          ...body,
          score_id: newId(),
          run_id,
          node_id,
          passed: body.passed ?? null,
          label: typeof value === "string" ? value : null,
          comment: body.comment ?? null,
          source: type === "user" ? "human" : "api",
          author: id,
        });
        return { status: 201, body: presentScore(row), headers: { Location: `${SCORES}/${row.score_id}` } };
      },
    }),
    defineOperation({
      id: "listRunScores",
      method: "GET",
      path: RUN_SCORES,
      tag: TAG,
      summary: "List the scores of a run",
      auth: "secret",
      params,
      query: listQuery.extend({
        source: z.enum(SCORE_SOURCES).optional(),
        name: name.optional(),
        node_id: nodeId.optional(),
      }),
      problems: ["invalid_cursor", "cursor_mismatch"],
      success: { 200: { description: "A page of scores.", schema: pageOf(scoreSchema, "ScorePage") } },
      async handler({ params: { run_id }, query, principal: { org_id } }) {
        await requireRun(db, org_id, run_id);
        const search = { source: query.source ?? null, name: query.name ?? null, node_id: query.node_id ?? null };
        const page = await listPage({
          list: "scores",
          orgId: org_id,
          query,
          filters: { run_id, ...search },
          fetch: (keyset) => db.org(org_id, (connection) => listScores(connection, run_id, search, keyset)),
          idOf: (row) => row.score_id,
          present: presentScore,
        });
        return { status: 200, body: page };
      },
    }),
    defineOperation({
      id: "getScore",
      method: "GET",
      path: `${SCORES}/{score_id}`,
      tag: TAG,
      summary: "Get a score",
      auth: "secret",
      params: z.object({ score_id: pathId("score") }),
      success: { 200: { description: "The score.", schema: scoreSchema } },
      async handler({ params: { score_id }, principal: { org_id } }) {
        const row = await db.org(org_id, (connection) => requireScore(connection, score_id));
        return { status: 200, body: presentScore(row) };
      },
    }),
  ];
}
