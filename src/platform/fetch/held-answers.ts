import { AsyncLocalStorage } from "node:async_hooks";
import { createPlaces } from "../../domain/places.ts";
import { whileWaiting } from "../time-limit.ts";

/**
 * Most long responses that a process holds in memory at the same time, because each may take several times its length once it is parsed.
 */
const PLACES = 6;
/** Responses up to this length need no slot (bytes). */
export const SHORT_ANSWER_BYTES = 1024 * 1024;

/** A piece of work, and the slot that it holds. */
interface Holder {
  readonly key: string;
  place?: Promise<() => void>;
}

const places = createPlaces(PLACES);
const holders = new AsyncLocalStorage<Holder>();

/** Does some work of an organisation: if it reads a long response, it holds a slot until the work ends. */
export async function holdingAnswers<T>(key: string, work: () => Promise<T>): Promise<T> {
  const holder: Holder = { key };
  try {
    return await holders.run(holder, work);
  } finally {
    // A slot that becomes free after its work has ended is released.
    holder.place?.then(
      (release) => release(),
      () => undefined,
    );
  }
}

/**
 * Waits for a slot for a long response of the surrounding work, unless that holds one already; until then the response is not read further.
 * The work's own time limit does not count the wait. Rejects with the signal's reason.
 */
export async function holdAnswer(signal?: AbortSignal): Promise<void> {
  const holder = holders.getStore();
  if (holder === undefined) return;
  holder.place ??= placeFor(holder.key, signal);
  await holder.place;
}

async function placeFor(key: string, signal: AbortSignal | undefined): Promise<() => void> {
  const begin = whileWaiting();
  try {
    return await places.take(key, { signal });
  } finally {
    begin();
  }
}
