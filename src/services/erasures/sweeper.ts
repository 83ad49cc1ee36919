import { eachRoundRobin, periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import { endErasure, noteErasure, takeErasures } from "../../stores/erasures/erasures.ts";
import type { OpenErasure } from "../../stores/erasures/erasures.ts";
import { eraseNext, remainingOf } from "./erase.ts";
import type { EraseDeps } from "./erase.ts";

/** Erasures in progress in one process; the first of each organisation comes before the second of any. */
const AT_ONCE = 10;
/** How long one erasure is worked on before it is the next one's turn (ms). */
const TURN_MS = 2000;
/** After this time another process takes over from a dead one (ms). Longer than any step takes. */
const LEASE_MS = 30_000;
/** How soon it looks again while there are open erasures (ms). */
const SOON_MS = 1000;
/** How soon a failed step is retried (ms). */
const AGAIN_MS = 5000;

/** Carries open erasures on, organisations in turn. Any number of processes may run it. */
export function startErasing(deps: EraseDeps, intervalMs: number, onError: (error: unknown) => void): Periodic {
  return periodically(
    intervalMs,
    async (isClosed) => {
      for (let soon: number | undefined; ; soon = SOON_MS) {
        const taken = await deps.db.system((connection) => takeErasures(connection, AT_ONCE, LEASE_MS));
        await eachRoundRobin(taken, (erasure) => work(deps, erasure, isClosed), { isClosed, onError });
        if (taken.length < AT_ONCE || isClosed()) return taken.length > 0 ? SOON_MS : soon;
      }
    },
    onError,
  );
}

/** One turn of an erasure. */
async function work(deps: EraseDeps, erasure: OpenErasure, isClosed: () => boolean): Promise<void> {
  const { db } = deps;
  const { erasure_id } = erasure;
  const until = Date.now() + TURN_MS;
  let { progress } = erasure;
  try {
    for (;;) {
      const next = await eraseNext(deps, { ...erasure, progress });
      if (next === "end") {
        const remaining = await remainingOf(deps, erasure);
        await db.systemTransaction((connection) => endErasure(connection, erasure_id, remaining));
        return;
      }
      ({ progress } = next);
      const isOver = next.waitMs > 0 || Date.now() > until || isClosed();
      const forMs = isOver ? next.waitMs : LEASE_MS;
      await db.system((connection) => noteErasure(connection, erasure_id, progress, forMs));
      if (isOver) return;
    }
  } catch (error) {
    // The message may quote values, so only the log has it.
    const problem = "A part has failed and is tried again; the log of the workers tells why.";
    await db.system((connection) => noteErasure(connection, erasure_id, progress, AGAIN_MS, problem));
    throw error;
  }
}
