import type { EvalSample } from "../../domain/evals/evaluators/kind.ts";
import type { Json, JsonObject, StoredValue } from "../../domain/json.ts";
import { BlobNotFound, loadValue } from "../../platform/blobs/blobs.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { Database } from "../../stores/db.ts";
import { sampleNodes, sampleRuns } from "../../stores/evals/samples.ts";
import type { RecordedNode } from "../../stores/evals/samples.ts";
import { detailOf } from "./sample-detail.ts";

/** The dependencies of creating samples. */
export interface SampleDeps {
  readonly db: Database;
  readonly blobs: BlobStore;
}

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

/** Loads values that are stored inline or in the blob store; missing ones are omitted. */
export async function loadValues(blobs: BlobStore, values: Readonly<Record<string, StoredValue>>): Promise<JsonObject> {
  const loaded: Array<[string, Json]> = [];
  for (const [id, value] of Object.entries(values)) {
    try {
      loaded.push([id, await loadValue(blobs, value)]);
    } catch (error) {
      if (!(error instanceof BlobNotFound)) throw error;
    }
  }
  return Object.fromEntries(loaded);
}
