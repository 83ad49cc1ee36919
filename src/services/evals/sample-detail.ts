import type { NodeDetail, Passage, SampleDetail } from "../../domain/evals/evaluators/kind.ts";
import type { Citation } from "../../domain/knowledge/citations.ts";
import type { KnowledgeResult } from "../../domain/knowledge/query.ts";
import { isObject, jsonLength } from "../../domain/json.ts";
import type { Json } from "../../domain/json.ts";
import type { RecordedNode } from "../../stores/evals/samples.ts";

/** Longest detail of a sample (characters of JSON). The rest is omitted, like outputs that are too long. */
const MAX_DETAIL = 512 * 1024;
const MAX_PASSAGES = 200;

/** The nodes of a run as judges, code and webhooks see them. */
export function detailOf(rows: readonly RecordedNode[]): SampleDetail {
  const nodes: Record<string, NodeDetail> = {};
  const passages: Passage[] = [];
  let left = MAX_DETAIL;
  for (const { path, node_id, type, state, output, truncated, error, latency_ms } of rows) {
    const size = jsonLength(output);
    const isLong = size > left;
    if (!isLong) {
      left -= size;
      // An agent cites what its tools have found, so the tools' own passages are used.
      if (type !== "llm") passages.push(...passagesIn(path, output).slice(0, MAX_PASSAGES - passages.length));
    }
    nodes[path] = {
      node_id,
      type,
      state,
      output: isLong ? null : output,
      truncated: truncated || isLong,
      error: error && { code: error.code, message: error.message },
      latency_ms: latency_ms === null ? null : Math.round(latency_ms),
    };
  }
  return { nodes, passages };
}

/** The passages in the output of a search: from its results, or from the numbered text for a model. */
function passagesIn(path: string, output: Json): Passage[] {
  if (!isObject(output)) return [];
  const { citations, results, text } = output;
  if (!Array.isArray(citations) || typeof text !== "string") return [];
  const cited = citations as unknown as readonly Citation[];
  const texts = numbered(text, cited);
  const found = (Array.isArray(results) ? results : []) as unknown as readonly KnowledgeResult[];
  return cited.map(({ resource_id, resource_path, score }, index) => ({
    path,
    resource_id,
    resource_path,
    text: found[index]?.text ?? texts[index] ?? "",
    score,
  }));
}

/** Splits a numbered text into its passages: each is between its heading and the next one. */
function numbered(text: string, citations: readonly Citation[]): string[] {
  const starts: Array<readonly [heading: number, passage: number]> = [];
  let from = 0;
  for (const { index, resource_path } of citations) {
    const at = text.indexOf(`[${index}] ${resource_path}`, from);
    if (at === -1) break;
    const line = text.indexOf("\n", at);
    from = line === -1 ? text.length : line + 1;
    starts.push([at, from]);
  }
  return starts.map(([, passage], i) => text.slice(passage, starts[i + 1]?.[0]).trimEnd());
}
