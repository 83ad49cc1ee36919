import { AsyncLocalStorage } from "node:async_hooks";
import { createShares } from "../../domain/shares.ts";
import { whileWaiting } from "../time-limit.ts";

/**
 * Most long answers that a process holds in memory at once: each may take several times its length once it is parsed.
 */
const PLACES = 6;
/** Answers up to this length need no place (bytes). */
export const SHORT_ANSWER_BYTES = 1024 * 1024;

/** A piece of work, and the place that it holds. */
interface Holder {
  readonly key: string;
  place?: Promise<() => void>;
}

interface Waiting {
  readonly key: string;
  readonly grant: (release: () => void) => void;
}

const shares = createShares(PLACES);
const waiting: Waiting[] = [];
const holders = new AsyncLocalStorage<Holder>();

/** Does some work of an organisation: a long answer that it reads has a place until the work ends. */
export async function holdingAnswers<T>(key: string, work: () => Promise<T>): Promise<T> {
  const holder: Holder = { key };
  try {
    return await holders.run(holder, work);
  } finally {
    // A place that arrives after its work has ended is given back.
    holder.place?.then(
      (release) => release(),
      () => undefined,
    );
  }
}

/**
 * Waits until there is a place for a long answer of the work around, unless that has one: it is read no further until then. The
 * work's own time limit does not count the wait. Rejects with the signal's reason.
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
    signal?.throwIfAborted();
    const release = shares.take(key) ?? (await nextPlace(key, signal));
    return () => {
      release();
      serveWaiting();
    };
  } finally {
    begin();
  }
}

function nextPlace(key: string, signal: AbortSignal | undefined): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      waiting.splice(waiting.indexOf(mine), 1);
      reject(signal?.reason as Error);
    };
    const mine: Waiting = {
      key,
      grant(release) {
        signal?.removeEventListener("abort", onAbort);
        resolve(release);
      },
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    waiting.push(mine);
  });
}

function serveWaiting(): void {
  for (const next of waiting.slice()) {
    const release = shares.take(next.key);
    if (release === null) continue;
    waiting.splice(waiting.indexOf(next), 1);
    next.grant(release);
  }
}
