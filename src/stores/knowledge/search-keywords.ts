import { plannedAnew, type Db } from "../db.ts";
import { liveChunkSql, type SearchLimits } from "./search-limits.ts";
import type { KeywordHit, QueryTerm, SearchedIndex } from "./search.ts";

// Every function here runs on Database.search, whose role sees the rows of all organisations. So each statement names
// the organisation, and reaches postings and vectors only through one of its indexes.

const K1 = 1.2;
const B = 0.75;

/** The weight of a term with this document frequency: the first factor of BM25, as in searchKeywords. */
export function frequencyWeight(chunkCount: number, frequency: number): number {
  const others = Math.max(Math.max(chunkCount, 1) - frequency + 0.5, 0.5);
  return (K1 + 1) * Math.log(1 + others / (frequency + 0.5));
}

/** How much a chunk's length lowers its score. */
export function lengthSlope({ chunk_count, term_count }: SearchedIndex): number {
  return (K1 * B) / Math.max(term_count / Math.max(chunk_count, 1), 1);
}

/** The score of a term that occurs this often in a chunk of this length: the second factor. */
export function termScore(occurrences: number, length: number, slope: number): number {
  return occurrences / (occurrences + K1 * (1 - B) + slope * length);
}

/**
 * The postings of lexemes. Each is eight bytes, big-endian: chunk number (4), occurrences (2), length of the chunk
 * (2). They include unsearchable chunks.
 */
export async function readPostings(
  db: Db,
  orgId: string,
  indexNo: number,
  lexemes: readonly string[],
): Promise<Map<string, Buffer>> {
  return db.pairs(
    `select t.term, p.packed from unnest($3::text[]) t (term) cross join lateral (
        select string_agg(int8send((p.chunk_no::bigint << 32) | (p.tf::bigint << 16) | p.length), ''::bytea) as packed
        from knowledge_postings p where p.index_no = $2::int and p.term = t.term) p
      where p.packed is not null and exists (select from knowledge_indexes i where i.org_id = $1::uuid and i.index_no = $2::int)`,
    [orgId, indexNo, lexemes],
  );
}

/**
 * The chunks with the best BM25 scores, best first. Document frequencies count the whole index, whatever the limits: they are counted from
 * the postings and stored nowhere. With `among` only these chunks are ranked. Each chunk is checked, from the best score down, until there
 * are enough searchable ones.
 */
export async function searchKeywords(
  db: Db,
  orgId: string,
  index: SearchedIndex,
  terms: readonly QueryTerm[],
  { among = null, ...limits }: SearchLimits & { readonly among?: readonly number[] | null },
  limit: number,
): Promise<KeywordHit[]> {
  const values: unknown[] = [orgId, index.index_no];
  const bind = (value: unknown, cast: string): string => `$${values.push(value)}::${cast}`;
  const single = terms.every((term) => !term.prefix && term.lexemes.length === 1);
  const scored = single ? scoreLexemesSql(terms, bind) : scoreFormsSql(terms, bind);
  const restricted =
    among !== null || limits.filter !== null || limits.required.length > 0 || limits.excluded.length > 0;
  // Without limits only the best candidates are checked; some of them may be chunks that are being replaced.
  const tried = bind(restricted ? null : limit * 4 + 100, "bigint");
  const text = `
    with the_index as materialized (
      select index_no, greatest(chunk_count, 1)::float8 as chunks,
        ${K1 * B}::float8 / greatest(term_count::float8 / greatest(chunk_count, 1), 1) as slope
      from knowledge_indexes where org_id = $1::uuid and index_no = $2::int),
    ${scored}
    select best.chunk_no, best.score, best.score / (select sum(weight) from terms where frequency > 0) as share
    from (select chunk_no, score from scored ${among === null ? "" : `where chunk_no = any (${bind(among, "int[]")})`} order by score desc, chunk_no limit ${tried}) best
    cross join lateral (${liveChunkSql("best.chunk_no", limits, index, values)} offset 0) live
    order by best.score desc, best.chunk_no limit ${bind(limit, "bigint")}`;
  return db.query(plannedAnew(text), values);
}

type Bind = (value: unknown, cast: string) => string;

/** The weight of a term. Every literal is a float8, because arithmetic with numeric takes several times as long. */
const weightSql = (weight: string, frequency: string): string =>
  `${weight} * ${K1 + 1}::float8 * ln(1 + greatest(i.chunks - ${frequency} + 0.5::float8, 0.5::float8) / (${frequency} + 0.5::float8))`;
const scoreSql = (weight: string): string =>
  `sum(${weight} * p.tf / (p.tf + ${K1 * (1 - B)}::float8 + i.slope * p.length))`;

/**
 * A term of one lexeme has one posting a chunk. Its postings are read twice, to count and to score: for five words
 * among 100 000 chunks, keeping them in between took 44 ms of processor time a query, and this takes 19.
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
      select t.lexeme, d.frequency, ${weightSql("t.weight", "d.frequency")} as weight
      from the_index i cross join unnest(${lexemes}, ${weights}) t (lexeme, weight) cross join lateral (
        select count(*)::float8 as frequency from knowledge_postings p where p.index_no = i.index_no and p.term = t.lexeme) d),
    scored as materialized (
      select p.chunk_no, ${scoreSql("t.weight")} as score
      from the_index i cross join terms t join knowledge_postings p on p.index_no = i.index_no and p.term = t.lexeme
      group by p.chunk_no)`;
}

/** Terms with several lexemes: all occurrences of them in a chunk count as one term. */
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
  const [exact, prefixes] = [listed(false), listed(true)];
  const parts: string[] = [];
  if (exact.length > 0) parts.push(`${select} ${unnested(exact)} ${join} p.term = t.lexeme`);
  if (prefixes.length > 0) {
    const range = `p.term >= t.lexeme collate "C" and p.term < (t.lexeme || U&'\\+10FFFF') collate "C"`;
    parts.push(`${select} ${unnested(prefixes)} ${join} ${range}`);
  }
  const weights = bind(
    terms.map((term) => term.weight),
    "float8[]",
  );
  return `postings as materialized (
      select no, chunk_no, sum(tf)::float8 as tf, max(length) as length from (${parts.join(" union all ")}) each group by no, chunk_no),
    terms as materialized (
      select d.no, d.frequency, ${weightSql(`(${weights})[d.no + 1]`, "d.frequency")} as weight
      from the_index i cross join (select no, count(*)::float8 as frequency from postings group by no) d),
    scored as materialized (
      select p.chunk_no, ${scoreSql("t.weight")} as score
      from postings p join terms t using (no) cross join the_index i group by p.chunk_no)`;
}
