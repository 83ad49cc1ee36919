import { Context } from "@temporalio/activity";
import { MAX_CHUNKS, chunkText, type ChunkedText } from "../../src/domain/knowledge/chunk.ts";
import { resourceEvent, type IngestStep, type ResourceInput } from "../../src/domain/knowledge/ingest.ts";
import type { IndexingParams, NewChunk } from "../../src/domain/knowledge/knowledge-base.ts";
import { BlobNotFound } from "../../src/platform/blobs/blobs.ts";
import { EmbeddingError } from "../../src/platform/embeddings/types.ts";
import type { IndexDeps } from "../../src/services/knowledge/deps.ts";
import { loadExtractedText } from "../../src/services/knowledge/extracted-text.ts";
import { indexResource as indexChunks } from "../../src/services/knowledge/index-resource.ts";
import type { Parts } from "../../src/services/parts.ts";
import { listIndexes, type IndexRow } from "../../src/stores/knowledge/indexes.ts";
import { insertEvent } from "../../src/stores/outbox.ts";
import { ResourceFailure } from "../../src/domain/knowledge/resource-failure.ts";
import { attemptOf, beat } from "../attempts.ts";
import { takeStep } from "./resource-step.ts";
import { nextSlice } from "../../src/platform/slices.ts";

export interface IndexResourceDeps extends Parts<"blobs"> {
  readonly knowledge: IndexDeps;
  /** Most attempts while the embedding model does not respond. */
  readonly maxAttempts: number;
}

/** Most chunks cut before the event loop gets a turn. */
const CUT_AT_ONCE = 200;
/** Most attempts while the model's responses are invalid. */
const MAX_MALFORMED = 5;

/**
 * Cuts a resource's text into chunks and writes them into the knowledge base's indexes, which makes them searchable.
 */
export function createIndexResource({ blobs, knowledge, maxAttempts }: IndexResourceDeps) {
  const { database } = knowledge;
  return async function indexResource(input: ResourceInput): Promise<IngestStep> {
    const { org_id, knowledge_base_id, resource_id, revision } = input;
    return await takeStep(database, input, ["parsed"], async (resource, signal) => {
      const context = Context.current();
      const text = await load(resource.text_blob_key ?? "");
      const indexes = await indexesFor(org_id, knowledge_base_id);
      for (const index of indexes) {
        // The active index comes last: once it is written, the resource counts as indexed.
        const isLast = index === indexes.at(-1);
        const chunks = await cut(text, index.params.chunker_params);
        try {
          const published = await indexChunks(knowledge, index, { resource_id, revision }, chunks, {
            signal,
            isLast,
            onProgress: () => beat(context),
            async onPublished(db) {
              if (!isLast) return;
              const outcome = { type: "indexed", chunk_count: chunks.length } as const;
              await insertEvent(db, resourceEvent(resource, outcome));
            },
          });
          if (!published) return "stop";
        } catch (error) {
          throw asFailure(error, attemptOf(context), maxAttempts);
        }
      }
      return "done";
    });
  };

  async function indexesFor(orgId: string, knowledgeBaseId: string): Promise<IndexRow[]> {
    const all = await database.org(orgId, (db) => listIndexes(db, knowledgeBaseId));
    const building = all.filter((index) => index.state === "building");
    const active = all.filter((index) => index.state === "active");
    const model = active[0]?.embedding_model ?? null;
    // A missing model of the index that is about to be replaced must not block the new index.
    const isUsable =
      building.length === 0 || model === null || "embedder" in (await knowledge.embedders.find(orgId, model));
    return isUsable ? [...building, ...active] : building;
  }

  async function load(key: string): Promise<ChunkedText> {
    try {
      return await loadExtractedText(blobs, key);
    } catch (error) {
      if (!(error instanceof BlobNotFound)) throw error;
      throw new ResourceFailure("document_lost", "The stored text no longer exists. Add the document again.", {
        cause: error,
      });
    }
  }
}

async function cut(text: ChunkedText, params: IndexingParams["chunker_params"]): Promise<NewChunk[]> {
  const chunks: NewChunk[] = [];
  for (const chunk of chunkText(text, params)) {
    if (chunks.push(chunk) % CUT_AT_ONCE === 0) await nextSlice();
    if (chunks.length > MAX_CHUNKS) {
      const message = `The document has more than ${MAX_CHUNKS} chunks: choose a larger chunk_size or a smaller chunk_overlap.`;
      throw new ResourceFailure("too_many_chunks", message);
    }
  }
  return chunks;
}

/** An error that the model returns is final; an unreachable model is retried up to `maxAttempts`. */
function asFailure(error: unknown, attempt: number, maxAttempts: number): unknown {
  if (!(error instanceof EmbeddingError)) return error;
  const { failure, message } = error;
  const isFinal = failure === "refused" || attempt >= (failure === "malformed" ? MAX_MALFORMED : maxAttempts);
  return isFinal ? new ResourceFailure(`embedding_${failure}`, message, { cause: error }) : error;
}
