import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";

/** Work that took longer than this (ms) is followed by as long a pause. */
const SHORT_MS = 5;

/**
 * Has pieces of synchronous work follow each other, each in a turn of the event loop of its own, and at most every other
 * moment of the process: what else it has to do, requests above all, gets the rest.
 */
export function createTurns(): <T>(work: () => T) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    let took = 0;
    const result = last.then(() => {
      const since = performance.now();
      try {
        return work();
      } finally {
        took = performance.now() - since;
      }
    });
    const rest = (): Promise<void> => (took > SHORT_MS ? delay(took) : nextTurn());
    last = result.then(rest, rest);
    return result;
  };
}
