import { createPlaces } from "../../domain/places.ts";

/** Most requests of an organisation that wait for their turn, and how long (ms). */
const LINE = { maxWaiting: 2000, patienceMs: 5000 } as const;

const turns = createPlaces(1);

/**
 * Resolves when a request of this organisation may be worked on: one request per iteration of the event loop, organisations in turn. So a
 * request waits for few others, however many of another organisation have arrived before it. Throws NoPlace.
 */
export async function turnOf(orgId: string): Promise<void> {
  const release = await turns.take(orgId, LINE);
  setImmediate(release);
}
