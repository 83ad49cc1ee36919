import { setTimeout as delay } from "node:timers/promises";
import { uuidv7 } from "uuidv7";
import type { Database } from "../../stores/db.ts";
import { isConnectionError } from "../../stores/db.ts";
import { keepNodePlaces, listNodeQuotas, releaseNodePlace, takeNodePlace } from "../../stores/node-places.ts";
import type { WantedPlace } from "../../stores/node-places.ts";

/** How long a process uses its cached list of organisations with a quota of nodes (ms). */
const READ_FOR_MS = 5000;
/** Longest wait for that read: a node does not wait for a database that is down (ms). */
const READ_WITHIN_MS = 1000;
/**
 * How long a place outlives the last sign of life of its process: about as long as Temporal waits until it retries the
 * node.
 */
const KEPT_SECONDS = 15;
const KEEP_EVERY_MS = 4000;
/** How long a node waits for a place before it is handed back, and how often the first in line tries (ms). */
const PATIENCE_MS = 1000;
const LOOK_EVERY_MS = 100;
/** Nodes of an organisation that may wait for a place in one process. */
const MAX_WAITING = 8;

/** What needs a place. */
export type NodeTask = Omit<WantedPlace, "place_id">;

export interface NodePlaces {
  /** Whether nodes of the organisation need places. */
  needed(orgId: string): Promise<boolean>;
  /**
   * Returns a function that releases the place; null if there is none within a second, or the node's run stops. Throws
   * the signal's reason.
   */
  take(task: NodeTask, signal: AbortSignal): Promise<(() => void) | null>;
  /** How many of its nodes have a place in this process. */
  inUse(orgId: string): number;
  close(): void;
}

interface Waiting {
  /** Tries again at once. */
  wake(): void;
}

/** The nodes of an organisation that wait for a place, in order; only the first tries to get one. */
interface Line {
  readonly waiting: Waiting[];
  /** Whether the first has found no place. */
  full: boolean;
}

/**
 * Places for nodes of organisations that have a quota of them, across all processes. Other organisations only cost a
 * read every five seconds of who has a quota.
 */
export function createNodePlaces(db: Database, most: number | undefined): NodePlaces {
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
        // The last known list stays in use.
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

  /** "none" also where the database is down. */
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
      // One that stays expires.
      db.org(task.org_id, (connection) => releaseNodePlace(connection, place_id))
        .catch(() => undefined)
        .finally(() => lines.get(task.org_id)?.waiting[0]?.wake());
    };
  }

  return {
    async needed(orgId) {
      if (most !== undefined) return true;
      if (readUntil < Date.now()) await Promise.race([read(), delay(READ_WITHIN_MS, undefined, { ref: false })]);
      return limited.has(orgId);
    },
    async take(task, signal) {
      const { org_id } = task;
      const line = lines.get(org_id) ?? { waiting: [], full: false };
      if (line.full && line.waiting.length >= MAX_WAITING) return null;
      lines.set(org_id, line);
      const until = performance.now() + PATIENCE_MS;
      let wake = (): void => undefined;
      const mine: Waiting = { wake: () => wake() };
      line.waiting.push(mine);
      try {
        for (;;) {
          signal.throwIfAborted();
          if (line.waiting[0] === mine) {
            const release = await tryTake(task);
            line.full = release === "none";
            // A cancellation reaches a node with its next heartbeat; a place may come free before that.
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
        else line.waiting[0]?.wake();
      }
    },
    inUse: (orgId) => [...held.values()].filter((each) => each === orgId).length,
    close: () => clearInterval(keeping),
  };
}
