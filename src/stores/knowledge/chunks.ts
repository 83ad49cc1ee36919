import type { NewChunk } from "../../domain/knowledge/knowledge-base.ts";
import type { TextConfiguration } from "../../domain/knowledge/languages.ts";
import { WORD_RULES } from "../../domain/knowledge/words.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";

/** The revision of a resource that chunks belong to, and their index. */
export interface ChunkOwner {
  readonly org_id: string;
  readonly index_no: number;
  readonly resource_id: string;
  readonly revision: number;
}

export interface ChunkRow extends NewChunk {
  readonly chunk_id: string;
  readonly chunk_no: number;
  readonly language: TextConfiguration;
  /** Lexemes of the context and the text, as a tsvector. */
  readonly lexemes: string;
}

const EMBEDDING = columns("chunk_no int, text_hash bytea, vector bytea");

/** A stored embedding: the SHA-256 of its text, and the halves of a vector of length 1. */
export type StoredEmbedding = RowOf<typeof EMBEDDING>;

/** Positions of the written chunks. A repeated batch skips them. */
export async function listPositions(db: Db, owner: ChunkOwner): Promise<Set<number>> {
  const indexes = await db.column<number>(
    `select chunk_index from knowledge_chunks
      where org_id = current_org() and index_no = $1::int and resource_id = $2::uuid and revision = $3::int`,
    [owner.index_no, owner.resource_id, owner.revision],
  );
  return new Set(indexes);
}

/** Reserves this many chunk numbers and returns the first. Commit it alone: it locks the index's row. */
export async function reserveChunkNumbers(db: Db, indexNo: number, count: number): Promise<number | null> {
  return db.value(
    `update knowledge_indexes set next_chunk_no = next_chunk_no + $2::int
      where org_id = current_org() and index_no = $1::int and state <> 'retired' returning next_chunk_no - $2::int as first`,
    [indexNo, count],
  );
}

const CHUNK = columns(`chunk_id uuid, chunk_no int, chunk_index int, text text, context text, char_start int,
  char_end int, page_start int, page_end int, metadata jsonb, language text, lexemes text`);

/**
 * Writes chunks with their postings; returns the numbers of the written ones. Writes none if the revision is no longer the current one or
 * the resource is being deleted. Skips positions that exist already.
 */
export async function insertChunks(db: Db, owner: ChunkOwner, chunks: readonly ChunkRow[]): Promise<Set<number>> {
  const chunkNos = await db.column<number>(
    `with resource as (
        select resource_id from knowledge_resources
        where org_id = current_org() and resource_id = $3::uuid and revision = $4::int and status <> 'pending_delete' for key share),
      lexed as (
        select n.chunk_id, n.chunk_no, n.chunk_index, n.text, n.context, n.char_start, n.char_end, n.page_start, n.page_end, n.metadata,
          n.language, n.lexemes::tsvector as lexemes
        from ${CHUNK.unnest(5)}),
      written as (
        insert into knowledge_chunks (chunk_id, org_id, index_no, chunk_no, resource_id, revision, chunk_index, text, context, char_start,
          char_end, page_start, page_end, metadata, language, lexemes, term_count, word_rules)
        select l.chunk_id, $1::uuid, $2::int, l.chunk_no, resource.resource_id, $4::int, l.chunk_index, l.text, l.context, l.char_start,
          l.char_end, l.page_start, l.page_end, l.metadata, l.language, l.lexemes,
          (select coalesce(sum(cardinality(u.positions)), 0) from unnest(l.lexemes) u), ${WORD_RULES}
        from lexed l cross join resource
        on conflict (index_no, resource_id, revision, chunk_index) do nothing
        returning index_no, chunk_no, lexemes, term_count),
      posted as (
        insert into knowledge_postings (index_no, term, chunk_no, tf, length)
        select w.index_no, u.lexeme, w.chunk_no, cardinality(u.positions), least(w.term_count, 32767)
        from written w cross join lateral unnest(w.lexemes) u)
      select chunk_no from written`,
    [owner.org_id, owner.index_no, owner.resource_id, owner.revision, ...CHUNK.arrays(chunks)],
  );
  return new Set(chunkNos);
}

/** The vectors that a knowledge base already has for the same texts and model, keyed by the text's hash in hexadecimal. */
export async function findEmbeddings(
  db: Db,
  knowledgeBaseId: string,
  model: string,
  hashes: readonly Buffer[],
): Promise<Map<string, Buffer>> {
  return db.pairs(
    `select distinct on (e.text_hash) encode(e.text_hash, 'hex') as hash, e.vector
      from knowledge_indexes i join knowledge_embeddings e on e.index_no = i.index_no and e.text_hash = any($3::bytea[])
      where i.org_id = current_org() and e.org_id = current_org() and i.knowledge_base_id = $1::uuid and i.embedding_model = $2::text`,
    [knowledgeBaseId, model, hashes],
  );
}

/**
 * Whether vectors of an index are also written to its HNSW. Locks the index's row until the transaction ends: the build of an HNSW waits
 * for it, and then finds the vectors that were written without it.
 */
export async function lockHnsw(db: Db, indexNo: number): Promise<boolean> {
  return db.holds(
    "select has_hnsw from knowledge_indexes where org_id = current_org() and index_no = $1::int for share",
    [indexNo],
  );
}

/** Adds embeddings of chunks that have none. */
export async function insertEmbeddings(
  db: Db,
  owner: Pick<ChunkOwner, "org_id" | "index_no">,
  embeddings: readonly StoredEmbedding[],
): Promise<void> {
  await db.query(
    `insert into knowledge_embeddings (index_no, chunk_no, org_id, text_hash, vector)
      select $1::int, n.chunk_no, $2::uuid, n.text_hash, n.vector from ${EMBEDDING.unnest(3)}
      on conflict (index_no, chunk_no) do nothing`,
    [owner.index_no, owner.org_id, ...EMBEDDING.arrays(embeddings)],
  );
}

/**
 * Makes a whole revision searchable in place of the one before. False if it is no longer the current one or the resource is being deleted.
 * In one transaction.
 */
export async function publishRevision(
  db: Db,
  owner: ChunkOwner,
  languages: readonly TextConfiguration[],
): Promise<boolean> {
  const current = await db.any(
    `select resource_id from knowledge_resources
      where org_id = current_org() and resource_id = $1::uuid and revision = $2::int and status <> 'pending_delete' for no key update`,
    [owner.resource_id, owner.revision],
  );
  if (!current) return false;
  const published = await db.query(
    `with before as (
        select chunk_count, term_count from knowledge_index_resources where org_id = current_org() and index_no = $1::int and resource_id = $2::uuid),
      counted as (
        select count(*)::int as chunk_count, coalesce(sum(term_count), 0)::bigint as term_count from knowledge_chunks
        where org_id = current_org() and index_no = $1::int and resource_id = $2::uuid and revision = $3::int),
      written as (
        insert into knowledge_index_resources (index_no, resource_id, org_id, revision, chunk_count, term_count)
        select $1::int, $2::uuid, current_org(), $3::int, chunk_count, term_count from counted
        on conflict (index_no, resource_id) do update
        set revision = excluded.revision, chunk_count = excluded.chunk_count, term_count = excluded.term_count)
      update knowledge_indexes i set version = i.version + 1,
        chunk_count = i.chunk_count + c.chunk_count - coalesce((select chunk_count from before), 0),
        term_count = i.term_count + c.term_count - coalesce((select term_count from before), 0),
        resource_count = i.resource_count + case when exists (select from before) then 0 else 1 end,
        languages = (select array_agg(distinct l) from unnest(i.languages || $4::text[]) l)
      from counted c where i.org_id = current_org() and i.index_no = $1::int and i.state <> 'retired' returning i.index_no`,
    [owner.index_no, owner.resource_id, owner.revision, languages],
  );
  if (published.length === 0) throw new Error("The index has been retired.");
  return true;
}

/** Marks a resource as indexed, and copies its chunk count from an index that is searched or is about to be. */
export async function markResourceIndexed(
  db: Db,
  { index_no, resource_id }: Pick<ChunkOwner, "index_no" | "resource_id">,
): Promise<void> {
  await db.query(
    `update knowledge_resources set status = 'indexed', error = null, indexed_at = now(),
        chunk_count = (select chunk_count from knowledge_index_resources where index_no = $1::int and resource_id = $2::uuid)
      where org_id = current_org() and resource_id = $2::uuid`,
    [index_no, resource_id],
  );
}
