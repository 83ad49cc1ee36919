import { z } from "zod";
import { RUN_STATES, RUN_TYPES } from "../../domain/runs/run.ts";
import { ENVIRONMENT_NAME } from "../../domain/projects/environments.ts";
import { timeText } from "../../domain/timestamps.ts";
import { tag, userHandle } from "../http/text-fields.ts";

/** Filters of runs, shared by the list and by run jobs. */
export const runFilters = {
  run_id: z
    .array(z.uuid().toLowerCase())
    .min(1)
    .max(100)
    .optional()
    .describe("Filter by one or more values. Repeat the parameter for several."),
  project_id: z.uuid().toLowerCase().optional(),
  state: z
    .array(z.enum(RUN_STATES))
    .min(1)
    .max(20)
    .optional()
    .describe("Filter by one or more values. Repeat the parameter for several."),
  run_type: z.enum(RUN_TYPES).optional(),
  environment: z
    .string()
    .regex(ENVIRONMENT_NAME)
    .optional()
    .describe("Only runs that used the version of this environment; runs of drafts and explicit versions have none."),
  user_id: userHandle.optional(),
  parent_run_id: z.uuid().optional(),
  resumed_from: z
    .uuid()
    .toLowerCase()
    .optional()
    .describe("Only runs that resume this one or rerun it (bulk action `replay`)."),
  tag: tag.optional(),
  stuck: z
    .boolean()
    .optional()
    .describe(
      "`true` returns stuck runs: late to start, retrying a node for some time, or without recorded progress, while waiting for no approval, delay or child run. `false` returns the others.",
    ),
  created_after: timeText.optional().describe("RFC 3339 time; exclusive."),
  created_before: timeText.optional().describe("RFC 3339 time; exclusive."),
};
