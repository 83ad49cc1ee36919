import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { KnowledgeAnswer } from "../src/domain/knowledge/query.ts";
import { median, quantile } from "./measure.ts";
import { createBase, settledBase } from "./knowledge-http.ts";
import { request, type Process, type Stage } from "./stage.ts";

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
/** Texts per request. */
const BATCH = 100;

function readLines<Line>(file: string): Line[] {
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

/**
 * nDCG@10 of a collection with judged queries, by strategy, through the HTTP API: `documents.jsonl` of {id, title, text},
 * `queries.jsonl` of {query, relevant: [id]}. Each document is a chunk, embedded by the local model.
 */
export async function measureQuality(
  stage: Stage,
  api: Process,
  folder: string,
  say: (line: string) => void,
): Promise<void> {
  const documents = readLines<Document>(join(folder, "documents.jsonl"));
  const queries = readLines<Judged>(join(folder, "queries.jsonl"));
  const base = await createBase(stage, api, { chunker_params: { chunk_size: 20_000, chunk_overlap: 0 } });
  const began = performance.now();
  for (let at = 0; at < documents.length; at += BATCH) {
    const resources = documents
      .slice(at, at + BATCH)
      .map(({ id, title, text }) => ({ name: `${id}.txt`, external_id: String(id), text: `${title}\n${text}` }));
    await request(`${base}/resources`, stage.key, { resources });
  }
  const { total_indexed_files, total_error_files, total_size } = await settledBase(stage, base);
  const seconds = (performance.now() - began) / 1000;
  say(
    `${total_indexed_files} documents (${(total_size / 2 ** 20).toFixed(1)} MiB, ${total_error_files} errors) in ${seconds.toFixed(0)} s: ${(total_indexed_files / seconds).toFixed(1)} chunks/s embedded and indexed`,
  );
  say("\n| strategy | nDCG@10 | p50 ms | p95 ms |\n| --- | --- | --- | --- |");
  for (const query_strategy of ["keyword", "semantic", "hybrid"] as const) {
    const gains: number[] = [];
    const times: number[] = [];
    for (const { query, relevant } of queries) {
      const body = { query, query_strategy, top_k: TOP_K };
      const start = performance.now();
      const answer = (await request(`${base}/query`, stage.key, body)) as KnowledgeAnswer;
      times.push(performance.now() - start);
      if (answer.strategy_used !== query_strategy) throw new Error(`${query_strategy} was ${answer.strategy_used}`);
      const wanted = new Set(relevant.map((id) => `${id}.txt`));
      gains.push(
        ndcg(
          answer.results.map((each) => wanted.has(each.resource_path)),
          wanted.size,
        ),
      );
    }
    const mean = gains.reduce((sum, each) => sum + each, 0) / gains.length;
    say(
      `| ${[query_strategy, mean.toFixed(4), median(times).toFixed(1), quantile(times, 0.95).toFixed(1)].join(" | ")} |`,
    );
  }
}

/** Normalized discounted cumulative gain of binary judgements. */
function ndcg(found: readonly boolean[], relevant: number): number {
  const gain = (index: number): number => 1 / Math.log2(index + 2);
  const got = found.reduce((sum, hit, index) => sum + (hit ? gain(index) : 0), 0);
  const ideal = Array.from({ length: Math.min(TOP_K, relevant) }, (_, index) => gain(index)).reduce((a, b) => a + b, 0);
  return ideal === 0 ? 0 : got / ideal;
}
