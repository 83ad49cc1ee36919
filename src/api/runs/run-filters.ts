import { z } from "zod";
import { RUN_STATES, RUN_TYPES } from "../../domain/runs/run.ts";
import { timeText } from "../../domain/timestamps.ts";
import { tag, userHandle } from "../http/text-fields.ts";

/** Filters of runs, shared by the list and by jobs on all runs that match. */
export const runFilters = {
  run_id: z
    .array(z.uuid().toLowerCase())
    .min(1)
    .max(100)
    .optional()
    .describe("One of these; give it more than once for several."),
  project_id: z.uuid().toLowerCase().optional(),
  state: z
    .array(z.enum(RUN_STATES))
    .min(1)
    .max(20)
    .optional()
    .describe("One of these; give it more than once for several."),
  run_type: z.enum(RUN_TYPES).optional(),
  user_id: userHandle.optional(),
  parent_run_id: z.uuid().optional(),
  resumed_from: z.uuid().toLowerCase().optional().describe("Only runs that go on from this one."),
  tag: tag.optional(),
  stuck: z
    .boolean()
    .optional()
    .describe(
      "Whether a run makes no progress although nobody has to decide anything: it is late to start, has been retrying a node for some time, or nothing was recorded of it for some time, and it waits neither for a delay nor for a sub-flow.",
    ),
  created_after: timeText.optional().describe("RFC 3339; exclusive."),
  created_before: timeText.optional().describe("RFC 3339; exclusive."),
};
