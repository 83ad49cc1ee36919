import { z } from "zod";
import { getRun } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { EVENT_STREAM, NDJSON, SSE_COMMENT, answerStream, serverSentEvent } from "../http/event-stream.ts";
import { createFlowCall, flowBody, flowParams, flowQuery } from "./flow-call.ts";
import { followRun } from "./follow-run.ts";
import { metadataAddress } from "./inference-answer.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { inferenceSchema } from "./inference-presenter.ts";
import type { InferenceView } from "./inference-presenter.ts";
import { viewInference } from "./run-views.ts";

/** Keeps a stream of lines alive; who reads them skips it. */
const EMPTY_LINE = "\n";

/** `/inference/v0/stream`: call a flow and watch it run. */
export function createStreamOperations(deps: ApiDeps, services: ApiServices): Operation[] {
  const call = createFlowCall(deps, services);
  const { db, config } = deps;
  const { waiter } = services.runService;
  const keepAliveMs = config.MILLRACE_STREAM_KEEP_ALIVE_MS;

  async function* frames(
    row: RunRow,
    { sse, delta, signal }: { sse: boolean; delta: boolean; signal: AbortSignal },
  ): AsyncGenerator<string, void> {
    const narrow = delta ? createDelta() : (view: InferenceView) => view;
    const write = (at: RunRow, view: InferenceView): string =>
      sse ? serverSentEvent(at.event_seq, null, view) : `${JSON.stringify(view)}\n`;
    for await (const next of followRun({ db, waiter, keepAliveMs }, row, signal)) {
      if (next === null) {
        yield sse ? SSE_COMMENT : EMPTY_LINE;
        continue;
      }
      yield write(next, narrow(await viewInference(deps, next)));
      // Somebody has to answer first, and then streams the run again.
      if (next.state === "PAUSED") return;
    }
  }

  return [
    defineOperation({
      id: "streamDeployedFlow",
      method: "POST",
      path: "/inference/v0/stream/{org_id}/{flow_id}",
      tag: "Run Flow",
      summary: "Run a deployed flow and stream how it goes",
      description: `Answers frames of the members that the run operation answers: the first at once, one whenever the run's record changes, the last
when it has ended or is paused. Frames are lines of JSON or, with \`sse=true\` or \`Accept: text/event-stream\`, server-sent
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
            "Whether `outputs` carries only what the frames before did not; otherwise all that there are so far.",
          ),
        sse: z.boolean().default(false).describe("Whether to answer server-sent events."),
      }),
      looseQuery: true,
      body: flowBody,
      looseBody: true,
      bodyLimit: "run",
      idempotent: "claim",
      problems: ["flow_version_not_found", "too_many_concurrent_runs"],
      examples: { question: { "in-0": "Where is my parcel?", user_id: "ada-1" } },
      success: {
        200: {
          description: "Frames, until the run has ended or is paused.",
          content: { [NDJSON]: inferenceSchema, [EVENT_STREAM]: inferenceSchema },
          headers: { "Content-Location": "Where the run can be asked for." },
        },
      },
      async handler({ params, query, body, principal, newId, repeated, signal, ctx }) {
        const run_id = newId();
        // The first request with the key may have been refused, and made no run.
        const found = repeated && (await db.org(principal.org_id, (connection) => getRun(connection, run_id))) !== null;
        const row = await call({ params, query, body, principal, run_id, repeated });
        const sse = query.sse || ctx.accepts(NDJSON, "application/json", EVENT_STREAM) === EVENT_STREAM;
        const texts = frames(row, { sse, delta: query.delta, signal });
        return answerStream(sse ? EVENT_STREAM : NDJSON, texts, {
          "Content-Location": metadataAddress(row),
          ...(found && { "Idempotent-Replayed": "true" }),
        });
      },
    }),
  ];
}

/** Makes what leaves out of each frame the outputs that an earlier one had, unless they have changed. */
function createDelta(): (view: InferenceView) => InferenceView {
  const sent = new Map<string, string>();
  return (view) => {
    const news = Object.entries(view.outputs).filter(([id, value]) => {
      const text = JSON.stringify(value);
      const isNew = sent.get(id) !== text;
      sent.set(id, text);
      return isNew;
    });
    return { ...view, outputs: Object.fromEntries(news) };
  };
}
