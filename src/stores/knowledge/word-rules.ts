import { WORD_RULES } from "../../domain/knowledge/words.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";

// These functions run as the login role, because they renew the chunks of every organisation.

const OUTDATED = columns("index_no int, chunk_no int, text text, context text, language text");

/** A chunk whose words were extracted by an earlier version of the word rules. */
export type OutdatedChunk = RowOf<typeof OUTDATED>;

/** An arbitrary number, the same for every process. */
const RENEWAL_LOCK = 5_217_730_003;

/** Locks the next searchable chunks of earlier word rules. Returns none while another process renews some, or if none is left. */
export async function takeOutdatedChunks(db: Db, limit: number): Promise<OutdatedChunk[]> {
  if (!(await db.holds("select pg_try_advisory_xact_lock($1::bigint)", [RENEWAL_LOCK]))) return [];
  return db.query(
    `select ${OUTDATED.select("c")} from knowledge_chunks c
      join knowledge_index_resources x on x.index_no = c.index_no and x.resource_id = c.resource_id and x.revision = c.revision
      where c.word_rules < ${WORD_RULES} order by c.index_no, c.chunk_no limit $1::int for update of c`,
    [limit],
  );
}

const CHANGE = columns("index_no int, resource_id uuid, revision int, more int");

/** Replaces the words of chunks that are locked, and updates the counts. Call it in the same transaction. */
export async function renewWords(
  db: Db,
  chunks: ReadonlyArray<{ readonly index_no: number; readonly chunk_no: number; readonly lexemes: string }>,
): Promise<void> {
  const [indexNos, chunkNos] = [chunks.map((chunk) => chunk.index_no), chunks.map((chunk) => chunk.chunk_no)];
  await db.query(
    `delete from knowledge_postings p using unnest($1::int[], $2::int[]) n (index_no, chunk_no)
      where p.index_no = n.index_no and p.chunk_no = n.chunk_no`,
    [indexNos, chunkNos],
  );
  const changes = await db.query<RowOf<typeof CHANGE>>(
    `with given as (
        select n.index_no, n.chunk_no, n.vector::tsvector as lexemes from unnest($1::int[], $2::int[], $3::text[]) n (index_no, chunk_no, vector)),
      before as (
        select c.index_no, c.chunk_no, c.term_count from given g join knowledge_chunks c using (index_no, chunk_no)),
      renewed as (
        update knowledge_chunks c set lexemes = g.lexemes, word_rules = ${WORD_RULES},
          term_count = (select coalesce(sum(cardinality(u.positions)), 0) from unnest(g.lexemes) u)
        from given g where c.index_no = g.index_no and c.chunk_no = g.chunk_no
        returning c.index_no, c.chunk_no, c.resource_id, c.revision, c.lexemes, c.term_count),
      posted as (
        insert into knowledge_postings (index_no, term, chunk_no, tf, length)
        select r.index_no, u.lexeme, r.chunk_no, cardinality(u.positions), least(r.term_count, 32767)
        from renewed r cross join lateral unnest(r.lexemes) u)
      select r.index_no, r.resource_id, r.revision, sum(r.term_count - b.term_count)::int as more
      from renewed r join before b using (index_no, chunk_no) group by 1, 2, 3 order by 1, 2`,
    [indexNos, chunkNos, chunks.map((chunk) => chunk.lexemes)],
  );
  // Only searchable revisions are counted. Resources are updated before indexes, the lock order used wherever a revision becomes
  // searchable.
  const counted = await db.query<{ index_no: number; more: number }>(
    `update knowledge_index_resources x set term_count = x.term_count + n.more
      from ${CHANGE.unnest(1)}
      where x.index_no = n.index_no and x.resource_id = n.resource_id and x.revision = n.revision returning x.index_no, n.more`,
    CHANGE.arrays(changes),
  );
  await db.query(
    `update knowledge_indexes i set version = i.version + 1, term_count = i.term_count + c.more
      from (select index_no, sum(more)::int as more from unnest($1::int[], $2::int[]) c (index_no, more) group by 1) c
      where i.index_no = c.index_no`,
    [counted.map((change) => change.index_no), counted.map((change) => change.more)],
  );
}
