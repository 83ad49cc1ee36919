import contentDisposition from "content-disposition";
import { z } from "zod";
import { Problem, notFound } from "../../domain/errors.ts";
import type { ResourceRow } from "../../stores/knowledge/resources.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { byteRange } from "./byte-range.ts";
import { readCurrent } from "./read-current.ts";

export const ONE_RESOURCE = "/v2/knowledge-bases/{knowledge_base_id}/resources/{resource_id}";
export const resourceParams = z.object({
  knowledge_base_id: pathId("knowledge base"),
  resource_id: pathId("resource"),
});

/**
 * Types that a browser may show instead of saving; none of them can run a script in this origin. Maps the type of a
 * resource to the type of the answer.
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
/** A sandbox has an origin of its own. Browsers show no PDF in one; their viewers keep a PDF's scripts to themselves. */
const policyOf = (type: string): string => (type === "application/pdf" ? NOTHING : `sandbox; ${NOTHING}`);

/** The bytes of a resource. `requireResource` throws 404. */
export function downloadOperation(
  { blobs }: Pick<ApiDeps, "blobs">,
  requireResource: (orgId: string, path: z.output<typeof resourceParams>) => Promise<ResourceRow>,
): Operation {
  return defineOperation({
    id: "downloadKnowledgeBaseResource",
    audit: "always",
    method: "GET",
    path: `${ONE_RESOURCE}/download`,
    tag: "Knowledge bases",
    summary: "Download the original of a resource",
    description:
      "The bytes as they were added or fetched. One range of bytes can be asked for. With `disposition=inline` a browser shows PDF, images and plain text (Markdown and CSV as such), and saves everything else.",
    auth: "secret",
    params: resourceParams,
    query: z.object({
      disposition: z
        .enum(["attachment", "inline"])
        .default("attachment")
        .describe("Whether a browser saves the bytes or shows them. What could be a page is always saved."),
    }),
    headers: z.object({
      range: z
        .string()
        .max(200)
        .optional()
        .describe("As in `bytes=0-1023`; several ranges are answered with the whole."),
    }),
    problems: ["conflict", "range_not_satisfiable"],
    success: {
      // Of the type that the resource has.
      200: { description: "The whole.", content: { "application/octet-stream": null, "*/*": null } },
      206: { description: "The range.", content: { "application/octet-stream": null, "*/*": null } },
    },
    async handler({ params: path, query: { disposition }, headers: { range }, principal: { org_id } }) {
      const find = () => requireResource(org_id, path);
      const found = await readCurrent(await find(), find, async (resource) => {
        const { blob_key } = resource;
        if (blob_key === null)
          throw new Problem("conflict", "The resource has not been fetched: there is nothing to download yet.");
        const size = await blobs.size(blob_key);
        const part = byteRange(range, size);
        return { resource, size, part, stream: (await blobs.openRead(blob_key, part ?? undefined)).stream };
      });
      if (found === null) throw notFound("resource");
      const { size, part, stream } = found;
      const { content_mime, content_hash, resource_path } = found.resource;
      const name = resource_path.split(/[\\/]/).findLast((each) => each !== "") ?? "download";
      const [mime = ""] = (content_mime ?? "").split(";");
      const shown = disposition === "inline" && Object.hasOwn(SHOWN, mime) ? SHOWN[mime] : undefined;
      return {
        status: part === null ? 200 : 206,
        // Never shown as a page of this origin.
        type: shown ?? content_mime ?? "application/octet-stream",
        content: stream,
        headers: {
          "Accept-Ranges": "bytes",
          "Content-Length": String(part === null ? size : part.end - part.start + 1),
          "Content-Disposition": contentDisposition(name.slice(0, 200).toWellFormed(), {
            type: shown === undefined ? "attachment" : "inline",
          }),
          ...(shown === undefined ? {} : { "Content-Security-Policy": policyOf(shown) }),
          ...(part === null ? {} : { "Content-Range": `bytes ${part.start}-${part.end}/${size}` }),
          ...(content_hash === null ? {} : { ETag: `"${content_hash}"` }),
        },
      };
    },
  });
}
