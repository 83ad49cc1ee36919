import { eachRoundRobin, periodically, type Periodic } from "../../platform/periodically.ts";
import { applySchedule, type ApplyDeps, type ScheduleKind } from "./apply.ts";
import { compareSchedules } from "./compare.ts";

const BATCH = 100;

export interface KeepOptions {
  /** How often to apply changes that the process which made them could not apply (ms). */
  readonly changesMs: number;
  /** How often all schedules are compared with Temporal's (ms). The first comparison starts immediately. */
  readonly compareMs: number;
  readonly onError: (error: unknown) => void;
  /** Called with the numbers of repaired schedules. */
  readonly onMended: (counts: { readonly missing: number; readonly orphans: number }) => void;
}

/** Keeps Temporal's schedules in line with the rows, even after Temporal has lost them. Any number of processes may run it. */
export function keepSchedules(
  deps: ApplyDeps,
  kinds: readonly ScheduleKind[],
  { changesMs, compareMs, onError, onMended }: KeepOptions,
): Periodic {
  const changes = periodically(
    changesMs,
    async (isClosed) => {
      for (const kind of kinds) {
        const changed = await deps.db.system(async (connection) => kind.unapplied?.(connection, BATCH) ?? []);
        await eachRoundRobin(changed, (owner) => applySchedule(deps, kind, owner), { isClosed, onError });
      }
    },
    onError,
  );
  // Replacing a schedule loses the times it has missed, so the first comparison renews none and lets Temporal catch up.
  let renews = false;
  const comparison = periodically(
    compareMs,
    async (isClosed) => {
      const { missing, orphans } = await compareSchedules(deps, kinds, { renews, now: Date.now() });
      renews = true;
      const round = { isClosed, onError };
      // In random order, so that processes which find the same differences do not all repair the same ones first.
      const mixed = missing.map((each) => ({ each, at: Math.random() })).toSorted((one, other) => one.at - other.at);
      await eachRoundRobin(mixed, ({ each }) => applySchedule(deps, each.kind, each), round);
      await eachRoundRobin(orphans, (id) => deps.schedules.remove(id), round);
      if (missing.length + orphans.length > 0) onMended({ missing: missing.length, orphans: orphans.length });
    },
    onError,
  );
  comparison.wake();
  return {
    wake: () => changes.wake(),
    async close() {
      await Promise.all([changes.close(), comparison.close()]);
    },
  };
}
