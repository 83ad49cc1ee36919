import { setTimeout as delay } from "node:timers/promises";
import type { Plan } from "../../domain/flow/plan/types.ts";
import { Problem } from "../../domain/errors.ts";
import { createShares, roundRobin } from "../../domain/shares.ts";
import { WaitedTooLong, createLimit } from "../../platform/at-once.ts";
import { holdQueuedRuns, runsToStart } from "../../stores/runs/run-reads.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { delayUntil } from "./start-inputs.ts";
import { createCounts } from "../counts.ts";
import type { Parts } from "../parts.ts";

/** Most runs accepted or queued; one organisation may have half of them. */
const MAX_QUEUED = 20_000;
/**
 * Runs accepted concurrently: enough to keep the database busy, and few enough to keep the process and its connections
 * free for synchronous calls. Measured by bench/burst-bench.ts.
 */
const ACCEPTED_AT_ONCE = 2;
/**
 * Runs started concurrently. Temporal accepts a start within milliseconds, so two still allow more than a hundred per
 * second. More would slow synchronous calls down, both while runs arrive and while they are executed. Measured by
 * bench/burst-bench.ts.
 */
const STARTED_AT_ONCE = 2;
/** How long a request may wait to be accepted (ms). */
const ACCEPT_WITHIN_MS = 1000;
/**
 * How long the next starts wait for requests that are not accepted yet (ms). A start costs as much as several
 * acceptances, and synchronous calls wait for it while runs arrive. A start of an organisation whose runs do not keep
 * arriving does not wait. Measured by bench/burst-bench.ts.
 */
const YIELD_MS = 500;
/** How long the sweeper leaves a queued run alone (ms) before it considers this process dead. */
const HOLD_MS = 15_000;
/** How often the holds are renewed (ms); less than the 5 s for which the sweeper leaves a new run alone. */
const RENEW_MS = 3000;
/** Wait before a retry if the database does not respond (ms). */
const AGAIN_MS = 500;

/** A run that has a row but no workflow yet. */
export interface QueuedRun {
  readonly run_id: string;
  readonly org_id: string;
  readonly plan: Plan;
}

export type StartQueue = ReturnType<typeof createStartQueue>;

export interface StartQueueDeps extends Parts<"db" | "starter" | "startInputs"> {
  /** Called when a run could not be started (the sweeper will start it), and when the queue could not be read. */
  readonly onError: (error: unknown, runId: string | null) => void;
  /** Called for a run that was cancelled in the queue, because no workflow will end it. */
  readonly onCancelled: (run: RunRow) => Promise<void>;
  readonly maxQueued?: number;
  readonly acceptedAtOnce?: number;
  readonly acceptWithinMs?: number;
  readonly yieldMs?: number;
}

interface Entry extends QueuedRun {
  heldUntil: number;
  /** Releases the run's slot in the queue. */
  readonly leave: () => void;
}

/**
 * Starts asynchronous runs, two at a time so that synchronous ones are not slowed down, round robin by organisation and
 * first in, first out within each. The row is read before the start, so a run cancelled meanwhile is not started.
 */
export function createStartQueue({
  db,
  startInputs,
  starter,
  onError,
  onCancelled,
  maxQueued = MAX_QUEUED,
  acceptedAtOnce = ACCEPTED_AT_ONCE,
  acceptWithinMs = ACCEPT_WITHIN_MS,
  yieldMs = YIELD_MS,
}: StartQueueDeps) {
  /** Queued runs by organisation, in round robin order. */
  const lines = new Map<string, Entry[]>();
  const shares = createShares(maxQueued);
  const acceptance = createLimit(acceptedAtOnce, acceptWithinMs);
  let accepting = 0;
  /** The requests that are being accepted, by organisation. */
  const arriving = createCounts<string>();
  /** Called when no request waits to be accepted any more, or an organisation queues a run whose other runs do not keep arriving. */
  let endYield = (): void => undefined;
  let serving: Promise<void> | undefined;
  let renewal: NodeJS.Timeout | undefined;
  let closed = false;

  async function serve(): Promise<void> {
    await yieldToAcceptance();
    while (lines.size > 0 && !closed) {
      const batch = nextBatch(STARTED_AT_ONCE);
      try {
        await startAll(batch);
      } catch (error) {
        onError(error, null);
        await delay(AGAIN_MS);
        continue;
      }
      for (const entry of batch) take(entry);
      await yieldToAcceptance();
    }
    clearInterval(renewal);
    renewal = undefined;
    serving = undefined;
  }

  async function yieldToAcceptance(): Promise<void> {
    if (accepting <= acceptedAtOnce || closed || [...lines.keys()].some(isCalm)) return;
    const ended = new Promise<void>((resolve) => (endYield = resolve));
    await Promise.race([ended, delay(yieldMs)]);
  }

  const isCalm = (orgId: string): boolean => arriving.of(orgId) <= acceptedAtOnce;

  function count(orgId: string, more: 1 | -1): void {
    accepting += more;
    arriving.add(orgId, more);
  }

  function nextBatch(size: number): Entry[] {
    const first = [...lines.values()].flatMap((line) => line.slice(0, Math.ceil(size / lines.size)));
    return roundRobin(first, ({ org_id }) => org_id).slice(0, size);
  }

  /** Removes a started run from its organisation's line, and moves the line behind all others. */
  function take(entry: Entry): void {
    const { org_id } = entry;
    const line = lines.get(org_id) ?? [];
    line.splice(line.indexOf(entry), 1);
    lines.delete(org_id);
    if (line.length > 0) lines.set(org_id, line);
    entry.leave();
  }

  async function startAll(batch: readonly Entry[]): Promise<void> {
    const ids = batch.map(({ run_id }) => run_id);
    const found = await db.system((connection) => runsToStart(connection, ids));
    const rows = new Map(found.map((row) => [row.run_id, row]));
    const starts = batch.map(async ({ run_id, plan }) => {
      const row = rows.get(run_id);
      if (!row) return;
      if (row.cancel_requested !== null) return onCancelled(row).catch((error: unknown) => onError(error, run_id));
      const delayMs = delayUntil(row.run_at);
      try {
        await starter.start({ ...(await startInputs.open(row)), plan }, { urgency: "later", delayMs });
      } catch (error) {
        onError(error, run_id);
      }
    });
    await Promise.all(starts);
  }

  async function renewHolds(): Promise<void> {
    const now = Date.now();
    const ending = [...lines.values()].flat().filter(({ heldUntil }) => heldUntil < now + 2 * RENEW_MS);
    if (ending.length === 0) return;
    for (const entry of ending) entry.heldUntil = now + HOLD_MS;
    await hold(ending, HOLD_MS);
  }

  async function hold(entries: readonly Entry[], ms: number): Promise<void> {
    const ids = entries.map(({ run_id }) => run_id);
    await db
      .system((connection) => holdQueuedRuns(connection, ids, ms))
      .catch((error: unknown) => onError(error, null));
  }

  function enter(run: QueuedRun, leave: () => void): void {
    const line = lines.get(run.org_id);
    const entry: Entry = { ...run, heldUntil: 0, leave };
    if (line) line.push(entry);
    else lines.set(run.org_id, [entry]);
    renewal ??= setInterval(() => void renewHolds(), RENEW_MS).unref();
    serving ??= serve();
    if (isCalm(run.org_id)) endYield();
  }

  return {
    /**
     * Accepts a run that no caller waits for: `insert` inserts its row, and calls `add` to queue its start. Runs with
     * `long` inputs, which go to the blob store first, are accepted beside the others. Throws Problem `too_many_new_runs`.
     */
    async accept<T>(orgId: string, insert: (add: (run: QueuedRun) => void) => Promise<T>, long = false): Promise<T> {
      const leave = shares.take(orgId);
      if (leave === null) throw tooManyNew();
      let queued = false;
      const add = (run: QueuedRun): void => {
        // A stopping process leaves the run to the sweeper.
        if (closed) return;
        queued = true;
        enter(run, leave);
      };
      count(orgId, 1);
      try {
        return await (long ? insert(add) : acceptance(() => insert(add), orgId));
      } catch (error) {
        throw error instanceof WaitedTooLong ? tooManyNew() : error;
      } finally {
        count(orgId, -1);
        if (accepting <= acceptedAtOnce) endYield();
        if (!queued) leave();
      }
    },
    /** The number of runs that are being accepted or wait for their start. */
    size: () => shares.inUse(),
    /** Finishes the starts in progress. The sweeper starts the rest. */
    async close(): Promise<void> {
      closed = true;
      endYield();
      clearInterval(renewal);
      await serving;
      const left = [...lines.values()].flat();
      lines.clear();
      if (left.length > 0) await hold(left, 0);
    },
  };
}

function tooManyNew(): Problem {
  const message = "Too many runs are arriving. This run was not created; retry later.";
  return new Problem("too_many_new_runs", message, { headers: { "Retry-After": "1" } });
}
