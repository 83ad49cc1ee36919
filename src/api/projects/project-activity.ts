import { z } from "zod";
import { RUN_STATES, RUN_TYPES } from "../../domain/runs/run.ts";
import { timestampAt } from "../../domain/timestamps.ts";
import { firstIdOf, timeOf } from "../../domain/uuid.ts";
import type { Period, ProjectActivity } from "../../stores/projects/project-activity.ts";
import { projectSchema } from "./project-presenter.ts";

const DAYS = 14;
const DAY_MS = 86_400_000;
/** The clock of another process may be ahead, and its runs belong to the last day. */
const AHEAD_MS = 60_000;

const author = z.string().nullable().describe("Email address of the user or name of the API key; `null` if unknown.");

const activitySchema = z
  .object({
    created_by: z.uuid().nullable().describe("ID of the user or API key that created the project; `null` if unknown."),
    created_by_name: author,
    draft: z
      .object({
        revision: z.int(),
        changed_at: z.iso.datetime(),
        changed_by: z.uuid().describe("ID of the user or API key."),
        changed_by_name: author,
      })
      .nullable()
      .describe("The draft, which has changes that are not deployed; `null` if there is none."),
    last_run: z
      .object({
        run_id: z.uuid(),
        state: z.enum(RUN_STATES),
        run_type: z.enum(RUN_TYPES),
        created_at: z.iso.datetime(),
        finished_at: z.iso.datetime().nullable(),
      })
      .nullable(),
    days: z
      .array(z.object({ start: z.iso.datetime(), runs: z.int().min(0), failed: z.int().min(0) }))
      .describe(
        `The last ${DAYS} periods of 24 hours, oldest first, with the runs created in each, drafts and child runs included.`,
      ),
  })
  .meta({ id: "ProjectActivity" });

export const listedProjectSchema = projectSchema
  .extend({ activity: activitySchema.optional().describe("Only with `expand=activity`.") })
  .meta({ id: "ListedProject" });

/** The periods of 24 hours up to a time, oldest first. */
export function lastDays(now: number): Period[] {
  return Array.from({ length: DAYS }, (_, at) => {
    const start = now - (DAYS - at) * DAY_MS;
    const end = at === DAYS - 1 ? now + AHEAD_MS : start + DAY_MS;
    return { first: firstIdOf(start), next: firstIdOf(end) };
  });
}

export function presentActivity(
  { created_by, created_by_name, draft, last_run, runs, failed }: ProjectActivity,
  days: readonly Period[],
): z.infer<typeof activitySchema> {
  return {
    created_by,
    created_by_name,
    draft,
    last_run,
    days: days.map(({ first }, at) => ({
      start: timestampAt(timeOf(first)),
      runs: runs[at] ?? 0,
      failed: failed[at] ?? 0,
    })),
  };
}
