import { Problem } from "../../domain/errors.ts";
import { createRun, type CreateRunDeps, type Later, type RunRequest } from "./create-run.ts";
import { isSettled } from "../../domain/runs/run.ts";
import { isConnectionError, type Database } from "../../stores/db.ts";
import { getRun, insertRuns, type NewRun, type RunRow } from "../../stores/runs/runs.ts";
import { getSettledRun } from "../../stores/runs/run-reads.ts";
import { admitNested } from "../triggers/chain.ts";
import { areLong, createInputTurns } from "./long-inputs.ts";
import { createLiveTexts } from "./live-texts.ts";
import type { RunControlDeps } from "./answer-pause.ts";
import { createRunWaiter } from "./run-waiter.ts";
import { shareWrites } from "../shared-writes.ts";
import { cancelledEnd, settleRun } from "./settle-run.ts";
import { createStartQueue } from "./start-queue.ts";

/** Most rows inserted by one statement, since each may hold 256 KiB of inputs. */
const MAX_INSERTED_TOGETHER = 50;

export type RunService = ReturnType<typeof createRunService>;

export type RunServiceDeps = Omit<CreateRunDeps, "onStartDelayed"> & RunControlDeps;

/** The parts that all operations on runs share. */
export function createRunService(deps: RunServiceDeps) {
  const { db, feed, limits, logger } = deps;
  const waiter = createRunWaiter({ db, feed });
  const onStartDelayed = (run_id: string | null, err: unknown): void =>
    logger.warn({ err, run_id }, "could not start the run; the sweeper will retry");
  const queue = createStartQueue({
    ...deps,
    onError: (err, run_id) => onStartDelayed(run_id, err),
    async onCancelled({ org_id, run_id }) {
      await settleRun(deps, org_id, run_id, ({ cancel_requested }) => cancelledEnd(cancel_requested?.reason ?? null));
    },
  });
  const creation: CreateRunDeps = { ...deps, onStartDelayed, store: createInputTurns() };
  const insert = createSharedInsert(db);
  return {
    /**
     * Creates a run and starts it. With `repeated` (the same Idempotency-Key again) it returns an existing run even if a
     * limit is reached meanwhile. With `asynchronous` it queues the start, and throws Problem `too_many_new_runs` beyond
     * the queue's limit; otherwise it starts the workflow immediately.
     */
    async create(
      request: RunRequest,
      { repeated, asynchronous = false }: { readonly repeated: boolean; readonly asynchronous?: boolean },
    ): Promise<RunRow> {
      const known = repeated ? await db.org(request.org_id, (connection) => getRun(connection, request.run_id)) : null;
      if (known) return known;
      const from = { startedBy: request.started_by, continues: request.resumed_from?.run_id };
      await admitNested(db, request.org_id, from, request.run_id, limits.max_nested_runs);
      if (!asynchronous) return createRun(creation, request);
      const insertRun = (add: Later["add"]) => createRun(creation, request, { insert, add });
      return queue.accept(request.org_id, insertRun, areLong(request.inputs));
    },
    /**
     * The run once it is terminal or paused, or in its state at the timeout. Throws a Problem if the client has
     * disconnected, because then no response may be stored for its Idempotency-Key. `justStarted` saves a query for a run
     * that this request has just started.
     */
    async settled(
      { org_id, run_id }: Pick<RunRow, "org_id" | "run_id">,
      timeoutMs: number,
      signal: AbortSignal,
      justStarted = false,
    ): Promise<RunRow> {
      const read = async (written?: RunRow): Promise<RunRow | null> =>
        written && isSettled(written.state)
          ? written
          : db.org(org_id, (connection) => getSettledRun(connection, run_id));
      const row =
        (await waiter
          .until(run_id, read, { timeoutMs, signal, justStarted, untilSettled: true })
          .catch((error: unknown) => {
            if (signal.aborted) throw new Problem("service_unavailable", "The client disconnected.");
            throw error;
          })) ?? (await db.org(org_id, (connection) => getRun(connection, run_id)));
      if (!row) throw new Error(`run ${run_id} no longer exists`);
      return row;
    },
    waiter,
    texts: createLiveTexts({ db, feed }),
    /** Ends all waits, so that their requests get responses and the process can stop. */
    drain: () => waiter.close(),
    /** Finishes the starts in progress and ends; the sweeper starts the rest. */
    close: () => queue.close(),
  };
}

/**
 * Inserts concurrent runs of an organisation in one statement, one statement at a time, so that a burst leaves the
 * pool's other connections free.
 */
function createSharedInsert(db: Database): (row: NewRun) => Promise<boolean> {
  const share = shareWrites(
    (rows: readonly NewRun[]) => db.org(rows[0]?.org_id ?? "", (connection) => insertRuns(connection, rows)),
    isConnectionError,
    { maxTogether: MAX_INSERTED_TOGETHER },
  );
  return async (row) => (await share(row.org_id, row)).has(row.run_id);
}
