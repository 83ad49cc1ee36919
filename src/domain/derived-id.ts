import { createHash } from "node:crypto";
import { uuid7Of } from "./uuid.ts";

/** A UUIDv7 with the time of another one; a digest of the text replaces the random part. */
export function digestId(timeOf: string, text: string): string {
  return uuid7Of(timeOf, createHash("sha256").update(text).digest("hex"));
}

/** The ID of a part of something, derived from the whole's ID and the part's name. */
export const derivedId = (id: string, name: string): string => digestId(id, `${id} ${name}`);
