import { z } from "zod";
import { invalid } from "../../domain/errors.ts";
import { VALUE_TYPES, scoreMetadataSchema, scoreResultSchema } from "../../domain/evals/score-result.ts";
import { DATA_TYPES } from "../../domain/evals/evaluators/kind.ts";
import { patchOf } from "../../domain/patch.ts";
import { timeText } from "../../domain/timestamps.ts";
import { auditAs } from "../../services/audit/audit.ts";
import { changeScore, deleteScore } from "../../services/evals/correct-score.ts";
import { giveScore, requireScore } from "../../services/evals/give-score.ts";
import { hasNodeRun, requireRun } from "../../services/runs/require-run.ts";
import { SCORE_SOURCES, listScores, type ScoreRow } from "../../stores/evals/scores.ts";
import { stated } from "../../services/change.ts";
import { ETAG, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linksTo } from "../http/operation.ts";
import { asDeclared, givenId, named, namedStrict, pathId, visibleText } from "../http/schemas.ts";

const { value, passed, error } = scoreResultSchema.shape;

const scoreSchema = named("Score", {
  score_id: z.uuid(),
  run_id: z.uuid(),
  node_id: z.string().nullable().describe("The scored node; `null` means the whole run."),
  name: z.string(),
  data_type: z.enum(DATA_TYPES),
  value,
  passed,
  comment: z.string().nullable().describe("Reason for the score in words; for an evaluator, its reasoning."),
  error,
  source: z
    .enum(SCORE_SOURCES)
    .describe("`human`: a signed-in user; `api`: an API key or feedback; `evaluator`: an evaluator."),
  evaluator_id: z.uuid().nullable(),
  evaluator_version: z.int().nullable(),
  experiment_id: z.uuid().nullable(),
  monitor_id: z.uuid().nullable(),
  author: z.uuid().nullable().describe("ID of the user or API key."),
  metadata: z.record(z.string(), z.unknown()),
  corrected: z
    .object({
      by: z.uuid().describe("ID of the user or API key, like `author`."),
      at: z.iso.datetime(),
      value,
      passed,
      comment: z.string().nullable(),
      error,
    })
    .nullable()
    .describe("The value before the first correction, and who corrected it last."),
  created_at: z.iso.datetime(),
});

function presentScore(row: ScoreRow): z.infer<typeof scoreSchema> {
  return asDeclared(scoreSchema, row);
}

/** Example: a judge's score that a person corrected. */
const CORRECTED: z.infer<typeof scoreSchema> = {
  score_id: "0197f0a0-0000-7000-8000-000000000008",
  run_id: "0197f0a0-0000-7000-8000-000000000006",
  node_id: null,
  name: "right",
  data_type: "numeric",
  value: 0.2,
  passed: false,
  comment: "It names a shop that has closed.",
  error: null,
  source: "evaluator",
  evaluator_id: "0197f0a0-0000-7000-8000-000000000002",
  evaluator_version: 1,
  experiment_id: "0197f0a0-0000-7000-8000-000000000004",
  monitor_id: null,
  author: null,
  metadata: {},
  corrected: {
    by: "0197f0a0-0000-7000-8000-000000000009",
    at: "2026-01-31T09:30:00.000Z",
    value: 0.9,
    passed: true,
    comment: "The answer names a shop.",
    error: null,
  },
  created_at: "2026-01-30T08:00:00.000Z",
};

const RUN_SCORES = "/v2/evals/runs/{run_id}/scores";
const SCORES = "/v2/evals/scores";
const SCORE = `${SCORES}/{score_id}` as const;
const params = z.object({ run_id: pathId("run") });
const name = visibleText(200);
const nodeId = visibleText(500).describe(
  "Path of a node of the run, such as `http-0`, or `map-0[2]/http-0` inside an iteration.",
);

const members = {
  value: z
    .union([z.number().min(-1_000_000_000).max(1_000_000_000), z.boolean(), visibleText(200)])
    .describe("A number for numeric, true or false for boolean, a label for categorical scores."),
  comment: z.string().max(4000).nullish(),
  metadata: scoreMetadataSchema,
};
const createBody = z
  .strictObject({
    name: name.describe("Name of the score. Several scores can share a name."),
    data_type: z.enum(DATA_TYPES),
    value: members.value,
    passed: z
      .boolean()
      .nullish()
      .describe(
        "Whether the score passes. If omitted, a boolean passes if it is true; other values neither pass nor fail.",
      ),
    node_id: nodeId.nullish(),
    comment: members.comment,
    metadata: members.metadata.default({}),
  })
  .superRefine(({ data_type, value }, context) => {
    const type = VALUE_TYPES[data_type];
    if (typeof value !== type)
      context.addIssue({
        code: "custom",
        path: ["value"],
        message: `The value of a ${data_type} score must be a ${type}`,
      });
  })
  .meta({ id: "ScoreCreate" });

const changeBody = namedStrict("ScoreChange", {
  value: members.value.optional(),
  passed: z
    .boolean()
    .nullish()
    .describe(
      "Whether the score passes. If omitted, it follows from the value, using the evaluator's threshold for evaluator scores.",
    ),
  comment: members.comment,
  metadata: patchOf(scoreMetadataSchema).optional(),
});
const scoreParams = z.object({ score_id: pathId("score") });
const anId = givenId.optional();
const searchQuery = listQuery.extend({
  run_id: anId,
  project_id: anId.describe("Only scores of the project's runs."),
  node_id: nodeId.optional(),
  name: name.optional(),
  source: z.enum(SCORE_SOURCES).optional(),
  evaluator_id: anId,
  experiment_id: anId.describe("Only scores that were first made for this experiment or monitor."),
  monitor_id: anId.describe("Only scores that were first made for this experiment or monitor."),
  passed: z.boolean().optional(),
  corrected: z.boolean().optional(),
  created_after: timeText.optional(),
  created_before: timeText.optional(),
});
const auditOf = auditAs("score", presentScore);

const toResponse = (row: ScoreRow) => tagged(presentScore(row), revisionTag(row.revision));

const define = operationsOf({ tag: "Run scores", auth: "secret" });

/** `/v2/evals/runs/{run_id}/scores` and `/v2/evals/scores`: scores of runs by programs, people and evaluators. */
export const scoreOperations = [
  define({
    id: "createRunScore",
    route: `POST ${RUN_SCORES}`,
    summary: "Score a run or a node",
    description:
      "Stores a score for a run or one of its nodes. `source` is `human` for a signed-in user and `api` for an API key.",
    params,
    body: createBody,
    idempotent: true,
    examples: {
      number: { name: "helpfulness", data_type: "numeric", value: 0.8, passed: true, comment: "Clear, a bit long." },
      node: { name: "grounded", data_type: "boolean", value: false, node_id: "ai-0" },
      label: { name: "tone", data_type: "categorical", value: "friendly", metadata: { round: 2 } },
    },
    success: { 201: created("The score.", scoreSchema, linksTo("getScore", ["score_id"])) },
    async handler({ params: { run_id }, body, principal: { org_id, type, id }, newId, audit }, { db }) {
      await requireRun(db, org_id, run_id);
      const { node_id = null, value } = body;
      if (node_id !== null && !(await hasNodeRun(db, org_id, run_id, node_id)))
        throw invalid(
          ["body", "node_id"],
          "The run has no record of a node with this ID or path: see GET /v2/runs/{run_id}?expand=nodes",
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
  define({
    id: "listRunScores",
    route: `GET ${RUN_SCORES}`,
    summary: "List a run's scores",
    description: "Lists scores from evaluators, people and the API, newest first.",
    params,
    query: listQuery.extend({
      source: z.enum(SCORE_SOURCES).optional(),
      name: name.optional(),
      node_id: nodeId.optional(),
    }),
    success: { 200: { description: "A page of scores.", schema: pageOf(scoreSchema) } },
    async handler({ params: { run_id }, query, principal: { org_id } }, { db, reads }) {
      await requireRun(db, org_id, run_id);
      const search = { source: query.source ?? null, name: query.name ?? null, node_id: query.node_id ?? null };
      return listPage("scores", org_id, query, {
        filters: { run_id, ...search },
        fetch: (keyset) => reads.org(org_id, (connection) => listScores(connection, { run_id, ...search }, keyset)),
        idOf: (row) => row.score_id,
        present: presentScore,
      });
    },
  }),
  define({
    id: "listScores",
    route: `GET ${SCORES}`,
    summary: "List scores across runs",
    description: "Lists all scores, or the ones of a project, evaluator, experiment or monitor, newest first.",
    query: searchQuery,
    success: {
      200: {
        description: "A page of scores.",
        schema: pageOf(scoreSchema),
        example: { data: [CORRECTED], cursor: null, has_more: false },
      },
    },
    async handler({ query, principal: { org_id } }, { reads }) {
      const { page_size: _size, cursor: _cursor, direction: _direction, order: _order, ...search } = query;
      return listPage("all-scores", org_id, query, {
        filters: search,
        fetch: (keyset) => reads.org(org_id, (connection) => listScores(connection, stated(search), keyset)),
        idOf: (row) => row.score_id,
        present: presentScore,
      });
    },
  }),
  define({
    id: "getScore",
    route: `GET ${SCORE}`,
    summary: "Get a score",
    description: "Returns the score and who or what gave it.",
    params: scoreParams,
    success: { 200: { description: "The score.", schema: scoreSchema, headers: ETAG } },
    async handler({ params: { score_id }, principal: { org_id } }, { db }) {
      return toResponse(await db.org(org_id, (connection) => requireScore(connection, score_id)));
    },
  }),
  define({
    id: "changeScore",
    route: `PATCH ${SCORE}`,
    summary: "Correct a score",
    description:
      "Changes the value of any score, including evaluator scores. `corrected` keeps the first value, and scoring the run again does not overwrite the correction. Statistics, comparisons and the experiment's verdict are updated.",
    params: scoreParams,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: {
      judge: { value: 0.2, comment: "It names a shop that has closed." },
      verdict: { passed: true },
    },
    success: { 200: { description: "The updated score.", schema: scoreSchema, headers: ETAG, example: CORRECTED } },
    async handler({ params: { score_id }, headers, body, principal: { org_id, id }, audit }, { db }) {
      const row = await changeScore(db, org_id, score_id, body, id, matchesRevision(headers), auditOf(audit, score_id));
      return toResponse(row);
    },
  }),
  define({
    id: "deleteScore",
    route: `DELETE ${SCORE}`,
    summary: "Delete a score",
    description:
      "Deletes a score given by a person or a program. Evaluator scores cannot be deleted; correct them instead.",
    params: scoreParams,
    problems: ["conflict"],
    success: { 204: { description: "Deleted." } },
    handler: ({ params: { score_id }, principal: { org_id }, audit }, { db }) =>
      deleteScore(db, org_id, score_id, auditOf(audit, score_id)),
  }),
];
