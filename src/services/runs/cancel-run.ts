import { Problem, required } from "../../domain/errors.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import { forceCancel } from "./force-cancel.ts";
import { requestCancel } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { RunControlDeps } from "./answer-pause.ts";
import { requireRun } from "./require-run.ts";

export interface CancelRequest {
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
    await starter
      .signalCancel(run_id, reason)
      .catch((err: unknown) =>
        logger.warn(
          { err, run_id, org_id, project_id: before.project_id },
          "could not signal the cancellation; the sweeper will retry",
        ),
      );
  }
  return { run: await requireRun(db, org_id, run_id), already: false };
}
