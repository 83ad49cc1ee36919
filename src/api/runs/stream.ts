import { z } from "zod";
import { isTerminal } from "../../domain/runs/run.ts";
import { getRun } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { EVENT_STREAM, NDJSON, SSE_COMMENT, answerStream, serverSentEvent } from "../http/event-stream.ts";
import { createFlowCall, flowBody, flowParams, flowQuery } from "./flow-call.ts";
import { followRun } from "./follow-run.ts";
import { metadataAddress } from "./inference-answer.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { createFrames, partialOutputs } from "./partial-outputs.ts";
import type { Frame } from "./partial-outputs.ts";
import { inferenceSchema } from "./inference-presenter.ts";
import type { InferenceView } from "./inference-presenter.ts";
import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { viewInference } from "./run-views.ts";

/** Keeps a stream of lines alive; who reads them skips it. */
const EMPTY_LINE = "\n";

const frameSchema = inferenceSchema
  .extend({
    reset: z.literal(true).optional().describe("Whether each output that the frame carries begins anew."),
  })
  .meta({ id: "FlowRunFrame" });

/** `/inference/v0/stream`: call a flow and watch it run. */
export function createStreamOperations(deps: ApiDeps, services: ApiServices): Operation[] {
  const call = createFlowCall(deps, services);
  const { db, config, plans, secrets } = deps;
  const keepAliveMs = config.MILLRACE_STREAM_KEEP_ALIVE_MS;

  async function* frames(
    row: RunRow,
    { sse, delta, signal }: { sse: boolean; delta: boolean; signal: AbortSignal },
  ): AsyncGenerator<string, void> {
    const { waiter, texts } = services.runService;
    const framesOf = createFrames(delta);
    const { plan } = await plans.get(row);
    const partial = partialOutputs(plan, row);
    const write = (at: RunRow, frame: Frame): string =>
      sse ? serverSentEvent(at.event_seq, null, frame) : `${JSON.stringify(frame)}\n`;
    let lastRow: RunRow | undefined;
    let view: InferenceView | undefined;
    for await (const next of followRun({ db, waiter, texts, keepAliveMs }, row, partial.paths, signal)) {
      if (next === null) {
        yield sse ? SSE_COMMENT : EMPTY_LINE;
        continue;
      }
      // Most frames differ only in a text.
      if (!view || lastRow !== next.row) view = await viewInference(deps, next.row);
      lastRow = next.row;
      const growing = isTerminal(next.row.state) ? {} : partial.of(next.texts);
      for (const frame of framesOf({ ...view, outputs: { ...growing, ...view.outputs } })) yield write(next.row, frame);
      // Somebody has to answer first, and then stream the run again.
      if (next.row.state === "PAUSED") return;
    }
  }

  return [
    defineOperation({
      id: "streamDeployedFlow",
      audit: "run",
      method: "POST",
      path: "/inference/v0/stream/{org_id}/{flow_id}",
      tag: "Run Flow",
      summary: "Run a deployed flow and stream how it goes",
      description: `Answers frames of the members that the run operation answers: the first at once, one whenever the run's record changes or the text
of a model grows that an output hands on, the last when it has ended or is paused. With \`delta=true\` a text in \`outputs\` is what is to be
added to what the frames before had of it. In a frame with \`reset: true\`, each output that it carries begins anew: a model was asked again. Frames are lines of JSON or, with \`sse=true\` or \`Accept: text/event-stream\`, server-sent
events whose id is the number of the run's last event. A quiet stream is kept alive every ${keepAliveMs / 1000} s, by an empty line or a comment, which is no frame.
A client that goes away never stops its run; with the same \`Idempotency-Key\` it finds the same run again, also after a pause was answered.
Query parameters that are not listed here are ignored.`,
      auth: "public",
      params: flowParams,
      query: flowQuery.extend({
        delta: z
          .boolean()
          .default(true)
          .describe(
            "Whether `outputs` carries only what is new: outputs that the frames before had not, and what was added to texts. Otherwise all that there is so far.",
          ),
        sse: z.boolean().default(false).describe("Whether to answer server-sent events."),
      }),
      looseQuery: true,
      body: flowBody,
      looseBody: true,
      bodyLimit: "run",
      wideBody: true,
      idempotent: "claim",
      problems: ["flow_version_not_found", "too_many_nested_runs", "too_many_concurrent_runs", "quota_exceeded"],
      examples: { question: { "in-0": "Where is my parcel?", user_id: "ada-1" } },
      success: {
        200: {
          description: "Frames, until the run has ended or is paused.",
          content: { [NDJSON]: frameSchema, [EVENT_STREAM]: frameSchema },
          headers: { "Content-Location": "Where the run can be asked for." },
        },
      },
      async handler({ params, query, body, principal, newId, repeated, streamSignal, ctx }) {
        const run_id = newId();
        // The first request with the key may have been refused, and made no run.
        const found = repeated && (await db.org(principal.org_id, (connection) => getRun(connection, run_id))) !== null;
        const started_by = callerOfRequest(secrets, principal.org_id, ctx.headers);
        const row = await call({ params, query, body, principal, run_id, started_by, repeated });
        const sse = query.sse || ctx.accepts(NDJSON, "application/json", EVENT_STREAM) === EVENT_STREAM;
        const texts = frames(row, { sse, delta: query.delta, signal: streamSignal() });
        return answerStream(sse ? EVENT_STREAM : NDJSON, texts, {
          "Content-Location": metadataAddress(row),
          ...(found && { "Idempotent-Replayed": "true" }),
        });
      },
    }),
  ];
}
