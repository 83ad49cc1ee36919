import type { ResolvedFilter } from "../../domain/knowledge/filter.ts";
import { encodeHalves } from "../../domain/knowledge/halves.ts";
import type { Db } from "../db.ts";
import { filterSql } from "./filter-sql.ts";

// Every function here runs on Database.search, whose role sees the rows of all organisations: each statement names the
// organisation, and reaches postings and vectors only through an index of that organisation.

/** An index that can be searched, with what of its knowledge base a search needs. */
export interface SearchedIndex {
  readonly index_no: number;
  readonly embedding_model: string | null;
  readonly dimensions: number | null;
  readonly languages: readonly string[];
  /** Chunks and resources that can be found. */
  readonly chunk_count: number;
  readonly resource_count: number;
  /** Terms of all of them. */
  readonly term_count: number;
  readonly version: number;
  readonly has_hnsw: boolean;
}

/** The active index of a knowledge base; null where there is none yet, or the knowledge base is not the organisation's. */
export async function findActiveIndex(db: Db, orgId: string, knowledgeBaseId: string): Promise<SearchedIndex | null> {
  const rows = await db.query<SearchedIndex>(
    {
      name: "find_active_index",
      text: `select i.index_no, i.embedding_model, i.dimensions, i.languages, i.chunk_count, i.resource_count, i.term_count, i.version, i.has_hnsw
        from knowledge_indexes i join knowledge_bases k on k.knowledge_base_id = i.knowledge_base_id
        where i.org_id = $1::uuid and k.org_id = $1::uuid and i.knowledge_base_id = $2::uuid and i.state = 'active' and k.deleted_at is null`,
    },
    [orgId, knowledgeBaseId],
  );
  return rows[0] ?? null;
}

/** A term of a query: any of the lexemes stands for it. */
export interface QueryTerm {
  readonly lexemes: readonly string[];
  /** Every word that begins with one of the lexemes counts. */
  readonly prefix: boolean;
  readonly weight: number;
}

/** What limits the chunks a search may find. */
export interface SearchLimits {
  readonly filter: ResolvedFilter | null;
  /** Phrases it must have, each in one of the forms that the index's languages give it. */
  readonly phrases: readonly string[];
  /** Words and phrases it must not have. */
  readonly excluded: ReadonlyArray<{ readonly text: string; readonly prefix: boolean }>;
}

export interface Hit {
  readonly chunk_no: number;
  readonly score: number;
}

/** A word of a query as one language's lexeme; `position` tells the parts of a compound apart. */
export interface LexedWord {
  readonly word: number;
  readonly position: number;
  readonly lexeme: string;
}

/** Words as lexemes in each of the languages. Stop words give none. */
export async function lexWords(db: Db, words: readonly string[], languages: readonly string[]): Promise<LexedWord[]> {
  return db.query<LexedWord>(
    {
      name: "lex_words",
      text: `select distinct w.no::int - 1 as word, p.position::int as position, l.lexeme
        from unnest($1::text[]) with ordinality w (text, no) cross join unnest($2::regconfig[]) c (config)
        cross join lateral unnest(to_tsvector(c.config, w.text)) l cross join lateral unnest(l.positions) p (position)
        order by 1, 2, 3`,
    },
    [words, languages],
  );
}

const K1 = 1.2;
const B = 0.75;

/** What a term of this document frequency counts: the first part of BM25, as in searchKeywords. */
export function frequencyWeight(chunkCount: number, frequency: number): number {
  const others = Math.max(Math.max(chunkCount, 1) - frequency + 0.5, 0.5);
  return (K1 + 1) * Math.log(1 + others / (frequency + 0.5));
}

/** How much a chunk's length counts against it. */
export function lengthSlope({ chunk_count, term_count }: SearchedIndex): number {
  return (K1 * B) / Math.max(term_count / Math.max(chunk_count, 1), 1);
}

/** What a chunk of this length has of a term that occurs in it so often: the second part. */
export function termScore(occurrences: number, length: number, slope: number): number {
  return occurrences / (occurrences + K1 * (1 - B) + slope * length);
}

/**
 * The postings of lexemes: of each eight bytes, big-endian: chunk number (4), occurrences (2), length of the chunk (2). Those of chunks
 * that cannot be found are among them.
 */
export async function readPostings(
  db: Db,
  orgId: string,
  indexNo: number,
  lexemes: readonly string[],
): Promise<Map<string, Buffer>> {
  const rows = await db.query<{ term: string; packed: Buffer }>(
    {
      name: "read_postings",
      text: `select t.term, p.packed from unnest($3::text[]) t (term) cross join lateral (
          select string_agg(int8send((p.chunk_no::bigint << 32) | (p.tf::bigint << 16) | p.length), ''::bytea) as packed
          from knowledge_postings p where p.index_no = $2::int and p.term = t.term) p
        where p.packed is not null and exists (select from knowledge_indexes i where i.org_id = $1::uuid and i.index_no = $2::int)`,
    },
    [orgId, indexNo, lexemes],
  );
  return new Map(rows.map(({ term, packed }) => [term, packed]));
}

/**
 * The chunks with the best BM25 scores, best first. Document frequencies are those of the whole index, whatever the limits:
 * counted from the postings, not kept anywhere. What is to be found is looked up chunk by chunk, from the best score down,
 * until there are enough.
 */
export async function searchKeywords(
  db: Db,
  orgId: string,
  index: SearchedIndex,
  terms: readonly QueryTerm[],
  limits: SearchLimits,
  limit: number,
): Promise<Hit[]> {
  const values: unknown[] = [orgId, index.index_no];
  const bind = (value: unknown, cast: string): string => `$${values.push(value)}::${cast}`;
  const single = terms.every((term) => !term.prefix && term.lexemes.length === 1);
  const scored = single ? scoreLexemesSql(terms, bind) : scoreFormsSql(terms, bind);
  const restricted = limits.filter !== null || limits.phrases.length > 0 || limits.excluded.length > 0;
  // Without limits the best ones are found but for those that are just being replaced.
  const tried = bind(restricted ? null : limit * 4 + 100, "bigint");
  const text = `
    with the_index as materialized (
      select index_no, greatest(chunk_count, 1)::float8 as chunks,
        ${K1 * B}::float8 / greatest(term_count::float8 / greatest(chunk_count, 1), 1) as slope
      from knowledge_indexes where org_id = $1::uuid and index_no = $2::int),
    ${scored}
    select best.chunk_no, best.score
    from (select chunk_no, score from scored order by score desc, chunk_no limit ${tried}) best
    cross join lateral (${liveChunkSql("best.chunk_no", limits, index, values)} offset 0) live
    order by best.score desc, best.chunk_no limit ${bind(limit, "bigint")}`;
  return db.query<Hit>(text, values);
}

type Bind = (value: unknown, cast: string) => string;

/** The weight of a term; every literal is a float8, as arithmetic with numeric takes several times as long. */
const weightSql = (weight: string, frequency: string): string =>
  `${weight} * ${K1 + 1}::float8 * ln(1 + greatest(i.chunks - ${frequency} + 0.5::float8, 0.5::float8) / (${frequency} + 0.5::float8))`;
const scoreSql = (weight: string): string =>
  `sum(${weight} * p.tf / (p.tf + ${K1 * (1 - B)}::float8 + i.slope * p.length))`;

/**
 * Terms of one lexeme each have one posting a chunk. Their postings are read twice, to count and to score: keeping them in between
 * took 44 ms of processor time a query of five words among 100 000 chunks, and this takes 19.
 */
function scoreLexemesSql(terms: readonly QueryTerm[], bind: Bind): string {
  const lexemes = bind(
    terms.map((term) => term.lexemes[0]),
    "text[]",
  );
  const weights = bind(
    terms.map((term) => term.weight),
    "float8[]",
  );
  return `terms as materialized (
      select t.lexeme, ${weightSql("t.weight", "d.frequency")} as weight
      from the_index i cross join unnest(${lexemes}, ${weights}) t (lexeme, weight) cross join lateral (
        select count(*)::float8 as frequency from knowledge_postings p where p.index_no = i.index_no and p.term = t.lexeme) d),
    scored as materialized (
      select p.chunk_no, ${scoreSql("t.weight")} as score
      from the_index i cross join terms t join knowledge_postings p on p.index_no = i.index_no and p.term = t.lexeme
      group by p.chunk_no)`;
}

/** Terms that stand for several lexemes: what a chunk has of them counts as one term. */
function scoreFormsSql(terms: readonly QueryTerm[], bind: Bind): string {
  const listed = (prefix: boolean): { lexeme: string; no: number }[] =>
    terms.flatMap((term, no) => (term.prefix === prefix ? term.lexemes.map((lexeme) => ({ lexeme, no })) : []));
  const unnested = (list: readonly { lexeme: string; no: number }[]): string =>
    `unnest(${bind(
      list.map(({ lexeme }) => lexeme),
      "text[]",
    )}, ${bind(
      list.map(({ no }) => no),
      "int[]",
    )}) t (lexeme, no)`;
  const select = "select t.no, p.chunk_no, p.tf::int as tf, p.length from the_index i cross join";
  const join = "join knowledge_postings p on p.index_no = i.index_no and";
  const [exact, begun] = [listed(false), listed(true)];
  const parts: string[] = [];
  if (exact.length > 0) parts.push(`${select} ${unnested(exact)} ${join} p.term = t.lexeme`);
  if (begun.length > 0) {
    const range = `p.term >= t.lexeme collate "C" and p.term < (t.lexeme || U&'\\+10FFFF') collate "C"`;
    parts.push(`${select} ${unnested(begun)} ${join} ${range}`);
  }
  const weights = bind(
    terms.map((term) => term.weight),
    "float8[]",
  );
  return `postings as materialized (
      select no, chunk_no, sum(tf)::float8 as tf, max(length) as length from (${parts.join(" union all ")}) each group by no, chunk_no),
    terms as materialized (
      select d.no, ${weightSql(`(${weights})[d.no + 1]`, "d.frequency")} as weight
      from the_index i cross join (select no, count(*)::float8 as frequency from postings group by no) d),
    scored as materialized (
      select p.chunk_no, ${scoreSql("t.weight")} as score
      from postings p join terms t using (no) cross join the_index i group by p.chunk_no)`;
}

/** Selects something where the chunk of that number may be found. $1 is the organisation. */
function liveChunkSql(chunkNo: string, limits: SearchLimits, index: SearchedIndex, values: unknown[]): string {
  const conditions = chunkConditions(limits, index, values);
  const resource =
    limits.filter === null
      ? ""
      : `join knowledge_resources r on r.resource_id = c.resource_id and r.org_id = $1::uuid and ${filterSql(limits.filter, values)}`;
  return `select 1 from knowledge_chunks c
    join knowledge_index_resources x on x.index_no = c.index_no and x.resource_id = c.resource_id and x.revision = c.revision and x.org_id = $1::uuid
    ${resource} where c.index_no = ${Number(index.index_no)} and c.chunk_no = ${chunkNo}${conditions}`;
}

function chunkConditions({ phrases, excluded }: SearchLimits, { languages }: SearchedIndex, values: unknown[]): string {
  const bind = (value: unknown, cast: string): string => `$${values.push(value)}::${cast}`;
  const matches = (make: (config: string) => string): string =>
    `(${languages.map((language) => `c.lexemes @@ ${make(bind(language, "regconfig"))}`).join(" or ") || "false"})`;
  const all: string[] = [];
  for (const phrase of phrases) {
    const text = bind(phrase, "text");
    all.push(matches((config) => `phraseto_tsquery(${config}, ${text})`));
  }
  for (const each of excluded) {
    if (each.prefix) {
      // The word has letters and digits only, so quoting it is all that is needed.
      all.push(`(not c.lexemes @@ ${bind(`'${each.text.replaceAll("'", "''")}':*`, "tsquery")})`);
      continue;
    }
    const text = bind(each.text, "text");
    all.push(`(not ${matches((config) => `phraseto_tsquery(${config}, ${text})`)})`);
  }
  return all.map((condition) => ` and ${condition}`).join("");
}

/** The numbers of all chunks of an index that can be found, in no order. */
export async function listLiveChunks(db: Db, orgId: string, index: SearchedIndex): Promise<number[]> {
  return await restrictChunks(db, orgId, index, { filter: null, phrases: [], excluded: [] });
}

/** The numbers of the chunks that limits let through, in no order; with `among`, of those only. */
export async function restrictChunks(
  db: Db,
  orgId: string,
  index: SearchedIndex,
  limits: SearchLimits,
  among: readonly number[] | null = null,
): Promise<number[]> {
  const values: unknown[] = [orgId, index.index_no];
  const resource =
    limits.filter === null
      ? ""
      : `join knowledge_resources r on r.resource_id = x.resource_id and r.org_id = $1::uuid and ${filterSql(limits.filter, values)}`;
  const conditions = chunkConditions(limits, index, values);
  const numbered = among === null ? "" : ` and c.chunk_no = any($${values.push(among)}::int[])`;
  // As text: an array of numbers would be parsed element by element.
  const rows = await db.query<{ numbers: string | null }>(
    `select string_agg(c.chunk_no::text, ',') as numbers from knowledge_index_resources x
      join knowledge_chunks c on c.index_no = x.index_no and c.resource_id = x.resource_id and c.revision = x.revision
      ${resource} where x.org_id = $1::uuid and x.index_no = $2::int and c.org_id = $1::uuid${conditions}${numbered}`,
    values,
  );
  const numbers = rows[0]?.numbers ?? "";
  return numbers === "" ? [] : numbers.split(",").map(Number);
}

/** What a filter lets through. */
export interface Matched {
  readonly resources: number;
  readonly chunks: number;
}

/** How many resources of an index a filter lets through, and how many chunks they have. */
export async function countMatched(db: Db, orgId: string, indexNo: number, filter: ResolvedFilter): Promise<Matched> {
  const values: unknown[] = [orgId, indexNo];
  const rows = await db.query<Matched>(
    `select count(*) as resources, coalesce(sum(x.chunk_count), 0)::bigint as chunks from knowledge_index_resources x
      join knowledge_resources r on r.resource_id = x.resource_id and r.org_id = $1::uuid and ${filterSql(filter, values)}
      where x.org_id = $1::uuid and x.index_no = $2::int`,
    values,
  );
  return rows[0] ?? { resources: 0, chunks: 0 };
}

/** Stored vectors, as many as there are of these chunks. */
export async function readVectors(
  db: Db,
  orgId: string,
  indexNo: number,
  chunkNos: readonly number[],
): Promise<{ chunk_no: number; vector: Buffer }[]> {
  return db.query<{ chunk_no: number; vector: Buffer }>(
    {
      name: "read_vectors",
      text: `select e.chunk_no, e.vector from unnest($3::int[]) c (chunk_no)
        join knowledge_embeddings e on e.index_no = $2::int and e.chunk_no = c.chunk_no where e.org_id = $1::uuid`,
    },
    [orgId, indexNo, chunkNos],
  );
}

/**
 * The chunks nearest to a vector by the index's HNSW, nearest first. Without limits (null) chunks that cannot be found are among them:
 * looking each up takes a third of the time.
 */
export async function searchNearest(
  db: Db,
  orgId: string,
  index: SearchedIndex,
  vector: Float32Array,
  limits: SearchLimits | null,
  limit: number,
): Promise<Hit[]> {
  const values: unknown[] = [orgId, encodeHalfvec(vector)];
  const bind = (value: unknown, cast: string): string => `$${values.push(value)}::${cast}`;
  const type = `halfvec(${Number(index.dimensions)})`;
  const live =
    limits === null ? "" : `cross join lateral (${liveChunkSql("v.chunk_no", limits, index, values)} offset 0) live`;
  // The partial index is used only where its condition is a constant of the statement.
  const rows = await db.query<Hit>(
    `select v.chunk_no, 1 - (v.embedding::${type} <=> $2::${type}) as score from knowledge_vectors v ${live}
      where v.index_no = ${Number(index.index_no)} and v.org_id = $1::uuid
      order by v.embedding::${type} <=> $2::${type} limit ${bind(limit, "bigint")}`,
    values,
  );
  return rows.toSorted((a, b) => b.score - a.score || a.chunk_no - b.chunk_no);
}

/** The same of some chunks only, exactly: every one is compared. */
export async function searchAmong(
  db: Db,
  orgId: string,
  index: SearchedIndex,
  vector: Float32Array,
  chunkNos: readonly number[],
  limit: number,
): Promise<Hit[]> {
  const type = `halfvec(${Number(index.dimensions)})`;
  return db.query<Hit>(
    `select v.chunk_no, 1 - (v.embedding::${type} <=> $3::${type}) as score
      from unnest($4::int[]) c (chunk_no) join knowledge_vectors v on v.index_no = $2::int and v.chunk_no = c.chunk_no
      where v.org_id = $1::uuid order by score desc, chunk_no limit $5::bigint`,
    [orgId, index.index_no, encodeHalfvec(vector), chunkNos, limit],
  );
}

/** A vector as pgvector receives it in binary form (halfvec_recv): dimensions, two empty bytes, big-endian halves. As text it is ten times as long. */
function encodeHalfvec(vector: Float32Array): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16BE(vector.length);
  return Buffer.concat([header, encodeHalves(vector).swap16()]);
}

/** A found chunk with what of its resource a result shows. */
export interface FoundChunk {
  readonly chunk_no: number;
  readonly chunk_id: string;
  readonly resource_id: string;
  readonly resource_path: string;
  readonly source_url: string | null;
  readonly text: string;
  readonly context: string;
  readonly language: string;
  readonly chunk_index: number;
  readonly char_start: number;
  readonly char_end: number;
  readonly page_start: number | null;
  readonly page_end: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

const FOUND_COLUMNS = `c.chunk_no, c.chunk_id, c.resource_id, r.resource_path, r.source_url, c.text, c.context, c.language, c.chunk_index,
  c.char_start, c.char_end, c.page_start, c.page_end, r.dataloader_metadata || r.user_metadata || c.metadata as metadata`;
const LIVE_CHUNKS = `knowledge_chunks c
  join knowledge_index_resources x on x.index_no = c.index_no and x.resource_id = c.resource_id and x.revision = c.revision
  join knowledge_resources r on r.resource_id = c.resource_id`;

/** Chunks by their numbers, as many as can (still) be found, in no order. */
export async function readChunks(
  db: Db,
  orgId: string,
  indexNo: number,
  chunkNos: readonly number[],
): Promise<FoundChunk[]> {
  return db.query<FoundChunk>(
    {
      name: "read_chunks",
      text: `select ${FOUND_COLUMNS} from ${LIVE_CHUNKS}
        where c.org_id = $1::uuid and x.org_id = $1::uuid and r.org_id = $1::uuid and c.index_no = $2::int and c.chunk_no = any($3::int[])`,
    },
    [orgId, indexNo, chunkNos],
  );
}

/** Chunks of resources by their position within them, as many as there are. */
export async function readPositions(
  db: Db,
  orgId: string,
  indexNo: number,
  positions: ReadonlyArray<{ readonly resource_id: string; readonly chunk_index: number }>,
): Promise<FoundChunk[]> {
  return db.query<FoundChunk>(
    {
      name: "read_positions",
      text: `select ${FOUND_COLUMNS} from unnest($3::uuid[], $4::int[]) p (resource_id, chunk_index)
        join (${LIVE_CHUNKS}) on c.resource_id = p.resource_id and c.chunk_index = p.chunk_index
        where c.org_id = $1::uuid and x.org_id = $1::uuid and r.org_id = $1::uuid and c.index_no = $2::int`,
    },
    [orgId, indexNo, positions.map((each) => each.resource_id), positions.map((each) => each.chunk_index)],
  );
}
