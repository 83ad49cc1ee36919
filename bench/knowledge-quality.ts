import { readFileSync } from "node:fs";
import { join } from "node:path";
import { uuidv7 } from "uuidv7";
import { loadConfig } from "../src/config.ts";
import { indexingParamsSchema } from "../src/domain/knowledge/knowledge-base.ts";
import { knowledgeQuerySchema } from "../src/domain/knowledge/query.ts";
import { beginRevision, indexResource } from "../src/services/knowledge/index-resource.ts";
import { openKnowledge } from "../src/services/knowledge/open-knowledge.ts";
import { queryKnowledgeBase } from "../src/services/knowledge/query.ts";
import type { Database } from "../src/stores/db.ts";
import { insertIndex } from "../src/stores/knowledge/indexes.ts";
import { insertKnowledgeBase } from "../src/stores/knowledge/knowledge-bases.ts";
import { insertResource } from "../src/stores/knowledge/resources.ts";
import { median, quantile } from "./measure.ts";

interface Document {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}
interface Judged {
  readonly query: string;
  readonly relevant: readonly string[];
}

const TOP_K = 10;

function readLines<Line>(file: string): Line[] {
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

/**
 * nDCG@10 of a collection with judged queries, by strategy: `documents.jsonl` of {id, title, text}, `queries.jsonl` of {query,
 * relevant: [id]}. Each document is a chunk, embedded by the local model.
 */
export async function measureQuality(database: Database, folder: string, say: (line: string) => void): Promise<void> {
  const documents = readLines<Document>(join(folder, "documents.jsonl"));
  const queries = readLines<Judged>(join(folder, "queries.jsonl"));
  const [org_id, knowledge_base_id] = [uuidv7(), uuidv7()];
  const knowledge = openKnowledge(loadConfig({ DATABASE_URL: "postgres://bench" }), database);
  const { deps } = knowledge;
  const schema = { properties: {} };
  const base = { knowledge_base_id, user_metadata_schema: schema, dataloader_metadata_schema: schema };
  try {
    await database.system((db) => db.query("insert into organisations (org_id, name) values ($1, 'bench')", [org_id]));
    const params = indexingParamsSchema.parse({});
    const index = await database.org(org_id, async (db) => {
      const none = { description: "", connection_id: null, connection_source_ids: [], website_sources: [] };
      await insertKnowledgeBase(db, {
        ...base,
        ...none,
        org_id,
        name: "quality",
        indexing_params: params,
        schedule_cron: null,
      });
      const embedding_model = await knowledge.defaultModel();
      return insertIndex(db, { org_id, knowledge_base_id, state: "active", params, embedding_model, dimensions: null });
    });
    const idOf = new Map<string, string>();
    const began = performance.now();
    for (const { id, title, text } of documents) {
      const resource_id = uuidv7();
      idOf.set(resource_id, id);
      const whole = `${title}\n${text}`;
      await database.org(org_id, (db) =>
        insertResource(db, {
          resource_id,
          org_id,
          knowledge_base_id,
          resource_path: `${id}.txt`,
          source: "text",
          source_url: null,
          external_id: null,
          content_hash: null,
          content_mime: "text/plain",
          size: whole.length,
          blob_key: null,
          user_metadata: {},
          dataloader_metadata: {},
        }),
      );
      const revision = (await beginRevision(deps, org_id, resource_id)) ?? 0;
      const place = { chunk_index: 0, char_start: 0, char_end: whole.length, page_start: null, page_end: null };
      await indexResource(deps, index, { resource_id, revision }, [
        { ...place, text: whole, context: "", metadata: {} },
      ]);
    }
    say(`${documents.length} documents in ${((performance.now() - began) / 1000).toFixed(0)} s`);
    say("\n| strategy | nDCG@10 | p50 ms | p95 ms | of which embedding, p50 ms |\n| --- | --- | --- | --- | --- |");
    for (const query_strategy of ["keyword", "semantic", "hybrid"] as const) {
      const gains: number[] = [];
      const times: number[] = [];
      const embedding: number[] = [];
      for (const { query, relevant } of queries) {
        const request = knowledgeQuerySchema.parse({ query, query_strategy, top_k: TOP_K });
        const start = performance.now();
        const answer = await queryKnowledgeBase(deps, org_id, base, request);
        times.push(performance.now() - start);
        embedding.push(answer.embedding_ms);
        const wanted = new Set(relevant.map(String));
        gains.push(
          ndcg(
            answer.results.map((each) => wanted.has(idOf.get(each.resource_id) ?? "")),
            wanted.size,
          ),
        );
      }
      const mean = gains.reduce((sum, each) => sum + each, 0) / gains.length;
      const figures = [median(times), quantile(times, 0.95), median(embedding)].map((value) => value.toFixed(1));
      say(`| ${[query_strategy, mean.toFixed(4), ...figures].join(" | ")} |`);
    }
  } finally {
    await knowledge.close();
  }
}

/** Normalized discounted cumulative gain of binary judgements. */
function ndcg(found: readonly boolean[], relevant: number): number {
  const gain = (index: number): number => 1 / Math.log2(index + 2);
  const got = found.reduce((sum, hit, index) => sum + (hit ? gain(index) : 0), 0);
  const ideal = Array.from({ length: Math.min(TOP_K, relevant) }, (_, index) => gain(index)).reduce((a, b) => a + b, 0);
  return ideal === 0 ? 0 : got / ideal;
}
