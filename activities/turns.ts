/** Work that took longer than this (ms) is followed by as long a pause. */
const SHORT_MS = 5;

/**
 * Has pieces of synchronous work follow each other, each in a turn of the event loop of its own, and at most every other
 * moment of the process: what else it has to do, requests above all, gets the rest.
 */
export function createTurns(): <T>(work: () => T) => Promise<T> {
  let last = Promise.resolve();
  return async (work) => {
    const before = last;
    const { promise, resolve } = withResolvers();
    last = promise;
    await before;
    const since = performance.now();
    try {
      return work();
    } finally {
      const took = performance.now() - since;
      if (took > SHORT_MS) setTimeout(resolve, took);
      else setImmediate(resolve);
    }
  };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((given) => {
    resolve = given;
  });
  return { promise, resolve };
}
