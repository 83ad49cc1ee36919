import { z } from "zod";
import { EXPERIMENT_STATES, VERDICTS, gateSchema, unscoredCount } from "../../domain/evals/experiment.ts";
import {
  changeExperiment,
  createExperiment,
  deleteExperiment,
  requireExperiment,
} from "../../services/evals/experiments.ts";
import { patchOf } from "../../domain/patch.ts";
import { auditAs } from "../../services/audit/audit.ts";
import { listExperiments, type ExperimentRow } from "../../stores/evals/experiments.ts";
import { ETAG, asCreated, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linksTo } from "../http/operation.ts";
import { asDeclared, givenId as id, named, namedStrict, pathId } from "../http/schemas.ts";

export const problem = z.object({ code: z.string(), message: z.string() }).nullable();

const budget = z.object({ max_cost_usd: z.number().nullable() }).nullable();

const experimentSchema = named("Experiment", {
  experiment_id: z.uuid(),
  name: z.string(),
  description: z.string(),
  project_id: z.uuid(),
  flow_version: z.int().describe("The pinned version."),
  dataset_id: z.uuid(),
  dataset_version: z.int().describe("The pinned version."),
  splits: z.array(z.string()).nullable().describe("Splits whose rows are run; `null` means all rows."),
  evaluator_ids: z.array(z.uuid()),
  evaluators: z
    .array(z.object({ evaluator_id: z.uuid(), version: z.int() }))
    .describe("The pinned evaluator versions."),
  repetitions: z.int(),
  max_concurrency: z.int(),
  baseline_experiment_id: z.uuid().nullable(),
  gates: z.array(gateSchema),
  budget,
  state: z.enum(EXPERIMENT_STATES),
  verdict: z
    .enum(VERDICTS)
    .nullable()
    .describe("The verdict of the gates; `null` without gates, or before the experiment has finished."),
  unscored: unscoredCount
    .nullable()
    .describe(
      "Number of expected scores that are missing from the verdict; `null` before the experiment has finished.",
    ),
  error: problem,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  started_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
});

export type ExperimentView = z.infer<typeof experimentSchema>;

function presentExperiment(row: ExperimentRow): ExperimentView {
  return asDeclared(experimentSchema, {
    ...row,
    evaluator_ids: row.evaluators.map(({ evaluator_id }) => evaluator_id),
    budget: row.max_cost_usd === null ? null : { max_cost_usd: row.max_cost_usd },
    unscored: row.result?.scores.unscored ?? null,
  });
}

const EXPERIMENTS = "/v2/evals/experiments";
export const EXPERIMENT = `${EXPERIMENTS}/{experiment_id}` as const;
export const experimentParams = z.object({ experiment_id: pathId("experiment") });

const members = {
  name: z.string().trim().min(1).max(200),
  description: z.string().max(10_000),
  project_id: id,
  flow_version: z.int().min(-1).max(2_147_483_647).describe("Version to pin; -1 pins the currently published version."),
  dataset_id: id,
  dataset_version: z
    .int()
    .min(0)
    .max(2_147_483_647)
    .optional()
    .describe("Dataset version to pin. Default: the current version."),
  splits: z
    .array(z.string().min(1).max(100))
    .min(1)
    .max(50)
    .nullable()
    .describe("Only rows of these splits; `null` means all rows."),
  evaluator_ids: z.array(id).max(50).describe("Evaluators to use; their current versions are pinned."),
  repetitions: z.int().min(1).max(100),
  max_concurrency: z.int().min(1).max(1000).describe("Number of runs at the same time."),
  baseline_experiment_id: id.nullable(),
  gates: z.array(gateSchema).max(50),
  budget: z
    .strictObject({ max_cost_usd: z.number().min(0) })
    .nullable()
    .describe("Once the budget is spent, no more rows start and the experiment finishes as PARTIAL."),
};
const createBody = namedStrict("ExperimentCreate", {
  ...members,
  description: members.description.default(""),
  flow_version: members.flow_version.default(-1),
  splits: members.splits.default(null),
  evaluator_ids: members.evaluator_ids.default([]),
  repetitions: members.repetitions.default(1),
  max_concurrency: members.max_concurrency.default(10),
  baseline_experiment_id: members.baseline_experiment_id.default(null),
  gates: members.gates.default([]),
  budget: members.budget.default(null),
});
const changeBody = z
  .strictObject({ ...members, budget: patchOf(members.budget).nullable() })
  .partial()
  .meta({ id: "ExperimentChange" });

const EXAMPLE = {
  name: "Version 4 on the golden questions",
  project_id: "0197f0a0-0000-7000-8000-000000000000",
  dataset_id: "0197f0a0-0000-7000-8000-000000000001",
};

const auditOf = auditAs("experiment", presentExperiment);

const toResponse = (row: ExperimentRow) => tagged(presentExperiment(row), revisionTag(row.revision));

export const define = operationsOf({ tag: "Experiments", auth: "secret" });

/** `/v2/evals/experiments`: run a flow on every row of a dataset and score the outputs. */
export const experimentOperations = [
  define({
    id: "listExperiments",
    route: `GET ${EXPERIMENTS}`,
    summary: "List experiments",
    description: "Lists experiments, newest first, with their states and verdicts.",
    query: listQuery.extend({
      project_id: id.optional(),
      dataset_id: id.optional(),
      state: z.enum(EXPERIMENT_STATES).optional(),
    }),
    success: { 200: { description: "A page of experiments.", schema: pageOf(experimentSchema) } },
    async handler({ query, principal: { org_id } }, { reads }) {
      const { project_id = null, dataset_id = null, state = null } = query;
      const search = { project_id, dataset_id, state };
      return listPage("experiments", org_id, query, {
        filters: search,
        fetch: (keyset) => reads.org(org_id, (connection) => listExperiments(connection, search, keyset)),
        idOf: (row) => row.experiment_id,
        present: presentExperiment,
      });
    },
  }),
  define({
    id: "createExperiment",
    route: `POST ${EXPERIMENTS}`,
    summary: "Create an experiment",
    description: "Creates a draft that pins the flow, dataset and evaluator versions. Start it with a `run` job.",
    body: createBody,
    idempotent: true,
    problems: ["not_found"],
    examples: {
      plain: EXAMPLE,
      gated: {
        ...EXAMPLE,
        evaluator_ids: ["0197f0a0-0000-7000-8000-000000000002"],
        baseline_experiment_id: "0197f0a0-0000-7000-8000-000000000003",
        gates: [
          { metric: "error_rate", op: "lte", value: 0.01 },
          {
            metric: "mean",
            evaluator_id: "0197f0a0-0000-7000-8000-000000000002",
            op: "gte",
            value: -0.02,
            vs: "baseline",
          },
        ],
        budget: { max_cost_usd: 5 },
      },
    },
    success: { 201: created("The experiment.", experimentSchema, linksTo("getExperiment", ["experiment_id"]), ETAG) },
    async handler({ body: { budget, ...request }, principal: { org_id }, newId, audit }, deps) {
      const experimentId = newId();
      const row = await createExperiment(
        deps,
        org_id,
        experimentId,
        { ...request, max_cost_usd: budget?.max_cost_usd ?? null },
        auditOf(audit, experimentId),
      );
      return asCreated(toResponse(row), `${EXPERIMENTS}/${experimentId}`);
    },
  }),
  define({
    id: "getExperiment",
    route: `GET ${EXPERIMENT}`,
    summary: "Get an experiment",
    description: "Returns the experiment with the versions it pins. `GET .../status` returns its progress.",
    params: experimentParams,
    success: { 200: { description: "The experiment.", schema: experimentSchema, headers: ETAG } },
    async handler({ params: { experiment_id }, principal: { org_id } }, { db }) {
      return toResponse(await db.org(org_id, (connection) => requireExperiment(connection, experiment_id)));
    },
  }),
  define({
    id: "changeExperiment",
    route: `PATCH ${EXPERIMENT}`,
    summary: "Change an experiment",
    description:
      "Changes an experiment; omitted fields keep their values. In a draft every field can be changed; any change beyond name, description and gates pins the current evaluator versions again. After the draft only name, description and gates can be changed; new gates give a new verdict.",
    params: experimentParams,
    headers: ifMatchHeaders,
    body: changeBody,
    problems: ["conflict"],
    examples: { gates: { gates: [{ metric: "error_rate", op: "lte", value: 0 }] }, rename: { name: "Version 5" } },
    success: { 200: { description: "The updated experiment.", schema: experimentSchema, headers: ETAG } },
    async handler({ params: { experiment_id }, headers, body, principal: { org_id }, audit }, deps) {
      const { budget, ...change } = body;
      const max_cost_usd = budget === null ? null : budget?.max_cost_usd;
      const row = await changeExperiment(
        deps,
        org_id,
        experiment_id,
        { ...change, max_cost_usd },
        matchesRevision(headers),
        auditOf(audit, experiment_id),
      );
      return toResponse(row);
    },
  }),
  define({
    id: "deleteExperiment",
    route: `DELETE ${EXPERIMENT}`,
    summary: "Delete an experiment",
    description:
      "Deletes an experiment with its rows and the scores made for them; its runs are kept. Returns 409 if it is queued or running (cancel it first), or if another experiment uses it as its baseline.",
    params: experimentParams,
    problems: ["conflict", "in_use"],
    success: { 204: { description: "Deleted." } },
    handler: ({ params: { experiment_id }, principal: { org_id }, audit }, deps) =>
      deleteExperiment(deps, org_id, experiment_id, auditOf(audit, experiment_id)),
  }),
];
