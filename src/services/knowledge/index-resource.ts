import { createHash } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { embeddedText } from "../../domain/knowledge/chunk.ts";
import { encodeHalves, decodeHalves } from "../../domain/knowledge/halves.ts";
import type { NewChunk } from "../../domain/knowledge/knowledge-base.ts";
import type { TextConfiguration } from "../../domain/knowledge/languages.ts";
import { detectLanguage } from "../../platform/detect-language.ts";
import { EmbeddingError, type Embedder } from "../../platform/embeddings/types.ts";
import {
  findEmbeddings,
  insertChunks,
  insertEmbeddings,
  listPositions,
  lockHnsw,
  markResourceIndexed,
  publishRevision,
  reserveChunkNumbers,
  type ChunkOwner,
  type ChunkRow,
} from "../../stores/knowledge/chunks.ts";
import { insertVectors } from "../../stores/knowledge/hnsw.ts";
import { settleDimensions, type IndexRow } from "../../stores/knowledge/indexes.ts";
import { removeDeadChunks } from "../../stores/knowledge/remove-chunks.ts";
import type { Db } from "../../stores/db.ts";
import type { IndexDeps } from "./deps.ts";

/** Chunks that are embedded and written in one batch. */
const BATCH = 64;
const REMOVED_AT_ONCE = 500;

export interface IndexResourceOptions {
  /** Called after each batch, e.g. to send a heartbeat. */
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
  /** Whether the resource counts as indexed after this. Default: true for the active index. */
  readonly isLast?: boolean;
  /** Called in the transaction that makes the chunks searchable. */
  readonly onPublished?: (db: Db) => Promise<void>;
}

/**
 * Indexes a revision of a resource: embeds and writes its chunks in batches, then makes them searchable in place of
 * earlier revisions. Can be called again with the same chunks after any failure, because written chunks are kept. False
 * if a later revision has started or the resource is being deleted. Throws EmbeddingError.
 */
export async function indexResource(
  deps: IndexDeps,
  index: IndexRow,
  resource: { readonly resource_id: string; readonly revision: number },
  chunks: readonly NewChunk[],
  options: IndexResourceOptions = {},
): Promise<boolean> {
  const { org_id, index_no } = index;
  const owner: ChunkOwner = { org_id, index_no, ...resource };
  const language = detectLanguage(chunks.map((chunk) => chunk.text));
  const embedder = await findEmbedder(deps, index);
  const indexing = { ...deps, index, owner, embedder, language, signal: options.signal };
  const written = await deps.database.org(org_id, (db) => listPositions(db, owner));
  const todo = chunks.filter((chunk) => !written.has(chunk.chunk_index));
  for (let at = 0; at < todo.length; at += BATCH) {
    options.signal?.throwIfAborted();
    const batch = todo.slice(at, at + BATCH);
    if (!(await indexBatch(indexing, batch))) return false;
    options.onProgress?.(written.size + at + batch.length, chunks.length);
  }
  const published = await deps.database.orgTransaction(org_id, async (db) => {
    const isPresent = await publishRevision(db, owner, [language]);
    if (isPresent && (options.isLast ?? index.state === "active")) await markResourceIndexed(db, owner);
    if (isPresent) await options.onPublished?.(db);
    return isPresent;
  });
  await removeRemains(deps, org_id, resource.resource_id);
  return published;
}

/** Removes chunks of a resource that are no longer searchable, in batches. */
export async function removeRemains(
  deps: Pick<IndexDeps, "database">,
  orgId: string,
  resourceId: string,
): Promise<void> {
  for (;;) {
    const removed = await deps.database.orgTransaction(orgId, (db) =>
      removeDeadChunks(db, resourceId, REMOVED_AT_ONCE),
    );
    if (removed < REMOVED_AT_ONCE) return;
  }
}

async function findEmbedder(deps: IndexDeps, index: IndexRow): Promise<Embedder | null> {
  if (index.embedding_model === null) return null;
  const found = await deps.embedders.find(index.org_id, index.embedding_model);
  if ("no" in found) throw new EmbeddingError("unavailable", found.no);
  return found.embedder;
}

/** The indexing of one revision of a resource. */
interface Indexing extends IndexDeps {
  readonly index: IndexRow;
  readonly owner: ChunkOwner;
  readonly embedder: Embedder | null;
  readonly language: TextConfiguration;
  readonly signal: AbortSignal | undefined;
}

async function indexBatch(indexing: Indexing, batch: readonly NewChunk[]): Promise<boolean> {
  const { database, lexer, owner, embedder, language } = indexing;
  const { org_id, index_no } = owner;
  const texts = batch.map(embeddedText);
  const hashes = texts.map((text) => createHash("sha256").update(text).digest());
  const vectors = embedder === null ? null : await embedTexts(indexing, embedder, texts, hashes);
  const vectorsOfWords = await lexer.vectors(texts, language);
  const first = await database.org(org_id, (db) => reserveChunkNumbers(db, index_no, batch.length));
  if (first === null) return false;
  const rows: ChunkRow[] = batch.map((chunk, i) => ({
    ...chunk,
    // Postgres cannot store U+0000; a replacement of the same length keeps offsets.
    text: chunk.text.replaceAll("\u0000", "\ufffd"),
    context: chunk.context.replaceAll("\u0000", "\ufffd"),
    chunk_id: uuidv7(),
    chunk_no: first + i,
    language,
    lexemes: vectorsOfWords[i] ?? "",
  }));
  return await database.orgTransaction(org_id, async (db) => {
    // The HNSW index is locked first, so that two writers never deadlock.
    const hasHnsw = await lockHnsw(db, index_no);
    const written = await insertChunks(db, owner, rows);
    if (vectors === null || written.size === 0) return written.size > 0;
    const embeddings = rows.flatMap(({ chunk_no }, i) => {
      const [text_hash, vector] = [hashes[i], vectors[i]];
      return written.has(chunk_no) && text_hash !== undefined && vector !== undefined
        ? [{ chunk_no, text_hash, vector }]
        : [];
    });
    await insertEmbeddings(db, owner, embeddings);
    const numbers = embeddings.map(({ chunk_no, vector }) => ({ chunk_no, vector: toNumbers(vector) }));
    if (hasHnsw) await insertVectors(db, owner, numbers);
    return true;
  });
}

/** Each text's vector as half-precision floats. Vectors of texts that the knowledge base already has are reused. */
async function embedTexts(
  { database, index, signal }: Indexing,
  embedder: Embedder,
  texts: readonly string[],
  hashes: readonly Buffer[],
): Promise<Buffer[]> {
  const { org_id, knowledge_base_id, index_no, embedding_model } = index;
  const known = await database.org(org_id, (db) =>
    findEmbeddings(db, knowledge_base_id, embedding_model ?? "", hashes),
  );
  const key = (i: number): string => hashes[i]?.toString("hex") ?? "";
  const missing = new Map(texts.flatMap((text, i) => (known.has(key(i)) ? [] : [[key(i), text] as const])));
  if (missing.size > 0) {
    const computed = await embedder.embed([...missing.values()], "passage", signal === undefined ? {} : { signal });
    const dimensions = computed[0]?.length ?? 0;
    if (!(await database.org(org_id, (db) => settleDimensions(db, index_no, dimensions)))) {
      throw new EmbeddingError("refused", `The embedding model now returns ${dimensions} dimensions: run a full sync.`);
    }
    [...missing.keys()].forEach((hash, i) => known.set(hash, encodeHalves(computed[i] ?? [])));
  } else if (known.size > 0) {
    const dimensions = (known.get(key(0))?.length ?? 0) / 2;
    await database.org(org_id, (db) => settleDimensions(db, index_no, dimensions));
  }
  return texts.map((_, i) => known.get(key(i)) ?? Buffer.alloc(0));
}

/** Converts stored half-precision floats to numbers. */
export function toNumbers(halves: Buffer): number[] {
  const numbers = new Float32Array(halves.length / 2);
  decodeHalves(halves, numbers);
  return [...numbers];
}
