import { createHash } from "node:crypto";
import { Context } from "@temporalio/activity";
import type { IngestStep, ResourceInput } from "../../src/domain/knowledge/ingest.ts";
import type { BlobStore } from "../../src/platform/blobs/blobs.ts";
import type { GuardedFetch, GuardedResponse } from "../../src/platform/fetch/guarded-fetch.ts";
import { FetchFailed, FetchRefused } from "../../src/platform/fetch/guarded-fetch-errors.ts";
import { SUPPORTED_MIME_TYPES, detectMime, isImageMime, isSupportedMime } from "../../src/platform/parsing/mime.ts";
import { charsetIn } from "../../src/platform/parsing/decode-text.ts";
import type { Database } from "../../src/stores/db.ts";
import { storeContent } from "../../src/stores/knowledge/resource-ingest.ts";
import { markResource } from "../../src/stores/knowledge/resources.ts";
import { ResourceFailure, takeStep } from "./resource-step.ts";

export interface FetchDeps {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly guardedFetch: Pick<GuardedFetch, "fetch">;
  /** Of Millrace, for the User-Agent. */
  readonly version: string;
  /** Longest file, in bytes. */
  readonly maxBytes: number;
}

/** A site that does not answer is asked so often; after that the resource says why it has no content. */
const MAX_ATTEMPTS = 4;
const ACCEPT = "text/html, application/xhtml+xml, application/pdf, text/*;q=0.9, application/json;q=0.9, */*;q=0.5";

/** Stores what a resource's address gives; of an upload or a text the bytes are there already. */
export function createFetchResource({ db, blobs, guardedFetch, version, maxBytes }: FetchDeps) {
  return async function fetchResource(input: ResourceInput): Promise<IngestStep> {
    const { org_id, resource_id, revision } = input;
    return await takeStep(db, input, ["pending"], async (resource, signal) => {
      if (resource.source !== "url" || resource.source_url === null) {
        const marked = await db.org(org_id, (connection) =>
          markResource(connection, resource_id, revision, { status: "resource" }),
        );
        return marked ? "done" : "stop";
      }
      const { headers, body } = await load(resource.source_url, signal);
      const declared = headers["content-type"] ?? null;
      if (body.length === 0) throw new ResourceFailure("document_empty", "The address answers with an empty body.");
      // The name in an address says little (page.php, /download), so content and declared type decide.
      const mime = detectMime(null, declared, body);
      if (!isSupportedMime(mime) && !isImageMime(mime)) {
        const message = `Files of type ${mime} cannot be read. Supported: ${SUPPORTED_MIME_TYPES.join(", ")}.`;
        throw new ResourceFailure("unsupported_type", message);
      }
      const charset = charsetIn(declared ?? "");
      const content_mime = charset === null ? mime : `${mime}; charset=${charset}`;
      const content_hash = createHash("sha256").update(body).digest("hex");
      const { key, size } = await blobs.put(org_id, body, { maxBytes });
      const content = { content_hash, content_mime, size, blob_key: key };
      const stored = await db.org(org_id, (connection) => storeContent(connection, resource_id, revision, content));
      const unused = stored ? resource.blob_key : key;
      if (unused !== null) await blobs.delete(unused);
      return stored ? "done" : "stop";
    });
  };

  async function load(url: string, signal: AbortSignal): Promise<GuardedResponse> {
    const headers = { accept: ACCEPT, "user-agent": `Millrace/${version}` };
    let response: GuardedResponse;
    try {
      response = await guardedFetch.fetch({ url, headers, limits: { responseBytes: maxBytes }, signal });
    } catch (error) {
      if (error instanceof FetchRefused) throw new ResourceFailure("http_refused", error.message, { cause: error });
      if (error instanceof FetchFailed && !(error.retryable && mayTryAgain())) {
        const code = error.code === "response_too_large" ? "document_too_large" : "http_failed";
        throw new ResourceFailure(code, error.message, { cause: error });
      }
      throw error;
    }
    const { status } = response;
    if (status >= 200 && status <= 299) return response;
    const message = `${new URL(response.url).origin} answered ${status}.`;
    if ((status >= 500 || status === 429 || status === 408) && mayTryAgain()) throw new Error(message);
    throw new ResourceFailure("http_status", message);
  }
}

function mayTryAgain(): boolean {
  return Context.current().info.attempt < MAX_ATTEMPTS;
}
