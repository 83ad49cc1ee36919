import { createHash } from "node:crypto";
import { uuid7Of } from "./uuid.ts";

/** The SHA-256 of a content (hex). */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A UUIDv7 with the time of another one; a digest of the text replaces the random part. */
export function digestId(timeOf: string, text: string): string {
  return uuid7Of(timeOf, sha256(text));
}

/** The ID of a part of something, derived from the whole's ID and the part's name. */
export const derivedId = (id: string, name: string): string => digestId(id, `${id} ${name}`);
