import { setTimeout as delay } from "node:timers/promises";
import { uuidv7 } from "uuidv7";
import { isConnectionError, type Database } from "../../stores/db.ts";
import {
  keepNodePlaces,
  listNodeQuotas,
  releaseNodePlace,
  takeNodePlace,
  type WantedPlace,
} from "../../stores/runs/node-places.ts";

/** How long a process uses its cached list of organisations with a quota of nodes (ms). */
const READ_FOR_MS = 5000;
/** Longest wait for reading that list (ms), so that no node waits for an unreachable database. */
const READ_WITHIN_MS = 1000;
/**
 * How long a slot remains after its process last renewed it, which is about as long as Temporal waits before it retries
 * the node.
 */
const KEPT_SECONDS = 15;
const KEEP_EVERY_MS = 4000;
/** How long a node waits for a slot before it is handed back, and how often the first in line tries (ms). */
const PATIENCE_MS = 1000;
const LOOK_EVERY_MS = 100;
/** Most nodes of an organisation that wait for a slot in one process. */
const MAX_WAITING = 8;

/** A node that needs a slot. */
export type NodeTask = Omit<WantedPlace, "place_id">;

export type NodePlaces = ReturnType<typeof createNodePlaces>;

/** The nodes of an organisation that wait for a slot, in order; only the first one tries to get it. */
interface Line {
  /** Each makes its node try again immediately. */
  readonly waiting: Array<() => void>;
  /** Whether the first node has found no free slot. */
  full: boolean;
}

/**
 * Slots, shared by all processes, for nodes of organisations with a quota of concurrent nodes. Without a quota, the
 * only cost is a query every five seconds for the organisations that have one.
 */
export function createNodePlaces(db: Database, most: number | undefined) {
  const lines = new Map<string, Line>();
  const held = new Map<string, string>();
  let limited: ReadonlySet<string> = new Set();
  let readUntil = 0;
  let reading: Promise<void> | undefined;

  function read(): Promise<void> {
    reading ??= db
      .system(listNodeQuotas)
      .then(
        (ids) => {
          limited = new Set(ids);
          readUntil = Date.now() + READ_FOR_MS;
        },
        // If the query fails, the last known list stays in use.
        () => {
          readUntil = Date.now() + READ_WITHIN_MS;
        },
      )
      .finally(() => (reading = undefined));
    return reading;
  }

  const keeping = setInterval(() => {
    if (held.size > 0)
      db.system((connection) => keepNodePlaces(connection, [...held.keys()], KEPT_SECONDS)).catch(() => undefined);
  }, KEEP_EVERY_MS).unref();

  /** Returns "none" if no slot is free or the database is unreachable. */
  async function tryTake(task: NodeTask): Promise<(() => void) | "none" | "stopped"> {
    const place_id = uuidv7();
    const taken = await db
      .org(task.org_id, (connection) => takeNodePlace(connection, { ...task, place_id }, KEPT_SECONDS, most))
      .catch((error: unknown) => {
        if (isConnectionError(error)) return "none" as const;
        throw error;
      });
    if (taken !== "taken") return taken;
    held.set(place_id, task.org_id);
    return () => {
      if (!held.delete(place_id)) return;
      // A slot whose release fails here expires.
      db.org(task.org_id, (connection) => releaseNodePlace(connection, place_id))
        .catch(() => undefined)
        .finally(() => lines.get(task.org_id)?.waiting[0]?.());
    };
  }

  return {
    /** Whether nodes of the organisation need slots. */
    async needed(orgId: string): Promise<boolean> {
      if (most !== undefined) return true;
      if (readUntil < Date.now()) await Promise.race([read(), delay(READ_WITHIN_MS, undefined, { ref: false })]);
      return limited.has(orgId);
    },
    /**
     * Returns a function that releases the slot; null if none is free within a second, or the node's run must stop.
     * Throws the signal's reason.
     */
    async take(task: NodeTask, signal: AbortSignal): Promise<(() => void) | null> {
      const { org_id } = task;
      const line = lines.get(org_id) ?? { waiting: [], full: false };
      if (line.full && line.waiting.length >= MAX_WAITING) return null;
      lines.set(org_id, line);
      const until = performance.now() + PATIENCE_MS;
      let wake = (): void => undefined;
      const mine = (): void => wake();
      line.waiting.push(mine);
      try {
        for (;;) {
          signal.throwIfAborted();
          if (line.waiting[0] === mine) {
            const release = await tryTake(task);
            line.full = release === "none";
            // A node of a stopping run gets no slot, because a slot may become free before a cancellation reaches the
            // node with its next heartbeat.
            if (release === "stopped") return null;
            if (release !== "none") return release;
          }
          const beyond = line.full && line.waiting.indexOf(mine) >= MAX_WAITING;
          const leftMs = until - performance.now();
          if (leftMs <= 0 || beyond) return null;
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, Math.min(leftMs, LOOK_EVERY_MS));
            wake = () => {
              clearTimeout(timer);
              resolve();
            };
          });
        }
      } finally {
        line.waiting.splice(line.waiting.indexOf(mine), 1);
        if (line.waiting.length === 0) lines.delete(org_id);
        else line.waiting[0]?.();
      }
    },
    /** How many nodes of the organisation have a slot in this process. */
    inUse: (orgId: string) => [...held.values()].filter((each) => each === orgId).length,
    close: () => clearInterval(keeping),
  };
}
