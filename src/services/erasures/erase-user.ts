import { setTimeout as delay } from "node:timers/promises";
import type { ErasureStep } from "../../domain/erasures/erasure.ts";
import { continueErasure, endErasure, ErasureMoved, moveErasure } from "../../stores/erasures/erasures.ts";
import { pace } from "../../stores/org-places.ts";
import { eraseNext, remainingOf, type EraseDeps } from "./erase.ts";

/** How long a process works on one erasure before it turns to the next (ms). */
const TURN_MS = 2000;
/** The process waits for a shorter rest itself (ms), because a timer of Temporal costs more. */
const SHORT_REST_MS = 500;
/** Longest rest of an erasure for its organisation's pace (ms). Hundreds of erasures that rest two seconds each would not rest at all. */
const LONGEST_REST_MS = 60_000;

export interface TurnDeps extends EraseDeps {
  /** Whether the turn must end early because its process is stopping. */
  readonly isClosed: () => boolean;
  /** Gets each step when it begins. */
  readonly note: (step: ErasureStep) => void;
}

/**
 * Works on an erasure for one turn, within the pace of the organisation's reads. Returns how long the next turn must
 * wait (ms), or null if the erasure is finished or deleted. Can be called again after any failure, and even by two
 * processes at a time: everything is counted once.
 */
export async function eraseForTurn(deps: TurnDeps, erasureId: string): Promise<number | null> {
  const { db } = deps;
  const until = performance.now() + TURN_MS;
  let erasure = await db.system((connection) => continueErasure(connection, erasureId));
  try {
    while (erasure !== null) {
      const at = erasure;
      deps.note(at.progress.step);
      const since = performance.now();
      const next = await eraseNext(deps, at);
      if (next === "end") {
        const remaining = await remainingOf(deps, at);
        await db.systemTransaction((connection) => endErasure(connection, at, remaining));
        return null;
      }
      await db.system((connection) => moveErasure(connection, at, next.progress));
      const paceMs = pace.restAfter(at.org_id, performance.now() - since, LONGEST_REST_MS);
      const restMs = Math.max(next.waitMs, paceMs);
      if (restMs >= SHORT_REST_MS || performance.now() > until || deps.isClosed()) return restMs;
      await delay(restMs);
      erasure = { ...at, progress: next.progress };
    }
    return null;
  } catch (error) {
    if (error instanceof ErasureMoved) return 0;
    const problem = "A part of the erasure failed and is being retried; see the worker logs for the reason.";
    if (erasure !== null) {
      const { progress } = erasure;
      const failed = erasure;
      await db.system((connection) => moveErasure(connection, failed, progress, problem)).catch(() => undefined);
    }
    throw error;
  }
}
