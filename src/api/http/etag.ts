import { createHash } from "node:crypto";
import { z } from "zod";
import { Problem } from "../../domain/errors.ts";

/** Declared by operations that answer a resource with its tag. */
export const ETAG = { ETag: "For If-Match." };

/** Declared by operations that update a resource. */
export const ifMatchHeaders = z.object({
  "if-match": z
    .string()
    .max(1000)
    .optional()
    .describe("The ETag of the resource as it was read: the change is refused with 412 when it has changed since."),
});

/** The tag of a resource that counts its changes. */
export function revisionTag(revision: number): string {
  return `"r${revision}"`;
}

/** The tag of a resource that does not count its changes: a digest of its content. */
export function contentTag(content: unknown): string {
  return `"${createHash("sha256").update(JSON.stringify(content)).digest("base64url").slice(0, 22)}"`;
}

/** An answer that is a resource with its tag. */
export const tagged = <Body>(body: Body, tag: string) => ({ status: 200, body, headers: { ETag: tag } });

/** The same for a resource that the request has made. */
export const asCreated = <Body>({ body, headers }: Tagged<Body>, location: string) => ({
  status: 201,
  body,
  headers: { ...headers, Location: location },
});
type Tagged<Body> = ReturnType<typeof tagged<Body>>;

/**
 * The tag of a resource, recovered from what a compressing proxy made of it: nginx marks it as weak, Apache adds a
 * suffix.
 */
const unmarked = (tag: string): string => tag.replace(/^W\//, "").replace(/-(?:gzip|br|zstd)"$/, '"');

/** Throws 412 when the If-Match header is there and names another state than `tag`. */
export function requireMatch(ifMatch: string | undefined, tag: string): void {
  if (ifMatch === undefined) return;
  const tags = ifMatch.split(",").map((part) => unmarked(part.trim()));
  if (!tags.includes("*") && !tags.includes(tag)) {
    throw new Problem(
      "precondition_failed",
      "The resource has changed since it was read. Read it again, then change it.",
      { headers: { ETag: tag } },
    );
  }
}
