import { z } from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import { INLINE_VALUE_BYTES } from "../../domain/json.ts";
import { invalid } from "../../domain/errors.ts";
import { answerPause } from "../../services/runs/answer-pause.ts";
import { cancelRun } from "../../services/runs/cancel-run.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { runSchema } from "./run-presenter.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import { notResumable, resumeRun } from "../../services/runs/resume-run.ts";
import type { ResumeRequest } from "../../services/runs/resume-run.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { requireRun } from "../../services/runs/require-run.ts";
import { viewRun } from "./run-views.ts";
import { RUN_LINKS, runParams } from "./runs.ts";

const COMMON = { tag: "Runs", auth: "secret" } as const;

const cancelBody = z
  .strictObject({
    reason: z.string().max(500).optional().describe("Kept as the run's state_reason."),
    mode: z
      .enum(["graceful", "terminate"])
      .default("graceful")
      .describe(
        "`graceful` lets running nodes stop; `terminate` ends the run's workflow at once, whatever it is doing.",
      ),
  })
  .meta({ id: "RunCancel" });

const resumeBody = z
  .strictObject({
    pause_id: z.uuid().optional().describe("The pause that is answered. Needed when several are open."),
    action: z
      .string()
      .max(64)
      .optional()
      .describe("One of the pause's actions. May be left out where there is only one."),
    data: jsonValueSchema
      .optional()
      .describe(`What the pause's form asks for; at most ${INLINE_VALUE_BYTES} bytes of JSON.`),
    comment: z.string().max(4000).optional(),
    from: z
      .string()
      .max(64)
      .optional()
      .describe("For a failed or cancelled run: `failed`, or the node of the top level to begin with."),
    version: z
      .int()
      .optional()
      .describe("The version of the flow to go on with; default the run's own, -1 the published one."),
    from_node: z
      .string()
      .max(64)
      .optional()
      .describe("For a run that has ended, also one that has completed: the node of the top level to begin with."),
    flow_version: z.int().optional().describe("The same as `version`."),
    inputs: jsonObjectSchema.optional().describe("New inputs; the others stay."),
  })
  .meta({ id: "RunResume" });
type ResumeBody = z.output<typeof resumeBody>;

const OF_PAUSE = ["pause_id", "action", "data", "comment"] as const satisfies ReadonlyArray<keyof ResumeBody>;
const OF_RUN = ["from", "from_node", "version", "flow_version", "inputs"] as const satisfies ReadonlyArray<
  keyof ResumeBody
>;

/** `/v2/runs/{run_id}/cancel` and `/resume`. */
export function createRunControlOperations(deps: ApiDeps, services: ApiServices): Operation[] {
  const { config, db, runs: starter, feed, observer, logger, evaluation } = deps;
  const control = { db, starter, feed, observer, logger, evaluation };
  const resuming = { ...deps, ...services, maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES };
  return [
    defineOperation({
      ...COMMON,
      id: "cancelRun",
      method: "POST",
      path: "/v2/runs/{run_id}/cancel",
      summary: "Cancel a run",
      description:
        "A graceful cancel is asked for and takes effect within seconds: running nodes get the cancellation, child runs are cancelled, no later node starts. A run that has not started (`run_at`) is cancelled at once.",
      params: runParams,
      body: cancelBody.prefault({}),
      idempotent: true,
      problems: ["run_already_finished"],
      examples: { graceful: { reason: "No longer needed" }, terminate: { mode: "terminate" } },
      success: {
        200: { description: "It was cancelled before.", schema: runSchema },
        202: { description: "The run as it is now; it will be CANCELLED.", schema: runSchema, links: RUN_LINKS },
      },
      async handler({ params: { run_id }, body, principal: { org_id } }) {
        const { run, already } = await cancelRun(control, {
          org_id,
          run_id,
          reason: body.reason ?? null,
          mode: body.mode,
        });
        return { status: already ? 200 : 202, body: await viewRun(deps, run) };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "resumeRun",
      method: "POST",
      path: "/v2/runs/{run_id}/resume",
      summary: "Answer a pause, or go on from a failure",
      description: `**A pause** is answered with \`{pause_id, action, data, comment}\`. An action counts once \`required_approvals\` different principals
have chosen it; \`reject\` counts at once. Where the pause has \`assignees\`, only they answer it (403 \`not_an_assignee\`): not an admin who is
none of them, and no API key. Data that breaks the pause's form is a 422 and leaves it open.

**A failed or cancelled run** goes on as a new run with \`{from, version, inputs}\`: what had finished is taken over, except the node \`from\` and
all that comes after it (\`failed\`: nothing but what had not finished is run again), and except nodes whose values are redacted. An input that is given
anew is seen by what is run again; what is taken over keeps what it made of the old one, so choose an earlier \`from\` to have it run again.
A model with tools that had not answered goes on: it is not asked again what it has answered, and calls that had ended are not made again.

**A run that has ended**, also one that has completed, is run again from a node with \`{from_node, flow_version, inputs}\`. What is taken over
is marked \`reused\` among the new run's nodes.`,
      params: runParams,
      body: resumeBody,
      bodyLimit: "run",
      wideBody: true,
      idempotent: true,
      problems: [
        "flow_version_not_found",
        "run_not_resumable",
        "pause_already_resolved",
        "pause_already_answered",
        "not_an_assignee",
        "pause_expired",
        "too_many_nested_runs",
        "too_many_concurrent_runs",
        "too_many_new_runs",
        "quota_exceeded",
      ],
      examples: {
        approve: { action: "approve", comment: "Looks right" },
        form: { pause_id: "0197f0a0-0000-7000-8000-000000000000", action: "approve", data: { amount: 12 } },
        failed: { from: "failed" },
        fork: { from_node: "llm-0", inputs: { "in-0": "Ada" } },
        repaired: { from: "http-0", version: -1, inputs: { "in-0": "Ada" } },
      },
      exactNumbers: { but: "inputs" },
      success: {
        202: {
          description: "The run whose pause was answered, or the new run.",
          schema: runSchema,
          headers: { Location: "The address of that run." },
          links: RUN_LINKS,
        },
      },
      async handler({ params: { run_id }, body, principal, newId, repeated, ctx }) {
        const run = await requireRun(db, principal.org_id, run_id);
        const named = OF_RUN.filter((member) => body[member] !== undefined);
        const answering = OF_PAUSE.some((member) => body[member] !== undefined);
        if (named[0] !== undefined && answering) {
          throw invalid(["body", named[0]], "An answer to a pause has no from, version or inputs");
        }
        const ended = run.state === "FAILED" || run.state === "CANCELLED";
        if (named.length > 0 || (ended && !answering)) {
          const request = goingOn(run, body);
          const started_by = callerOfRequest(deps.secrets, principal.org_id, ctx.headers);
          const identity = { run_id: newId(), repeated, principal, started_by };
          const resumed = await resumeRun(resuming, run, request, identity);
          return answered(deps, resumed);
        }
        await answerPause(control, run, body, principal);
        return answered(deps, await requireRun(db, principal.org_id, run_id));
      },
    }),
  ];
}

/** Throws 409 if the run cannot go on like this, and 422 if the request does not say from where. */
function goingOn(run: RunRow, body: ResumeBody): ResumeRequest {
  const { from, from_node, version, flow_version, inputs } = body;
  if (from !== undefined && from_node !== undefined)
    throw invalid(["body", "from_node"], "from says already where to begin");
  if (version !== undefined && flow_version !== undefined)
    throw invalid(["body", "flow_version"], "version says already which one");
  if (!isTerminal(run.state))
    throw notResumable(run, `Only a run that has ended can go on from a node; this one is ${run.state}.`);
  if (run.state === "COMPLETED" && from_node === undefined)
    throw notResumable(run, "The run has completed: with from_node it can be run again from a node.");
  const begin = from ?? from_node;
  if (begin === undefined)
    throw invalid(["body", "from"], 'Say where to begin: "failed", or the id of a node', "missing");
  const place = from_node === undefined ? "from" : "from_node";
  return { from: begin, place, version: version ?? flow_version, inputs };
}

async function answered(deps: ApiDeps, run: RunRow) {
  return { status: 202, body: await viewRun(deps, run), headers: { Location: `/v2/runs/${run.run_id}` } };
}
