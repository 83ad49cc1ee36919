import { createHash } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { encodeHalves, normalizeVector } from "../src/domain/knowledge/halves.ts";
import { indexingParamsSchema } from "../src/domain/knowledge/knowledge-base.ts";
import type { Database } from "../src/stores/db.ts";
import { insertChunks, insertEmbeddings, publishRevision } from "../src/stores/knowledge/chunks.ts";
import { insertIndex } from "../src/stores/knowledge/indexes.ts";
import { insertKnowledgeBase } from "../src/stores/knowledge/knowledge-bases.ts";
import { restartResource } from "../src/stores/knowledge/resource-ingest.ts";
import { insertResource } from "../src/stores/knowledge/resources.ts";
import { wordVector } from "../src/stores/knowledge/text-search.ts";
import type { QueriedKnowledgeBase } from "../src/services/knowledge/query.ts";

export const DIMENSIONS = 384;
const WORDS_OF_CHUNK = 230;
const CHUNKS_OF_RESOURCE = 50;
const VOCABULARY = 50_000;
const CLUSTERS = 300;

/** Pseudorandom numbers between 0 and 1, the same each time. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The word with this rank; it may begin with any letter. Frequencies follow Zipf's law, as in natural text. */
const wordOf = (rank: number): string => `${String.fromCharCode(97 + (rank % 26))}${rank.toString(36)}x`;
const zipf = (random: () => number): number => Math.floor(VOCABULARY ** random()) - 1;

/** A question: five words, frequent and rare ones. The hundred most frequent are omitted, as stop words are from real questions. */
export const randomQuestion = (random: () => number): string =>
  Array.from({ length: 5 }, () => wordOf(Math.floor(100 * 90 ** random()))).join(" ");

export interface Synthetic extends QueriedKnowledgeBase {
  readonly org_id: string;
  readonly index_no: number;
  readonly vectors: readonly Float32Array[];
}

/** A knowledge base of this many chunks of 1400 characters, with clustered vectors like those of real texts. */
export async function buildSynthetic(database: Database, chunks: number): Promise<Synthetic> {
  const random = createRandom(chunks);
  const gauss = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const centers = Array.from({ length: CLUSTERS }, () => Array.from({ length: DIMENSIONS }, gauss));
  const [org_id, knowledge_base_id] = [uuidv7(), uuidv7()];
  await database.system((db) => db.query("insert into organisations (org_id, name) values ($1, 'bench')", [org_id]));
  const params = indexingParamsSchema.parse({});
  const schema = { properties: {} };
  const index = await database.org(org_id, async (db) => {
    await insertKnowledgeBase(db, {
      knowledge_base_id,
      org_id,
      name: `bench ${chunks}`,
      description: "",
      connection_id: null,
      connection_source_ids: [],
      website_sources: [],
      indexing_params: params,
      user_metadata_schema: schema,
      dataloader_metadata_schema: schema,
      schedule_cron: null,
    });
    const settings = { embedding_model: "synthetic", dimensions: DIMENSIONS };
    return insertIndex(db, { org_id, knowledge_base_id, state: "active", params, ...settings });
  });
  const { index_no } = index;
  const vectors: Float32Array[] = [];
  for (let first = 0; first < chunks; first += CHUNKS_OF_RESOURCE) {
    const resource_id = uuidv7();
    const rows = Array.from({ length: Math.min(CHUNKS_OF_RESOURCE, chunks - first) }, (_, i) => {
      const text = Array.from({ length: WORDS_OF_CHUNK }, () => wordOf(zipf(random))).join(" ");
      const center = centers[Math.floor(random() * CLUSTERS)] ?? [];
      vectors.push(normalizeVector(center.map((value) => value + gauss())));
      return {
        chunk_id: uuidv7(),
        chunk_no: first + i + 1,
        chunk_index: i,
        text,
        context: "",
        char_start: i * 2000,
        char_end: i * 2000 + text.length,
        page_start: null,
        page_end: null,
        metadata: {},
        language: "english" as const,
        lexemes: wordVector(text.split(" ").map((lexeme, position) => ({ lexeme, position }))),
      };
    });
    await database.orgTransaction(org_id, async (db) => {
      const path = `${first}.txt`;
      const source = "text" as const;
      await insertResource(db, {
        resource_id,
        org_id,
        knowledge_base_id,
        resource_path: path,
        source,
        source_url: null,
        external_id: null,
        content_hash: null,
        content_mime: "text/plain",
        size: 1,
        blob_key: null,
        user_metadata: {},
      });
      const owner = { org_id, index_no, resource_id, revision: (await restartResource(db, resource_id)) ?? 1 };
      await insertChunks(db, owner, rows);
      const embeddings = rows.map(({ chunk_no }) => ({
        chunk_no,
        text_hash: createHash("sha256").update(String(chunk_no)).digest(),
        vector: encodeHalves(vectors[chunk_no - 1] ?? []),
      }));
      await insertEmbeddings(db, owner, embeddings);
      await publishRevision(db, owner, ["english"]);
    });
  }
  for (const table of ["postings", "chunks", "embeddings", "index_resources", "resources"]) {
    await database.system((db) => db.query({ text: `vacuum analyze knowledge_${table}`, query_timeout: 600_000 }));
  }
  return {
    org_id,
    knowledge_base_id,
    index_no,
    vectors,
    user_metadata_schema: schema,
    dataloader_metadata_schema: schema,
  };
}
