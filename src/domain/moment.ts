import { z } from "zod";

/** A time as RFC 3339 writes it: with its offset, so that it means the same everywhere. */
export const timeText = z.iso.datetime({ offset: true });

const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1000] as const;
const DURATION = /^P(?=.)(?:(\d{1,5})D)?(?:T(?=.)(?:(\d{1,7})H)?(?:(\d{1,7})M)?(?:(\d{1,9})S)?)?$/;

/** A time as RFC 3339 writes it, or a duration of ISO 8601 (days to seconds) by which it lies back. */
export const timeOrAgeText = z.union([
  timeText,
  z.string().regex(DURATION, "Give a time with its offset, such as 2026-01-31T12:00:00Z, or a duration such as PT1H"),
]);

/** The time that a text of `timeOrAgeText` means. */
export function momentOrAge(text: string, now: number): string {
  const parts = DURATION.exec(text)?.slice(1);
  if (!parts) return moment(text);
  const age = UNITS_MS.reduce<number>((sum, unit, index) => sum + unit * Number(parts[index] ?? 0), 0);
  return momentAt(now - age);
}

/** The last moment whose text has a year of four digits; Postgres does not read the longer ones that a `Date` writes. */
const LAST_MS = Date.UTC(10_000, 0) - 1;

/**
 * A time that somebody gave (RFC 3339, checked already) as it is kept and compared: in UTC, between 1970 and 9999.
 * Postgres refuses offsets beyond 16 hours and the year 0, which RFC 3339 allows.
 */
export function moment(text: string): string {
  return momentAt(Date.parse(text));
}

/** The same of a time in milliseconds since 1970. */
export function momentAt(ms: number): string {
  return new Date(Math.min(LAST_MS, Math.max(0, ms))).toISOString();
}
