const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
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

/** What is wrong with a cron expression, for people; null where nothing is. */
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

/** As Temporal takes it: with seconds there are seven fields, the last but one being the day of the week. */
export function temporalCron(text: string): string {
  const parts = text.trim().split(/\s+/);
  return parts.length === 6 ? `${parts.join(" ")} *` : text;
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

/** Whether a text is a time zone of the IANA database. */
export function isTimeZone(text: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).format(0) !== "" && !/^[+-]/.test(text);
  } catch {
    return false;
  }
}
