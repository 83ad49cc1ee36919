import { eachRoundRobin, periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import { applySchedule } from "./apply.ts";
import type { ApplyDeps, ScheduleKind } from "./apply.ts";
import { compareSchedules } from "./compare.ts";

const BATCH = 100;

export interface KeepOptions {
  /** How often changes are looked for that whoever made them could not apply (ms). */
  readonly changesMs: number;
  /** How often everything is compared with what Temporal has (ms). It is compared at once, too. */
  readonly compareMs: number;
  readonly onError: (error: unknown) => void;
  /** What a comparison has mended. */
  readonly onMended: (counts: { readonly missing: number; readonly orphans: number }) => void;
}

/** Holds Temporal's schedules to what the rows ask for, also after Temporal has lost them. Any number of processes may do it. */
export function keepSchedules(
  deps: ApplyDeps,
  kinds: readonly ScheduleKind[],
  { changesMs, compareMs, onError, onMended }: KeepOptions,
): Periodic {
  const changes = periodically(
    changesMs,
    async (isClosed) => {
      for (const kind of kinds) {
        const changed = await deps.db.system((connection) => kind.unapplied(connection, BATCH));
        await eachRoundRobin(changed, (owner) => applySchedule(deps, kind, owner), { isClosed, onError });
      }
    },
    onError,
  );
  const comparison = periodically(
    compareMs,
    async (isClosed) => {
      const { missing, orphans } = await compareSchedules(deps, kinds);
      const round = { isClosed, onError };
      // In an order of its own: processes that find the same differences do not all mend the same ones first.
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
