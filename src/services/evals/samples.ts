import type { EvalSample, NodeDetail, Passage, SampleDetail } from "../../domain/evals/evaluators/kind.ts";
import { isObject, jsonLength, type Json, type JsonObject, type StoredValue } from "../../domain/json.ts";
import { BlobNotFound, loadValue, type BlobStore } from "../../platform/blobs/blobs.ts";
import { sampleNodes, sampleRuns, type RecordedNode } from "../../stores/evals/samples.ts";
import type { Parts } from "../parts.ts";
import type { Citation } from "../../domain/knowledge/citations.ts";
import type { KnowledgeResult } from "../../domain/knowledge/query.ts";

export type SampleDeps = Parts<"db" | "blobs">;

/**
 * Samples of runs by their IDs; an unfinished run has none. The caller adds the expected outputs. With `detailed`,
 * samples contain everything that judges, code and webhooks get.
 */
export async function samplesOf(
  { db, blobs }: SampleDeps,
  orgId: string,
  runIds: readonly string[],
  detailed: boolean,
): Promise<Map<string, EvalSample>> {
  const runs = await db.org(orgId, (connection) => sampleRuns(connection, runIds));
  const nodes = detailed ? await db.org(orgId, (connection) => sampleNodes(connection, runIds)) : [];
  const nodesOf = new Map<string, RecordedNode[]>(runs.map(({ run_id }) => [run_id, []]));
  for (const node of nodes) nodesOf.get(node.run_id)?.push(node);
  const samples = new Map<string, EvalSample>();
  for (const { usage, error, latency_ms, citations, ...run } of runs) {
    const cost = usage["cost_usd"];
    samples.set(run.run_id, {
      run_id: run.run_id,
      state: run.state,
      inputs: await loadValues(blobs, run.inputs),
      outputs: await loadValues(blobs, run.outputs ?? {}),
      expected_outputs: {},
      metadata: run.metadata,
      error: error && { code: error.code, message: error.message },
      latency_ms: latency_ms === null ? null : Math.round(latency_ms),
      // A run without model calls costs nothing, but the cost of one with calls may be unknown (null).
      cost_usd: typeof cost === "number" ? cost : usage["total_tokens"] ? null : 0,
      // The same fields as in the API's runs, even without model calls.
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0, cost_usd: 0, estimated: false, ...usage },
      nodes: run.nodes,
      citations: (citations ?? []).map(({ resource_id, resource_path }) => ({ resource_id, resource_path })),
      ...(detailed ? { detail: detailOf(nodesOf.get(run.run_id) ?? []) } : {}),
    });
  }
  return samples;
}

/** Loads values that are stored inline or in the blob store. Missing ones are omitted or, with `whole`, throw BlobNotFound. */
export async function loadValues(
  blobs: BlobStore,
  values: Readonly<Record<string, StoredValue>>,
  whole?: "whole",
): Promise<JsonObject> {
  const loaded: Array<[string, Json]> = [];
  for (const [id, value] of Object.entries(values)) {
    try {
      loaded.push([id, await loadValue(blobs, value)]);
    } catch (error) {
      if (whole || !(error instanceof BlobNotFound)) throw error;
    }
  }
  return Object.fromEntries(loaded);
}

/** Longest detail of a sample (characters of JSON). The rest is omitted, like outputs that are too long. */
const MAX_DETAIL = 512 * 1024;
const MAX_PASSAGES = 200;

/** The nodes of a run as judges, code and webhooks see them. */
function detailOf(rows: readonly RecordedNode[]): SampleDetail {
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
