import { distinct } from "./distinct.ts";

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/** Days of each month; February as in a leap year. */
const LENGTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const WEEKDAY: Field = {
  name: "day of the week",
  min: 0,
  max: 7,
  names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};
const FIELDS: readonly Field[] = [
  { name: "second", min: 0, max: 59 },
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of the month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12, names: MONTHS },
  WEEKDAY,
];
const SHORTHANDS: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);
/** The names for common expressions, for messages. */
export const CRON_NAMES = [...SHORTHANDS.keys()].join(", ");

/** What is wrong with a cron expression, as text for people; null if it is valid. */
export function cronFault(text: string): string | null {
  if (SHORTHANDS.has(text)) return null;
  const parts = text.trim().split(/\s+/);
  if (parts.length !== 5 && parts.length !== 6) {
    return 'A cron expression needs five fields (minute, hour, day of the month, month, day of the week), such as "0 9 * * mon-fri", or six with seconds first';
  }
  const fields = FIELDS.slice(FIELDS.length - parts.length);
  for (const [index, field] of fields.entries()) {
    const fault = parts[index]?.split(",").find((part) => numbersOf(part, field).length === 0);
    if (fault !== undefined) {
      return `${JSON.stringify(fault)} is not valid for ${field.name}: use *, ${field.min} to ${field.max}, ranges, lists or steps`;
    }
  }
  return null;
}

/** Shortest time between two of its times (s), judged by the seconds field; a minute without one. */
export function shortestInterval(text: string): number {
  const { seconds } = cronFields(text);
  const gaps = seconds.map((second, at) => (seconds[at + 1] ?? (seconds[0] ?? 0) + 60) - second);
  return Math.min(60, ...gaps);
}

/** The numbers that each field of a valid expression allows. */
export interface CronFields {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
  readonly months: readonly number[];
  /** Sunday is 0. */
  readonly weekdays: readonly number[];
  /** Whether the expression repeats within a day, which is so if a field of its time of day begins with `*`. */
  readonly isInterval: boolean;
}

export function cronFields(text: string): CronFields {
  const given = (SHORTHANDS.get(text) ?? text).trim().split(/\s+/);
  const parts = given.length === FIELDS.length ? given : ["0", ...given];
  const [seconds = [], minutes = [], hours = [], days = [], months = [], weekdays = []] = FIELDS.map((field, index) => {
    const numbers = parts[index]?.split(",").flatMap((part) => numbersOf(part, field));
    return distinct(numbers ?? []).toSorted((a, b) => a - b);
  });
  return {
    seconds,
    minutes,
    hours,
    days,
    months,
    weekdays: distinct(weekdays.map((day) => day % 7)),
    isInterval: parts.slice(0, 3).some((part) => /(?:^|,)\*/.test(part)),
  };
}

/**
 * What may be a mistake in a cron expression: it is never due, or other systems read a part differently. Null if there is nothing to warn
 * of.
 */
export function cronWarning(text: string): string | null {
  const parts = text.trim().split(/\s+/);
  const [day = "*", month = "*", weekday = "*"] = parts.slice(parts.length - 3);
  if (parts.length < 5) return null;
  const { days, months } = cronFields(text);
  const hasDay = months.some((each) => Math.min(...days) <= (LENGTHS[each - 1] ?? 0));
  if (!hasDay) return `This schedule never fires: month ${month} has no day ${day}`;
  if (day.startsWith("*") || weekday.startsWith("*")) return null;
  return `This schedule fires only when the day of the month (${day}) and the day of the week (${weekday}) both match: other systems accept either match`;
}

/**
 * The expression in Temporal's form: with seconds there are seven fields, the weekday being the last but one. Temporal accepts 7 for Sunday
 * only alone, so a range that ends with 7 is written as a list of days.
 */
export function temporalCron(text: string): string {
  const parts = text.trim().split(/\s+/);
  const weekdays = parts.pop() ?? "";
  if (parts.length < 4) return text;
  const days = weekdays.replace(/\b\w{1,3}-7(?:\/\d{1,2})?/g, (range) =>
    numbersOf(range, WEEKDAY)
      .map((day) => day % 7)
      .join(","),
  );
  return [...parts, days, ...(parts.length === 5 ? ["*"] : [])].join(" ");
}

/** The numbers that one part of a field's list allows; none if the part is not valid. */
function numbersOf(part: string, { min, max, names = [] }: Field): number[] {
  const value = (of: string): number => {
    const at = names.indexOf(of.toLowerCase());
    if (at >= 0) return at + min;
    return /^\d{1,2}$/.test(of) ? Number(of) : Number.NaN;
  };
  const [, from = "", to, by] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d{1,2}))?$/.exec(part) ?? [];
  if (from === "*" && to !== undefined) return [];
  const [low, high] = from === "*" ? [min, max] : [value(from), value(to ?? from)];
  const step = Number(by ?? 1);
  if (!(low >= min && high <= max && low <= high && step >= 1)) return [];
  // A step without an end continues to the largest number.
  const last = by !== undefined && to === undefined ? max : high;
  return Array.from({ length: Math.floor((last - low) / step) + 1 }, (_, at) => low + at * step);
}

const ZONES: ReadonlySet<string> = new Set([...Intl.supportedValuesOf("timeZone"), "UTC"]);
const FIXED = /^Etc\/GMT[+-]\d{1,2}$/;

/**
 * The canonical name of an IANA time zone, in any case; an alias becomes the zone that it stands for. Null for anything else. Temporal
 * accepts no other spelling.
 */
export function timeZoneOf(text: string): string | null {
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions();
    return ZONES.has(timeZone) || FIXED.test(timeZone) ? timeZone : null;
  } catch {
    return null;
  }
}

/** The zone for display: an alias stays as its author wrote it, because this runtime calls Asia/Kathmandu Asia/Katmandu. */
export function shownTimeZone(text: string): string {
  const zone = timeZoneOf(text);
  return zone?.toLowerCase() === text.toLowerCase() ? zone : text;
}
