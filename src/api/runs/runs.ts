import { z } from "zod";
import type { Config } from "../../config.ts";
import { isWithin } from "../../domain/accounts/kept-rights.ts";
import { visibleProjects, type Principal } from "../../domain/accounts/principal.ts";
import { notFound } from "../../domain/errors.ts";
import { writesText } from "../../domain/flow/plan/streamed-outputs.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import { isTerminal, RUN_STATES, RUN_TYPES } from "../../domain/runs/run.ts";
import { listRuns } from "../../stores/runs/run-lists.ts";
import { getRun, projectsOfRuns, type RunRow } from "../../stores/runs/runs.ts";
import type { NewRunIdentity } from "../../services/runs/resume-run.ts";
import { partOfRun } from "../../services/runs/part-of-run.ts";
import { ranBy, requireInputs } from "../../services/runs/run-inputs.ts";
import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { freezeDraft } from "../../services/projects/drafts.ts";
import { requireRun } from "../../services/runs/require-run.ts";
import { ENVIRONMENT_NAME } from "../../domain/projects/environments.ts";
import { timeText } from "../../domain/timestamps.ts";
import type { HandlerDeps } from "../deps.ts";
import { EVENT_STREAM, SSE_COMMENT, answerStream, serverSentEvent } from "../http/event-stream.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linkTo } from "../http/operation.ts";
import { givenId, pathId, tag, userHandle } from "../http/schemas.ts";
import { DRAFT_IN_BODY, waitMs, waitSeconds, START_PROBLEMS, VERSION_PROBLEMS } from "../http/run-request.ts";
import { followEvents } from "./follow-run.ts";
import { outputsByNode } from "./partial-outputs.ts";
import { viewNodes } from "./node-run-presenter.ts";
import { presentEventData, runEventSchema, runSchema, runWithNodesSchema } from "./run-presenter.ts";
import { createRunBody, flowOf, requireFuture, type RunCreate } from "./run-create-body.ts";
import { viewListedRuns, viewRun } from "./run-views.ts";

/** Filters of runs, shared by the list and by run jobs. */
export const runFilters = {
  run_id: z
    .array(givenId)
    .min(1)
    .max(100)
    .optional()
    .describe("Filter by one or more values. Repeat the parameter for several."),
  project_id: givenId.optional(),
  state: z
    .array(z.enum(RUN_STATES))
    .min(1)
    .max(20)
    .optional()
    .describe("Filter by one or more values. Repeat the parameter for several."),
  run_type: z.enum(RUN_TYPES).optional(),
  environment: z
    .string()
    .regex(ENVIRONMENT_NAME)
    .optional()
    .describe("Only runs that used the version of this environment; runs of drafts and explicit versions have none."),
  user_id: userHandle.optional(),
  parent_run_id: z.uuid().optional(),
  resumed_from: givenId.optional().describe("Only runs that resume this one or rerun it (bulk action `replay`)."),
  tag: tag.optional(),
  stuck: z
    .boolean()
    .optional()
    .describe(
      "`true` returns stuck runs: late to start, retrying a node for some time, or without recorded progress, while waiting for no approval, delay or child run. `false` returns the others.",
    ),
  created_after: timeText.optional().describe("RFC 3339 time; exclusive."),
  created_before: timeText.optional().describe("RFC 3339 time; exclusive."),
};

export const runParams = z.object({ run_id: pathId("run") });
export const RUN_LINKS = {
  get: linkTo("getRun", ["run_id"]),
  cancel: linkTo("cancelRun", ["run_id"]),
  resume: linkTo("resumeRun", ["run_id"]),
};

async function create(
  deps: HandlerDeps,
  body: RunCreate,
  { principal, run_id, repeated, started_by }: NewRunIdentity,
): Promise<RunRow> {
  const { org_id } = principal;
  const { project, version, plan, environment } = body.draft
    ? await freezeDraft(deps, principal, flowOf(body), DRAFT_IN_BODY)
    : await deps.flows.get(org_id, flowOf(body), body.version, body.environment);
  const { project_id } = project;
  const user_id = body.user_id ?? null;
  const { until, pinned } = body;
  const isPart = until !== undefined || pinned !== undefined;
  const part = isPart ? await partOfRun(deps.blobs, org_id, plan, { until, pinned: pinned ?? {} }) : null;
  const { inputs } = await requireInputs(
    deps,
    { org_id, project_id, user_id, plan: part?.plan ?? plan, reused: part?.reuse ?? {} },
    { ...body.inputs, ...part?.inputs },
    { loc: ["body", "inputs"], reserved: [] },
  );
  const pinned_from = await sourcesOf(deps, principal, body.pinned_from);
  const run_at = requireFuture(body.run_at, repeated);
  return deps.runService.create(
    {
      org_id,
      run_id,
      project_id,
      version,
      plan,
      environment,
      inputs,
      user_id,
      metadata: body.metadata,
      tags: body.tags,
      run_type: body.draft ? "draft" : "api",
      started_by,
      ...ranBy(principal),
      ...(part && { reuse: part.reuse, pinned_from }),
      ...(run_at !== undefined && { run_at }),
      ...(body.timeout_seconds !== undefined && { timeout_seconds: body.timeout_seconds }),
    },
    { repeated, asynchronous: body.mode === "async" },
  );
}

/** The different runs that pinned values were copied from. Throws 404 unless the caller may see each of them. */
async function sourcesOf({ db }: HandlerDeps, principal: Principal, from: RunCreate["pinned_from"]): Promise<string[]> {
  const runIds = [...new Set(Object.values(from ?? {}))];
  if (runIds.length === 0) return runIds;
  const among = visibleProjects(principal);
  const projects = await db.org(principal.org_id, (connection) => projectsOfRuns(connection, runIds));
  const isVisible = (project_id: string | undefined) => project_id !== undefined && isWithin(among, project_id);
  if (!runIds.every((runId) => isVisible(projects.get(runId)))) throw notFound("run");
  return runIds;
}

export const define = operationsOf({ tag: "Runs", auth: "secret" });

/** `/v2/runs`: create, list and get. */
export const runOperations = (settings: Config) => [
  define({
    id: "createRun",
    audit: "run",
    route: "POST /v2/runs",
    summary: "Run a flow",
    description:
      'Starts a run of a project\'s flow. Returns 201 immediately. With `mode: "sync"` it returns when the run finishes, pauses, or `wait_seconds` have passed. A failed run also returns 201.',
    body: createRunBody(settings),
    bodyLimit: "run",
    wideBody: true,
    idempotent: true,
    problems: [...VERSION_PROBLEMS, ...START_PROBLEMS, "not_found", "too_many_new_runs"],
    examples: {
      async: { project_id: "0197f0a0-0000-7000-8000-000000000000", inputs: { "in-0": "Ada" } },
      sync: {
        flow_id: "0197f0a0-0000-7000-8000-000000000000",
        inputs: { "in-0": "Ada" },
        mode: "sync",
        wait_seconds: 30,
        user_id: "ada-1",
        metadata: { order: 17 },
        tags: ["orders"],
      },
      draft: { project_id: "0197f0a0-0000-7000-8000-000000000000", draft: true, inputs: { "in-0": "Ada" } },
    },
    textsIn: ["inputs"],
    success: { 201: created("The run.", runSchema, RUN_LINKS) },
    async handler({ body, principal, newId, repeated, signal, ctx }, deps) {
      const { db, secrets, config, runService } = deps;
      const { org_id } = principal;
      const run_id = newId();
      // A draft that has changed since then does not affect a run that already exists.
      const known = repeated && body.draft ? await db.org(org_id, (connection) => getRun(connection, run_id)) : null;
      const started_by = callerOfRequest(secrets, org_id, ctx.headers);
      const row = known ?? (await create(deps, body, { principal, run_id, repeated, started_by }));
      const wait = waitMs(config, body.wait_seconds);
      const run = body.mode === "sync" ? await runService.settled(row, wait, signal, !repeated) : row;
      return { status: 201, body: await viewRun(deps, run), headers: { Location: `/v2/runs/${run.run_id}` } };
    },
  }),
  define({
    id: "listRuns",
    route: "GET /v2/runs",
    summary: "List runs",
    description: "Lists runs, newest first. Long values are truncated; get the run for its full outputs.",
    query: listQuery.extend(runFilters),
    success: { 200: { description: "A page of runs.", schema: pageOf(runSchema) } },
    async handler({ query, principal }, { config, reads }) {
      const { org_id } = principal;
      const among = visibleProjects(principal);
      const { page_size: _size, cursor: _cursor, direction: _direction, order: _order, state, ...narrow } = query;
      const filter = {
        ...narrow,
        states: state,
        stuck: query.stuck === undefined ? undefined : { is: query.stuck, afterMs: config.MILLRACE_STUCK_AFTER_MS },
      };
      return listPage("runs", org_id, query, {
        filters: { ...filter, states: state && [...new Set(state)].toSorted() },
        fetch: async (keyset) => {
          const rows = await reads.org(org_id, (connection) =>
            listRuns(connection, org_id, { ...filter, among }, keyset),
          );
          return viewListedRuns(reads, org_id, rows);
        },
        idOf: ({ run_id }) => run_id,
        present: (run) => run,
      });
    },
  }),
  define({
    id: "getRun",
    route: "GET /v2/runs/{run_id}",
    summary: "Get or stream a run",
    description: `Returns a run. With \`Accept: text/event-stream\` it streams the run's events until the run finishes: \`run.state\`,
\`node.started\`, \`node.retrying\`, \`node.finished\`, \`run.paused\`, \`run.finished\`.

Event IDs are consecutive numbers; send the last one as \`Last-Event-ID\` to continue after it. If the client has
already received the last event of a finished run, the response is 204, which stops an \`EventSource\`.

Between events, \`output.delta\` carries the text a model has written since the previous delta: \`{node_id, path,
attempt, step, offset, text, outputs}\`; \`outputs\` are the IDs of the outputs that stream this text. \`output.delta\` has no ID and may repeat after a reconnect. Use \`offset\` (UTF-16
units) to skip text you already have for that attempt and step. A higher attempt, or a higher step of the same
attempt, starts the node's text again. The complete text is in the node's record; some time after the run
finishes it is only there.`,
    params: runParams,
    query: z.object({
      expand: z.enum(["nodes"]).optional().describe("`nodes` adds the record of each node."),
      node_values: z
        .boolean()
        .default(true)
        .describe(
          "Only with `expand=nodes`. `false` returns `inputs` and `output` of nodes as `null` and up to 10000 nodes instead of 2000. Read the values of one node at `/node`.",
        ),
      wait_seconds: waitSeconds.default(0).describe("Seconds to wait for the run to finish or pause."),
    }),
    headers: z.object({
      "last-event-id": z
        .int()
        .min(0)
        .max(2_147_483_647)
        .default(0)
        .describe("Event streams only: the ID of the last event received."),
    }),
    success: {
      200: {
        description: "The run, or a stream of its events.",
        schema: runWithNodesSchema,
        content: { [EVENT_STREAM]: runEventSchema },
      },
      204: { description: "Event streams only: the run has finished and the client has received its last event." },
    },
    async handler({ params: { run_id }, query, headers, principal: { org_id }, ctx, signal, streamSignal }, deps) {
      const { db, runService, config } = deps;
      let row = await requireRun(db, org_id, run_id);
      if (ctx.accepts("application/json", EVENT_STREAM) === EVENT_STREAM) {
        const after = headers["last-event-id"];
        if (isTerminal(row.state) && after >= row.event_seq) return { status: 204 };
        const { plan } = await deps.plans.get(row);
        const follow = { after, withTexts: hasTexts(plan), signal: streamSignal() };
        return answerStream(EVENT_STREAM, events(deps, { ...row, streams: outputsByNode(plan) }, follow));
      }
      if (query.wait_seconds > 0) row = await runService.settled(row, waitMs(config, query.wait_seconds), signal);
      const view = { ...(await viewRun(deps, row)), citations: Array.isArray(row.citations) ? row.citations : [] };
      if (query.expand !== "nodes") return { status: 200, body: view };
      return { status: 200, body: { ...view, ...(await viewNodes(db, row, query.node_values)) } };
    },
  }),
];

async function* events(
  { db, config, runService }: HandlerDeps,
  run: { readonly org_id: string; readonly run_id: string; readonly streams: ReturnType<typeof outputsByNode> },
  follow: Parameters<typeof followEvents>[2],
): AsyncGenerator<string, void> {
  const keepAliveMs = config.MILLRACE_STREAM_KEEP_ALIVE_MS;
  for await (const event of followEvents({ db, ...runService, keepAliveMs }, run, follow)) {
    if (event === null) yield SSE_COMMENT;
    else {
      const { seq, type, at } = event;
      const data =
        event.type === "output.delta"
          ? { ...event.data, outputs: [...(run.streams.get(event.data["path"] as string) ?? [])] }
          : presentEventData(event.data);
      yield serverSentEvent(type === "output.delta" ? null : seq, type, { run_id: run.run_id, seq, type, at, data });
    }
  }
}

/** Whether a node of a flow writes text that is shown while it is being written. */
function hasTexts({ nodes }: Plan): boolean {
  return nodes.some((node) => writesText(node) || (node.nested !== undefined && hasTexts(node.nested)));
}
