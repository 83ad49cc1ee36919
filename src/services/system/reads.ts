import { Problem } from "../../domain/errors.ts";
import { NoPlace } from "../../domain/places.ts";
import { createCarried } from "../../platform/carried.ts";
import type { Metrics } from "../../platform/metrics.ts";
import { periodically } from "../../platform/periodically.ts";
import type { Database, Db } from "../../stores/db.ts";
import { replayedPosition, writtenPosition } from "../../stores/system/replication.ts";

/** Reads whose results may be slightly outdated: lists, statistics, exports. They write nothing and lock nothing. */
export interface Reads {
  /** Like `Database.orgRead`, but `work` may run twice. */
  org<T>(orgId: string, work: (db: Db) => Promise<T>, patient?: boolean): Promise<T>;
  /** Runs a caller's work, whose reads see everything that the same caller's earlier requests to this process have written. */
  forCaller<T>(callerId: string, writes: boolean, work: () => Promise<T>): Promise<T>;
}

/** Reads from the primary, for installations without a replica. */
export function readsOf(db: Database): Reads {
  return { org: db.orgRead, forCaller: (_callerId, _writes, work) => work() };
}

export interface ReplicaOptions {
  /** The largest lag at which the replica is read (ms). */
  readonly maxLagMs: number;
  readonly metrics: Metrics;
  readonly onError: (error: unknown, message: string) => void;
}

/** A position in the primary's log, and when the primary had reached it. */
interface Sample {
  readonly at: number;
  readonly position: bigint;
}

/** Number of checks within the tolerated lag, so that a replica which keeps up is recognised as fresh. */
const LOOKS = 4;
const MIN_LOOK_MS = 50;

/**
 * Reads from the replica if it is known to lag at most `maxLagMs`, and otherwise, or if the replica fails, from the
 * primary. The lag does not depend on clocks or commits: it is the age of the latest log position of the primary that
 * the replica has replayed.
 */
export function createReplicaReads(
  primary: Database,
  replica: Database,
  { maxLagMs, metrics, onError }: ReplicaOptions,
): Reads & { close(): Promise<void> } {
  /** The replica has everything committed before this time; 0 means unknown. */
  let freshAsOf = 0;
  let samples: Sample[] = [];
  /** When each caller's last writing request ended. */
  const wrote = new Map<string, number>();
  const callers = createCarried<string>();
  /** Functions that end the reads still waiting for the replica. */
  const unanswered = new Set<(reason: Error) => void>();
  let failed = false;

  async function look(): Promise<void> {
    const at = performance.now();
    samples.push({ at, position: await primary.system(writtenPosition) });
    const replayed = await replica.system(replayedPosition);
    if (replayed === null) throw new Error("DATABASE_REPLICA_URL points to a server that is not a replica");
    const seen = samples.findLastIndex(({ position }) => position <= replayed);
    if (seen >= 0) {
      freshAsOf = samples[seen]?.at ?? 0;
      samples = samples.slice(seen);
    }
    // Bounds the samples; a replica this far behind is not used until it has reached the most recent ones.
    if (samples.length > 10 * LOOKS) samples = samples.slice(-LOOKS);
    for (const [caller, time] of wrote) if (time < at - maxLagMs) wrote.delete(caller);
    failed = false;
  }

  const looking = periodically(Math.max(MIN_LOOK_MS, maxLagMs / LOOKS), look, (error) => {
    freshAsOf = 0;
    samples = [];
    for (const end of unanswered) end(error as Error);
    if (!failed) onError(error, "replica unavailable; reading lists from the primary");
    failed = true;
  });
  looking.wake();

  function isFresh(): boolean {
    const caller = callers.current();
    const since = Math.max(performance.now() - maxLagMs, (caller === undefined ? undefined : wrote.get(caller)) ?? 0);
    return freshAsOf > since;
  }

  metrics.gauges(
    {
      millrace_replica_lag_seconds: { help: "Upper bound of the replica's lag behind the primary", labels: [] },
      millrace_replica_in_use: {
        help: "1 while lists are read from the replica, 0 while they are read from the primary",
        labels: [],
      },
    },
    {
      maxAgeMs: 0,
      onError: (error) => onError(error, "the replica"),
      async read() {
        const lag = (performance.now() - freshAsOf) / 1000;
        return [
          { name: "millrace_replica_in_use", labels: {}, value: lag * 1000 < maxLagMs ? 1 : 0 },
          ...(freshAsOf === 0 ? [] : [{ name: "millrace_replica_lag_seconds", labels: {}, value: lag }]),
        ];
      },
    },
  );

  return {
    async org(orgId, work, patient) {
      if (!isFresh()) return primary.orgRead(orgId, work, patient);
      let end = (_reason: Error): void => undefined;
      const ended = new Promise<never>((_, reject) => (end = reject));
      unanswered.add(end);
      try {
        return await Promise.race([replica.orgRead(orgId, work, patient), ended]);
      } catch (error) {
        if (error instanceof Problem || error instanceof NoPlace) throw error;
        onError(error, "a query on the replica failed; reading from the primary");
        return await primary.orgRead(orgId, work, patient);
      } finally {
        unanswered.delete(end);
      }
    },
    forCaller: (callerId, writes, work) =>
      callers.during(callerId, async () => {
        if (!writes) return work();
        try {
          return await work();
        } finally {
          wrote.set(callerId, performance.now());
        }
      }),
    close: () => looking.close(),
  };
}
