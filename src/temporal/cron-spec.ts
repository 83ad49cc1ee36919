import type { CalendarSpec, ScheduleSpec } from "@temporalio/client";
import { changesAhead, utcCalendars, type UtcCalendar } from "../domain/cron-calendars.ts";
import { temporalCron } from "../domain/cron.ts";

interface CronInZone {
  readonly cron: string;
  readonly time_zone: string;
}

/** Identifies the rules that utcCalendars follows: if the value changes, existing schedules are made again. */
const RULES = 1;
const MONTHS = [
  "JANUARY",
  "FEBRUARY",
  "MARCH",
  "APRIL",
  "MAY",
  "JUNE",
  "JULY",
  "AUGUST",
  "SEPTEMBER",
  "OCTOBER",
  "NOVEMBER",
  "DECEMBER",
] as const;

/**
 * The times of a cron expression in the form that Temporal takes. Temporal skips or doubles times when clocks change, so times in a zone
 * whose clocks change are converted to UTC.
 */
export function cronSpec({ cron, time_zone }: CronInZone, now: number): ScheduleSpec {
  const calendars = utcCalendars(cron, time_zone, now);
  if (calendars === null) return { cronExpressions: [temporalCron(cron)], timezone: time_zone };
  return { calendars: calendars.map(calendarSpec), timezone: "UTC" };
}

/** The input of cronSpec that determines its result. */
export function markedCron({ cron, time_zone }: CronInZone, now: number): object {
  const changes = changesAhead(time_zone, now);
  return { cron: temporalCron(cron), time_zone, ...(changes.length > 0 && { rules: RULES, changes }) };
}

function calendarSpec({ year, months, days, hours, minutes, seconds }: UtcCalendar): CalendarSpec {
  return {
    year,
    month: months.map((month) => MONTHS[month - 1] ?? "JANUARY"),
    dayOfMonth: ranges(days),
    hour: ranges(hours),
    minute: ranges(minutes),
    second: ranges(seconds),
  };
}

/** Ascending numbers, with consecutive ones joined to a range. */
function ranges(numbers: readonly number[]): Array<{ start: number; end: number }> {
  const found: Array<{ start: number; end: number }> = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last?.end === number - 1) last.end = number;
    else found.push({ start: number, end: number });
  }
  return found;
}
