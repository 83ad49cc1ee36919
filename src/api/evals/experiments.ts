import { z } from "zod";
import { EXPERIMENT_STATES, gateSchema } from "../../domain/evals/experiment.ts";
import {
  changeExperiment,
  createExperiment,
  deleteExperiment,
  requireExperiment,
} from "../../services/evals/experiments.ts";
import { auditAs } from "../../services/audit/audit.ts";
import { listExperiments } from "../../stores/evals/experiments.ts";
import type { ExperimentRow } from "../../stores/evals/experiments.ts";
import type { ApiDeps } from "../deps.ts";
import { ETAG, asCreated, ifMatchHeaders, requireMatch, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { experimentSchema, presentExperiment } from "./experiment-presenter.ts";

const COMMON = { tag: "Experiments", auth: "secret" } as const;
const EXPERIMENTS = "/v2/evals/experiments";
export const EXPERIMENT = `${EXPERIMENTS}/{experiment_id}` as const;
export const experimentParams = z.object({ experiment_id: pathId("experiment") });

const id = z.uuid().toLowerCase();
const members = {
  name: z.string().trim().min(1).max(200),
  description: z.string().max(10_000),
  project_id: id,
  flow_version: z.int().min(-1).max(2_147_483_647).describe("-1: the one that is published now. It is pinned."),
  dataset_id: id,
  dataset_version: z.int().min(0).max(2_147_483_647).optional().describe("Default: the present one. It is pinned."),
  splits: z.array(z.string().min(1).max(100)).min(1).max(50).nullable().describe("Only rows of these; null: all."),
  evaluator_ids: z.array(id).max(50).describe("Their present versions are pinned."),
  repetitions: z.int().min(1).max(100),
  max_concurrency: z.int().min(1).max(1000).describe("Runs under way at once."),
  baseline_experiment_id: id.nullable(),
  gates: z.array(gateSchema).max(50),
  budget: z
    .strictObject({ max_cost_usd: z.number().min(0) })
    .nullable()
    .describe("Once it is spent no more rows start: the experiment ends as PARTIAL."),
};
const createBody = z
  .strictObject({
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
  })
  .meta({ id: "ExperimentCreate" });
const changeBody = z.strictObject(members).partial().meta({ id: "ExperimentChange" });

const EXAMPLE = {
  name: "Version 4 on the golden questions",
  project_id: "0197f0a0-0000-7000-8000-000000000000",
  dataset_id: "0197f0a0-0000-7000-8000-000000000001",
};

const auditOf = auditAs("experiment", presentExperiment);

/** `/v2/evals/experiments`: a flow on every row of a dataset, scored. */
export function createExperimentOperations(deps: ApiDeps): Operation[] {
  const { db, reads } = deps;
  const toResponse = (row: ExperimentRow) => tagged(presentExperiment(row), revisionTag(row.revision));

  return [
    defineOperation({
      ...COMMON,
      id: "listExperiments",
      method: "GET",
      path: EXPERIMENTS,
      summary: "List experiments",
      description: "Newest first, with their states and verdicts.",
      query: listQuery.extend({
        project_id: id.optional(),
        dataset_id: id.optional(),
        state: z.enum(EXPERIMENT_STATES).optional(),
      }),
      success: { 200: { description: "A page of experiments.", schema: pageOf(experimentSchema, "ExperimentPage") } },
      async handler({ query, principal: { org_id } }) {
        const { project_id = null, dataset_id = null, state = null } = query;
        const search = { project_id, dataset_id, state };
        return listPage({
          list: "experiments",
          orgId: org_id,
          query,
          filters: search,
          fetch: (keyset) => reads.org(org_id, (connection) => listExperiments(connection, search, keyset)),
          idOf: (row) => row.experiment_id,
          present: presentExperiment,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "createExperiment",
      method: "POST",
      path: EXPERIMENTS,
      summary: "Create an experiment",
      description: "A draft, which pins the versions of flow, dataset and evaluators. A job of kind `run` starts it.",
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
      success: {
        201: {
          description: "The experiment.",
          schema: experimentSchema,
          headers: { Location: "Its address.", ...ETAG },
          links: { getExperiment: linkTo("getExperiment", ["experiment_id"]) },
        },
      },
      async handler({ body: { budget, ...request }, principal: { org_id }, newId, audit }) {
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
    defineOperation({
      ...COMMON,
      id: "getExperiment",
      method: "GET",
      path: EXPERIMENT,
      summary: "Get an experiment",
      description: "With what it pins: versions of flow, dataset and evaluators. `GET .../status` has its progress.",
      params: experimentParams,
      success: { 200: { description: "The experiment.", schema: experimentSchema, headers: ETAG } },
      async handler({ params: { experiment_id }, principal: { org_id } }) {
        return toResponse(await db.org(org_id, (connection) => requireExperiment(connection, experiment_id)));
      },
    }),
    defineOperation({
      ...COMMON,
      id: "changeExperiment",
      method: "PATCH",
      path: EXPERIMENT,
      summary: "Change an experiment",
      description:
        "A draft in everything; its evaluators are pinned anew. Once it is no longer a draft only name, description and gates: other gates give another verdict.",
      params: experimentParams,
      headers: ifMatchHeaders,
      body: changeBody,
      problems: ["conflict"],
      examples: { gates: { gates: [{ metric: "error_rate", op: "lte", value: 0 }] }, rename: { name: "Version 5" } },
      success: { 200: { description: "The experiment as it is now.", schema: experimentSchema, headers: ETAG } },
      async handler({ params: { experiment_id }, headers, body: { budget, ...change }, principal: { org_id }, audit }) {
        const max_cost_usd = budget === undefined ? undefined : (budget?.max_cost_usd ?? null);
        const row = await changeExperiment(
          deps,
          org_id,
          experiment_id,
          { ...change, max_cost_usd },
          (found) => requireMatch(headers["if-match"], revisionTag(found.revision)),
          auditOf(audit, experiment_id),
        );
        return toResponse(row);
      },
    }),
    defineOperation({
      ...COMMON,
      id: "deleteExperiment",
      method: "DELETE",
      path: EXPERIMENT,
      summary: "Delete an experiment",
      description:
        "Also deletes its rows and the scores made for them; its runs stay. An experiment under way is cancelled first; the baseline of another one cannot be deleted.",
      params: experimentParams,
      problems: ["conflict", "in_use"],
      success: { 204: { description: "It is gone." } },
      async handler({ params: { experiment_id }, principal: { org_id }, audit }) {
        await deleteExperiment(deps, org_id, experiment_id, auditOf(audit, experiment_id));
        return { status: 204 };
      },
    }),
  ];
}
