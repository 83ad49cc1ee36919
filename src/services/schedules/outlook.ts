import { cronWarning } from "../../domain/cron.ts";
import type { Logger } from "../../platform/logging/logger.ts";
import type { Schedules } from "../../temporal/schedules.ts";

/** How many of a schedule's next times are listed. */
const NEXT_TIMES = 5;

/** When a schedule is due next, and what in it may be a mistake. */
export interface Outlook {
  /** Null where Temporal cannot tell. */
  readonly next_times: string[] | null;
  readonly warnings: string[];
}

export interface OutlookDeps {
  readonly schedules: Pick<Schedules, "nextTimes">;
  readonly logger: Logger;
}

/** The outlook of a schedule by its cron expression; one that is paused is never due. */
export async function outlookOfSchedule(
  { schedules, logger }: OutlookDeps,
  { id, cron, paused }: { readonly id: string; readonly cron: string; readonly paused: boolean },
): Promise<Outlook> {
  const warning = cronWarning(cron);
  const warnings = warning === null ? [] : [warning];
  if (paused) return { next_times: [], warnings };
  const next_times = await schedules.nextTimes(id, NEXT_TIMES).catch((err: unknown) => {
    logger.warn({ err, schedule: id }, "Temporal does not tell when a schedule is due next");
    return null;
  });
  return { next_times, warnings };
}
