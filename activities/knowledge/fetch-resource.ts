import type { IngestStep, ResourceInput } from "../../src/domain/knowledge/ingest.ts";
import { fetchPage, type PageDeps } from "../../src/services/knowledge/fetch-page.ts";
import type { Parts } from "../../src/services/parts.ts";
import { storeContent } from "../../src/stores/knowledge/resource-ingest.ts";
import { markResource } from "../../src/stores/knowledge/resources.ts";
import { takeStep } from "./resource-step.ts";

export type FetchDeps = PageDeps & Parts<"db" | "blobs">;

/** Fetches and stores the content of a resource with a URL. The bytes of an upload or a text are already stored. */
export function createFetchResource({ db, blobs, ...pages }: FetchDeps) {
  return async function fetchResource(input: ResourceInput): Promise<IngestStep> {
    const { org_id, resource_id, revision } = input;
    return await takeStep(db, input, ["pending"], async (resource, signal) => {
      if (resource.source !== "url" || resource.source_url === null) {
        const marked = await db.org(org_id, (connection) =>
          markResource(connection, resource_id, revision, { status: "resource" }),
        );
        return marked ? "done" : "stop";
      }
      const page = await fetchPage(pages, { url: resource.source_url, known: null, signal });
      if (page.outcome === "missing") throw page.error;
      if (page.outcome === "not_modified") throw new Error("returned status 304 for an unconditional request");
      const { key, size } = await blobs.put(org_id, page.body, { maxBytes: pages.maxBytes });
      const stored = await db.org(org_id, (connection) =>
        storeContent(connection, resource_id, revision, { ...page, size, blob_key: key }),
      );
      const unused = stored ? resource.blob_key : key;
      if (unused !== null) await blobs.delete(unused);
      return stored ? "done" : "stop";
    });
  };
}
