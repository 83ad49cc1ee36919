import { z } from "zod";
import type { Config } from "../../config.ts";
import { jsonValueSchema } from "../../domain/json-schema.ts";
import { ACTION_RUN_STATES, MAX_ACTION_SECONDS, actionErrorSchema } from "../../domain/providers/action-run.ts";
import { createInputCheck } from "../../services/providers/action-inputs.ts";
import { createActionRun, requireActionRun } from "../../services/providers/action-runs.ts";
import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { admitNested } from "../../services/triggers/chain.ts";
import type { ActionRunRow } from "../../stores/providers/action-runs.ts";
import { loadValue, type BlobStore } from "../../platform/blobs/blobs.ts";
import type { HandlerDeps } from "../deps.ts";
import { operationsOf, linkTo } from "../http/operation.ts";
import { asDeclared, givenId, named, namedStrict, pathId } from "../http/schemas.ts";
import { parsePrefer, START_PROBLEMS } from "../http/run-request.ts";

const actionRunSchema = named("ActionRun", {
  action_run_id: z.uuid(),
  provider_id: z.string(),
  action_id: z.string(),
  connection_id: z.uuid().nullable(),
  dry_run: z.boolean(),
  state: z.enum(ACTION_RUN_STATES),
  successful: z.boolean().nullable().describe("Whether the action succeeded; `null` until it has finished."),
  outputs: jsonValueSchema.describe(
    "A value that matches the action's `output_schema`; `null` unless it was successful.",
  ),
  error: actionErrorSchema.nullable(),
  rendered_request: jsonValueSchema.describe(
    "The request that was sent or, with `dry_run`, would be sent. Secrets are masked.",
  ),
  latency_ms: z.int().nullable(),
  created_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
});

export async function presentActionRun(blobs: BlobStore, run: ActionRunRow): Promise<z.infer<typeof actionRunSchema>> {
  return asDeclared(actionRunSchema, {
    ...run,
    successful: run.finished_at === null ? null : run.error === null,
    outputs: run.outputs === null ? null : await loadValue(blobs, run.outputs),
  });
}

const id = z.string().min(1).max(200);
const runBody = namedStrict("ActionRunCreate", {
  inputs: z.record(z.string(), jsonValueSchema).default({}).describe("Values that match the action's `input_schema`."),
  connection_id: givenId.nullish(),
  dry_run: z
    .boolean()
    .default(false)
    .describe("`true` sends nothing and only returns the request in `rendered_request`."),
  timeout_seconds: z.int().min(1).max(MAX_ACTION_SECONDS).optional(),
});

function read({ db }: HandlerDeps, orgId: string, actionRunId: string): Promise<ActionRunRow> {
  return db.org(orgId, (connection) => requireActionRun(connection, actionRunId));
}

/** The action run once it has finished, or its current state when the wait is over. */
async function ended(deps: HandlerDeps, run: ActionRunRow, waitMs: number, signal: AbortSignal): Promise<ActionRunRow> {
  if (run.finished_at !== null || waitMs <= 0) return run;
  await deps.providerJobs.actionEnded(run.action_run_id, waitMs, signal);
  return read(deps, run.org_id, run.action_run_id);
}

const define = operationsOf({ tag: "Providers and actions", auth: "secret" }, ({ evaluation }) => ({
  checkInputs: createInputCheck(evaluation),
}));

/** `POST .../actions/{action_id}/run` and its result. */
export const actionRunOperations = ({ MILLRACE_SYNC_WAIT_MS }: Config) => [
  define({
    id: "runAction",
    route: "POST /v2/providers/{provider_id}/actions/{action_id}/run",
    summary: "Run an action",
    description: `Runs the action durably and waits for the result. Returns 200 even if the action failed; check \`successful\` and \`error\`. After ${MILLRACE_SYNC_WAIT_MS / 1000} s (\`Prefer: wait=<seconds>\` shortens that, \`respond-async\` does not wait) it returns 202, and the run continues. Only actions that are \`read_only\` or \`idempotent\` are retried after a failure.`,
    params: z.object({ provider_id: id, action_id: id }),
    headers: z.object({
      prefer: z.string().max(500).optional().describe("`respond-async`, `wait=<seconds>`, or both (RFC 7240)."),
    }),
    body: runBody,
    bodyLimit: "run",
    wideBody: true,
    idempotent: true,
    problems: START_PROBLEMS,
    examples: {
      read: { inputs: { url: "https://example.com/status" } },
      issue: {
        inputs: { owner: "acme", repo: "shop", title: "The search is slow" },
        connection_id: "0197f0a0-0000-7000-8000-000000000000",
        dry_run: true,
      },
    },
    success: {
      200: { description: "The result of the action.", schema: actionRunSchema },
      202: {
        description: "The action continues to run.",
        schema: actionRunSchema,
        headers: { Location: "URL to poll for the result." },
        links: { get: linkTo("getActionRun", ["action_run_id"]) },
      },
    },
    async handler({ params, headers, body, principal, newId, signal, ctx }, deps) {
      const { db, config } = deps;
      const { org_id } = principal;
      const prefer = parsePrefer(headers.prefer);
      const action_run_id = newId();
      // The action may start a run, so a flow could call itself through it.
      const startedBy = callerOfRequest(deps.secrets, org_id, ctx.headers);
      await admitNested(db, org_id, { startedBy }, action_run_id, config.MILLRACE_MAX_NESTED_RUNS);
      const accepted = await createActionRun(deps, {
        ...params,
        org_id,
        action_run_id,
        created_by: principal.id,
        connection_id: body.connection_id ?? null,
        inputs: body.inputs,
        dry_run: body.dry_run,
        timeout_seconds: body.timeout_seconds,
      });
      const most = config.MILLRACE_SYNC_WAIT_MS;
      const waitMs = prefer.respondAsync ? 0 : Math.min(most, (prefer.wait ?? Number.POSITIVE_INFINITY) * 1000);
      const run = await ended(deps, accepted, waitMs, signal);
      const view = await presentActionRun(deps.blobs, run);
      if (run.finished_at !== null) return { status: 200, body: view };
      return { status: 202, body: view, headers: { Location: `/v2/action-runs/${action_run_id}` } };
    },
  }),
  define({
    id: "getActionRun",
    route: "GET /v2/action-runs/{action_run_id}",
    summary: "Get an action run",
    description: "Returns an action run that `runAction` accepted with 202. Poll until it reaches a final state.",
    params: z.object({ action_run_id: pathId("action run") }),
    query: z.object({
      wait_seconds: z.int().min(0).max(110).default(0).describe("Seconds to wait for the run to finish."),
    }),
    success: { 200: { description: "The run.", schema: actionRunSchema } },
    async handler({ params: { action_run_id }, query, principal: { org_id }, signal }, deps) {
      const found = await read(deps, org_id, action_run_id);
      const run = await ended(
        deps,
        found,
        Math.min(deps.config.MILLRACE_SYNC_WAIT_MS, query.wait_seconds * 1000),
        signal,
      );
      return { status: 200, body: await presentActionRun(deps.blobs, run) };
    },
  }),
];
