import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import { JOB_KINDS, SHOWN_STATES, publicState } from "../../domain/evals/experiment.ts";
import { BlobNotFound } from "../../platform/blobs/blobs.ts";
import { requireExperiment, startJob } from "../../services/evals/experiments.ts";
import type { Database } from "../../stores/db.ts";
import { findJob, type JobRow } from "../../stores/evals/experiment-jobs.ts";
import { fileNameHeader } from "../http/file-name-header.ts";
import { created, linksTo } from "../http/operation.ts";
import { asDeclared, givenId, named, pathId } from "../http/schemas.ts";
import { EXPERIMENT, experimentParams, define } from "./experiments.ts";

const jobSchema = named("ExperimentJob", {
  job_id: z.uuid(),
  experiment_id: z.uuid(),
  kind: z.enum(JOB_KINDS),
  state: z.enum(SHOWN_STATES),
  progress: z.object({ done: z.int(), total: z.int() }),
  counts: z.object({ rows: z.int() }),
  errors: z.array(z.object({ code: z.string(), message: z.string() })),
  result_url: z.string().nullable().describe("URL of the exported file."),
  created_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
});

function presentJob(job: JobRow): z.infer<typeof jobSchema> {
  const path = `/v2/evals/experiments/${job.experiment_id}/jobs/${job.job_id}/result`;
  return asDeclared(jobSchema, {
    ...job,
    state: publicState(job.state),
    progress: { done: job.done, total: job.total },
    counts: { rows: job.total },
    result_url: job.blob_key === null ? null : path,
  });
}

const JOBS = `${EXPERIMENT}/jobs` as const;
const JOB = `${JOBS}/{job_id}` as const;
const params = experimentParams.extend({ job_id: pathId("job") });

const body = z
  .strictObject({
    kind: z
      .enum(JOB_KINDS)
      .describe(
        "`run`: start a draft. `rerun_failed`: rows that failed, were cancelled or never ran. `rerun_rows`: the given rows. `score_only`: score existing runs again. `export`: write results to a file. `cancel`: stop the current job.",
      ),
    row_ids: z.array(givenId).min(1).max(10_000).optional().describe("Rows to run. Only for `rerun_rows`."),
    evaluator_ids: z
      .array(givenId)
      .min(1)
      .max(50)
      .optional()
      .describe("Evaluators to score with. Only for `score_only`; default: all."),
    format: z.enum(["csv", "jsonl"]).optional().describe("Format of the file. Only for `export`; default: `jsonl`."),
  })
  .superRefine(({ kind, row_ids, evaluator_ids, format }, context) => {
    const wrong = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    if ((kind === "rerun_rows") !== (row_ids !== undefined))
      wrong("row_ids", "Required for rerun_rows, and not allowed for other kinds");
    if (evaluator_ids !== undefined && kind !== "score_only") wrong("evaluator_ids", "Allowed only for score_only");
    if (format !== undefined && kind !== "export") wrong("format", "Allowed only for export");
  })
  .meta({ id: "ExperimentJobCreate" });

async function requireJob(
  db: Database,
  orgId: string,
  { experiment_id, job_id }: z.output<typeof params>,
): Promise<JobRow> {
  const job = await db.org(orgId, async (connection) => {
    await requireExperiment(connection, experiment_id);
    return await findJob(connection, job_id);
  });
  if (job?.experiment_id !== experiment_id) throw notFound("job");
  return job;
}

/** `/v2/evals/experiments/{experiment_id}/jobs`: jobs that run, score or export an experiment. */
export const experimentJobOperations = [
  define({
    id: "createExperimentJob",
    route: `POST ${JOBS}`,
    summary: "Start an experiment job",
    description: "Starts a job of the given `kind`. Only one job runs at a time, except exports and cancellations.",
    params: experimentParams,
    body,
    idempotent: true,
    problems: ["conflict"],
    examples: {
      run: { kind: "run" },
      rows: { kind: "rerun_rows", row_ids: ["0197f0a0-0000-7000-8000-000000000000"] },
      export: { kind: "export", format: "csv" },
    },
    success: { 202: created("The job.", jobSchema, linksTo("getExperimentJob", ["job_id"], ["experiment_id"])) },
    async handler({ params: { experiment_id }, body: { kind, ...options }, principal: { org_id }, newId }, deps) {
      const job_id = newId();
      await startJob(deps, org_id, experiment_id, { job_id, kind, options });
      const job = await requireJob(deps.db, org_id, { experiment_id, job_id });
      return {
        status: 202,
        body: presentJob(job),
        headers: { Location: `/v2/evals/experiments/${experiment_id}/jobs/${job_id}` },
      };
    },
  }),
  define({
    id: "getExperimentJob",
    route: `GET ${JOB}`,
    summary: "Get a job of an experiment",
    description: "Returns the job. A job runs in the background; poll until it reaches a final state.",
    params,
    success: { 200: { description: "The job.", schema: jobSchema } },
    async handler({ params: path, principal: { org_id } }, { db }) {
      return { status: 200, body: presentJob(await requireJob(db, org_id, path)) };
    },
  }),
  define({
    id: "getExperimentJobResult",
    audit: "always",
    route: `GET ${JOB}/result`,
    summary: "Download the result of an export job",
    description: "Returns the file in the format that the job was started with.",
    params,
    success: {
      200: { description: "The file.", content: { "text/csv": z.string(), "application/jsonl": z.string() } },
    },
    async handler({ params: path, principal: { org_id } }, { db, blobs }) {
      const { blob_key, options, experiment_id } = await requireJob(db, org_id, path);
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
          "Content-Disposition": fileNameHeader(`experiment-${experiment_id}.${format}`),
        },
      };
    },
  }),
];
