import { Problem, required } from "../../domain/errors.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import { forceCancel } from "./settle-run.ts";
import { requestCancel, type RunRow } from "../../stores/runs/runs.ts";
import type { RunControlDeps } from "./answer-pause.ts";
import { requireRun } from "./require-run.ts";
import { LOWEST_ID } from "../../stores/keyset.ts";
import { openRuns } from "../../stores/runs/run-reads.ts";

interface CancelRequest {
  readonly org_id: string;
  readonly run_id: string;
  readonly reason: string | null;
  readonly mode: "graceful" | "terminate";
}

/**
 * Asks a run to stop, or ends it immediately. Returns the changed run, and whether it was already cancelled. Throws
 * 404, and 409 `run_already_finished`.
 */
export async function cancelRun(
  { db, starter, feed, observer, logger }: RunControlDeps,
  { org_id, run_id, reason, mode }: CancelRequest,
): Promise<{ run: RunRow; already: boolean }> {
  const before = await requireRun(db, org_id, run_id);
  // The request is stored first, so that the sweeper can repeat a lost signal.
  const requested = required(await db.org(org_id, (connection) => requestCancel(connection, run_id, reason)), "run");
  if (requested.state === "CANCELLED") return { run: await requireRun(db, org_id, run_id), already: true };
  if (isTerminal(requested.state)) {
    throw new Problem("run_already_finished", `The run is already finished: it is ${requested.state}.`, {
      extra: { run_id, state: requested.state },
    });
  }
  // A workflow with a delayed start receives no signal before that time, so the run is ended directly.
  const putOff = requested.state === "PENDING" && before.run_at !== null && Date.parse(before.run_at) > Date.now();
  if (mode === "terminate" || putOff) {
    await forceCancel({ db, starter, feed, observer }, org_id, run_id, reason ?? "The run was cancelled.");
  } else {
    const { project_id } = before;
    await starter.signalCancel(run_id, reason).catch((err: unknown) => {
      const place = { err, run_id, org_id, project_id };
      logger.warn(place, "could not signal the cancellation; the sweeper will retry");
    });
  }
  return { run: await requireRun(db, org_id, run_id), already: false };
}

/** Runs read in one query. */
const BATCH = 100;

/** Counts a project's unfinished runs, as the transaction sees them. */
export { countOpenRuns } from "../../stores/runs/run-reads.ts";

/** Asks all unfinished runs of a project to stop. */
export async function cancelOpenRuns(
  deps: RunControlDeps,
  { orgId, projectId, reason }: { orgId: string; projectId: string; reason: string },
): Promise<void> {
  for (let after = LOWEST_ID, count = BATCH; count === BATCH;) {
    const ids = await deps.db.org(orgId, (connection) => openRuns(connection, projectId, after, BATCH));
    for (const run_id of ids) {
      await cancelRun(deps, { org_id: orgId, run_id, reason, mode: "graceful" }).catch((error: unknown) => {
        // A Problem means that the run has finished meanwhile, so it is ignored.
        if (!(error instanceof Problem)) throw error;
      });
    }
    count = ids.length;
    after = ids.at(-1) ?? after;
  }
}
