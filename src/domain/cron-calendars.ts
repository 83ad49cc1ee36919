import { clockChanges, offsetAt, type ClockChange } from "./clock-changes.ts";
import { cronFields, type CronFields } from "./cron.ts";

const MINUTE = 60_000;
const HOUR_MINUTES = 60;
const DAY = 86_400_000;
const DAY_HOURS = 24;
const PERIOD_MONTHS = 6;
/** Number of half-years that calendars cover, including the one that contains `now`. */
export const PERIODS = 5;
/** For expressions that are rarely due, the search continues this long, or until it has found this many days. */
const MAX_YEARS = 30;
const ENOUGH_DAYS = 10;

/** The UTC times whose parts are all among these numbers. */
export interface UtcCalendar extends Block {
  readonly year: number;
  readonly months: readonly number[];
  readonly days: readonly number[];
  readonly seconds: readonly number[];
}

interface Block {
  readonly hours: readonly number[];
  readonly minutes: readonly number[];
}

/** The start of the half-year that contains `now`, or of one this many half-years later or earlier. */
export function startOfPeriod(now: number, later = 0): number {
  const date = new Date(now);
  const month = Math.floor(date.getUTCMonth() / PERIOD_MONTHS) * PERIOD_MONTHS;
  return Date.UTC(date.getUTCFullYear(), month + later * PERIOD_MONTHS);
}

/** The clock changes that calendars made now depend on. The result is the same throughout a half-year. */
export function changesAhead(zone: string, now: number): ClockChange[] {
  return clockChanges(zone, startOfPeriod(now), startOfPeriod(now, PERIODS));
}

/**
 * The times of a cron expression in UTC, for at least two years; the result is the same throughout a half-year. An expression that repeats
 * within a day is due whenever the local clock shows one of its times. A fixed time that the clock shows twice is due only the first time.
 * Null if the zone has no clock changes, so that the expression can be used as it is.
 */
export function utcCalendars(cron: string, zone: string, now: number): UtcCalendar[] | null {
  const fields = cronFields(cron);
  const [from, to, end] = [startOfPeriod(now), startOfPeriod(now, PERIODS), startOfPeriod(now, 2 * MAX_YEARS)];
  if (changesAhead(zone, now).length === 0) return null;
  const changesOf = new Map<number, ClockChange[]>();
  for (const change of clockChanges(zone, from - DAY, end)) {
    const day = Math.floor(change.at / DAY) * DAY;
    // Times repeated by the change may fall on the next day.
    for (const near of [day, day + DAY]) changesOf.set(near, [...(changesOf.get(near) ?? []), change]);
  }
  const regular = new Map<string, Block[]>();
  const groups = new Map<string, { readonly month: number; readonly days: number[]; readonly rest: Rest }>();
  let [offset, found] = [offsetAt(zone, from), 0];
  for (let day = from; day < to || (found < ENOUGH_DAYS && day < end); day += DAY) {
    const changes = changesOf.get(day);
    const blocks =
      changes === undefined ? regularBlocks(day) : blocksOf(fields, day, changes[0]?.before ?? offset, changes);
    offset = changes?.at(-1)?.after ?? offset;
    if (blocks.length > 0) found += 1;
    const date = new Date(day);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + 1];
    for (const { hours, minutes } of blocks) {
      const rest = { year, hours, minutes, seconds: fields.seconds };
      const key = JSON.stringify([month, rest]);
      const group = groups.get(key) ?? { month, days: [], rest };
      groups.set(key, group);
      group.days.push(date.getUTCDate());
    }
  }
  return mergeMonths([...groups.values()]);

  /** Days without a clock change have the same due times if the expression matches the same local dates at both ends of the day. */
  function regularBlocks(day: number): Block[] {
    const key = [offset, isOn(fields, day + offset), isOn(fields, day + offset + DAY - 1)].join(" ");
    const blocks = regular.get(key) ?? blocksOf(fields, day, offset, []);
    regular.set(key, blocks);
    return blocks;
  }
}

type Rest = Omit<UtcCalendar, "months" | "days">;

/** The due minutes of a UTC day; `offset` holds until the day's first change. */
function blocksOf(fields: CronFields, day: number, offset: number, changes: readonly ClockChange[]): Block[] {
  const hours = new Map<string, { hours: number[]; minutes: readonly number[] }>();
  const offsetOf = (at: number): number => changes.findLast((change) => change.at <= at)?.after ?? offset;
  for (let hour = 0; hour < DAY_HOURS; hour += 1) {
    const minutes = Array.from({ length: HOUR_MINUTES }, (_, minute) => minute).filter((minute) => {
      const at = day + (hour * HOUR_MINUTES + minute) * MINUTE;
      const isRepeated = changes.some((change) => at >= change.at && at < change.at + change.before - change.after);
      return isDue(fields, at + offsetOf(at)) && (fields.isInterval || !isRepeated);
    });
    if (minutes.length === 0) continue;
    const same = hours.get(minutes.join()) ?? { hours: [], minutes };
    hours.set(minutes.join(), same);
    same.hours.push(hour);
  }
  return [...hours.values()];
}

/** Whether a local time is on a day of the expression. */
function isOn({ days, months, weekdays }: CronFields, local: number): boolean {
  const date = new Date(local);
  return (
    months.includes(date.getUTCMonth() + 1) && days.includes(date.getUTCDate()) && weekdays.includes(date.getUTCDay())
  );
}

/** Whether a local time is in a minute of the expression. */
function isDue(fields: CronFields, local: number): boolean {
  const minute = Math.floor(local / MINUTE);
  const hour = Math.floor(minute / HOUR_MINUTES);
  return (
    fields.minutes.includes(minute % HOUR_MINUTES) && fields.hours.includes(hour % DAY_HOURS) && isOn(fields, local)
  );
}

/** Merges months of a year with the same due times into one calendar. */
function mergeMonths(
  groups: ReadonlyArray<{ readonly month: number; readonly days: readonly number[]; readonly rest: Rest }>,
): UtcCalendar[] {
  const merged = new Map<string, { months: number[]; days: readonly number[]; rest: Rest }>();
  for (const { month, days, rest } of groups) {
    const length = new Date(Date.UTC(rest.year, month, 0)).getUTCDate();
    const asked = days.length === length ? Array.from({ length: 31 }, (_, day) => day + 1) : days;
    const key = JSON.stringify([asked, rest]);
    const same = merged.get(key) ?? { months: [], days: asked, rest };
    merged.set(key, same);
    same.months.push(month);
  }
  return [...merged.values()].map(({ months, days, rest }) => ({ ...rest, months, days }));
}

/** How many skipped times a warning names. */
const MAX_NAMED = 3;

/** Warns of the times of a cron expression within a year that are skipped in this zone when the clocks go forward. */
export function clockWarnings(cron: string, zone: string, now: number): string[] {
  const fields = cronFields(cron);
  return clockChanges(zone, now, now + 366 * DAY).flatMap(({ at, before, after }) => {
    const moved = after - before;
    const skipped = Array.from({ length: Math.max(0, moved / MINUTE) }, (_, minute) => at + before + minute * MINUTE)
      .filter((local) => isDue(fields, local))
      // A repeating expression still fires at that moment if the time after the change is one of its times too.
      .filter((local) => !fields.isInterval || !isDue(fields, local + moved));
    if (skipped.length === 0) return [];
    const named = skipped.slice(0, MAX_NAMED).map((local) => new Date(local).toISOString().slice(11, 16));
    const more = skipped.length > MAX_NAMED ? ` and ${skipped.length - MAX_NAMED} more` : "";
    const day = new Date(at + before).toISOString().slice(0, 10);
    return [
      `On ${day} the clocks in ${zone} go forward and skip ${named.join(", ")}${more}: nothing runs at these times`,
    ];
  });
}
