import { childRunEnd } from "../../services/runs/child-run-id.ts";
import type { Database, Db } from "../../stores/db.ts";
import { resumesAnother } from "../../stores/runs/run-reads.ts";
import { childRunIds, listAttempts, listNodeRuns, outlineNodeRuns } from "../../stores/runs/node-runs.ts";
import type { AttemptRow, NodeRunRow } from "../../stores/runs/node-runs.ts";
import { presentNodeRun } from "./node-run-presenter.ts";
import type { NodeRunView } from "./node-run-presenter.ts";

/** Most nodes in one response; maps may have many more. Without their values they are short. */
const MAX_NODES = 2000;
const MAX_OUTLINED = 10_000;

/** The nodes of a run, up to the limit of one response. */
export async function viewNodes(
  db: Database,
  { org_id, run_id }: { readonly org_id: string; readonly run_id: string },
  withValues: boolean,
): Promise<{ readonly nodes: NodeRunView[]; readonly nodes_truncated: boolean }> {
  const most = withValues ? MAX_NODES : MAX_OUTLINED;
  return db.org(org_id, async (connection) => {
    const rows = await (withValues ? listNodeRuns : outlineNodeRuns)(connection, run_id, most + 1);
    return { nodes: await viewNodeRows(connection, run_id, rows.slice(0, most)), nodes_truncated: rows.length > most };
  });
}

/** Adds data about nodes from other tables; makes no query if no node has any. */
export async function viewNodeRows(db: Db, runId: string, rows: readonly NodeRunRow[]): Promise<NodeRunView[]> {
  const retried = rows.filter(({ attempts, state }) => attempts > 1 || state === "RETRYING").map(({ path }) => path);
  const attempts = retried.length === 0 ? [] : await listAttempts(db, runId, retried);
  const byPath = new Map<string, AttemptRow[]>(retried.map((path) => [path, []]));
  for (const attempt of attempts) byPath.get(attempt.path)?.push(attempt);
  const calling = rows.filter(({ type, started_at }) => type === "subflow" && started_at !== null);
  const ends = new Map(calling.map(({ path }) => [path, childRunEnd(runId, path)]));
  const children = ends.size === 0 ? [] : await childRunIds(db, runId, [...ends.values()]);
  const byEnd = new Map(children.map((id) => [id.slice(-END), id]));
  const resumes = rows.some(({ reused }) => reused) && (await resumesAnother(db, runId));
  return rows.map((row) =>
    presentNodeRun({
      resumes,
      row,
      attempts: byPath.get(row.path) ?? [],
      child_run_id: byEnd.get(ends.get(row.path) ?? "") ?? null,
    }),
  );
}

/** Length of the result of `childRunEnd`. */
const END = 22;
