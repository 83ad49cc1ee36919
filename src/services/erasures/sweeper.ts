import { setTimeout as delay } from "node:timers/promises";
import { eachRoundRobin, periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import { ClaimLost, endErasure, noteErasure, renewClaim, takeErasures } from "../../stores/erasures/erasures.ts";
import type { OpenErasure } from "../../stores/erasures/erasures.ts";
import { pace } from "../../stores/org-places.ts";
import { eraseNext, remainingOf } from "./erase.ts";
import type { Erased, EraseDeps } from "./erase.ts";

/** Most concurrent erasures in one process; every organisation gets one before any gets a second. */
const AT_ONCE = 10;
/** How long a process works on one erasure before it turns to the next (ms). */
const TURN_MS = 2000;
/**
 * After this time without a renewal another process takes over from a dead one (ms). A step that takes longer renews
 * its lease.
 */
const LEASE_MS = 30_000;
/** Interval of the sweeper while there are unfinished erasures (ms). */
const SOON_MS = 1000;
/** How soon a failed step is retried (ms). */
const AGAIN_MS = 5000;

/** Continues unfinished erasures, organisations in turn. Any number of processes may run it. */
export function startErasing(
  deps: EraseDeps,
  intervalMs: number,
  onError: (error: unknown) => void,
  leaseMs: number = LEASE_MS,
): Periodic {
  const { db } = deps;

  /** Executes one step, within the pace of the organisation's reads, and renews the lease meanwhile. */
  async function step(erasure: OpenErasure, isClosed: () => boolean): Promise<Erased> {
    const since = performance.now();
    const renewing = periodically(
      leaseMs / 3,
      () => db.system((connection) => renewClaim(connection, erasure, leaseMs)),
      onError,
    );
    try {
      return await eraseNext(deps, erasure);
    } finally {
      const restMs = pace.restAfter(erasure.org_id, performance.now() - since);
      if (!isClosed()) await delay(restMs);
      await renewing.close();
    }
  }

  /** Works on an erasure for one turn. */
  async function work(erasure: OpenErasure, isClosed: () => boolean): Promise<void> {
    const until = Date.now() + TURN_MS;
    let { progress } = erasure;
    const note = (forMs: number, problem?: string): Promise<void> =>
      db.system((connection) => noteErasure(connection, erasure, progress, forMs, problem));
    try {
      for (;;) {
        const next = await step({ ...erasure, progress }, isClosed);
        if (next === "end") {
          const remaining = await remainingOf(deps, erasure);
          await db.systemTransaction((connection) => endErasure(connection, erasure, remaining));
          return;
        }
        ({ progress } = next);
        const isOver = next.waitMs > 0 || Date.now() > until || isClosed();
        await note(isOver ? next.waitMs : leaseMs);
        if (isOver) return;
      }
    } catch (error) {
      if (error instanceof ClaimLost) return;
      // The error's message may quote values, so it is only logged.
      await note(AGAIN_MS, "A part of the erasure failed and is being retried; see the worker logs for the reason.");
      throw error;
    }
  }

  return periodically(
    intervalMs,
    async (isClosed) => {
      for (let soon: number | undefined; ; soon = SOON_MS) {
        const taken = await db.system((connection) => takeErasures(connection, AT_ONCE, leaseMs));
        await eachRoundRobin(taken, (erasure) => work(erasure, isClosed), { isClosed, onError });
        if (taken.length < AT_ONCE || isClosed()) return taken.length > 0 ? SOON_MS : soon;
      }
    },
    onError,
  );
}
