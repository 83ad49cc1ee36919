import { z } from "zod";

/** A time as RFC 3339 writes it: with its offset, so that it means the same everywhere. */
export const timeText = z.iso.datetime({ offset: true });

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
