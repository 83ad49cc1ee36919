import { z } from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import { INLINE_VALUE_BYTES } from "../../domain/json.ts";
import { invalid } from "../../domain/errors.ts";
import { answerPause } from "../../services/runs/answer-pause.ts";
import { cancelRun } from "../../services/runs/cancel-run.ts";
import type { HandlerDeps } from "../deps.ts";
import { runSchema } from "./run-presenter.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import { notResumable, resumeRun, type ResumeRequest } from "../../services/runs/resume-run.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { requireRun } from "../../services/runs/require-run.ts";
import { viewRun } from "./run-views.ts";
import { RUN_LINKS, runParams, define } from "./runs.ts";
import { START_PROBLEMS, VERSION_PROBLEMS } from "../http/run-request.ts";
import { namedStrict } from "../http/schemas.ts";

const cancelBody = namedStrict("RunCancel", {
  reason: z.string().max(500).optional().describe("Reason for cancelling, stored as the run's `state_reason`."),
  mode: z
    .enum(["graceful", "terminate"])
    .default("graceful")
    .describe(
      "`graceful` lets running nodes stop; `terminate` ends the run's workflow immediately, without letting running nodes clean up.",
    ),
});

const resumeBody = namedStrict("RunResume", {
  pause_id: z.uuid().optional().describe("The pause to answer. Required if several are waiting."),
  action: z.string().max(64).optional().describe("One of the pause's actions. Can be omitted if there is only one."),
  data: jsonValueSchema
    .optional()
    .describe(`Data that matches the pause's form, up to ${INLINE_VALUE_BYTES} bytes of JSON.`),
  comment: z.string().max(4000).optional(),
  from: z
    .string()
    .max(64)
    .optional()
    .describe("For a failed or cancelled run: `failed`, or the ID of the top-level node to resume from."),
  version: z
    .int()
    .optional()
    .describe("Flow version of the new run; -1 is the published version. Default: the version of the earlier run."),
  from_node: z
    .string()
    .max(64)
    .optional()
    .describe("For any finished run, also a completed one: the ID of the top-level node to run again from."),
  flow_version: z.int().optional().describe("Same as `version`; send only one of the two."),
  inputs: jsonObjectSchema.optional().describe("Inputs to replace; the others keep their values."),
});
type ResumeBody = z.output<typeof resumeBody>;

const OF_PAUSE = ["pause_id", "action", "data", "comment"] as const satisfies ReadonlyArray<keyof ResumeBody>;
const OF_RUN = ["from", "from_node", "version", "flow_version", "inputs"] as const satisfies ReadonlyArray<
  keyof ResumeBody
>;

/** `/v2/runs/{run_id}/cancel` and `/resume`. */
export const runControlOperations = [
  define({
    id: "cancelRun",
    route: "POST /v2/runs/{run_id}/cancel",
    summary: "Cancel a run",
    description:
      "Requests a graceful cancel. Within seconds running nodes are signalled, child runs are cancelled and no further node starts. A run that has not started (`run_at`) is cancelled immediately.",
    params: runParams,
    body: cancelBody.prefault({}),
    idempotent: true,
    problems: ["run_already_finished"],
    examples: { graceful: { reason: "No longer needed" }, terminate: { mode: "terminate" } },
    success: {
      200: { description: "The run was already cancelled.", schema: runSchema },
      202: { description: "Cancellation requested.", schema: runSchema, links: RUN_LINKS },
    },
    async handler({ params: { run_id }, body, principal: { org_id } }, deps) {
      const { run, already } = await cancelRun(deps, {
        org_id,
        run_id,
        reason: body.reason ?? null,
        mode: body.mode,
      });
      return { status: already ? 200 : 202, body: await viewRun(deps, run) };
    },
  }),
  define({
    id: "resumeRun",
    route: "POST /v2/runs/{run_id}/resume",
    summary: "Answer a pause or resume a finished run",
    description: `To answer a pause, send \`{pause_id, action, data, comment}\`. An action takes effect once \`required_approvals\`
different principals have chosen it; one \`reject\` is enough. If the pause has \`assignees\`, only assignees can
answer (403 \`not_an_assignee\`): admins who are not assignees and API keys cannot. Data that does not match the
pause's form returns 422, and the pause stays open. To approve a tool call with other arguments, send \`data\` in
the shape that the pause shows, \`{tool, arguments}\`; arguments the tool does not accept return 422 with their
location.

To resume a failed or cancelled run, send \`{from, version, inputs}\`. This starts a new run. It reuses the
results of finished nodes, except \`from\`, everything after it, and nodes with redacted values. With \`from:
"failed"\` only unfinished nodes run again. New inputs reach only the nodes that run again. Reused nodes keep
results based on the old inputs; choose an earlier \`from\` to recompute them. An agent that had not answered
continues: answered steps and finished tool calls are not repeated.

To run any finished run again from a node, also a completed one, send \`{from_node, flow_version, inputs}\`.
Reused nodes are marked \`reused\` in the new run.`,
    params: runParams,
    body: resumeBody,
    bodyLimit: "run",
    wideBody: true,
    idempotent: true,
    problems: [
      ...VERSION_PROBLEMS,
      ...START_PROBLEMS,
      "run_not_resumable",
      "pause_already_resolved",
      "pause_already_answered",
      "not_an_assignee",
      "pause_expired",
      "too_many_new_runs",
    ],
    examples: {
      approve: { action: "approve", comment: "Looks right" },
      edited: { action: "approve", data: { tool: "order", arguments: { item: "hat" } } },
      form: { pause_id: "0197f0a0-0000-7000-8000-000000000000", action: "approve", data: { amount: 12 } },
      failed: { from: "failed" },
      fork: { from_node: "llm-0", inputs: { "in-0": "Ada" } },
      repaired: { from: "http-0", version: -1, inputs: { "in-0": "Ada" } },
    },
    textsIn: ["inputs"],
    success: {
      202: {
        description: "The run whose pause was answered, or the new run.",
        schema: runSchema,
        headers: { Location: "URL of that run." },
        links: RUN_LINKS,
      },
    },
    async handler({ params: { run_id }, body, principal, newId, repeated, ctx }, deps) {
      const run = await requireRun(deps.db, principal.org_id, run_id);
      const named = OF_RUN.filter((member) => body[member] !== undefined);
      const answering = OF_PAUSE.some((member) => body[member] !== undefined);
      if (named[0] !== undefined && answering) {
        throw invalid(["body", named[0]], "from, version and inputs are not allowed when the run is paused");
      }
      const ended = run.state === "FAILED" || run.state === "CANCELLED";
      if (named.length > 0 || (ended && !answering)) {
        const request = goingOn(run, body);
        const started_by = callerOfRequest(deps.secrets, principal.org_id, ctx.headers);
        const identity = { run_id: newId(), repeated, principal, started_by };
        const resumed = await resumeRun(deps, run, request, identity);
        return answered(deps, resumed);
      }
      await answerPause(deps, run, body, principal);
      return answered(deps, await requireRun(deps.db, principal.org_id, run_id));
    },
  }),
];

/** Throws 409 if the run cannot be resumed in this way, and 422 if the request does not say from where. */
function goingOn(run: RunRow, body: ResumeBody): ResumeRequest {
  const { from, from_node, version, flow_version, inputs } = body;
  if (from !== undefined && from_node !== undefined)
    throw invalid(["body", "from_node"], "Send `from` or `from_node`, not both");
  if (version !== undefined && flow_version !== undefined)
    throw invalid(["body", "flow_version"], "Send version or flow_version, not both");
  if (!isTerminal(run.state))
    throw notResumable(run, `Only a finished run can be resumed from a node; this run is ${run.state}.`);
  if (run.state === "COMPLETED" && from_node === undefined)
    throw notResumable(run, "The run has completed: send from_node to run it again from a node.");
  const begin = from ?? from_node;
  if (begin === undefined)
    throw invalid(["body", "from"], 'Required: "failed", or the ID of the node to resume from', "missing");
  const place = from_node === undefined ? "from" : "from_node";
  return { from: begin, place, version: version ?? flow_version, inputs };
}

async function answered(deps: HandlerDeps, run: RunRow) {
  return { status: 202, body: await viewRun(deps, run), headers: { Location: `/v2/runs/${run.run_id}` } };
}
