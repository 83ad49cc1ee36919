import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import { giveFeedback } from "../../services/evals/give-score.ts";
import { requireRunFor } from "../../services/runs/require-run.ts";
import { operationsOf } from "../http/operation.ts";
import { flowParams } from "./flow-call.ts";

const feedbackBody = z
  .strictObject({
    run_id: z.uuid().toLowerCase(),
    feedback: z
      .union([z.enum(["positive", "negative"]), z.number().min(-1_000_000_000).max(1_000_000_000)])
      .describe("Thumb up or down, or a number on any scale of yours."),
    comment: z.string().max(4000).optional(),
  })
  .meta({ id: "RunFeedback" });

const define = operationsOf({ tag: "Run Flow", auth: "public" });

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
        schema: z
          .object({ score_id: z.uuid(), run_id: z.uuid(), feedback: z.union([z.string(), z.number()]) })
          .meta({ id: "FeedbackKept" }),
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
