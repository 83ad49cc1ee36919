import { createHash } from "node:crypto";
import { Problem } from "../../domain/errors.ts";

/** The position of a page in its list: its first and its last id, in the list's order. */
export interface PagePosition {
  readonly first: string;
  readonly last: string;
}

const SHAPE = /^[A-Za-z0-9_-]{1,512}$/;
const HASH_LENGTH = 12;

/** A short digest of a list's filters: a cursor is valid only with the same filters. */
export function hashFilters(filters: Readonly<Record<string, unknown>>): string {
  const members = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return digest(JSON.stringify(members));
}

/** Writes a cursor: opaque to clients, and without secrets. */
export function encodeCursor(position: PagePosition, filtersHash: string): string {
  const payload = `${filtersHash}.${position.first}.${position.last}`;
  return Buffer.from(`${payload}.${digest(payload)}`).toString("base64url");
}

/** Reads a cursor. Throws 400 `invalid_cursor` if Millrace did not write it, 400 `cursor_mismatch` for other filters. */
export function decodeCursor(cursor: string, filtersHash: string, isId: (text: string) => boolean): PagePosition {
  const bytes = Buffer.from(SHAPE.test(cursor) ? cursor : "", "base64url");
  // The decoder skips characters that it cannot read, so accept only the exact spelling of a cursor.
  const text = bytes.toString("base64url") === cursor ? bytes.toString("utf8") : "";
  const [hash = "", first = "", last = "", checksum, ...rest] = text.split(".");
  if (rest.length > 0 || checksum !== digest(`${hash}.${first}.${last}`) || !isId(first) || !isId(last)) {
    throw new Problem("invalid_cursor", "The cursor did not come from a list response.");
  }
  if (hash !== filtersHash) {
    throw new Problem(
      "cursor_mismatch",
      "The cursor belongs to a list with different filters or another order. Start without a cursor.",
    );
  }
  return { first, last };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, HASH_LENGTH);
}
