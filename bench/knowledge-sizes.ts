import { knowledgeQuerySchema, type QueryStrategy } from "../src/domain/knowledge/query.ts";
import { createNearestSearch } from "../src/platform/vectors/nearest.ts";
import { buildHnswIndexes } from "../src/services/knowledge/build-hnsw.ts";
import type { QueryDeps } from "../src/services/knowledge/deps.ts";
import { queryKnowledgeBase } from "../src/services/knowledge/query.ts";
import { createLexer } from "../src/services/knowledge/lexer.ts";
import { createPostingCache } from "../src/services/knowledge/posting-cache.ts";
import { createVectorCache } from "../src/services/knowledge/vector-cache.ts";
import type { Database } from "../src/stores/db.ts";
import { markHnsw } from "../src/stores/knowledge/hnsw.ts";
import { buildSynthetic, createRandom, DIMENSIONS, randomQuestion, type Synthetic } from "./knowledge-data.ts";
import { median, quantile } from "./measure.ts";

const QUERIES = 500;
/** Queries before the measurement: each connection first reads the catalogue, which is not measured. */
const WARM_UP = 100;

/** p50 and p95 of queries by size, strategy and concurrency; without the time to embed the query, which depends on the model. */
export async function measureSizes(
  database: Database,
  sizes: readonly number[],
  say: (line: string) => void,
): Promise<void> {
  const nearest = createNearestSearch();
  const vectors = createVectorCache({ database, nearest, maxBytes: 2 ** 30 });
  const random = createRandom(1);
  let base: Synthetic | undefined;
  /** Replaces the model: a vector near that of one of the chunks. */
  const embed = async (texts: readonly string[]): Promise<Float32Array[]> =>
    texts.map(() => nearSome(base?.vectors ?? [], random));
  const embedders = { find: async () => ({ embedder: { embed } }) };
  const postings = createPostingCache(database, 2 ** 28);
  const deps: QueryDeps = { database, embedders, vectors, postings, lexer: createLexer(database), reranker: null };
  say(
    "| chunks | vectors | strategy | at once | p50 ms | p95 ms | queries/s |\n| --- | --- | --- | --- | --- | --- | --- |",
  );
  try {
    for (const size of sizes) {
      const began = performance.now();
      base = await buildSynthetic(database, size);
      const seconds = (performance.now() - began) / 1000;
      await measureBase(deps, base, "exact", size, random, say);
      const built = performance.now();
      const hnsw = (await buildHnswIndexes(database)) > 0;
      if (hnsw) {
        const buildSeconds = (performance.now() - built) / 1000;
        await measureBase(deps, base, "HNSW", size, random, say);
        const recall = await measureRecall(deps, base, random);
        say(`\n${size} chunks: HNSW built in ${buildSeconds.toFixed(0)} s, recall@10 ${recall.toFixed(3)}\n`);
      }
      say(`${size} chunks: written in ${seconds.toFixed(0)} s; ${await describeTables(database)}\n`);
    }
  } finally {
    await nearest.close();
  }
}

function nearSome(vectors: readonly Float32Array[], random: () => number): Float32Array {
  const near = vectors[Math.floor(random() * vectors.length)] ?? new Float32Array(DIMENSIONS);
  const moved = near.map((value) => value + (random() - 0.5) / 15);
  const length = Math.hypot(...moved);
  return moved.map((value) => value / length);
}

async function measureBase(
  deps: QueryDeps,
  base: Synthetic,
  kind: string,
  size: number,
  random: () => number,
  say: (line: string) => void,
): Promise<void> {
  for (const strategy of ["keyword", "semantic", "hybrid"] as const) {
    for (const concurrency of [1, 16]) {
      await askMany(deps, base, strategy, WARM_UP, concurrency, random);
      const began = performance.now();
      const times = await askMany(deps, base, strategy, QUERIES, concurrency, random);
      const perSecond = (QUERIES * 1000) / (performance.now() - began);
      const figures = [median(times), quantile(times, 0.95), perSecond].map((value) => value.toFixed(1));
      say(`| ${[size, kind, strategy, concurrency, ...figures].join(" | ")} |`);
    }
  }
}

async function askMany(
  deps: QueryDeps,
  base: Synthetic,
  query_strategy: QueryStrategy,
  count: number,
  concurrency: number,
  random: () => number,
): Promise<number[]> {
  const times: number[] = [];
  let left = count;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left > 0) {
        left -= 1;
        const request = knowledgeQuerySchema.parse({ query: randomQuestion(random), query_strategy });
        const start = performance.now();
        const { results } = await queryKnowledgeBase(deps, base.org_id, base, request);
        times.push(performance.now() - start);
        if (results.length === 0 && query_strategy !== "keyword") throw new Error("nothing was found");
      }
    }),
  );
  return times;
}

/** How many of the ten nearest chunks by exact comparison the HNSW finds. */
async function measureRecall(deps: QueryDeps, base: Synthetic, random: () => number): Promise<number> {
  const queries = Array.from({ length: 100 }, () => nearSome(base.vectors, random));
  let next: Float32Array = new Float32Array(DIMENSIONS);
  const fixed: QueryDeps = {
    ...deps,
    embedders: { find: async () => ({ embedder: { embed: async () => [next] } }) },
  };
  const request = knowledgeQuerySchema.parse({ query: "any", query_strategy: "semantic" });
  const ask = async (): Promise<string[][]> => {
    const found: string[][] = [];
    for (const query of queries) {
      next = query;
      found.push((await queryKnowledgeBase(fixed, base.org_id, base, request)).results.map((each) => each.chunk_id));
    }
    return found;
  };
  const approximate = await ask();
  await deps.database.system((db) => markHnsw(db, base.index_no, false));
  const exact = await ask();
  await deps.database.system((db) => markHnsw(db, base.index_no, true));
  const hits = exact.map((ids, i) => ids.filter((id) => approximate[i]?.includes(id)).length / ids.length);
  return hits.reduce((sum, each) => sum + each, 0) / hits.length;
}

async function describeTables(database: Database): Promise<string> {
  const rows = await database.system((db) =>
    db.query<{ name: string; mib: number }>(
      `select relname as name, (pg_total_relation_size(oid) / 1048576)::int as mib from pg_class
        where relname in ('knowledge_postings', 'knowledge_chunks', 'knowledge_embeddings', 'knowledge_vectors') order by 1`,
    ),
  );
  return rows.map(({ name, mib }) => `${name} ${mib} MiB`).join(", ");
}
