const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/** Of the months, in days; that of February in a leap year. */
const LENGTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const FIELDS: readonly Field[] = [
  { name: "second", min: 0, max: 59 },
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of the month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12, names: MONTHS },
  { name: "day of the week", min: 0, max: 7, names: DAYS },
];
const SHORTHANDS = ["@yearly", "@monthly", "@weekly", "@daily", "@hourly"];

/** What is wrong with a cron expression, for people; null if it is valid. */
export function cronFault(text: string): string | null {
  if (SHORTHANDS.includes(text)) return null;
  const parts = text.trim().split(/\s+/);
  if (parts.length !== 5 && parts.length !== 6) {
    return 'five fields are expected (minute, hour, day of the month, month, day of the week), as in "0 9 * * mon-fri", or six with the second first';
  }
  const fields = FIELDS.slice(FIELDS.length - parts.length);
  for (const [index, field] of fields.entries()) {
    const fault = parts[index]?.split(",").find((part) => !isPart(part, field));
    if (fault !== undefined) {
      return `${JSON.stringify(fault)} is no ${field.name}: *, ${field.min} to ${field.max}, ranges, lists and steps are`;
    }
  }
  return null;
}

/** Shortest time between two of its times (s), as far as its seconds tell; of one without seconds, a minute. */
export function shortestInterval(text: string): number {
  const parts = text.trim().split(/\s+/);
  if (parts.length !== 6) return 60;
  const seconds = Array.from({ length: 60 }, (_, second) => second).filter((second) =>
    parts[0]?.split(",").some((part) => isIn(part, second)),
  );
  const gaps = seconds.map((second, at) => (seconds[at + 1] ?? (seconds[0] ?? 0) + 60) - second);
  return Math.min(60, ...gaps);
}

/** Whether a second is in a part of a list that is known to be in order. */
function isIn(part: string, second: number): boolean {
  const [range = "", step = "1"] = part.split("/");
  const [from = "", to = part.includes("/") ? "59" : from] = range === "*" ? ["0", "59"] : range.split("-");
  return second >= Number(from) && second <= Number(to) && (second - Number(from)) % Number(step) === 0;
}

/**
 * What may be a mistake in a cron expression: that it is never due, or a part that other systems read differently.
 * Null for nothing.
 */
export function cronWarning(text: string): string | null {
  const parts = text.trim().split(/\s+/);
  const [day = "*", month = "*", weekday = "*"] = parts.slice(parts.length - 3);
  if (parts.length < 5) return null;
  if (!hasDay(day, month)) return `It is never due: no month (${month}) has such a day (${day})`;
  if (day.startsWith("*") || weekday.startsWith("*")) return null;
  return `Day of the month (${day}) and day of the week (${weekday}) both have to hold: other systems take either of them`;
}

/** Whether there is a day of these days of the month in one of these months, in some year. */
function hasDay(day: string, month: string): boolean {
  if (/(?:^|,)\*/.test(`${day},${month}`)) return true;
  const first = Math.min(...day.split(",").map((part) => Number.parseInt(part, 10)));
  const parts = month
    .toLowerCase()
    .replace(/[a-z]+/g, (name) => String(MONTHS.indexOf(name) + 1))
    .split(",");
  return LENGTHS.some((length, at) => first <= length && parts.some((part) => isIn(part, at + 1)));
}

/**
 * As Temporal takes it: with seconds there are seven fields, the last but one being the day of the week. Sunday is 7 for
 * it only alone: the days of a range that ends there are named one by one.
 */
export function temporalCron(text: string): string {
  const parts = text.trim().split(/\s+/);
  const weekdays = parts.pop() ?? "";
  if (parts.length < 4) return text;
  const days = weekdays.replace(/\b(\w{1,3})-7(?:\/(\d{1,2}))?/g, (_, from: string, step = "1") => {
    const named = DAYS.indexOf(from.toLowerCase());
    return Array.from({ length: 8 }, (_day, day) => day)
      .filter((day) => isIn(`${named < 0 ? from : named}-7/${step}`, day))
      .map((day) => day % 7)
      .join(",");
  });
  return [...parts, days, ...(parts.length === 5 ? ["*"] : [])].join(" ");
}

function isPart(part: string, { min, max, names = [] }: Field): boolean {
  const value = (of: string): number => {
    const at = names.indexOf(of.toLowerCase());
    if (at >= 0) return at + min;
    return /^\d{1,2}$/.test(of) ? Number(of) : Number.NaN;
  };
  const [, from = "", to, step] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d{1,2}))?$/.exec(part) ?? [];
  if (from === "*" && to !== undefined) return false;
  const [low, high] = from === "*" ? [min, max] : [value(from), value(to ?? from)];
  return low >= min && high <= max && low <= high && Number(step ?? 1) >= 1;
}

const ZONES: ReadonlySet<string> = new Set([...Intl.supportedValuesOf("timeZone"), "UTC"]);
const FIXED = /^Etc\/GMT[+-]\d{1,2}$/;

/**
 * The name of a time zone of the IANA database as the database writes it, whatever its case; an alias is the zone that it stands for. Null
 * for anything else. Temporal takes no other spelling.
 */
export function timeZoneOf(text: string): string | null {
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions();
    return ZONES.has(timeZone) || FIXED.test(timeZone) ? timeZone : null;
  } catch {
    return null;
  }
}

/** The same as it is shown: an alias stays as somebody wrote it, as Asia/Kathmandu is Asia/Katmandu to this runtime. */
export function shownTimeZone(text: string): string {
  const zone = timeZoneOf(text);
  return zone?.toLowerCase() === text.toLowerCase() ? zone : text;
}
