import { z } from "zod";
import { invalid } from "../../domain/errors.ts";
import { VALUE_TYPES } from "../../domain/evals/evaluator.ts";
import { DATA_TYPES } from "../../domain/evals/evaluators/kind.ts";
import { jsonLength } from "../../domain/json.ts";
import { timeText } from "../../domain/timestamps.ts";
import { auditAs } from "../../services/audit/audit.ts";
import { changeScore, deleteScore } from "../../services/evals/correct-score.ts";
import { giveScore, requireScore } from "../../services/evals/give-score.ts";
import { hasNodeRun, requireRun } from "../../services/runs/require-run.ts";
import { SCORE_SOURCES, listScores } from "../../stores/evals/scores.ts";
import type { ScoreRow } from "../../stores/evals/scores.ts";
import { stated } from "../../services/change.ts";
import type { ApiDeps } from "../deps.ts";
import { ETAG, ifMatchHeaders, requireMatch, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { visibleText } from "../http/text-fields.ts";
import { CORRECTED, presentScore, scoreSchema } from "./score-presenter.ts";

const COMMON = { tag: "Run scores", auth: "secret" } as const;
const RUN_SCORES = "/v2/evals/runs/{run_id}/scores";
const SCORES = "/v2/evals/scores";
const SCORE = `${SCORES}/{score_id}` as const;
const params = z.object({ run_id: pathId("run") });
const name = visibleText(200);
const nodeId = visibleText(500).describe("A node of the run; inside an iteration its path, such as `map-0[2]/http-0`.");

/** Longest metadata, bytes of JSON. */
const MAX_METADATA_BYTES = 16 * 1024;

const members = {
  value: z
    .union([z.number().min(-1_000_000_000).max(1_000_000_000), z.boolean(), visibleText(200)])
    .describe("A number if numeric, true or false if boolean, a label if categorical."),
  comment: z.string().max(4000).nullish(),
  metadata: z
    .record(z.string(), z.json())
    .refine((metadata) => jsonLength(metadata) <= MAX_METADATA_BYTES, `At most ${MAX_METADATA_BYTES} bytes of JSON`),
};
const createBody = z
  .strictObject({
    name: name.describe("The name of the score. Scores may share a name."),
    data_type: z.enum(DATA_TYPES),
    value: members.value,
    passed: z
      .boolean()
      .nullish()
      .describe(
        "Whether that is good enough; without it a boolean passes where it is true, and others are not judged.",
      ),
    node_id: nodeId.nullish(),
    comment: members.comment,
    metadata: members.metadata.default({}),
  })
  .superRefine(({ data_type, value }, context) => {
    const type = VALUE_TYPES[data_type];
    if (typeof value !== type)
      context.addIssue({ code: "custom", path: ["value"], message: `The value of a ${data_type} score is a ${type}` });
  })
  .meta({ id: "ScoreCreate" });

const changeBody = z
  .strictObject({
    value: members.value.optional(),
    passed: z
      .boolean()
      .nullish()
      .describe("Left out, it follows from the value, by the evaluator's threshold where one has given the score."),
    comment: members.comment,
    metadata: members.metadata.optional(),
  })
  .meta({ id: "ScoreChange" });
const scoreParams = z.object({ score_id: pathId("score") });
const anId = z.uuid().toLowerCase().optional();
const searchQuery = listQuery.extend({
  run_id: anId,
  project_id: anId.describe("Of its runs."),
  node_id: nodeId.optional(),
  name: name.optional(),
  source: z.enum(SCORE_SOURCES).optional(),
  evaluator_id: anId,
  experiment_id: anId.describe("That has had the score made first."),
  monitor_id: anId.describe("That has had the score made first."),
  passed: z.boolean().optional(),
  corrected: z.boolean().optional(),
  created_after: timeText.optional(),
  created_before: timeText.optional(),
});
const auditOf = auditAs("score", presentScore);

/** `/v2/evals/runs/{run_id}/scores` and `/v2/evals/scores`: what programs, people and evaluators say of a run. */
export function createScoreOperations({ db, reads }: ApiDeps): Operation[] {
  const toResponse = (row: ScoreRow) => tagged(presentScore(row), revisionTag(row.revision));
  return [
    defineOperation({
      ...COMMON,
      id: "createRunScore",
      method: "POST",
      path: RUN_SCORES,
      summary: "Score a run, or a node of it",
      description: "Its `source` is `human` where a signed-in user gives it, `api` where an API key does.",
      params,
      body: createBody,
      idempotent: true,
      examples: {
        number: { name: "helpfulness", data_type: "numeric", value: 0.8, passed: true, comment: "Clear, a bit long." },
        node: { name: "grounded", data_type: "boolean", value: false, node_id: "ai-0" },
        label: { name: "tone", data_type: "categorical", value: "friendly", metadata: { round: 2 } },
      },
      exactNumbers: true,
      success: {
        201: {
          description: "The score.",
          schema: scoreSchema,
          headers: { Location: "Its address." },
          links: { getScore: linkTo("getScore", ["score_id"]) },
        },
      },
      async handler({ params: { run_id }, body, principal: { org_id, type, id }, newId, audit }) {
        await requireRun(db, org_id, run_id);
        const { node_id = null, value } = body;
        if (node_id !== null && !(await hasNodeRun(db, org_id, run_id, node_id)))
          throw invalid(
            ["body", "node_id"],
            "The run has no record of a node of this id or path: see GET /v2/runs/{run_id}?expand=nodes",
          );
        const score_id = newId();
        const score = {
          ...body,
          score_id,
          run_id,
          node_id,
          passed: body.passed ?? null,
          label: typeof value === "string" ? value : null,
          comment: body.comment ?? null,
          source: type === "user" ? ("human" as const) : ("api" as const),
          author: id,
        };
        const row = await giveScore(db, org_id, score, auditOf(audit, score_id));
        return { status: 201, body: presentScore(row), headers: { Location: `${SCORES}/${row.score_id}` } };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "listRunScores",
      method: "GET",
      path: RUN_SCORES,
      summary: "List the scores of a run",
      description: "Newest first: of evaluators, of people and of the API.",
      params,
      query: listQuery.extend({
        source: z.enum(SCORE_SOURCES).optional(),
        name: name.optional(),
        node_id: nodeId.optional(),
      }),
      success: { 200: { description: "A page of scores.", schema: pageOf(scoreSchema, "ScorePage") } },
      async handler({ params: { run_id }, query, principal: { org_id } }) {
        await requireRun(db, org_id, run_id);
        const search = { source: query.source ?? null, name: query.name ?? null, node_id: query.node_id ?? null };
        return listPage({
          list: "scores",
          orgId: org_id,
          query,
          filters: { run_id, ...search },
          fetch: (keyset) => reads.org(org_id, (connection) => listScores(connection, { run_id, ...search }, keyset)),
          idOf: (row) => row.score_id,
          present: presentScore,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "listScores",
      method: "GET",
      path: SCORES,
      summary: "List scores across runs",
      description: "The newest first: of a project, an evaluator, an experiment, a monitor, or all there are.",
      query: searchQuery,
      success: {
        200: {
          description: "A page of scores.",
          schema: pageOf(scoreSchema, "ScorePage"),
          example: { data: [CORRECTED], cursor: null, has_more: false },
        },
      },
      async handler({ query, principal: { org_id } }) {
        const { page_size: _size, cursor: _cursor, direction: _direction, order: _order, ...search } = query;
        return listPage({
          list: "all-scores",
          orgId: org_id,
          query,
          filters: search,
          fetch: (keyset) => reads.org(org_id, (connection) => listScores(connection, stated(search), keyset)),
          idOf: (row) => row.score_id,
          present: presentScore,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getScore",
      method: "GET",
      path: SCORE,
      summary: "Get a score",
      description: "With who or what gave it.",
      params: scoreParams,
      success: { 200: { description: "The score.", schema: scoreSchema, headers: ETAG } },
      async handler({ params: { score_id }, principal: { org_id } }) {
        return toResponse(await db.org(org_id, (connection) => requireScore(connection, score_id)));
      },
    }),
    defineOperation({
      ...COMMON,
      id: "changeScore",
      method: "PATCH",
      path: SCORE,
      summary: "Correct a score",
      description:
        "Works for every score, also for those of evaluators: `corrected` keeps the first value, and the score stays corrected when the run is scored again. Statistics, comparisons and the verdict of its experiment follow.",
      params: scoreParams,
      headers: ifMatchHeaders,
      body: changeBody,
      examples: {
        judge: { value: 0.2, comment: "It names a shop that has closed." },
        verdict: { passed: true },
      },
      exactNumbers: true,
      success: {
        200: { description: "The score as it is now.", schema: scoreSchema, headers: ETAG, example: CORRECTED },
      },
      async handler({ params: { score_id }, headers, body, principal: { org_id, id }, audit }) {
        const row = await changeScore(
          db,
          org_id,
          score_id,
          body,
          id,
          (found) => requireMatch(headers["if-match"], revisionTag(found.revision)),
          auditOf(audit, score_id),
        );
        return toResponse(row);
      },
    }),
    defineOperation({
      ...COMMON,
      id: "deleteScore",
      method: "DELETE",
      path: SCORE,
      summary: "Delete a score",
      description: "That a program or a person has given. One of an evaluator can be corrected.",
      params: scoreParams,
      problems: ["conflict"],
      success: { 204: { description: "It is gone." } },
      async handler({ params: { score_id }, principal: { org_id }, audit }) {
        await deleteScore(db, org_id, score_id, auditOf(audit, score_id));
        return { status: 204 };
      },
    }),
  ];
}
