import { createHash } from "node:crypto";
import { uuid7Of } from "./uuid.ts";

/** A UUIDv7 with the time of another one; a digest of the text replaces the random part. */
export function digestId(timeOf: string, text: string): string {
  return uuid7Of(timeOf, createHash("sha256").update(text).digest("hex"));
}

/** The id of something of another thing, by its name there. */
export const derivedId = (id: string, name: string): string => digestId(id, `${id} ${name}`);
