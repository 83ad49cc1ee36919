import { z } from "zod";
import type { Config } from "../../config.ts";
import { notFound } from "../../domain/errors.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { requireRunFor } from "../../services/runs/require-run.ts";
import { giveFeedback } from "../../services/evals/give-score.ts";
import { operationsOf, linkTo } from "../http/operation.ts";
import { givenId, named, namedStrict, pathId } from "../http/schemas.ts";
import { parsePrefer, waitMs, waitSeconds, START_PROBLEMS, VERSION_PROBLEMS } from "../http/run-request.ts";
import { answerInference, answerLater, inferenceSchema, outputsSchema } from "./inference-presenter.ts";
import { callFlow, flowBody, flowParams, flowQuery } from "./flow-call.ts";
import { viewInference } from "./run-views.ts";

const LINKS = { metadata: linkTo("getDeployedFlowRun", ["run_id"], ["org_id", "flow_id"]) };

const define = operationsOf({ tag: "Run Flow", auth: "public" });

/** `/inference/v0/run`: call a flow and wait for its response. */
export const inferenceOperations = ({ MILLRACE_SYNC_WAIT_MS }: Config) => [
  define({
    id: "runDeployedFlow",
    audit: "run",
    route: "POST /inference/v0/run/{org_id}/{flow_id}",
    summary: "Run a deployed flow",
    description: `Runs a deployed flow. The body contains the inputs, keyed by node ID; the response contains the value of every output.

The call waits for the run, up to ${MILLRACE_SYNC_WAIT_MS / 1000} s (\`Prefer: wait=<seconds>\` shortens that). After that, or immediately with \`Prefer: respond-async\`,
the response is 202, and \`Location\` points to the run's status. A run that pauses returns 200 with \`state: "PAUSED"\` and the \`pause\`,
also with \`verbose=false\`.

A failed run returns 500 (error in the flow or in Millrace), 502 (an upstream service failed) or 504 (run timeout). A cancelled run
returns 409. These errors include \`run_id\`, \`state\`, \`error\` and the outputs so far. Disconnecting does not stop the run. Unknown query
parameters are ignored.`,
    params: flowParams,
    query: flowQuery.extend({
      verbose: z
        .boolean()
        .default(true)
        .describe("`true` returns the full model (outputs with the run's metadata), `false` only the outputs."),
    }),
    looseQuery: true,
    headers: z.object({
      prefer: z.string().max(500).optional().describe("`respond-async`, `wait=<seconds>`, or both (RFC 7240)."),
    }),
    body: flowBody,
    textsIn: [],
    looseBody: true,
    bodyLimit: "run",
    wideBody: true,
    idempotent: "run",
    problems: [
      ...VERSION_PROBLEMS,
      ...START_PROBLEMS,
      "run_cancelled",
      "too_many_new_runs",
      "run_failed",
      "upstream_failed",
      "run_timeout",
    ],
    examples: { question: { "in-0": "Where is my parcel?", user_id: "ada-1" } },
    success: {
      200: {
        description: "The flow's outputs: with the run's metadata, or alone with `verbose=false`.",
        schema: z.union([inferenceSchema, outputsSchema]),
        links: LINKS,
      },
      202: {
        description: "The run continues; `state` is PENDING.",
        schema: inferenceSchema,
        headers: {
          Location: "URL to poll for the run's status.",
          "Preference-Applied": "The preferences that were applied.",
        },
        links: LINKS,
      },
    },
    async handler({ params, query, headers, body, principal, newId, repeated, signal, ctx }, deps) {
      const { secrets, runService, config } = deps;
      const prefer = parsePrefer(headers.prefer);
      const { row } = await callFlow(deps, {
        params,
        query,
        body,
        principal,
        run_id: newId(),
        started_by: callerOfRequest(secrets, principal.org_id, ctx.headers),
        repeated,
        asynchronous: prefer.respondAsync,
      });
      if (prefer.respondAsync && !isTerminal(row.state)) {
        const answer = answerLater(row, await viewInference(deps, row));
        return { ...answer, headers: { ...answer.headers, "Preference-Applied": "respond-async" } };
      }
      const settled = await runService.settled(row, waitMs(config, prefer.wait), signal, !repeated);
      const answer = answerInference(settled, await viewInference(deps, settled), query.verbose);
      const applied = prefer.wait === undefined ? {} : { "Preference-Applied": `wait=${prefer.wait}` };
      return {
        ...answer,
        headers: { ...answer.headers, ...applied },
        recoverable: settled.state === "COMPLETED",
      };
    },
  }),
  define({
    id: "getDeployedFlowRun",
    route: "GET /inference/v0/run/{org_id}/{flow_id}/metadata",
    summary: "Get the status of a deployed flow's run",
    description:
      "Returns the same fields as the run operation, with their current values. A failed run also returns 200.",
    params: flowParams,
    query: z.object({
      run_id: pathId("run"),
      wait_seconds: waitSeconds.default(0).describe("Seconds to wait for the run to finish or pause."),
    }),
    looseQuery: true,
    success: { 200: { description: "The run.", schema: inferenceSchema } },
    async handler({ params, query, principal, signal }, deps) {
      const { runService, config } = deps;
      if (params.org_id !== principal.org_id) throw notFound("run");
      let row: RunRow = await requireRunFor(deps, principal, query.run_id);
      if (row.project_id !== params.flow_id) throw notFound("run");
      if (query.wait_seconds > 0) row = await runService.settled(row, waitMs(config, query.wait_seconds), signal);
      return { status: 200, body: await viewInference(deps, row) };
    },
  }),
];

const feedbackBody = namedStrict("RunFeedback", {
  run_id: givenId,
  feedback: z
    .union([z.enum(["positive", "negative"]), z.number().min(-1_000_000_000).max(1_000_000_000)])
    .describe("Thumb up or down, or a number on any scale of yours."),
  comment: z.string().max(4000).optional(),
});

/** `/inference/v0/feedback`: ratings of responses by their readers. */
export const feedbackOperations = [
  define({
    id: "giveFeedback",
    route: "POST /inference/v0/feedback/{org_id}/{flow_id}",
    summary: "Send feedback on a run",
    description: "Stores the feedback with the run as a score named `feedback`. You can send it more than once.",
    params: flowParams,
    body: feedbackBody,
    idempotent: true,
    examples: {
      thumb: { run_id: "0197f0a0-0000-7000-8000-000000000000", feedback: "positive" },
      number: { run_id: "0197f0a0-0000-7000-8000-000000000000", feedback: 0.4, comment: "Half of it was right." },
    },
    success: {
      200: {
        description: "Feedback stored.",
        schema: named("FeedbackKept", {
          score_id: z.uuid(),
          run_id: z.uuid(),
          feedback: z.union([z.string(), z.number()]),
        }),
      },
    },
    async handler({ params, body: { run_id, feedback, comment = null }, principal, newId }, { db, flows }) {
      const { org_id, id } = principal;
      if (params.org_id !== org_id) throw notFound("run");
      const run = await requireRunFor({ db, flows }, principal, run_id);
      if (run.project_id !== params.flow_id) throw notFound("run");
      const score_id = newId();
      await giveFeedback(db, org_id, { score_id, run_id, feedback, comment, author: id });
      return { status: 200, body: { score_id, run_id, feedback } };
    },
  }),
];
