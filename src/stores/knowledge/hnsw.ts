import type { Db } from "../db.ts";

// These functions run as the login role, which owns the tables: they make and drop an index for each large knowledge base while Millrace is
// running.

const MAX_BUILD_MS = 4 * 3_600_000;
/** An arbitrary number, the same for every process. */
const BUILD_LOCK = 5_217_730_002;

/** Runs `build` unless another session is building; returns false in that case. */
export async function withBuildLock(db: Db, build: () => Promise<void>): Promise<boolean> {
  if (!(await db.holds("select pg_try_advisory_lock($1::bigint)", [BUILD_LOCK]))) return false;
  try {
    await build();
    return true;
  } finally {
    await db.query("select pg_advisory_unlock($1::bigint)", [BUILD_LOCK]);
  }
}

/** Whether this database has pgvector and the table that migrations make for it. */
export async function hasPgvector(db: Db): Promise<boolean> {
  return db.holds("select to_regclass('knowledge_vectors') is not null as there");
}

/** Records whether an index has an HNSW. */
export interface HnswCandidate {
  readonly org_id: string;
  readonly index_no: number;
  readonly dimensions: number;
}

/** Indexes with at least this many chunks and without an HNSW. */
export async function listLargeIndexes(db: Db, minChunks: number, limit: number): Promise<HnswCandidate[]> {
  return db.query(
    `select org_id, index_no, dimensions from knowledge_indexes
      where state <> 'retired' and not has_hnsw and chunk_count >= $1::int and dimensions between 1 and 4000 order by index_no limit $2::int`,
    [minChunks, limit],
  );
}

/** The next vectors after a chunk number that an index has and knowledge_vectors lacks. */
export async function listMissingVectors(
  db: Db,
  indexNo: number,
  after: number,
  limit: number,
): Promise<{ chunk_no: number; vector: Buffer }[]> {
  return db.query(
    `select e.chunk_no, e.vector from knowledge_embeddings e where e.index_no = $1::int and e.chunk_no > $2::int
        and not exists (select from knowledge_vectors v where v.index_no = e.index_no and v.chunk_no = e.chunk_no)
      order by e.chunk_no limit $3::int`,
    [indexNo, after, limit],
  );
}

/** Adds vectors for the HNSW. Existing ones stay. */
export async function insertVectors(
  db: Db,
  owner: { readonly org_id: string; readonly index_no: number },
  vectors: ReadonlyArray<{ readonly chunk_no: number; readonly vector: readonly number[] }>,
): Promise<void> {
  await db.query(
    `insert into knowledge_vectors (index_no, chunk_no, org_id, embedding)
      select $1::int, n.chunk_no, $2::uuid, n.embedding::halfvec from unnest($3::int[], $4::text[]) n (chunk_no, embedding)
      on conflict (index_no, chunk_no) do nothing`,
    [
      owner.index_no,
      owner.org_id,
      vectors.map((each) => each.chunk_no),
      vectors.map((each) => `[${each.vector.join(",")}]`),
    ],
  );
}

/** Builds the HNSW of an index: some 30 s for 100 000 vectors of 384 dimensions. Outside a transaction. */
export async function createHnsw(db: Db, { index_no, dimensions }: HnswCandidate): Promise<void> {
  const name = hnswName(index_no);
  // An interrupted build is invalid, but "if not exists" would accept it.
  await db.query(`drop index if exists ${name}`);
  await db.query("set statement_timeout = 0");
  try {
    await db.query("set maintenance_work_mem = '512MB'");
    await db.query({
      text: `create index concurrently ${name} on knowledge_vectors using hnsw ((embedding::halfvec(${Number(dimensions)})) halfvec_cosine_ops)
        where index_no = ${Number(index_no)}`,
      query_timeout: MAX_BUILD_MS,
    });
    // With statistics from when the table was small, the planner would prefer comparing all vectors.
    await db.query("analyze knowledge_vectors");
  } finally {
    await db.query("reset statement_timeout");
    await db.query("reset maintenance_work_mem");
  }
}

/** Records whether searches of an index use its HNSW. */
export async function markHnsw(db: Db, indexNo: number, hasHnsw: boolean): Promise<void> {
  await db.query(
    "update knowledge_indexes set has_hnsw = $2::boolean, version = version + 1 where index_no = $1::int",
    [indexNo, hasHnsw],
  );
}

/** Drops the HNSW of an index and its copy of the vectors. */
export async function dropHnsw(db: Db, indexNo: number): Promise<void> {
  await db.query(`drop index if exists ${hnswName(indexNo)}`);
  await db.query("delete from knowledge_vectors where index_no = $1::int", [indexNo]);
}

const hnswName = (indexNo: number): string => `knowledge_vectors_hnsw_${Number(indexNo)}`;
