const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS = [
  { name: "minute", min: 0, max: 59, names: [] },
  { name: "hour", min: 0, max: 23, names: [] },
  { name: "day of the month", min: 1, max: 31, names: [] },
  { name: "month", min: 1, max: 12, names: MONTHS },
  { name: "day of the week", min: 0, max: 7, names: DAYS },
] as const;

/** What is wrong with a cron expression of five fields, in UTC, for people; null if it is valid. */
export function cronProblem(text: string): string | null {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== FIELDS.length) {
    return 'five fields are expected: minute, hour, day of the month, month, day of the week, as in "0 3 * * 1"';
  }
  for (const [index, { name, min, max, names }] of FIELDS.entries()) {
    const field = fields[index] ?? "";
    const value = (of: string): number => {
      const at = (names as readonly string[]).indexOf(of.toLowerCase());
      if (at >= 0) return at + min;
      return /^\d{1,2}$/.test(of) ? Number(of) : Number.NaN;
    };
    for (const part of field.split(",")) {
      const [, from = "", to, step] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d{1,2}))?$/.exec(part) ?? [];
      const [low, high] = from === "*" ? [min, max] : [value(from), value(to ?? from)];
      const isRange = low >= min && high <= max && low <= high && !(from === "*" && to !== undefined);
      if (!isRange || Number(step ?? 1) < 1) {
        return `${JSON.stringify(part)} is no ${name}: *, ${min}-${max}, ranges, lists and steps are`;
      }
    }
  }
  return null;
}
