import { Problem } from "../../domain/errors.ts";
import { createCarried } from "../../platform/carried.ts";
import type { Metrics } from "../../platform/metrics.ts";
import { periodically } from "../../platform/periodically.ts";
import type { Database, Db } from "../../stores/db.ts";
import { replayedPosition, writtenPosition } from "../../stores/replication.ts";

/** Reads that may be a moment old: lists, statistics, exports. They write nothing and lock nothing. */
export interface Reads {
  /** As `Database.org`. `work` may run twice. */
  org<T>(orgId: string, work: (db: Db) => Promise<T>): Promise<T>;
  /** Does a caller's work; its reads show whatever earlier requests of the same caller to this process have written. */
  forCaller<T>(callerId: string, writes: boolean, work: () => Promise<T>): Promise<T>;
}

/** Without a replica, the primary is read. */
export function readsOf(db: Database): Reads {
  return { org: db.org, forCaller: (_callerId, _writes, work) => work() };
}

export interface ReplicaOptions {
  /** The largest lag at which the replica is read (ms). */
  readonly maxLagMs: number;
  readonly metrics: Metrics;
  readonly onError: (error: unknown, message: string) => void;
}

/** A position of the primary's log, and when it was there. */
interface Sample {
  readonly at: number;
  readonly position: bigint;
}

/** Checks within the tolerated lag, so that a replica which keeps up is known to. */
const LOOKS = 4;
const MIN_LOOK_MS = 50;

/**
 * Reads the replica if it is known to have the primary's state of a moment ago; else, or if the replica fails, the
 * primary. The replica's age depends on neither clocks nor commits: it is taken from a log position that it has
 * replayed, and the time when the primary was there.
 */
export function createReplicaReads(
  primary: Database,
  replica: Database,
  { maxLagMs, metrics, onError }: ReplicaOptions,
): Reads & { close(): Promise<void> } {
  /** The replica has everything committed before this time; 0: unknown. */
  let freshAsOf = 0;
  let samples: Sample[] = [];
  /** When each caller last wrote. */
  const wrote = new Map<string, number>();
  const callers = createCarried<string>();
  /** Ends the reads that the replica has not answered. */
  const unanswered = new Set<(reason: Error) => void>();
  let failed = false;

  async function look(): Promise<void> {
    const at = performance.now();
    samples.push({ at, position: await primary.system(writtenPosition) });
    const replayed = await replica.system(replayedPosition);
    if (replayed === null) throw new Error("DATABASE_REPLICA_URL leads to a server that is no replica");
    const seen = samples.findLastIndex(({ position }) => position <= replayed);
    if (seen >= 0) {
      freshAsOf = samples[seen]?.at ?? 0;
      samples = samples.slice(seen);
    }
    // A replica this far behind is not used until it has reached the present position.
    if (samples.length > 10 * LOOKS) samples = samples.slice(-LOOKS);
    for (const [caller, time] of wrote) if (time < at - maxLagMs) wrote.delete(caller);
    failed = false;
  }

  const looking = periodically(Math.max(MIN_LOOK_MS, maxLagMs / LOOKS), look, (error) => {
    freshAsOf = 0;
    samples = [];
    for (const end of unanswered) end(error as Error);
    if (!failed) onError(error, "the replica is not read, lists are read from the primary");
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
      millrace_replica_lag_seconds: { help: "How far the read replica is behind the primary, at most", labels: [] },
      millrace_replica_in_use: {
        help: "1 while lists are read from the replica, 0 while from the primary",
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
    async org(orgId, work) {
      if (!isFresh()) return primary.org(orgId, work);
      let end = (_reason: Error): void => undefined;
      const ended = new Promise<never>((_, reject) => (end = reject));
      unanswered.add(end);
      try {
        return await Promise.race([replica.org(orgId, work), ended]);
      } catch (error) {
        if (error instanceof Problem) throw error;
        onError(error, "a read of the replica has failed, the primary is read");
        return await primary.org(orgId, work);
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
