import { eachRoundRobin, periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import { endErasure, noteErasure, takeErasures } from "../../stores/erasures/erasures.ts";
import type { OpenErasure } from "../../stores/erasures/erasures.ts";
import { eraseNext, remainingOf } from "./erase.ts";
import type { EraseDeps } from "./erase.ts";

/** Erasures that a process has in hand at once; the first of each organisation before the second of any. */
const AT_ONCE = 10;
/** How long one is worked on before the next one's turn (ms). */
const TURN_MS = 2000;
/** After which time another process goes on with what a dead one had in hand (ms). Longer than any part takes. */
const LEASE_MS = 30_000;
/** How soon it is looked again while there are some (ms). */
const SOON_MS = 1000;
/** How soon a part that has failed is tried again (ms). */
const AGAIN_MS = 5000;

/** Goes on with erasures that are not done, organisations in turn. Any number of processes may. */
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
    // The message may quote values; the log has it.
    const problem = "A part has failed and is tried again; the log of the workers tells why.";
    await db.system((connection) => noteErasure(connection, erasure_id, progress, AGAIN_MS, problem));
    throw error;
  }
}
