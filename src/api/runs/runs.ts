import { z } from "zod";
import { visibleProjects } from "../../domain/accounts/principal.ts";
import { writesText } from "../../domain/flow/plan/streamed-outputs.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import { listRuns } from "../../stores/runs/run-lists.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { EVENT_STREAM, SSE_COMMENT, answerStream, serverSentEvent } from "../http/event-stream.ts";
import { followEvents } from "./follow-events.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { viewNodes } from "./node-run-views.ts";
import { presentEventData, runEventSchema, runSchema, runWithNodesSchema } from "./run-presenter.ts";
import { createRunBody, flowOf, requireFuture } from "./run-create-body.ts";
import { ranBy, requireInputs } from "../../services/runs/run-inputs.ts";
import { runFilters } from "./run-filters.ts";
import { waitMs, waitSeconds } from "./run-request.ts";
import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { requireRun } from "../../services/runs/require-run.ts";
import { viewListedRun, viewRun, withDetails } from "./run-views.ts";

const COMMON = { tag: "Runs", auth: "secret" } as const;

export const runParams = z.object({ run_id: pathId("run") });
export const RUN_LINKS = {
  get: linkTo("getRun", ["run_id"]),
  cancel: linkTo("cancelRun", ["run_id"]),
  resume: linkTo("resumeRun", ["run_id"]),
};

/** `/v2/runs`: create, list and get. */
export function createRunOperations(deps: ApiDeps, { flows, runService }: ApiServices): Operation[] {
  const { config, db, reads, secrets } = deps;
  return [
    defineOperation({
      ...COMMON,
      id: "createRun",
      audit: "run",
      method: "POST",
      path: "/v2/runs",
      summary: "Run a flow",
      description:
        'Answers at once, or with `mode: "sync"` when the run has ended or paused, or its `wait_seconds` are up: 201 with the run as it then is, also where it failed.',
      body: createRunBody(config),
      bodyLimit: "run",
      wideBody: true,
      idempotent: true,
      problems: [
        "not_found",
        "flow_version_not_found",
        "too_many_nested_runs",
        "too_many_concurrent_runs",
        "too_many_new_runs",
        "quota_exceeded",
      ],
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
      },
      exactNumbers: { but: "inputs" },
      success: {
        201: {
          description: "The run.",
          schema: runSchema,
          headers: { Location: "Its address." },
          links: RUN_LINKS,
        },
      },
      async handler({ body, principal, newId, repeated, signal, ctx }) {
        const { org_id } = principal;
        const { project, version, plan } = await flows.get(org_id, flowOf(body), body.version);
        const { project_id } = project;
        const user_id = body.user_id ?? null;
        const { inputs } = await requireInputs(
          { db, maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES },
          { org_id, project_id, user_id, plan },
          body.inputs,
          { loc: ["body", "inputs"], reserved: [] },
        );
        const run_at = requireFuture(body.run_at, repeated);
        const row = await runService.create(
          {
            org_id,
            run_id: newId(),
            project_id,
            version,
            plan,
            inputs,
            user_id,
            metadata: body.metadata,
            tags: body.tags,
            run_type: "api",
            started_by: callerOfRequest(secrets, org_id, ctx.headers),
            ...ranBy(principal),
            ...(run_at !== undefined && { run_at }),
            ...(body.timeout_seconds !== undefined && { timeout_seconds: body.timeout_seconds }),
          },
          { repeated, asynchronous: body.mode === "async" },
        );
        const wait = waitMs(config, body.wait_seconds);
        const run = body.mode === "sync" ? await runService.settled(row, wait, signal, !repeated) : row;
        return { status: 201, body: await viewRun(deps, run), headers: { Location: `/v2/runs/${run.run_id}` } };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "listRuns",
      method: "GET",
      path: "/v2/runs",
      summary: "List runs",
      description: "Values are shortened here; a run's own address has its outputs whole.",
      query: listQuery.extend(runFilters),
      success: { 200: { description: "A page of runs.", schema: pageOf(runSchema, "RunPage") } },
      async handler({ query, principal }) {
        const { org_id } = principal;
        const among = visibleProjects(principal);
        const { page_size: _size, cursor: _cursor, direction: _direction, order: _order, state, ...narrow } = query;
        const filter = {
          ...narrow,
          states: state,
          stuck: query.stuck === undefined ? undefined : { is: query.stuck, afterMs: config.MILLRACE_STUCK_AFTER_MS },
        };
        return listPage({
          list: "runs",
          orgId: org_id,
          query,
          filters: { ...filter, states: state && [...new Set(state)].toSorted() },
          fetch: async (keyset) => {
            const rows = await reads.org(org_id, (client) => listRuns(client, org_id, { ...filter, among }, keyset));
            return withDetails(reads, org_id, rows);
          },
          idOf: ({ row }) => row.run_id,
          present: viewListedRun,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getRun",
      method: "GET",
      path: "/v2/runs/{run_id}",
      summary: "Get a run, or follow its events",
      description: `With \`Accept: text/event-stream\` the answer is the run's events as they happen, until it has ended: \`run.state\`, \`node.started\`,
\`node.retrying\`, \`node.finished\`, \`run.paused\`, \`run.finished\`. Their ids are numbers without gaps; \`Last-Event-ID\` goes on behind one. Who has seen the
last event of a run that has ended gets a 204, which tells an EventSource to stop. Between them, \`output.delta\` has what a model has written since the one
before: \`data\` is \`{node_id, path, attempt, step, offset, text}\`. It has no id: after a break it may come again, and whoever has more than \`offset\`
characters (UTF-16 units) of that attempt and step skips them. A higher attempt, or step of the same attempt, begins the text of the node anew. The whole text is in the node's record, and
only there some time after the run's end.`,
      params: runParams,
      query: z.object({
        expand: z.enum(["nodes"]).optional().describe("Adds the record of each node."),
        node_values: z
          .boolean()
          .default(true)
          .describe(
            "With expand=nodes: false leaves `inputs` and `output` of nodes null, and shows 10000 nodes instead of 2000. One node's are at `/node`.",
          ),
        wait_seconds: waitSeconds.default(0).describe("Waits so long for the run to end or to pause."),
      }),
      headers: z.object({
        "last-event-id": z
          .int()
          .min(0)
          .max(2_147_483_647)
          .default(0)
          .describe("For an event stream: the id of the last event that was seen."),
      }),
      success: {
        200: {
          description: "The run, or its events.",
          schema: runWithNodesSchema,
          content: { [EVENT_STREAM]: runEventSchema },
        },
        204: { description: "An event stream of a run that has ended, after its last event." },
      },
      async handler({ params: { run_id }, query, headers, principal: { org_id }, ctx, signal, streamSignal }) {
        let row = await requireRun(db, org_id, run_id);
        if (ctx.accepts("application/json", EVENT_STREAM) === EVENT_STREAM) {
          const after = headers["last-event-id"];
          if (isTerminal(row.state) && after >= row.event_seq) return { status: 204 };
          const { plan } = await deps.plans.get(row);
          const follow = { after, withTexts: hasTexts(plan), signal: streamSignal() };
          return answerStream(EVENT_STREAM, events(deps, runService, row, follow));
        }
        if (query.wait_seconds > 0) row = await runService.settled(row, waitMs(config, query.wait_seconds), signal);
        const view = await viewRun(deps, row);
        if (query.expand !== "nodes") return { status: 200, body: view };
        return { status: 200, body: { ...view, ...(await viewNodes(db, row, query.node_values)) } };
      },
    }),
  ];
}

async function* events(
  { db, config }: Pick<ApiDeps, "db" | "config">,
  { waiter, texts }: ApiServices["runService"],
  run: { readonly org_id: string; readonly run_id: string },
  follow: Parameters<typeof followEvents>[2],
): AsyncGenerator<string, void> {
  const keepAliveMs = config.MILLRACE_STREAM_KEEP_ALIVE_MS;
  for await (const event of followEvents({ db, waiter, texts, keepAliveMs }, run, follow)) {
    if (event === null) yield SSE_COMMENT;
    else {
      const { seq, type, at } = event;
      const data = presentEventData(event.data);
      yield serverSentEvent(type === "output.delta" ? null : seq, type, { run_id: run.run_id, seq, type, at, data });
    }
  }
}

/** Whether some node of a flow writes text that is shown while it is written. */
function hasTexts({ nodes }: Plan): boolean {
  return nodes.some((node) => writesText(node) || (node.nested !== undefined && hasTexts(node.nested)));
}
