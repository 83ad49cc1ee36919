import { createHash } from "node:crypto";
import { z } from "zod";
import { Problem } from "../../domain/errors.ts";

/** Declared by operations that return a resource with its tag. */
export const ETAG = { ETag: "Current ETag; send it as `If-Match`." };

/** Declared by operations that update a resource. */
export const ifMatchHeaders = z.object({
  "if-match": z
    .string()
    .max(1000)
    .optional()
    .describe("ETag from your last read. The update fails with 412 if the resource has changed since."),
});

/** Declared by operations whose response clients cache. */
export const ifNoneMatchHeaders = z.object({
  "if-none-match": z.string().max(1000).optional().describe("ETag of the list that the client has cached."),
});

/** The tag of a resource with a revision number. */
export function revisionTag(revision: number): string {
  return `"r${revision}"`;
}

/** The tag of a resource without a revision number: a digest of its content. */
export function contentTag(content: unknown): string {
  return `"${createHash("sha256").update(JSON.stringify(content)).digest("base64url").slice(0, 22)}"`;
}

/** A response that consists of a resource with its tag. */
export const tagged = <Body>(body: Body, tag: string) => ({ status: 200, body, headers: { ETag: tag } });

/** A response for a resource that the request created, with its tag. */
export const asCreated = <Body>({ body, headers }: Tagged<Body>, location: string) => ({
  status: 201,
  body,
  headers: { ...headers, Location: location },
});
type Tagged<Body> = ReturnType<typeof tagged<Body>>;

/** The tag of a resource, without the changes of a compressing proxy: nginx marks it as weak, Apache adds a suffix. */
const unmarked = (tag: string): string => tag.replace(/^W\//, "").replace(/-(?:gzip|br|zstd)"$/, '"');

/** Whether a header names the state `tag`, by If-Match or If-None-Match. */
export function namesTag(header: string, tag: string): boolean {
  const tags = header.split(",").map((part) => unmarked(part.trim()));
  return tags.includes("*") || tags.includes(tag);
}

/** Whether the client already has the state `tag`. */
export function isCurrent(ifNoneMatch: string | undefined, tag: string): boolean {
  return ifNoneMatch !== undefined && namesTag(ifNoneMatch, tag);
}

/** Throws 412 if the request has an If-Match header that names a state other than `tag`. */
export function requireMatch(ifMatch: string | undefined, tag: string): void {
  if (ifMatch === undefined || namesTag(ifMatch, tag)) return;
  throw new Problem(
    "precondition_failed",
    "The resource has changed since you read it. Read it again, then repeat the change.",
    {
      headers: { ETag: tag },
    },
  );
}

/** The check of a change: throws 412 if the request names another revision than the one that it finds. */
export function matchesRevision(headers: z.output<typeof ifMatchHeaders>) {
  return ({ revision }: { readonly revision: number }): void =>
    requireMatch(headers["if-match"], revisionTag(revision));
}
