import { clockWarnings } from "../../domain/cron-calendars.ts";
import { cronWarning, timeZoneOf } from "../../domain/cron.ts";
import type { Logger } from "../../platform/logging/logger.ts";
import type { Schedules } from "../../temporal/schedules.ts";

/** How many of a schedule's next times are listed. */
const NEXT_TIMES = 5;

/** The next times of a schedule, and warnings about it. */
export interface Outlook {
  /** Null if Temporal cannot be asked. */
  readonly next_times: string[] | null;
  readonly warnings: string[];
}

export interface OutlookDeps {
  readonly schedules: Pick<Schedules, "nextTimes">;
  readonly logger: Logger;
}

interface ScheduleTimes {
  readonly id: string;
  readonly cron: string;
  readonly time_zone: string;
  readonly paused: boolean;
}

/** The outlook of a schedule by its cron expression; a paused one has no next times. */
export async function outlookOfSchedule(
  { schedules, logger }: OutlookDeps,
  { id, cron, time_zone, paused }: ScheduleTimes,
): Promise<Outlook> {
  const warning = cronWarning(cron);
  const clocks = clockWarnings(cron, timeZoneOf(time_zone) ?? time_zone, Date.now());
  const warnings = warning === null ? clocks : [warning, ...clocks];
  if (paused) return { next_times: [], warnings };
  const next_times = await schedules.nextTimes(id, NEXT_TIMES).catch((err: unknown) => {
    logger.warn({ err, schedule: id }, "Temporal did not return the next time of a schedule");
    return null;
  });
  return { next_times, warnings };
}
