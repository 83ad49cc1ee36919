import { z } from "zod";
import { SHOWN_STATES } from "../../domain/evals/experiment.ts";
import type { RowState } from "../../domain/evals/experiment.ts";
import { experimentStatus } from "../../services/evals/experiment-status.ts";
import { gatesOf, requireExperiment } from "../../services/evals/experiments.ts";
import { compareExperiments } from "../../services/evals/compare-experiments.ts";
import { listExperimentRows } from "../../stores/evals/experiment-results.ts";
import type { ApiDeps } from "../deps.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { COMPARISON, comparisonSchema, presentComparison } from "./comparison-presenter.ts";
import {
  experimentRowSchema,
  experimentStatusSchema,
  presentExperimentRow,
  presentStatus,
} from "./experiment-presenter.ts";
import { EXPERIMENT, experimentParams } from "./experiments.ts";

const COMMON = { tag: "Experiments", auth: "secret" } as const;
const OTHER = "0197f0a0-0000-7000-8000-000000000003";

const compareBody = z
  .strictObject({ with: z.uuid().toLowerCase().describe("Another experiment with the same rows.") })
  .meta({ id: "ExperimentCompare" });

/** `/v2/evals/experiments/{experiment_id}/status` and `/rows`: results so far. */
export function createExperimentResultOperations({ db, reads }: ApiDeps): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: "getExperimentStatus",
      method: "GET",
      path: `${EXPERIMENT}/status`,
      summary: "Get an experiment's progress and scores",
      description:
        "Returns the counts of rows, scores per evaluator and gate results. While it runs, scores lag by some seconds; row counts are current.",
      params: experimentParams,
      success: { 200: { description: "The status.", schema: experimentStatusSchema } },
      async handler({ params: { experiment_id }, principal: { org_id } }) {
        return await db.org(org_id, async (connection) => {
          const experiment = await requireExperiment(connection, experiment_id);
          const status = await experimentStatus(connection, experiment);
          return {
            status: 200,
            body: presentStatus(experiment, status, await gatesOf(connection, experiment, status)),
          };
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "listExperimentRows",
      method: "GET",
      path: `${EXPERIMENT}/rows`,
      summary: "List an experiment's rows",
      description:
        "Lists the rows with their runs and scores, in the order of the dataset, each once per repetition. A page of long rows can have fewer than `page_size` items; `has_more` tells whether more follow.",
      params: experimentParams,
      query: listQuery.extend({
        state: z.enum(SHOWN_STATES).optional(),
        row_id: z.uuid().toLowerCase().optional(),
      }),
      success: { 200: { description: "A page of rows.", schema: pageOf(experimentRowSchema, "ExperimentRowPage") } },
      async handler({ params: { experiment_id }, query, principal: { org_id } }) {
        await db.org(org_id, (connection) => requireExperiment(connection, experiment_id));
        const state = query.state === undefined ? null : (query.state.toLowerCase() as RowState);
        const search = { state, row_id: query.row_id ?? null };
        return listPage({
          list: "experiment-rows",
          orgId: org_id,
          query,
          filters: { experiment_id, ...search },
          fetch: (keyset) =>
            reads.org(org_id, (connection) => listExperimentRows(connection, experiment_id, search, keyset)),
          idOf: (row) => String(row.place),
          isId: (text) => /^\d{1,9}$/.test(text),
          present: presentExperimentRow,
          longRows: true,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "compareExperiments",
      audit: "never",
      method: "POST",
      path: `${EXPERIMENT}/compare`,
      summary: "Compare two experiments",
      description:
        "Compares an experiment with any other, at any time. Nothing is stored. Compares the same rows in the same repetition, if the same evaluator version has scored both. A difference is this experiment's score minus the other's.",
      // This operation only reads.
      role: "viewer",
      params: experimentParams,
      body: compareBody,
      examples: { before: { with: OTHER } },
      success: { 200: { description: "The comparison.", schema: comparisonSchema, example: COMPARISON } },
      async handler({ params: { experiment_id }, body, principal: { org_id } }) {
        return await db.org(org_id, async (connection) => {
          const experiment = await requireExperiment(connection, experiment_id);
          const other = await requireExperiment(connection, body.with);
          const compared = await compareExperiments(connection, experiment, other);
          return { status: 200, body: presentComparison(experiment, other, compared) };
        });
      },
    }),
  ];
}
