const waiting: Array<() => void> = [];

/**
 * Resolves in a later iteration of the event loop, one caller in each iteration. Work on long values awaits this
 * between slices. However many callers there are, everything else waits for one slice at a time.
 */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(serve);
  });
}

function serve(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(serve);
}
