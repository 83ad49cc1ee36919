import { setTimeout as delay } from "node:timers/promises";
import type { Plan } from "../../domain/flow/plan/types.ts";
import { createShares, roundRobin } from "../../domain/shares.ts";
import type { Database } from "../../stores/db.ts";
import { holdQueuedRuns, runsToStart } from "../../stores/runs/start-queue.ts";
import type { RunStarter } from "../../temporal/runs.ts";
import { startInput } from "./create-run.ts";
import { createPace } from "./start-pace.ts";

/** Runs in the line at most, of one organisation half as many; whoever comes then waits for a place. */
const MAX_QUEUED = 20_000;
/** How long the sweeper leaves a run in the line alone (ms): after that, this process is taken for dead. */
const HOLD_MS = 15_000;
/** How often the holds are renewed (ms); the sweeper leaves a new run alone for 5 s. */
const RENEW_MS = 3000;
/** Before the next try when the database does not answer (ms). */
const AGAIN_MS = 500;

/** A run whose row is there, and whose workflow is to be started. */
export interface QueuedRun {
  readonly run_id: string;
  readonly org_id: string;
  readonly plan: Plan;
}

export interface StartQueue {
  /** Puts a run at the end of its organisation's line; resolves when it has a place, which is at once unless that is full. */
  add(run: QueuedRun): Promise<void>;
  /** How many runs wait. */
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
  /** Gives its place to another. */
  readonly leave: () => void;
}

/**
 * Starts asynchronous runs as fast as Temporal takes them without slowing down synchronous ones: round robin by
 * organisation, first in first out within one. The run's row counts: the queues hold ids only, and a cancelled run is not
 * started.
 */
export function createStartQueue({ db, starter, onError, maxQueued = MAX_QUEUED }: StartQueueDeps): StartQueue {
  /** By organisation, in round robin order. */
  const lines = new Map<string, Entry[]>();
  const shares = createShares(maxQueued);
  const outside: Array<{ readonly org_id: string; readonly look: () => boolean }> = [];
  const pace = createPace();
  let serving: Promise<void> | undefined;
  let renewal: NodeJS.Timeout | undefined;
  let closed = false;

  async function serve(): Promise<void> {
    while (lines.size > 0 && !closed) {
      const batch = nextBatch(pace.batch());
      try {
        await startAll(batch);
      } catch (error) {
        onError(error, null);
        await delay(AGAIN_MS);
        continue;
      }
      for (const entry of batch) take(entry);
      admit();
      await pace.rest();
    }
    clearInterval(renewal);
    renewal = undefined;
    serving = undefined;
  }

  function nextBatch(size: number): Entry[] {
    const first = [...lines.values()].flatMap((line) => line.slice(0, Math.ceil(size / lines.size)));
    return roundRobin(first, ({ org_id }) => org_id).slice(0, size);
  }

  /** It has been started: the next organisation follows. */
  function take(entry: Entry): void {
    const { org_id } = entry;
    const line = lines.get(org_id) ?? [];
    line.splice(line.indexOf(entry), 1);
    lines.delete(org_id);
    if (line.length > 0) lines.set(org_id, line);
    entry.leave();
  }

  /** Lets in who waits for a place. */
  function admit(): void {
    for (const waiting of roundRobin(outside, ({ org_id }) => org_id)) {
      if (waiting.look()) outside.splice(outside.indexOf(waiting), 1);
    }
  }

  async function startAll(batch: readonly Entry[]): Promise<void> {
    const ids = batch.map(({ run_id }) => run_id);
    const rows = new Map((await db.system((client) => runsToStart(client, ids))).map((row) => [row.run_id, row]));
    const starts = batch.map(async ({ run_id, plan }) => {
      const row = rows.get(run_id);
      if (!row) return;
      const delayMs = row.run_at === null ? undefined : Math.max(0, Date.parse(row.run_at) - Date.now());
      const since = performance.now();
      try {
        await starter.start({ ...startInput(row), plan }, { urgency: "later", delayMs });
      } catch (error) {
        onError(error, run_id);
      }
      pace.note(performance.now() - since);
    });
    await Promise.all(starts);
  }

  async function renewHolds(): Promise<void> {
    const now = Date.now();
    const ending = [...lines.values()].flat().filter(({ heldUntil }) => heldUntil < now + 2 * RENEW_MS);
    if (ending.length === 0) return;
    for (const entry of ending) entry.heldUntil = now + HOLD_MS;
    const ids = ending.map(({ run_id }) => run_id);
    await db.system((client) => holdQueuedRuns(client, ids, HOLD_MS)).catch((error: unknown) => onError(error, null));
  }

  function enter(run: QueuedRun): boolean {
    const leave = shares.take(run.org_id);
    if (leave === null) return false;
    const line = lines.get(run.org_id);
    const entry: Entry = { ...run, heldUntil: 0, leave };
    if (line) line.push(entry);
    else lines.set(run.org_id, [entry]);
    renewal ??= setInterval(() => void renewHolds(), RENEW_MS).unref();
    serving ??= serve();
    return true;
  }

  return {
    async add(run) {
      if (closed || enter(run)) return;
      await new Promise<void>((resolve) => {
        const look = (): boolean => {
          const done = closed || enter(run);
          if (done) resolve();
          return done;
        };
        outside.push({ org_id: run.org_id, look });
      });
    },
    size: () => shares.inUse(),
    async close() {
      closed = true;
      admit();
      clearInterval(renewal);
      await serving;
      const left = [...lines.values()].flat().map(({ run_id }) => run_id);
      lines.clear();
      if (left.length > 0)
        await db.system((client) => holdQueuedRuns(client, left, 0)).catch((error: unknown) => onError(error, null));
    },
  };
}
