import type { Round } from "../../domain/house.ts";
import type { Db } from "../../stores/db.ts";
import type { Parts } from "../parts.ts";

/** How long rows are kept. */
export interface Retention {
  /** How long deliveries are kept (ms). Their events are kept at least as long. */
  readonly eventMs: number;
  /** How long runs are kept after their end (days), unless a policy sets a shorter time; null: forever. */
  readonly runDays: number | null;
  /** How long entries of the audit log are kept (days); null: forever. */
  readonly auditDays: number | null;
  /** How long the samples of monitors are kept (days). */
  readonly monitorDays: number;
}

export interface PurgeDeps extends Parts<"db" | "blobs"> {
  readonly retention: Retention;
  /** Whether the purge must end early because its process is stopping; another process then repeats it. */
  readonly isClosed: () => boolean;
}

/** Something that removes expired rows or blobs of the whole installation. May be repeated after any failure. */
export interface Purge {
  /** Identifies the purge in Temporal, in logs and for `millrace doctor`. */
  readonly name: string;
  readonly every: Round;
  /** A call that removes this many is followed by another one. */
  readonly batch: number;
  /** Removes up to `batch`, in short transactions. Returns how many it has removed. */
  readonly purge: (deps: PurgeDeps, batch: number) => Promise<number>;
}

const BATCH = 1000;

/** A purge that runs every five minutes, one statement for each batch. */
export function purgeOf(
  name: string,
  purge: (db: Db, batch: number, retention: Retention) => Promise<number>,
  batch = BATCH,
): Purge {
  return {
    name,
    every: "five-minutes",
    batch,
    purge: ({ db, retention }, limit) => db.system((connection) => purge(connection, limit, retention)),
  };
}
