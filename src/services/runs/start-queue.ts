import { setTimeout as delay } from "node:timers/promises";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Database } from "../../stores/db.ts";
import { holdQueuedRuns, runsToStart } from "../../stores/runs/start-queue.ts";
import type { RunStarter } from "../../temporal/runs.ts";
import { startInput } from "./create-run.ts";
import { createPace } from "./start-pace.ts";

/** Runs in the line at most; whoever comes then waits for a place. */
const MAX_QUEUED = 10_000;
/** How long the sweeper leaves a run in the line alone (ms): after that, this process is taken for dead. */
const HOLD_MS = 15_000;
/** How often the holds are renewed (ms); the sweeper leaves a new run alone for 5 s. */
const RENEW_MS = 3000;
/** Before the next try when the database does not answer (ms). */
const AGAIN_MS = 500;

/** A run whose row is there, and whose workflow is to be started. */
export interface QueuedRun {
  readonly run_id: string;
  readonly plan: Plan;
}

export interface StartQueue {
  /** Puts a run at the end of the line; resolves when it has a place, which is at once unless the line is full. */
  add(run: QueuedRun): Promise<void>;
  /** How many runs wait in the line. */
  size(): number;
  /** Ends with the starts under way. The sweeper starts what is left. */
  close(): Promise<void>;
}

export interface StartQueueDeps {
  readonly db: Database;
  readonly starter: RunStarter;
  /** Called when a run could not be started, which is the sweeper's to do then, and when the line could not be read. */
  readonly onError: (error: unknown, runId: string | null) => void;
  readonly maxQueued?: number;
}

interface Entry extends QueuedRun {
  heldUntil: number;
}

/**
 * Starts runs that nobody waits for in the order they came, as fast as Temporal takes them without slowing down for the
 * others. A run's row is what counts: the line holds ids only, and what was cancelled meanwhile is not started.
 */
export function createStartQueue({ db, starter, onError, maxQueued = MAX_QUEUED }: StartQueueDeps): StartQueue {
  const line: Entry[] = [];
  const places: Array<() => void> = [];
  const pace = createPace();
  let serving: Promise<void> | undefined;
  let renewal: NodeJS.Timeout | undefined;
  let closed = false;

  async function serve(): Promise<void> {
    while (line.length > 0 && !closed) {
      const batch = line.slice(0, pace.batch());
      try {
        await startAll(batch);
      } catch (error) {
        onError(error, null);
        await delay(AGAIN_MS);
        continue;
      }
      line.splice(0, batch.length);
      for (const admit of places.splice(0, batch.length)) admit();
      await pace.rest();
    }
    clearInterval(renewal);
    renewal = undefined;
    serving = undefined;
  }

  async function startAll(batch: readonly Entry[]): Promise<void> {
    const ids = batch.map(({ run_id }) => run_id);
    const rows = new Map((await db.system((client) => runsToStart(client, ids))).map((row) => [row.run_id, row]));
    const starts = batch.map(async ({ run_id, plan }) => {
      const row = rows.get(run_id);
      if (!row) return;
      const startDelay = row.run_at === null ? undefined : Math.max(0, Date.parse(row.run_at) - Date.now());
      const since = performance.now();
      try {
        await starter.start({ ...startInput(row), plan }, startDelay);
      } catch (error) {
        onError(error, run_id);
      }
      pace.note(performance.now() - since);
    });
    await Promise.all(starts);
  }

  async function renewHolds(): Promise<void> {
    const now = Date.now();
    const ending = line.filter(({ heldUntil }) => heldUntil < now + 2 * RENEW_MS);
    if (ending.length === 0) return;
    for (const entry of ending) entry.heldUntil = now + HOLD_MS;
    const ids = ending.map(({ run_id }) => run_id);
    await db.system((client) => holdQueuedRuns(client, ids, HOLD_MS)).catch((error: unknown) => onError(error, null));
  }

  return {
    async add({ run_id, plan }) {
      while (line.length >= maxQueued && !closed) await new Promise<void>((resolve) => places.push(resolve));
      if (closed) return;
      line.push({ run_id, plan, heldUntil: 0 });
      renewal ??= setInterval(() => void renewHolds(), RENEW_MS).unref();
      serving ??= serve();
    },
    size: () => line.length,
    async close() {
      closed = true;
      for (const admit of places.splice(0)) admit();
      clearInterval(renewal);
      await serving;
      const left = line.splice(0).map(({ run_id }) => run_id);
      if (left.length > 0)
        await db.system((client) => holdQueuedRuns(client, left, 0)).catch((error: unknown) => onError(error, null));
    },
  };
}
