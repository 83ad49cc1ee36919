import { z } from "zod";
import { Problem, notFound, required } from "../../domain/errors.ts";
import { requireKnowledgeBase } from "../../services/knowledge/knowledge-bases.ts";
import type { Database } from "../../stores/db.ts";
import { findResource, type ResourceRow } from "../../stores/knowledge/resources.ts";
import { BlobNotFound } from "../../platform/blobs/blobs.ts";
import { fileNameHeader } from "../http/file-name-header.ts";
import { operationsOf } from "../http/operation.ts";
import { pathId } from "../http/schemas.ts";

/**
 * Reads a stored file of a resource. If a new revision replaces the file meanwhile, the file of the new revision is read. Null if the file
 * does not exist.
 */
export async function readCurrent<Row extends Pick<ResourceRow, "blob_key" | "text_blob_key">, Read>(
  resource: Row,
  find: () => Promise<Row>,
  read: (resource: Row) => Promise<Read>,
): Promise<Read | null> {
  for (let present = resource; ;) {
    try {
      return await read(present);
    } catch (error) {
      if (!(error instanceof BlobNotFound)) throw error;
      const { blob_key, text_blob_key } = present;
      present = await find();
      if (present.blob_key === blob_key && present.text_blob_key === text_blob_key) return null;
    }
  }
}

/**
 * The range that a `Range` header requests, both ends included. Null means the whole content: without a header, or with several ranges or
 * another unit, which may be ignored. Throws 416 if it lies outside.
 */
function byteRange(header: string | undefined, size: number): { readonly start: number; readonly end: number } | null {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return null;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== "" && last !== "" && Number(last) < start) return null;
  if (start > end) {
    throw new Problem("range_not_satisfiable", `The range is outside the resource's ${size} bytes.`, {
      headers: { "Content-Range": `bytes */${size}` },
    });
  }
  return { start, end };
}

export const ONE_RESOURCE = "/v2/knowledge-bases/{knowledge_base_id}/resources/{resource_id}";
export const resourceParams = z.object({
  knowledge_base_id: pathId("knowledge base"),
  resource_id: pathId("document"),
});

/**
 * Types that a browser may show instead of saving; none of them can run a script in this origin. Maps the type of a resource to the type of
 * the response.
 */
const SHOWN: Readonly<Record<string, string>> = {
  "application/pdf": "application/pdf",
  "image/gif": "image/gif",
  "image/jpeg": "image/jpeg",
  "image/png": "image/png",
  "image/webp": "image/webp",
  "text/csv": "text/plain; charset=utf-8",
  "text/markdown": "text/plain; charset=utf-8",
  "text/plain": "text/plain; charset=utf-8",
};
const NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
/** A sandboxed page has its own origin. Browsers show no PDF in a sandbox; their viewers isolate a PDF's scripts. */
const policyOf = (type: string): string => (type === "application/pdf" ? NOTHING : `sandbox; ${NOTHING}`);

/** The resource of a path. Throws 404. */
export function requireResource(
  db: Database,
  orgId: string,
  path: z.output<typeof resourceParams>,
): Promise<ResourceRow> {
  return db.org(orgId, async (connection) => {
    await requireKnowledgeBase(connection, path.knowledge_base_id);
    return required(await findResource(connection, path.knowledge_base_id, path.resource_id), "resource");
  });
}

export const define = operationsOf({ tag: "Knowledge bases", auth: "secret" });

/** Returns the bytes of a resource. */
export const downloadOperation = define({
  id: "downloadKnowledgeBaseResource",
  audit: "always",
  route: `GET ${ONE_RESOURCE}/download`,
  summary: "Download a document's original file",
  description:
    "Returns the bytes as they were uploaded or fetched, whole or one byte range. With `disposition=inline` a browser shows PDF, images and plain text (Markdown and CSV as plain text) and saves everything else.",
  params: resourceParams,
  query: z.object({
    disposition: z
      .enum(["attachment", "inline"])
      .default("attachment")
      .describe(
        "Whether a browser saves the file (`attachment`) or shows it (`inline`). Types that can contain scripts, such as HTML, are always saved.",
      ),
  }),
  headers: z.object({
    range: z
      .string()
      .max(200)
      .optional()
      .describe("One byte range, for example `bytes=0-1023`. A request for several ranges returns the full content."),
  }),
  problems: ["conflict", "range_not_satisfiable"],
  success: {
    // Content of the resource's own type.
    200: { description: "Full content.", content: { "application/octet-stream": null, "*/*": null } },
    206: { description: "Requested range.", content: { "application/octet-stream": null, "*/*": null } },
  },
  async handler({ params: path, query: { disposition }, headers: { range }, principal: { org_id } }, { db, blobs }) {
    const find = () => requireResource(db, org_id, path);
    const found = await readCurrent(await find(), find, async (resource) => {
      const { blob_key } = resource;
      if (blob_key === null)
        throw new Problem("conflict", "The document has not been fetched yet: there is nothing to download.");
      const size = await blobs.size(blob_key);
      const part = byteRange(range, size);
      return { resource, size, part, stream: (await blobs.openRead(blob_key, part ?? undefined)).stream };
    });
    if (found === null) throw notFound("resource");
    const { size, part, stream } = found;
    const { content_mime, content_hash, resource_path } = found.resource;
    const name = resource_path.split("/").findLast((each) => each !== "") ?? "download";
    const [mime = ""] = (content_mime ?? "").split(";");
    const shown = disposition === "inline" && Object.hasOwn(SHOWN, mime) ? SHOWN[mime] : undefined;
    return {
      status: part === null ? 200 : 206,
      // Saved rather than shown as a page of this origin.
      type: shown ?? content_mime ?? "application/octet-stream",
      content: stream,
      headers: {
        "Accept-Ranges": "bytes",
        "Content-Length": String(part === null ? size : part.end - part.start + 1),
        "Content-Disposition": fileNameHeader(name, shown === undefined ? "attachment" : "inline"),
        ...(shown === undefined ? {} : { "Content-Security-Policy": policyOf(shown) }),
        ...(part === null ? {} : { "Content-Range": `bytes ${part.start}-${part.end}/${size}` }),
        ...(content_hash === null ? {} : { ETag: `"${content_hash}"` }),
      },
    };
  },
});
