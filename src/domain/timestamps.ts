import { z } from "zod";

/** An RFC 3339 time with an offset, so that it is unambiguous; parsing normalises it with `toTimestamp`. */
export const timeText = z.iso.datetime({ offset: true, abort: true }).overwrite(toTimestamp);

const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1000] as const;
const DURATION = /^P(?=.)(?:(\d{1,5})D)?(?:T(?=.)(?:(\d{1,7})H)?(?:(\d{1,7})M)?(?:(\d{1,9})S)?)?$/;

/** An RFC 3339 time, or an ISO 8601 duration (days to seconds) that is counted back from now. */
export const timeOrAgeText = z.union([
  timeText,
  z
    .string()
    .regex(DURATION, "Must be a time with its offset, such as 2026-01-31T12:00:00Z, or a duration such as PT1H"),
]);

/** Resolves the text of a `timeOrAgeText` to a timestamp. */
export function timestampOrAge(text: string, now: number): string {
  const parts = DURATION.exec(text)?.slice(1);
  if (!parts) return toTimestamp(text);
  const age = UNITS_MS.reduce<number>((sum, unit, index) => sum + unit * Number(parts[index] ?? 0), 0);
  return timestampAt(now - age);
}

/** The last millisecond with a four-digit year, because Postgres does not parse the longer years that a `Date` writes. */
const LAST_MS = Date.UTC(10_000, 0) - 1;

/**
 * The form in which a validated RFC 3339 time is stored and compared: in UTC, limited to 1970 to 9999. Postgres rejects offsets beyond 16
 * hours and the year 0, which RFC 3339 allows.
 */
function toTimestamp(text: string): string {
  return timestampAt(Date.parse(text));
}

/** The same for milliseconds since 1970. */
export function timestampAt(ms: number): string {
  return new Date(Math.min(LAST_MS, Math.max(0, ms))).toISOString();
}
