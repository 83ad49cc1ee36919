import contentDisposition from "content-disposition";
import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import { JOB_KINDS } from "../../domain/evals/experiment.ts";
import { BlobNotFound } from "../../platform/blobs/blobs.ts";
import { requireExperiment, startJob } from "../../services/evals/experiments.ts";
import { findJob } from "../../stores/evals/experiment-jobs.ts";
import type { JobRow } from "../../stores/evals/experiment-jobs.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { jobSchema, presentJob } from "./experiment-presenter.ts";
import { EXPERIMENT, experimentParams } from "./experiments.ts";

const COMMON = { tag: "Experiments", auth: "secret" } as const;
const JOBS = `${EXPERIMENT}/jobs` as const;
const JOB = `${JOBS}/{job_id}` as const;
const params = experimentParams.extend({ job_id: pathId("job") });

const body = z
  .strictObject({
    kind: z
      .enum(JOB_KINDS)
      .describe(
        "`run` a draft; `rerun_failed`: what has failed, was cancelled or has not been run; `rerun_rows`: these rows; `score_only`: score again what has been run; " +
          "`export` into a file; `cancel` what is under way.",
      ),
    row_ids: z.array(z.uuid().toLowerCase()).min(1).max(10_000).optional().describe("Only of rerun_rows."),
    evaluator_ids: z
      .array(z.uuid().toLowerCase())
      .min(1)
      .max(50)
      .optional()
      .describe("Only of score_only; default all."),
    format: z.enum(["csv", "jsonl"]).optional().describe("Only of export; default jsonl."),
  })
  .superRefine(({ kind, row_ids, evaluator_ids, format }, context) => {
    const wrong = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    if ((kind === "rerun_rows") !== (row_ids !== undefined))
      wrong("row_ids", "They belong to rerun_rows, which needs them");
    if (evaluator_ids !== undefined && kind !== "score_only") wrong("evaluator_ids", "They belong to score_only");
    if (format !== undefined && kind !== "export") wrong("format", "It belongs to export");
  })
  .meta({ id: "ExperimentJobCreate" });

/** `/v2/evals/experiments/{experiment_id}/jobs`: what is done with an experiment. */
export function createExperimentJobOperations(deps: ApiDeps): Operation[] {
  const { db, blobs } = deps;

  async function requireJob(orgId: string, { experiment_id, job_id }: z.output<typeof params>): Promise<JobRow> {
    const job = await db.org(orgId, async (connection) => {
      await requireExperiment(connection, experiment_id);
      return await findJob(connection, job_id);
    });
    if (job?.experiment_id !== experiment_id) throw notFound("job");
    return job;
  }

  return [
    defineOperation({
      ...COMMON,
      id: "createExperimentJob",
      method: "POST",
      path: JOBS,
      summary: "Run an experiment, or do something else with it",
      description: "One job at a time, exports and cancellations apart.",
      params: experimentParams,
      body,
      idempotent: true,
      problems: ["conflict"],
      examples: {
        run: { kind: "run" },
        rows: { kind: "rerun_rows", row_ids: ["0197f0a0-0000-7000-8000-000000000000"] },
        export: { kind: "export", format: "csv" },
      },
      success: {
        202: {
          description: "The job.",
          schema: jobSchema,
          headers: { Location: "Its address." },
          links: { getExperimentJob: linkTo("getExperimentJob", ["job_id"], ["experiment_id"]) },
        },
      },
      async handler({ params: { experiment_id }, body: { kind, ...options }, principal: { org_id }, newId }) {
        const job_id = newId();
        await startJob(deps, org_id, experiment_id, { job_id, kind, options });
        const job = await requireJob(org_id, { experiment_id, job_id });
        return {
          status: 202,
          body: presentJob(job),
          headers: { Location: `/v2/evals/experiments/${experiment_id}/jobs/${job_id}` },
        };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getExperimentJob",
      method: "GET",
      path: JOB,
      summary: "Get a job of an experiment",
      description: "A job runs in the background; poll until its state is final.",
      params,
      success: { 200: { description: "The job.", schema: jobSchema } },
      async handler({ params: path, principal: { org_id } }) {
        return { status: 200, body: presentJob(await requireJob(org_id, path)) };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getExperimentJobResult",
      audit: "always",
      method: "GET",
      path: `${JOB}/result`,
      summary: "Download what an export has written",
      description: "A file in the format that the job was asked for.",
      params,
      success: {
        200: { description: "The file.", content: { "text/csv": z.string(), "application/jsonl": z.string() } },
      },
      async handler({ params: path, principal: { org_id } }) {
        const { blob_key, options, experiment_id } = await requireJob(org_id, path);
        if (blob_key === null) throw notFound("file of this job");
        const { stream, size } = await blobs.openRead(blob_key).catch((error: unknown) => {
          throw error instanceof BlobNotFound ? notFound("file of this job") : error;
        });
        const format = options.format ?? "jsonl";
        return {
          status: 200,
          type: format === "csv" ? "text/csv; charset=utf-8" : "application/jsonl; charset=utf-8",
          content: stream,
          headers: {
            "Content-Length": String(size),
            "Content-Disposition": contentDisposition(`experiment-${experiment_id}.${format}`),
          },
        };
      },
    }),
  ];
}
