import { createHash } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { z } from "zod";
import { Problem } from "../../domain/errors.ts";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import { feedbackId } from "../../domain/pages/page.ts";
import { giveFeedback } from "../../services/evals/give-score.ts";
import { createOpenStreams } from "../../services/pages/open-streams.ts";
import { requireVisitorRun, startVisitorRun } from "../../services/pages/visitor-runs.ts";
import { answerPause } from "../../services/runs/answer-pause.ts";
import { cancelRun } from "../../services/runs/cancel-run.ts";
import { listPauses } from "../../stores/runs/pauses.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { HandlerDeps } from "../deps.ts";
import { EVENT_STREAM, answerStream } from "../http/event-stream.ts";
import { createIdempotency } from "../http/idempotency.ts";
import { operationsOf, type ContentAnswer, type RequestContext } from "../http/operation.ts";
import { givenId, named, namedStrict, pathId } from "../http/schemas.ts";
import { admitVisitors, visitOf, visitorAudit, PAGE_PROBLEMS, pageToken } from "./admission.ts";
import { mayVisitorsAnswer, pageFrameSchema, pageRunSchema, pageFrames, viewPageRun } from "./page-run-views.ts";
import { START_PROBLEMS } from "../http/run-request.ts";

const PATH = "/f/{token}/runs";
const params = pageToken.extend({ run_id: pathId("run") });
const KEY = /^[!-~]{1,255}$/;

const startBody = namedStrict("PageRunStart", {
  inputs: jsonObjectSchema.default({}).describe("The flow's inputs, keyed by node ID."),
  conversation_id: givenId.optional().describe("A conversation of this visitor. Without it, the run begins a new one."),
});

const answerBody = namedStrict("PagePauseAnswer", {
  pause_id: z.uuid().optional().describe("The pause to answer. Required if several are waiting."),
  action: z.string().max(64).optional().describe("One of the pause's actions. Can be omitted if there is only one."),
  data: jsonValueSchema.optional().describe("Data that matches the pause's form."),
  comment: z.string().max(4000).optional(),
});

const feedbackBody = namedStrict("PageFeedback", {
  feedback: z.enum(["positive", "negative"]),
  comment: z.string().max(4000).optional(),
});

const asEvents = (ctx: RequestContext): boolean => ctx.accepts("application/json", EVENT_STREAM) === EVENT_STREAM;

/** The ID of a run: the same for the same key of the same visitor. Throws 409 if the key was used for another request. */
async function runIdFor(
  deps: HandlerDeps,
  ctx: RequestContext,
  key: string | undefined,
  body: unknown,
): Promise<readonly [string, boolean]> {
  if (key === undefined) return [uuidv7(), false];
  const { page, visitor } = visitOf(ctx);
  // A digest, so that a visitor's key meets neither another visitor's nor one of the organisation's.
  const own = createHash("sha256").update(`${visitor.visitor_id} ${key}`).digest("hex");
  const { resourceId, repeated } = await createIdempotency(deps).claimOnly({
    orgId: page.org_id,
    key: `page-${own}`,
    operation: "startPageRun",
    method: "POST",
    path: `/pages/${page.page_id}/runs`,
    search: "",
    body: Buffer.from(JSON.stringify(body)),
    makesRun: true,
    credential: null,
  });
  return [resourceId, repeated];
}

const define = operationsOf(
  { tag: "Pages", auth: "none", visitor: "required", audit: "run", admit: admitVisitors },
  (deps) => {
    const open = createOpenStreams();

    /** The response that streams a run of the visitor. Throws 429 if too many streams are open. */
    function stream(ctx: RequestContext, row: RunRow, signal: AbortSignal): ContentAnswer {
      const { page, visitor, network } = visitOf(ctx);
      const frames = pageFrames(deps, { row, page, visitor }, signal);
      return answerStream(EVENT_STREAM, open.hold(visitor.visitor_id, network, frames));
    }

    return { stream };
  },
);

/** `/f/{token}/runs`: what visitors of a page run. */
export const pageRunOperations = [
  define({
    id: "startPageRun",
    route: `POST ${PATH}`,
    summary: "Run the flow of a page",
    description: `Runs the flow as a visitor of the page. With \`Accept: text/event-stream\` the response streams frames until the run finishes, or pauses for the visitor; otherwise it is 202 with the run as it is now.

The first frame of a stream has \`reset: true\` and all outputs so far; later frames have only what is new: text to append, or with \`reset: true\` outputs that start again. A stream that ends before that can be opened again with \`GET\`. Closing the page does not stop the run.

Send an \`Idempotency-Key\`: the same key of the same visitor returns to the same run.`,
    params: pageToken,
    headers: z.object({
      "idempotency-key": z
        .string()
        .regex(KEY, "Must be 1 to 255 visible ASCII characters")
        .optional()
        .describe("1 to 255 visible ASCII characters. Counts for this visitor only."),
    }),
    body: startBody,
    textsIn: ["inputs"],
    wideBody: true,
    examples: { question: { inputs: { "in-0": "Where is my parcel?" } } },
    problems: [...PAGE_PROBLEMS, "idempotency_conflict", ...START_PROBLEMS],
    success: {
      200: { description: "Frames until the run finishes or pauses.", content: { [EVENT_STREAM]: pageFrameSchema } },
      202: { description: "The run.", schema: pageRunSchema },
    },
    async handler({ headers, body, ctx, streamSignal }, deps) {
      const { stream } = deps;
      const { page, visitor, network } = visitOf(ctx);
      const [run_id, repeated] = await runIdFor(deps, ctx, headers["idempotency-key"], body);
      const row = await startVisitorRun(deps, {
        ...body,
        page,
        visitor,
        run_id,
        repeated,
        count: () => deps.pages.countStart(page, visitor.visitor_id, network),
      });
      if (asEvents(ctx)) return stream(ctx, row, streamSignal());
      return { status: 202, body: await viewPageRun(deps, { row, page, visitor }) };
    },
  }),
  define({
    id: "getPageRun",
    route: `GET ${PATH}/{run_id}`,
    summary: "Get a run of a page",
    description:
      "Returns a run of this visitor or, with `Accept: text/event-stream`, streams it from all its outputs so far. While a run waits for people of the organisation, the stream stays open.",
    params,
    headers: z.object({ "last-event-id": z.string().max(100).optional().describe("Accepted, and not needed.") }),
    problems: PAGE_PROBLEMS,
    success: { 200: { description: "The run.", schema: pageRunSchema, content: { [EVENT_STREAM]: pageFrameSchema } } },
    async handler({ params: { run_id }, ctx, streamSignal }, deps) {
      const { page, visitor } = visitOf(ctx);
      const row = await requireVisitorRun(deps.db, { page, visitor }, run_id);
      if (asEvents(ctx)) return deps.stream(ctx, row, streamSignal());
      return { status: 200, body: await viewPageRun(deps, { row, page, visitor }) };
    },
  }),
  define({
    id: "cancelPageRun",
    route: `POST ${PATH}/{run_id}/cancel`,
    summary: "Cancel a run of a page",
    description: "Requests a graceful cancel of a run of this visitor.",
    params,
    body: z.strictObject({}).prefault({}),
    examples: { stop: {} },
    problems: [...PAGE_PROBLEMS, "run_already_finished"],
    success: { 202: { description: "Cancellation requested.", schema: pageRunSchema } },
    async handler({ params: { run_id }, ctx }, deps) {
      const { db, config } = deps;
      const { page, visitor } = visitOf(ctx);
      const { org_id } = page;
      await requireVisitorRun(db, { page, visitor }, run_id);
      const { run } = await cancelRun(deps, { org_id, run_id, reason: null, mode: "graceful" });
      const audit = visitorAudit(config, ctx, "cancelPageRun");
      await db.org(org_id, (connection) => audit(connection, { target: { type: "run", id: run_id } }));
      return { status: 202, body: await viewPageRun(deps, { row: run, page, visitor }) };
    },
  }),
  define({
    id: "resumePageRun",
    route: `POST ${PATH}/{run_id}/resume`,
    summary: "Answer a pause on a page",
    description:
      "Answers a pause of a run of this visitor. Only pauses that the page names in `visitor_pauses`, and that have no assignees, can be answered; others return 403.",
    params,
    body: answerBody,
    examples: { choice: { action: "approve" } },
    problems: [
      ...PAGE_PROBLEMS,
      "run_not_resumable",
      "pause_already_resolved",
      "pause_already_answered",
      "not_an_assignee",
      "pause_expired",
    ],
    success: { 202: { description: "The run.", schema: pageRunSchema } },
    async handler({ params: { run_id }, body, ctx }, deps) {
      const { db, config } = deps;
      const { page, visitor } = visitOf(ctx);
      const run = await requireVisitorRun(db, { page, visitor }, run_id);
      const pauses = await db.org(page.org_id, (connection) => listPauses(connection, run_id));
      const open = pauses.filter(({ status }) => status === "waiting");
      const asked =
        body.pause_id === undefined ? open : pauses.filter((each) => each.pause_id === body.pause_id?.toLowerCase());
      if (asked.some((pause) => !mayVisitorsAnswer(page, pause)))
        throw new Problem("forbidden", "People of the organisation decide this.");
      await answerPause(deps, run, body, { type: "page", id: page.page_id, role: "viewer" });
      const audit = visitorAudit(config, ctx, "resumePageRun");
      await db.org(page.org_id, (connection) => audit(connection, { target: { type: "run", id: run_id } }));
      return {
        status: 202,
        body: await viewPageRun(deps, { row: await requireVisitorRun(db, { page, visitor }, run_id), page, visitor }),
      };
    },
  }),
  define({
    id: "ratePageRun",
    route: `POST ${PATH}/{run_id}/feedback`,
    summary: "Send feedback on a run of a page",
    description: "Stores the visitor's feedback as a score of the run named `feedback`. Sending it again replaces it.",
    params,
    body: feedbackBody,
    examples: { thumb: { feedback: "positive" } },
    problems: PAGE_PROBLEMS,
    success: {
      200: {
        description: "Feedback stored.",
        schema: named("PageFeedbackKept", { run_id: z.uuid(), feedback: z.enum(["positive", "negative"]) }),
      },
    },
    async handler({ params: { run_id }, body: { feedback, comment = null }, ctx }, { db }) {
      const { page, visitor } = visitOf(ctx);
      await requireVisitorRun(db, { page, visitor }, run_id);
      const score = { score_id: feedbackId(run_id), run_id, feedback, comment, author: page.page_id };
      await giveFeedback(db, page.org_id, score, { replace: true });
      return { status: 200, body: { run_id, feedback } };
    },
  }),
];
