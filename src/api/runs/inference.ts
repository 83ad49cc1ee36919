import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { answerInference, answerLater } from "./inference-answer.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { parsePrefer } from "../http/prefer.ts";
import { inferenceSchema, outputsSchema } from "./inference-presenter.ts";
import { createFlowCall, flowBody, flowParams, flowQuery } from "./flow-call.ts";
import { waitMs, waitSeconds } from "./run-request.ts";
import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { requireRunFor } from "../../services/runs/require-run.ts";
import { viewInference } from "./run-views.ts";

const TAG = "Run Flow";
const LINKS = { metadata: linkTo("getDeployedFlowRun", ["run_id"], ["org_id", "flow_id"]) };

/** `/inference/v0/run`: call a flow and wait for its response. */
export function createInferenceOperations(deps: ApiDeps, services: ApiServices): Operation[] {
  const { config, db, secrets } = deps;
  const { flows, runService } = services;
  const call = createFlowCall(deps, services);

  return [
    defineOperation({
      id: "runDeployedFlow",
      audit: "run",
      method: "POST",
      path: "/inference/v0/run/{org_id}/{flow_id}",
      tag: TAG,
      summary: "Run a deployed flow",
      description: `Runs a deployed flow. The body contains the inputs, keyed by node ID; the response contains the value of every output.

The call waits for the run, up to ${config.MILLRACE_SYNC_WAIT_MS / 1000} s (\`Prefer: wait=<seconds>\` shortens that). After that, or immediately with \`Prefer: respond-async\`,
the response is 202, and \`Location\` points to the run's status. A run that pauses returns 200 with \`state: "PAUSED"\` and the \`pause\`,
also with \`verbose=false\`.

A failed run returns 500 (error in the flow or in Millrace), 502 (an upstream service failed) or 504 (run timeout). A cancelled run
returns 409. These errors include \`run_id\`, \`state\`, \`error\` and the outputs so far. Disconnecting does not stop the run. Unknown query
parameters are ignored.`,
      auth: "public",
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
        "flow_version_not_found",
        "environment_not_found",
        "environment_empty",
        "run_cancelled",
        "too_many_nested_runs",
        "too_many_concurrent_runs",
        "too_many_new_runs",
        "quota_exceeded",
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
      async handler({ params, query, headers, body, principal, newId, repeated, signal, ctx }) {
        const prefer = parsePrefer(headers.prefer);
        const { row } = await call({
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
    defineOperation({
      id: "getDeployedFlowRun",
      method: "GET",
      path: "/inference/v0/run/{org_id}/{flow_id}/metadata",
      tag: TAG,
      summary: "Get the status of a deployed flow's run",
      description:
        "Returns the same fields as the run operation, with their current values. A failed run also returns 200.",
      auth: "public",
      params: flowParams,
      query: z.object({
        run_id: pathId("run"),
        wait_seconds: waitSeconds.default(0).describe("Seconds to wait for the run to finish or pause."),
      }),
      looseQuery: true,
      success: { 200: { description: "The run.", schema: inferenceSchema } },
      async handler({ params, query, principal, signal }) {
        if (params.org_id !== principal.org_id) throw notFound("run");
        let row: RunRow = await requireRunFor({ db, flows }, principal, query.run_id);
        if (row.project_id !== params.flow_id) throw notFound("run");
        if (query.wait_seconds > 0) row = await runService.settled(row, waitMs(config, query.wait_seconds), signal);
        return { status: 200, body: await viewInference(deps, row) };
      },
    }),
  ];
}
