import type { Json } from "../../domain/json.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { PlanCache } from "../../services/projects/plans.ts";
import type { Database } from "../../stores/db.ts";
import { readNodeNames } from "../../stores/runs/node-names.ts";
import type { NodeNameOf } from "../../stores/runs/node-names.ts";
import { outputsSoFar, longestRetrying } from "../../stores/runs/node-runs.ts";
import { listPauses } from "../../stores/runs/pauses.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";
import type { RetryingNode } from "../../stores/runs/node-runs.ts";
import { listPausesOf } from "../../stores/runs/run-reads.ts";
import type { RunListRow } from "../../stores/runs/run-lists.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { presentInference } from "./inference-presenter.ts";
import type { InferenceView } from "./inference-presenter.ts";
import { presentRun } from "./run-presenter.ts";
import type { RunView } from "./run-presenter.ts";
import { fullValues, listedValues, shortValues } from "./run-values.ts";

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

/** A row of a list with the other data that its view needs. */
export interface ListedRun {
  readonly row: RunListRow;
  readonly pauses: readonly PauseRow[];
  readonly retrying: RetryingNode | null;
  readonly nameOf: NodeNameOf;
}

/** Adds the data that the views of a list need. */
export async function withDetails(
  db: Pick<Database, "org">,
  orgId: string,
  rows: readonly RunListRow[],
): Promise<ListedRun[]> {
  const ids = rows.map((row) => row.run_id);
  const pauses =
    ids.length === 0 ? [] : await db.org(orgId, (connection) => listPausesOf(connection, ids, LISTED_PAUSES));
  const byRun = new Map<string, PauseRow[]>(ids.map((id) => [id, []]));
  for (const pause of pauses) byRun.get(pause.shown_in_run)?.push(pause);
  const retrying = await retryingNodes(db, orgId, rows);
  const nameOf = await nodeNames(db, orgId, rows, retrying);
  return rows.map((row) => ({
    row,
    pauses: byRun.get(row.run_id) ?? [],
    retrying: retrying.get(row.run_id) ?? null,
    nameOf,
  }));
}

/** A run as a list shows it: all values shortened. */
export function viewListedRun({ row, ...details }: ListedRun): RunView {
  return presentRun({
    row,
    inputs: listedValues(row.inputs),
    outputs: row.outputs && listedValues(row.outputs),
    ...details,
  });
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
  return presentInference({ row, outputs: await outputsOf({ db, blobs }, row), pauses: open, nodeName });
}

/** The outputs of a run. An unfinished or failed run has the outputs made so far. */
async function outputsOf({ db, blobs }: Stores, row: RunRow): Promise<Readonly<Record<string, Json>>> {
  const written = row.outputs ? await fullValues(blobs, row.outputs) : {};
  if (row.state === "COMPLETED" || !hasStarted(row)) return written;
  return { ...(await db.org(row.org_id, (connection) => outputsSoFar(connection, row.run_id))), ...written };
}
