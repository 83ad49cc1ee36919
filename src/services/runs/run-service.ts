import { Problem } from "../../domain/errors.ts";
import { createRun } from "./create-run.ts";
import type { CreateRunDeps, RunRequest } from "./create-run.ts";
import { isSettled } from "../../domain/runs/run.ts";
import { getRun } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { getSettledRun } from "../../stores/runs/run-reads.ts";
import type { RunFeed } from "../../stores/runs/run-feed.ts";
import type { Logger } from "../../platform/logging/logger.ts";
import { createRunWaiter } from "./run-waiter.ts";
import type { RunWaiter } from "./run-waiter.ts";

/** What every operation on runs does alike. */
export interface RunService {
  /**
   * Creates a run and starts it. With `repeated` (the same Idempotency-Key again) a run that is there already is
   * answered as it is, whatever the limits say by now.
   */
  create(request: RunRequest, repeated: boolean): Promise<RunRow>;
  /**
   * The run once it is terminal or paused, or as it is when the time is up. Throws a Problem when the client has gone:
   * nobody reads the answer, and none is to be kept for its Idempotency-Key. `justStarted` saves a look at a run that this
   * very request has started.
   */
  settled(
    run: Pick<RunRow, "org_id" | "run_id">,
    timeoutMs: number,
    signal: AbortSignal,
    justStarted?: boolean,
  ): Promise<RunRow>;
  readonly waiter: RunWaiter;
  /** Answers all who wait, so that the process can stop. */
  close(): void;
}

export type RunServiceDeps = Omit<CreateRunDeps, "onStartDelayed"> & {
  readonly feed: RunFeed;
  readonly logger: Logger;
};

export function createRunService({ db, blobs, starter, limits, feed, logger }: RunServiceDeps): RunService {
  const waiter = createRunWaiter({ db, feed });
  const creation: CreateRunDeps = {
    db,
    blobs,
    starter,
    onStartDelayed: (run_id, err) => logger.warn({ err, run_id }, "run not started at once; the sweeper will"),
    limits,
  };
  return {
    async create(request, repeated) {
      const known = repeated ? await db.org(request.org_id, (client) => getRun(client, request.run_id)) : null;
      return known ?? createRun(creation, request);
    },
    async settled({ org_id, run_id }, timeoutMs, signal, justStarted = false) {
      const read = async (written?: RunRow): Promise<RunRow | null> =>
        written && isSettled(written.state) ? written : db.org(org_id, (client) => getSettledRun(client, run_id));
      const row =
        (await waiter
          .until(run_id, read, { timeoutMs, signal, justStarted, untilSettled: true })
          .catch((error: unknown) => {
            if (signal.aborted) throw new Problem("service_unavailable", "The client has gone away.");
            throw error;
          })) ?? (await db.org(org_id, (client) => getRun(client, run_id)));
      if (!row) throw new Error(`run ${run_id} has gone`);
      return row;
    },
    waiter,
    close: () => waiter.close(),
  };
}
