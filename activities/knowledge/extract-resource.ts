import { readDocumentMetadata } from "../../src/domain/knowledge/document-metadata.ts";
import type { IngestStep, ResourceInput } from "../../src/domain/knowledge/ingest.ts";
import { BlobNotFound } from "../../src/platform/blobs/blobs.ts";
import type { DocumentParser, ParsedDocument } from "../../src/platform/parsing/document-parser.ts";
import { DocumentError } from "../../src/platform/parsing/errors.ts";
import { storeExtractedText } from "../../src/services/knowledge/extracted-text.ts";
import type { Parts } from "../../src/services/parts.ts";
import { findKnowledgeBase, type KnowledgeBaseRow } from "../../src/stores/knowledge/knowledge-bases.ts";
import { markResource, type ResourceRow } from "../../src/stores/knowledge/resources.ts";
import { ResourceFailure } from "../../src/domain/knowledge/resource-failure.ts";
import { blobSource } from "../parse-document.ts";
import { takeStep } from "./resource-step.ts";

export interface ExtractDeps extends Parts<"db" | "blobs"> {
  readonly parser: DocumentParser;
}

/** Reads the text of a resource's bytes and stores it. */
export function createExtractResource({ db, blobs, parser }: ExtractDeps) {
  return async function extractResource(input: ResourceInput): Promise<IngestStep> {
    const { org_id, resource_id, revision } = input;
    return await takeStep(db, input, ["resource"], async (resource, signal) => {
      const base = await db.org(org_id, (connection) => findKnowledgeBase(connection, resource.knowledge_base_id));
      const { text, pages, headings, page_count, properties } = await parse(resource, base, signal);
      // A document's own metadata takes precedence over its server's.
      const { last_modified } = resource;
      const said = last_modified === null ? properties : { modified: last_modified, ...properties };
      const declared = base?.dataloader_metadata_schema ?? { properties: {} };
      const dataloader_metadata = readDocumentMetadata(declared, said);
      const text_blob_key = await storeExtractedText(blobs, org_id, { text, pages, headings });
      const parsed = { text_blob_key, text_length: text.length, page_count, dataloader_metadata };
      const state = { status: "parsed" as const, ...parsed };
      const marked = await db.org(org_id, (connection) => markResource(connection, resource_id, revision, state));
      const unused = marked ? resource.text_blob_key : text_blob_key;
      if (unused !== null) await blobs.delete(unused);
      return marked ? "done" : "stop";
    });
  };

  async function parse(
    resource: ResourceRow,
    base: KnowledgeBaseRow | null,
    signal: AbortSignal,
  ): Promise<ParsedDocument> {
    const { org_id, source, resource_path, content_mime } = resource;
    try {
      return await parser.parse({
        orgId: org_id,
        source: await blobSource(blobs, resource.blob_key ?? ""),
        // Only an upload's name says something about its type; the types of pages and texts were decided when they were
        // stored.
        filename: source === "upload" ? resource_path : null,
        declared: content_mime,
        ocr: base?.indexing_params.ocr ?? false,
        signal,
      });
    } catch (error) {
      if (error instanceof DocumentError) throw new ResourceFailure(error.code, error.message, { cause: error });
      if (error instanceof BlobNotFound) {
        throw new ResourceFailure("document_lost", "The stored file no longer exists. Add it again.", { cause: error });
      }
      throw error;
    }
  }
}
