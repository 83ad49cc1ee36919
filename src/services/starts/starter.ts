import type { StartKind, WantedStart, WorkflowStarts } from "../../domain/starts.ts";
import { eachAtOnce } from "../../platform/at-once.ts";
import { periodically, type Periodic } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import {
  deleteStarts,
  listenToStarts,
  noteFailedStarts,
  START_KINDS,
  takeStarts,
  wantLost,
} from "../../stores/starts/workflow-starts.ts";

export interface StarterDeps {
  readonly db: Database;
  readonly starts: WorkflowStarts;
  /** How often lost notifications and lost workflows are looked for (ms). */
  readonly lookMs: number;
  readonly onError: (error: unknown) => void;
}

const BATCH = 50;
/** Most starts at the same time in one process, so that a long backlog leaves room for its other work. */
const AT_ONCE = 5;
/** Age without a change from which the workflow of unfinished work may be gone (ms). */
const IDLE_MS = 10_000;
/** Most workflows of a kind that are looked for together. */
const LOST_BATCH = 100;
/** How soon starts are taken again after one has failed (ms): the first repetition is due then. */
const AGAIN_MS = 10_000;

/**
 * Starts the workflows that rows want, and those of unfinished work whose workflow is gone. A start that fails is due
 * again. Any number of processes may run it.
 */
export function startStarter(deps: StarterDeps): Pick<Periodic, "close"> {
  const { db, lookMs, onError } = deps;
  const starting = periodically(lookMs, (isClosed) => startDue(deps, isClosed), onError);
  const listener = listenToStarts(db, () => starting.wake());
  const looking = periodically(
    lookMs,
    async () => {
      // One transaction for all kinds, so that an idle installation costs the database little.
      const found = await db.systemTransaction(async (connection) => {
        let count = 0;
        for (const kind of START_KINDS) count += await wantLost(connection, kind, IDLE_MS, LOST_BATCH);
        return count;
      });
      if (found > 0) starting.wake();
    },
    onError,
  );
  return {
    async close() {
      await Promise.all([looking.close(), starting.close(), listener.close()]);
    },
  };
}

/** Starts what is due. Returns how soon the next starts are due (ms) if some have failed. */
async function startDue({ db, starts, onError }: StarterDeps, isClosed: () => boolean): Promise<number | void> {
  let again: number | undefined;
  for (;;) {
    const due = await db.system((connection) => takeStarts(connection, BATCH));
    const accepted: WantedStart[] = [];
    const failed: Array<WantedStart & { readonly error: string }> = [];
    let failure: unknown;
    await eachAtOnce(due, AT_ONCE, async (wanted) => {
      if (isClosed()) return;
      try {
        if (wanted.unfinished) await start(starts, wanted);
        accepted.push(wanted);
      } catch (error) {
        failure = error;
        failed.push({ ...wanted, error: String(error) });
      }
    });
    if (accepted.length > 0) await db.system((connection) => deleteStarts(connection, accepted));
    if (failed.length > 0) {
      await db.system((connection) => noteFailedStarts(connection, failed));
      // One of several, because mostly Temporal does not respond to any.
      onError(failure);
      again = AGAIN_MS;
    }
    if (due.length < BATCH || accepted.length === 0 || isClosed()) return again;
  }
}

function start<Kind extends StartKind>(starts: WorkflowStarts, { kind, input }: WantedStart<Kind>): Promise<void> {
  return starts[kind](input);
}
