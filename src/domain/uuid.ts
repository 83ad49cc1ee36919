/** A UUID of any version in lower case, as the text of a regular expression. */
export const UUID_PATTERN = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

const UUID = new RegExp(`^${UUID_PATTERN}$`, "i");

/** Whether a text is a UUID of any version, in either case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * A UUIDv7 with the time of another UUID and the other digits from a hash (at least 19 hexadecimal digits), so that the same hash gives the
 * same digits.
 */
export function uuid7Of(timeOf: string, hash: string): string {
  const variant = ((Number.parseInt(hash.slice(3, 4), 16) & 3) | 8).toString(16);
  return `${timeOf.slice(0, 13)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
}

/** The smallest UUIDv7 of a millisecond. */
export function firstIdOf(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0").slice(-12);
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** The millisecond in which a UUIDv7 was created. */
export function timeOf(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}
