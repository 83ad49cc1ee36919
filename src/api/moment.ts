/** The last moment whose text has a year of four digits; Postgres does not read the longer ones that a `Date` writes. */
const LAST_MS = Date.UTC(10_000, 0) - 1;

/**
 * A time that a client sent (RFC 3339, checked already) as it is kept and compared: in UTC, between 1970 and 9999.
 * Postgres refuses offsets beyond 16 hours and the year 0, which RFC 3339 allows.
 */
export function moment(text: string): string {
  return new Date(Math.min(LAST_MS, Math.max(0, Date.parse(text)))).toISOString();
}
