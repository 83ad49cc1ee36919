import { z } from "zod";
import type { Config } from "../../config.ts";
import { isSettled, RUN_STATES } from "../../domain/runs/run.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import type { HandlerDeps } from "../deps.ts";
import { EVENT_STREAM, NDJSON, SSE_COMMENT, answerStream, serverSentEvent } from "../http/event-stream.ts";
import { operationsOf } from "../http/operation.ts";
import { START_PROBLEMS, VERSION_PROBLEMS } from "../http/run-request.ts";
import { named } from "../http/schemas.ts";
import { callFlow, flowBody, flowParams, flowQuery } from "./flow-call.ts";
import { metadataAddress, inferenceSchema } from "./inference-presenter.ts";
import { followFrames } from "./partial-outputs.ts";

/** A comment that keeps a stream of lines, or of `data:` events, alive; readers skip it. */
const EMPTY_LINE = "\n";

/** JSON lines, `data:` lines only, or events with IDs. */
type Framing = "lines" | "data" | "events";

const frameSchema = named("FlowRunFrame", {
  ...inferenceSchema.shape,
  state: z
    .enum(RUN_STATES)
    .nullable()
    .describe(
      "State in which the run finished or paused. `null` in earlier frames, unless `states=true` requests every state.",
    ),
  reset: z.literal(true).optional().describe("`true` if each output in this frame starts again from the beginning."),
});

async function* frames(
  deps: HandlerDeps,
  row: RunRow,
  { framing, delta, states, signal }: { framing: Framing; delta: boolean; states: boolean; signal: AbortSignal },
): AsyncGenerator<string, void> {
  for await (const next of followFrames(deps, row, delta, signal)) {
    if (next === null) {
      yield framing === "events" ? SSE_COMMENT : EMPTY_LINE;
      continue;
    }
    const state = states || isSettled(next.view.state) ? next.view.state : null;
    for (const frame of next.frames.map((each) => ({ ...each, state })))
      yield framing === "lines"
        ? `${JSON.stringify(frame)}\n`
        : serverSentEvent(framing === "events" ? next.row.event_seq : null, null, frame);
    // Someone has to decide first; then the client streams the run again.
    if (next.row.state === "PAUSED") return;
  }
}

const define = operationsOf({ tag: "Run Flow", auth: "public" });

/** `/inference/v0/stream`: call a flow and watch it run. */
export const streamOperations = ({ MILLRACE_STREAM_KEEP_ALIVE_MS }: Config) => [
  define({
    id: "streamDeployedFlow",
    audit: "run",
    route: "POST /inference/v0/stream/{org_id}/{flow_id}",
    summary: "Run a deployed flow and stream its output",
    description: `Runs a deployed flow and streams frames with the fields of the run operation: the first immediately, one whenever the run's record
changes or the text of an output grows, and the last when the run finishes or pauses.

Frames are lines of JSON. With \`Accept: text/event-stream\` they are server-sent events with only a \`data:\` line; with \`sse=true\` these
also have an ID, the number of the run's last event. With \`delta=true\`, text in \`outputs\` is the part to append to earlier frames.
In a frame with \`reset: true\`, each output it contains starts again from the beginning, because a model was called again. \`state\` is null
until the run finishes or pauses; with \`states=true\` each frame has the current state. Every ${MILLRACE_STREAM_KEEP_ALIVE_MS / 1000} s without a frame the stream sends an empty
line or, with \`sse=true\`, a comment; ignore both.

Disconnecting does not stop the run. A request with the same \`Idempotency-Key\` returns to the same run, also after its pause was answered.
Unknown query parameters are ignored.`,
    params: flowParams,
    query: flowQuery.extend({
      delta: z
        .boolean()
        .default(true)
        .describe(
          "`true` sends only what is new: outputs that earlier frames did not have, and the text to append to others. `false` sends all outputs so far in each frame.",
        ),
      sse: z.boolean().default(false).describe("`true` sends server-sent events with IDs."),
      states: z
        .boolean()
        .default(false)
        .describe("`true` includes the run's state in every frame, not only in the last."),
    }),
    looseQuery: true,
    body: flowBody,
    textsIn: [],
    looseBody: true,
    bodyLimit: "run",
    wideBody: true,
    idempotent: "claim",
    problems: [...VERSION_PROBLEMS, ...START_PROBLEMS],
    examples: { question: { "in-0": "Where is my parcel?", user_id: "ada-1" } },
    success: {
      200: {
        description: "Frames until the run finishes or pauses.",
        content: { [NDJSON]: frameSchema, [EVENT_STREAM]: frameSchema },
        headers: { "Content-Location": "URL to poll for the run's status." },
      },
    },
    async handler({ params, query, body, principal, newId, repeated, streamSignal, ctx }, deps) {
      const run_id = newId();
      const started_by = callerOfRequest(deps.secrets, principal.org_id, ctx.headers);
      const { row, replayed } = await callFlow(deps, { params, query, body, principal, run_id, started_by, repeated });
      const { delta, states, sse } = query;
      const asEvents = ctx.accepts(NDJSON, "application/json", EVENT_STREAM) === EVENT_STREAM;
      const framing = sse ? "events" : asEvents ? "data" : "lines";
      const texts = frames(deps, row, { framing, delta, states, signal: streamSignal() });
      return answerStream(framing === "lines" ? NDJSON : EVENT_STREAM, texts, {
        "Content-Location": metadataAddress(row),
        ...(replayed && { "Idempotent-Replayed": "true" }),
      });
    },
  }),
];
