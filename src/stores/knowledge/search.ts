import type { ResolvedFilter } from "../../domain/knowledge/filter.ts";
import { columns, type RowOf } from "../columns.ts";
import { plannedAnew, type Db } from "../db.ts";
import { filterSql } from "./filter-sql.ts";

// Every function here runs on Database.search, whose role sees the rows of all organisations. So each statement names
// the organisation, and reaches postings and vectors only through one of its indexes.

const INDEX = columns(`index_no int, embedding_model text null, dimensions int null, languages text[], chunk_count int,
  resource_count int, term_count bigint, version int, has_hnsw boolean`);

/** A searchable index. Counts of searchable chunks, their resources, and the terms in them. */
export type SearchedIndex = RowOf<typeof INDEX>;

/** The active index of a knowledge base; null if there is none yet, or the knowledge base is another organisation's. */
export async function findActiveIndex(db: Db, orgId: string, knowledgeBaseId: string): Promise<SearchedIndex | null> {
  return db.first(
    `select ${INDEX.select("i")}
      from knowledge_indexes i join knowledge_bases k on k.knowledge_base_id = i.knowledge_base_id
      where i.org_id = $1::uuid and k.org_id = $1::uuid and i.knowledge_base_id = $2::uuid and i.state = 'active' and k.deleted_at is null`,
    [orgId, knowledgeBaseId],
  );
}

/** A term of a query: each of the lexemes counts as the term. */
export interface QueryTerm {
  readonly lexemes: readonly string[];
  /** Every word that begins with one of the lexemes matches. */
  readonly prefix: boolean;
  readonly weight: number;
}

export interface Hit {
  readonly chunk_no: number;
  readonly score: number;
}

/** A chunk found by words. */
export interface KeywordHit extends Hit {
  /**
   * Its score divided by the highest score that any chunk could have for these words: 0 to 1. Words that occur in no document are ignored.
   */
  readonly share: number;
}

/** The lexemes of a word in a language, both by their index; null or none for a stop word. */
export interface LexedWord {
  readonly word: number;
  readonly language: number;
  readonly lexemes: readonly string[] | null;
}

// Types of tokens, by which a text search configuration chooses its dictionary.
const ASCII_WORD = 1;
const ANY_WORD = 2;
const WORD_WITH_DIGITS = 3;

/**
 * The lexemes of words in each of the languages, from the dictionaries alone: Postgres' parser would divide words by its locale. Words that
 * contain anything but letters are not stemmed.
 */
export async function lexWords(db: Db, words: readonly string[], languages: readonly string[]): Promise<LexedWord[]> {
  const types = words.map((word) => {
    if (!/^[\p{L}\p{M}·-]+$/u.test(word)) return WORD_WITH_DIGITS;
    return /^\p{ASCII}+$/u.test(word) ? ASCII_WORD : ANY_WORD;
  });
  return db.query(
    `select w.no::int - 1 as word, c.no::int - 1 as language, ts_lexize((select m.mapdict from pg_ts_config_map m
        where m.mapcfg = c.config and m.maptokentype = w.type order by m.mapseqno limit 1)::regdictionary, w.text) as lexemes
      from unnest($1::text[], $2::int[]) with ordinality w (text, type, no)
      cross join unnest($3::regconfig[]) with ordinality c (config, no)`,
    [words, types, languages],
  );
}

/** The chunks that a filter allows. */
export interface Matched {
  readonly resources: number;
  readonly chunks: number;
}

/** How many resources of an index a filter allows, and how many chunks they have. */
export async function countMatched(db: Db, orgId: string, indexNo: number, filter: ResolvedFilter): Promise<Matched> {
  const values: unknown[] = [orgId, indexNo];
  return db.one(
    plannedAnew(`select count(*) as resources, coalesce(sum(x.chunk_count), 0)::bigint as chunks from knowledge_index_resources x
      join knowledge_resources r on r.resource_id = x.resource_id and r.org_id = $1::uuid and ${filterSql(filter, values)}
      where x.org_id = $1::uuid and x.index_no = $2::int`),
    values,
  );
}

/** The resources of existing chunks, by the chunks' numbers. Includes unsearchable chunks. */
export async function readResourcesOf(
  db: Db,
  orgId: string,
  indexNo: number,
  chunkNos: readonly number[],
): Promise<Map<number, string>> {
  return db.pairs(
    `select c.chunk_no, c.resource_id from knowledge_chunks c where c.index_no = $2::int and c.chunk_no = any($3::int[])
      and exists (select from knowledge_indexes i where i.org_id = $1::uuid and i.index_no = $2::int)`,
    [orgId, indexNo, chunkNos],
  );
}

const FOUND = columns(`chunk_no int, chunk_id uuid, resource_id uuid, text text, context text, language text,
  chunk_index int, char_start int, char_end int, page_start int null, page_end int null`);

/** A found chunk, with the facts of its resource that a result shows. */
export interface FoundChunk extends RowOf<typeof FOUND> {
  readonly resource_path: string;
  readonly source_url: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

const FOUND_COLUMNS = `${FOUND.select("c")}, r.resource_path, r.source_url,
  c.metadata || r.dataloader_metadata || r.user_metadata as metadata`;
const LIVE_CHUNKS = `knowledge_chunks c
  join knowledge_index_resources x on x.index_no = c.index_no and x.resource_id = c.resource_id and x.revision = c.revision
  join knowledge_resources r on r.resource_id = c.resource_id`;

/** Chunks by their numbers, in no order; only those still searchable. */
export async function readChunks(
  db: Db,
  orgId: string,
  indexNo: number,
  chunkNos: readonly number[],
): Promise<FoundChunk[]> {
  return db.query(
    `select ${FOUND_COLUMNS} from ${LIVE_CHUNKS}
      where c.org_id = $1::uuid and x.org_id = $1::uuid and r.org_id = $1::uuid and c.index_no = $2::int and c.chunk_no = any($3::int[])`,
    [orgId, indexNo, chunkNos],
  );
}

/** Existing chunks of resources by their position within them. */
export async function readPositions(
  db: Db,
  orgId: string,
  indexNo: number,
  positions: ReadonlyArray<{ readonly resource_id: string; readonly chunk_index: number }>,
): Promise<FoundChunk[]> {
  return db.query(
    `select ${FOUND_COLUMNS} from unnest($3::uuid[], $4::int[]) p (resource_id, chunk_index)
      join (${LIVE_CHUNKS}) on c.resource_id = p.resource_id and c.chunk_index = p.chunk_index
      where c.org_id = $1::uuid and x.org_id = $1::uuid and r.org_id = $1::uuid and c.index_no = $2::int`,
    [orgId, indexNo, positions.map((each) => each.resource_id), positions.map((each) => each.chunk_index)],
  );
}
