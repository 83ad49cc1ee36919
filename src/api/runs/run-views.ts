import { INLINE_VALUE_BYTES, type Json, type StoredValue } from "../../domain/json.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import { BlobNotFound, loadValue, readPart, type BlobStore } from "../../platform/blobs/blobs.ts";
import type { PlanCache } from "../../services/projects/plans.ts";
import type { Database } from "../../stores/db.ts";
import { readNodeNames, type NodeNameOf } from "../../stores/runs/node-names.ts";
import { outputsSoFar, longestRetrying, type RetryingNode } from "../../stores/runs/node-runs.ts";
import { listPauses, type PauseRow } from "../../stores/runs/pauses.ts";
import { listPausesOf } from "../../stores/runs/run-reads.ts";
import type { RunListRow, ListedValue } from "../../stores/runs/run-lists.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { presentInference, type InferenceView } from "./inference-presenter.ts";
import { presentRun, type RunView } from "./run-presenter.ts";

/** Most pauses of one run that a list shows. */
const LISTED_PAUSES = 20;

type Stores = { readonly db: Database; readonly blobs: BlobStore };

/** A run in the response of its own URL: outputs in full, long inputs shortened. */
export async function viewRun({ db, blobs }: Stores, row: RunRow): Promise<RunView> {
  const [retrying, pauses, inputs, outputs] = await Promise.all([
    retryingNodes(db, row.org_id, [row]),
    hasStarted(row) ? db.org(row.org_id, (connection) => listPauses(connection, row.run_id)) : [],
    shortValues(blobs, row.inputs),
    row.outputs && fullValues(blobs, row.outputs),
  ]);
  const nameOf = await nodeNames(db, row.org_id, [row], retrying);
  return presentRun({ row, inputs, outputs, pauses, retrying: retrying.get(row.run_id) ?? null, nameOf });
}

/** The names that flows give to the nodes that failed in these runs or are being retried. Makes no query without such nodes. */
async function nodeNames(
  db: Pick<Database, "org">,
  orgId: string,
  rows: ReadonlyArray<Omit<RunListRow, "inputs" | "outputs">>,
  retrying: ReadonlyMap<string, RetryingNode>,
): Promise<NodeNameOf> {
  const places = rows.flatMap(({ run_id, project_id, flow_version, error }) =>
    [error?.path, retrying.get(run_id)?.path]
      .filter((path) => path != null)
      .map((path) => ({ project_id, flow_version, path })),
  );
  return places.length === 0 ? () => null : db.org(orgId, (connection) => readNodeNames(connection, places));
}

/** The nodes being retried in the running ones of these runs, by run. Makes no query if no run is running. */
async function retryingNodes(
  db: Pick<Database, "org">,
  orgId: string,
  rows: ReadonlyArray<Pick<RunListRow, "run_id" | "state">>,
): Promise<ReadonlyMap<string, RetryingNode>> {
  const ids = rows.filter(({ state }) => state === "RUNNING" || state === "RESUMED").map(({ run_id }) => run_id);
  const found = ids.length === 0 ? [] : await db.org(orgId, (connection) => longestRetrying(connection, ids));
  return new Map(found.map((node) => [node.run_id, node]));
}

/** A run without any record has nothing more to read, which saves a query on the busiest path. */
function hasStarted(row: RunRow): boolean {
  return row.event_seq > 0;
}

/** Runs as a list shows them: all values shortened. */
export async function viewListedRuns(
  db: Pick<Database, "org">,
  orgId: string,
  rows: readonly RunListRow[],
): Promise<RunView[]> {
  const ids = rows.map((row) => row.run_id);
  const pauses =
    ids.length === 0 ? [] : await db.org(orgId, (connection) => listPausesOf(connection, ids, LISTED_PAUSES));
  const byRun = new Map<string, PauseRow[]>(ids.map((id) => [id, []]));
  for (const pause of pauses) byRun.get(pause.shown_in_run)?.push(pause);
  const retrying = await retryingNodes(db, orgId, rows);
  const nameOf = await nodeNames(db, orgId, rows, retrying);
  return rows.map((row) =>
    presentRun({
      row,
      inputs: listedValues(row.inputs),
      outputs: row.outputs && listedValues(row.outputs),
      pauses: byRun.get(row.run_id) ?? [],
      retrying: retrying.get(row.run_id) ?? null,
      nameOf,
    }),
  );
}

/** A run in the response of the inference operations. */
export async function viewInference(
  { db, blobs, plans }: Stores & { readonly plans: Pick<PlanCache, "find"> },
  row: RunRow,
): Promise<InferenceView> {
  const pauses =
    isTerminal(row.state) || !hasStarted(row)
      ? []
      : await db.org(row.org_id, (connection) => listPauses(connection, row.run_id));
  const open = pauses.filter(({ status }) => status === "waiting");
  const plan = row.current_node === null ? null : await plans.find(row);
  const nodeName = plan?.plan.nodes.find(({ id }) => id === row.current_node)?.name;
  return presentInference(row, await outputsOf({ db, blobs }, row), open, nodeName);
}

/** The outputs of a run. An unfinished or failed run has the outputs made so far. */
async function outputsOf({ db, blobs }: Stores, row: RunRow): Promise<Readonly<Record<string, Json>>> {
  const written = row.outputs ? await fullValues(blobs, row.outputs) : {};
  if (row.state === "COMPLETED" || !hasStarted(row)) return written;
  return { ...(await db.org(row.org_id, (connection) => outputsSoFar(connection, row.run_id))), ...written };
}

/** Bytes of JSON that are kept of a shortened value. */
const PREVIEW_BYTES = 256;
/** Most bytes of JSON that one response loads; values beyond it are shortened. */
const FULL_BYTES = 64 * 1024 * 1024;
const SHORT_BYTES = 4 * 1024 * 1024;

type Values<T> = Readonly<Record<string, T>>;

/** Loads values. Values that are too long, or no longer in the blob store, are shortened. */
function fullValues(blobs: BlobStore, values: Values<StoredValue>): Promise<Record<string, Json>> {
  return load(blobs, values, Number.POSITIVE_INFINITY, FULL_BYTES);
}

/** The values, with long ones shortened. */
export function shortValues(blobs: BlobStore, values: Values<StoredValue>): Promise<Record<string, Json>> {
  return load(blobs, values, INLINE_VALUE_BYTES, SHORT_BYTES);
}

/** The values in the form that lists show. */
function listedValues(values: Values<ListedValue>): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(values).map(([id, value]) => {
      if ("v" in value) return [id, value.v];
      return [id, "cut" in value ? truncated(value.cut.size, value.cut.preview) : truncated(value.ref.size)];
    }),
  );
}

/** The placeholder for a value that is too long for the response. */
function truncated(size: number, preview = ""): Json {
  return { $truncated: true, size, preview };
}

// Loaded one by one, because a run may have a thousand inputs, and the process as many requests.
async function load(
  blobs: BlobStore,
  values: Values<StoredValue>,
  longest: number,
  budget: number,
): Promise<Record<string, Json>> {
  const loaded: Array<[string, Json]> = [];
  let left = budget;
  for (const [id, value] of Object.entries(values)) {
    if ("v" in value) {
      loaded.push([id, value.v]);
    } else if (value.ref.size <= longest && value.ref.size <= left) {
      left -= value.ref.size;
      loaded.push([id, await orTruncated(value.ref.size, loadValue(blobs, value))]);
    } else {
      loaded.push([id, await orTruncated(value.ref.size, previewOf(blobs, value.ref))]);
    }
  }
  return Object.fromEntries(loaded);
}

async function orTruncated(size: number, value: Promise<Json>): Promise<Json> {
  try {
    return await value;
  } catch (error) {
    if (error instanceof BlobNotFound) return truncated(size);
    throw error;
  }
}

async function previewOf(blobs: BlobStore, ref: { readonly $blob: string; readonly size: number }): Promise<Json> {
  const bytes = await readPart(blobs, ref.$blob, { start: 0, end: PREVIEW_BYTES - 1 });
  // The cut may split a character; the rest of that character is dropped.
  return truncated(ref.size, new TextDecoder().decode(bytes).replace(/(?<!\uFFFD)\uFFFD+$/, ""));
}
