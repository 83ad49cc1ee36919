import { encodeHalves } from "../../domain/knowledge/halves.ts";
import { plannedAnew, type Db } from "../db.ts";
import { liveChunkSql, type SearchLimits } from "./search-limits.ts";
import type { Hit, SearchedIndex } from "./search.ts";

// Every function here runs on Database.search, whose role sees the rows of all organisations. So each statement names
// the organisation, and reaches postings and vectors only through one of its indexes.

/** The stored vectors of these chunks, if they exist. */
export async function readVectors(
  db: Db,
  orgId: string,
  indexNo: number,
  chunkNos: readonly number[],
): Promise<{ chunk_no: number; vector: Buffer }[]> {
  return db.query(
    `select e.chunk_no, e.vector from unnest($3::int[]) c (chunk_no)
      join knowledge_embeddings e on e.index_no = $2::int and e.chunk_no = c.chunk_no where e.org_id = $1::uuid`,
    [orgId, indexNo, chunkNos],
  );
}

/**
 * The chunks nearest to a vector by the index's HNSW, nearest first. Without limits (null) they include unsearchable chunks, because
 * checking each chunk takes a third of the time.
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
  // Postgres uses the partial index only if its condition is a constant of the statement.
  const rows = await db.query<Hit>(
    plannedAnew(`select v.chunk_no, 1 - (v.embedding::${type} <=> $2::${type}) as score from knowledge_vectors v ${live}
      where v.index_no = ${Number(index.index_no)} and v.org_id = $1::uuid
      order by v.embedding::${type} <=> $2::${type} limit ${bind(limit, "bigint")}`),
    values,
  );
  return rows.toSorted((a, b) => b.score - a.score || a.chunk_no - b.chunk_no);
}

/**
 * The nearest of some chunks only, by exact comparison with every vector. In SQL, because reading the vectors and comparing them in threads
 * takes longer: 2 ms against 4 for 100 chunks, 4 against 10 for 400, 20 against 100 for 6 000.
 */
export async function searchAmong(
  db: Db,
  orgId: string,
  index: SearchedIndex,
  vector: Float32Array,
  chunkNos: readonly number[],
  limit: number,
): Promise<Hit[]> {
  const type = `halfvec(${Number(index.dimensions)})`;
  return db.query(
    plannedAnew(`select v.chunk_no, 1 - (v.embedding::${type} <=> $3::${type}) as score
      from unnest($4::int[]) c (chunk_no) join knowledge_vectors v on v.index_no = $2::int and v.chunk_no = c.chunk_no
      where v.org_id = $1::uuid order by score desc, chunk_no limit $5::bigint`),
    [orgId, index.index_no, encodeHalfvec(vector), chunkNos, limit],
  );
}

/**
 * A vector in pgvector's binary format (halfvec_recv): dimensions, two empty bytes, big-endian halves. As text it is
 * ten times as long.
 */
function encodeHalfvec(vector: Float32Array): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16BE(vector.length);
  return Buffer.concat([header, encodeHalves(vector).swap16()]);
}
