import { z } from "zod";
import { MAX_JOB_ERRORS, MAX_JOB_RUNS, RUN_JOB_ACTIONS, RUN_JOB_STATES } from "../../domain/runs/run-job.ts";
import { abortRunJob, countRunsOf, createRunJob, requireRunJob } from "../../services/runs/run-jobs.ts";
import { listRunJobs, type RunJobRow } from "../../stores/runs/run-jobs.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, linkTo } from "../http/operation.ts";
import { asDeclared, named, pathId } from "../http/schemas.ts";
import { runFilters, define } from "./runs.ts";

const JOB = "/v2/run-jobs/{job_id}" as const;
const params = z.object({ job_id: pathId("job") });

const filterSchema = z
  .strictObject(runFilters)
  .describe(
    "The filters of `GET /v2/runs`. Child runs are not included unless you send `run_type`, `parent_run_id` or `run_id`.",
  );
const action = z
  .enum(RUN_JOB_ACTIONS)
  .describe(
    "`cancel`: cancel unfinished runs gracefully; `resume`: resume each failed or cancelled run from where it failed, as a new run; `replay`: rerun each finished run with the same inputs, as a new run.",
  );
const body = z
  .strictObject({
    action,
    filter: filterSchema,
    version: z
      .literal(-1)
      .optional()
      .describe(
        "Flow version for `resume` and `replay`; -1 is the published version. Default: the version each run used.",
      ),
    dry_run: z.boolean().default(false).describe("`true` only counts the matching runs and starts no job."),
  })
  .refine((job) => job.action !== "cancel" || job.version === undefined, {
    path: ["version"],
    message: "Allowed only for resume and replay",
  })
  .meta({ id: "RunJobCreate" });

const matched = z.int().describe("Runs that match the filter and whose state allows the action.");
const previewSchema = named("RunJobPreview", { action, counts: z.object({ matched }) });
const jobSchema = named("RunJob", {
  job_id: z.uuid(),
  action,
  filter: z.object(runFilters),
  version: z.int().nullable(),
  state: z.enum(RUN_JOB_STATES),
  abort_requested: z.boolean(),
  counts: z.object({
    matched,
    done: z.int(),
    skipped: z.int().describe("Runs whose state no longer allowed the action when the job reached them."),
    failed: z.int(),
  }),
  errors: z
    .array(z.object({ run_id: z.uuid().nullable(), code: z.string(), message: z.string() }))
    .describe(`Up to ${MAX_JOB_ERRORS} errors by run; \`run_id: null\` is the job's own failure.`),
  created_by: z.string().describe("`user:<id>` or `org_api_key:<id>`."),
  created_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
});

const present = (job: RunJobRow) =>
  asDeclared(jobSchema, {
    ...job,
    abort_requested: job.abort,
    counts: job,
    created_by: `${job.created_by_type}:${job.created_by_id}`,
  });

/** `/v2/run-jobs`: apply an action to every run that a filter matches. */
export const runJobOperations = [
  define({
    id: "createRunJob",
    route: "POST /v2/run-jobs",
    summary: "Cancel, resume or rerun many runs",
    description: `Starts a background job on the runs that match now, oldest first, up to ${MAX_JOB_RUNS}. Send \`dry_run\` to count them first.
When the limit of concurrent runs is reached, the job waits.`,
    body,
    idempotent: true,
    createdId: "job_id",
    examples: {
      count: {
        action: "replay",
        filter: { state: ["FAILED"], created_after: "2026-01-31T12:00:00Z" },
        dry_run: true,
      },
      cancel: { action: "cancel", filter: { project_id: "0197f0a0-0000-7000-8000-000000000000" } },
      repaired: { action: "resume", filter: { state: ["FAILED"], tag: "orders" }, version: -1 },
    },
    success: {
      200: { description: "Only for a dry run: the number of matching runs.", schema: previewSchema },
      202: created("The job.", jobSchema, {
        getRunJob: linkTo("getRunJob", ["job_id"]),
        abortRunJob: linkTo("abortRunJob", ["job_id"]),
      }),
    },
    async handler({ body: { action: asked, filter, version, dry_run }, principal, newId }, deps) {
      const { org_id } = principal;
      const stuckAfterMs = deps.config.MILLRACE_STUCK_AFTER_MS;
      if (dry_run) {
        const found = await countRunsOf({ ...deps, stuckAfterMs }, org_id, { action: asked, filter });
        return { status: 200, body: { action: asked, counts: { matched: found } }, unchanged: true };
      }
      const job = await createRunJob(
        { ...deps, stuckAfterMs },
        {
          job_id: newId(),
          org_id,
          action: asked,
          filter,
          version: version ?? null,
          created_by_type: principal.type,
          created_by_id: principal.id,
        },
      );
      return { status: 202, body: present(job), headers: { Location: `/v2/run-jobs/${job.job_id}` } };
    },
  }),
  define({
    id: "listRunJobs",
    route: "GET /v2/run-jobs",
    summary: "List run jobs",
    description: "Lists jobs on runs, newest first, with their progress.",
    query: listQuery,
    success: { 200: { description: "A page of jobs.", schema: pageOf(jobSchema) } },
    async handler({ query, principal: { org_id } }, { reads }) {
      return listPage("run_jobs", org_id, query, {
        fetch: (keyset) => reads.org(org_id, (connection) => listRunJobs(connection, keyset)),
        idOf: ({ job_id }) => job_id,
        present,
      });
    },
  }),
  define({
    id: "getRunJob",
    route: `GET ${JOB}`,
    summary: "Get a run job",
    description: "Returns the job. A job runs in the background; poll until it reaches a final state.",
    params,
    success: { 200: { description: "The job.", schema: jobSchema } },
    async handler({ params: { job_id }, principal: { org_id } }, { db }) {
      return { status: 200, body: present(await requireRunJob(db, org_id, job_id)) };
    },
  }),
  define({
    id: "abortRunJob",
    route: `POST ${JOB}/abort`,
    summary: "Abort a run job",
    description: "Stops the job before its next run. Finished work is kept.",
    params,
    idempotent: true,
    problems: ["conflict"],
    success: { 202: { description: "Abort requested; the job will be ABORTED.", schema: jobSchema } },
    async handler({ params: { job_id }, principal: { org_id } }, { db }) {
      return { status: 202, body: present(await abortRunJob(db, org_id, job_id)) };
    },
  }),
];
