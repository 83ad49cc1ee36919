import { createPace } from "../domain/pace.ts";
import { createPlaces, type Places } from "../domain/places.ts";

/**
 * What a connection is used for. `read` is a list or a statistic. `patient read` is a portion of an export, which must not be refused
 * midway, because the receiver could not tell the refusal from the end of the export.
 */
export type OrgWork = "work" | "read" | "patient read";

/** How long an organisation's calls may wait for a connection, and how many may wait. */
export interface OrgPatience {
  /** Longest wait for a connection (ms); default 5 s, as in a pool. */
  readonly ms?: number;
  /** Most reads that wait; default 500. A waiting read costs less than a refused one that is sent again. */
  readonly reads?: number;
  /** Most other calls that wait; default 2000. */
  readonly work?: number;
}

/** Holds a slot while `use` runs; throws NoPlace if none becomes free in time. */
export interface OrgPlaces {
  hold<T>(orgId: string, work: OrgWork, use: () => Promise<T>): Promise<T>;
  /** How many calls wait for a slot. */
  waiting(): number;
}

/** One for the process: work on the primary also counts where lists are read from a replica. */
export const pace = createPace();

/** Runs `use`, after which the organisation gets none of the slots until it is within its pace. */
export async function paced<T>(places: Places, orgId: string, use: () => Promise<T>): Promise<T> {
  const since = performance.now();
  try {
    return await use();
  } finally {
    places.rest(orgId, pace.restAfter(orgId, performance.now() - since));
  }
}

/**
 * Slots for the connections of a pool, divided among organisations before they reach the pool, whose own queue knows no organisations. An
 * organisation that is alone gets half of them. Reads get two in five, divided in the same way, because they cost the most; all other work
 * of an organisation goes first. While others use the process too, the next read waits until the organisation is within its pace.
 */
export function createOrgPlaces(
  size: number,
  { ms: patienceMs = 5000, reads: readsWaiting = 500, work: workWaiting = 2000 }: OrgPatience = {},
): OrgPlaces {
  const all = createPlaces(size);
  const reads = createPlaces(Math.max(2, Math.round(size * 0.4)));

  return {
    hold(orgId, work, use) {
      pace.used(orgId);
      if (work === "work") return all.hold(orgId, { patienceMs, maxWaiting: workWaiting }, use);
      const limits = work === "read" ? { patienceMs, maxWaiting: readsWaiting } : {};
      return reads.hold(orgId, limits, () => all.hold(orgId, { rank: 1 }, () => paced(reads, orgId, use)));
    },
    waiting: () => all.waiting() + reads.waiting(),
  };
}
