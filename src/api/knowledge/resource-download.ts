import contentDisposition from "content-disposition";
import { z } from "zod";
import { Problem, notFound } from "../../domain/errors.ts";
import { BlobNotFound } from "../../platform/blobs/blobs.ts";
import type { ResourceRow } from "../../stores/knowledge/resources.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { byteRange } from "./byte-range.ts";

export const ONE_RESOURCE = "/v2/knowledge-bases/{knowledge_base_id}/resources/{resource_id}";
export const resourceParams = z.object({
  knowledge_base_id: pathId("knowledge base"),
  resource_id: pathId("resource"),
});

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
    description: "The bytes as they were added or fetched. One range of bytes can be asked for.",
    auth: "secret",
    params: resourceParams,
    headers: z.object({
      range: z
        .string()
        .max(200)
        .optional()
        .describe("As in `bytes=0-1023`; several ranges are answered with the whole."),
    }),
    problems: ["not_found", "conflict", "range_not_satisfiable"],
    success: {
      // Of the type that the resource has.
      200: { description: "The whole.", content: { "application/octet-stream": null, "*/*": null } },
      206: { description: "The range.", content: { "application/octet-stream": null, "*/*": null } },
    },
    async handler({ params: path, headers: { range }, principal: { org_id } }) {
      const resource = await requireResource(org_id, path);
      const { blob_key, content_mime, content_hash, resource_path } = resource;
      if (blob_key === null)
        throw new Problem("conflict", "The resource has not been fetched: there is nothing to download yet.");
      const size = await blobs.size(blob_key).catch(gone);
      const part = byteRange(range, size);
      const { stream } = await blobs.openRead(blob_key, part ?? undefined).catch(gone);
      const name = resource_path.split(/[\\/]/).findLast((each) => each !== "") ?? "download";
      return {
        status: part === null ? 200 : 206,
        // Never shown as a page of this origin.
        type: content_mime ?? "application/octet-stream",
        content: stream,
        headers: {
          "Accept-Ranges": "bytes",
          "Content-Length": String(part === null ? size : part.end - part.start + 1),
          "Content-Disposition": contentDisposition(name.slice(0, 200).toWellFormed(), { type: "attachment" }),
          ...(part === null ? {} : { "Content-Range": `bytes ${part.start}-${part.end}/${size}` }),
          ...(content_hash === null ? {} : { ETag: `"${content_hash}"` }),
        },
      };
    },
  });
}

function gone(error: unknown): never {
  throw error instanceof BlobNotFound ? notFound("resource") : error;
}
